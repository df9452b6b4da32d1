//! The sawtooth that flows should draw through the queue that they met: its utilisation and its
//! losses.

use tfrc_sim::tcp::Variant;
use tfrc_units::saturating;

/// Segments per cubic second (RFC 9438 §5).
const C: f64 = 0.4;
/// The window after a loss over the window before, CUBIC's (RFC 9438 §4.6).
const CUBIC_BETA: f64 = 0.7;
/// The share of the window at a loss where fast convergence puts the next plateau (RFC 9438 §4.7).
const PLATEAU: f64 = f64::midpoint(1.0, CUBIC_BETA);
/// Growth of a window in slow start in a round trip, with one acknowledgement for two segments.
const SLOW_START: f64 = 1.5;

/// Where the teeth were.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Teeth<'a> {
    pub(crate) variant: Variant,
    /// The bandwidth-delay product, in packets.
    pub(crate) bdp: f64,
    /// The round-trip time without queueing, in seconds.
    pub(crate) rtt: f64,
    pub(crate) flows: u32,
    /// The sum of the windows at each loss event: the bandwidth-delay product and the queue.
    pub(crate) tops: &'a [f64],
}

impl Teeth<'_> {
    /// The share of the capacity that flows use which cut their windows together at each loss event
    /// and let them grow linearly to the next.
    ///
    /// From top M the windows go to β·M. A round trip lasts R while their sum W is below the
    /// bandwidth-delay product and W/BDP times that above. CUBIC's curve lies above the line, and
    /// flows that do not cut together use more: the figure is a lower bound.
    pub(crate) fn utilisation(&self) -> f64 {
        let (mut sent, mut room) = (0.0, 0.0);
        for pair in self.tops.windows(2) {
            let &[top, next] = pair else { continue };
            let bottom = (self.beta() * top).min(next);
            sent += area(bottom, next);
            room += self.bdp * (self.bdp.min(next) - bottom).max(0.0) + area(bottom.max(self.bdp), next);
            if self.variant == Variant::Tahoe {
                // The round trip that finds the loss, and slow start from one segment of each flow.
                let rounds = 1.0 + libm::log((bottom / self.share()).max(1.0)) / libm::log(SLOW_START);
                sent += bottom * SLOW_START / (SLOW_START - 1.0);
                room += self.bdp * rounds;
            }
        }
        if room > 0.0 { (sent / room).min(1.0) } else { 1.0 }
    }

    /// The loss rate of one loss in each flow's tooth; of CUBIC the growth of its window in the
    /// round trip that it takes to learn of the loss, if that is more.
    pub(crate) fn loss(&self) -> f64 {
        let count = tfrc_units::f64_from_u64(saturating::<u64>(self.tops.len()));
        let top = self.tops.iter().sum::<f64>() / count.max(1.0);
        let window = top / self.share();
        let linear = area(self.beta() * window, window);
        if self.variant != Variant::Cubic {
            return 1.0 / linear;
        }
        // The curve is back at the old window after K, during which the rate is the window's or the
        // line's.
        let k = libm::cbrt(window * (1.0 - CUBIC_BETA) / C);
        let mean = window * (1.0 - (1.0 - CUBIC_BETA) / 4.0);
        let curved = k / self.rtt * mean.min(self.bdp / self.share());
        let growth = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
        // After the plateau of fast convergence the curve passes the old window this much later.
        let past = libm::cbrt(window * (1.0 - PLATEAU) / C);
        let late = past + self.rtt * (top / self.bdp).max(1.0);
        let lost = (C * (late * late * late - past * past * past)).max(1.0);
        lost / curved.min(linear / growth)
    }

    const fn beta(&self) -> f64 {
        match self.variant {
            Variant::Cubic => CUBIC_BETA,
            _ => 0.5,
        }
    }

    fn share(&self) -> f64 {
        f64::from(self.flows)
    }
}

/// The integral of W from one window to another: the segments sent while a window grows by one in a
/// round trip.
fn area(from: f64, to: f64) -> f64 {
    (to * to - from * from).max(0.0) / 2.0
}
