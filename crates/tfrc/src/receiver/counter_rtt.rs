//! The round-trip time read off the window counter, for senders that do not send it
//! (RFC 4342 §8.1).

use tfrc_units::{Duration, Instant, f64_from_u64};

/// An estimate from the bounds that each step of the counter gives.
///
/// A sender adds `k` to its counter with a packet that it sends `g` after its last step when `k`
/// whole quarters have passed: a quarter is more than `g / (k + 1)`, at most `g / k`, and longer
/// than the time from the step to the last packet that did not step. Times between equal values
/// alone are too long by up to the time between two packets, each quarter anew.
#[derive(Debug, Clone)]
pub(crate) struct CounterRtt {
    /// The newest counter value, and when its first packet arrived.
    step: Option<(u64, Instant)>,
    /// When its last packet with data arrived.
    last: Instant,
    /// A quarter of the round-trip time, seconds.
    quarter: Option<f64>,
}

/// Part of the way to the nearest bound that an estimate outside of the bounds goes with each
/// step: arrivals are not as regular as departures.
const TO_BOUND: f64 = 0.1;
/// Part of the way to the middle of the bounds that it always goes: among packets of equal
/// distances nothing else says where between them it is.
const TO_MIDDLE: f64 = 0.05;
/// Steps of this size or more also follow idle times of any length.
const FIVE: u64 = 5;

impl CounterRtt {
    pub(crate) const fn new() -> Self {
        Self { step: None, last: Instant::ZERO, quarter: None }
    }

    /// A packet with data and the newest counter.
    pub(crate) const fn on_equal(&mut self, now: Instant) {
        self.last = now;
    }

    /// A packet in order with this counter, counted on without wrapping; the receiver's clock has
    /// this grain.
    #[inline(never)]
    pub(crate) fn on_packet(&mut self, now: Instant, counter: u64, grain: Duration) {
        let Some((newest, since)) = self.step else {
            (self.step, self.last) = (Some((counter, now)), now);
            return;
        };
        let Some(steps @ 1..) = counter.checked_sub(newest) else { return };
        let gap = now.saturating_since(since).as_secs_f64();
        let equal = self.last.saturating_since(since).as_secs_f64();
        (self.step, self.last) = (Some((counter, now)), now);
        let (grain, steps_taken) = (grain.as_secs_f64(), f64_from_u64(steps));
        // Without a grain an equal time says nothing.
        if steps >= FIVE || gap + grain <= 0.0 {
            return;
        }
        let most = (gap + grain) / steps_taken;
        let least = ((gap - grain) / (steps_taken + 1.0)).max(equal - grain).clamp(0.0, most);
        let middle = f64::midpoint(least, most).max(grain / 4.0);
        self.quarter = Some(self.quarter.map_or(middle, |old| {
            old + TO_BOUND * (old.clamp(least, most) - old) + TO_MIDDLE * (middle - old)
        }));
    }

    pub(crate) fn estimate(&self) -> Option<Duration> {
        self.quarter.map(|quarter| Duration::from_secs_f64(quarter * 4.0))
    }
}

#[cfg(test)]
mod tests {
    use tfrc_units::u64_from_f64;

    use super::*;

    /// The estimate, in parts of the round-trip time of a sender that sends a packet in each of
    /// these times, again and again, in parts of a quarter.
    fn by(spacings: &[f64]) -> f64 {
        const QUARTER: f64 = 0.02;
        let mut rtt = CounterRtt::new();
        let (mut time, mut counter, mut stepped) = (1.0, 0, 1.0);
        for spacing in spacings.iter().cycle().take(600) {
            let now = Instant::ZERO + Duration::from_secs_f64(time);
            let quarters = u64_from_f64((time - stepped) / QUARTER + 1e-6);
            if quarters > 0 || counter == 0 {
                (counter, stepped) = (counter + quarters.max(1), time);
                rtt.on_packet(now, counter, Duration::ZERO);
            } else {
                rtt.on_equal(now);
            }
            time += spacing * QUARTER;
        }
        rtt.estimate().map_or(0.0, Duration::as_secs_f64) / (4.0 * QUARTER)
    }

    /// Bounds by the formula: the middle of what one spacing allows, closer with many.
    #[test]
    fn bounds_close_in_on_the_quarter() {
        for (spacings, low, high) in [
            (&[0.05][..], 0.96, 1.01),
            // Linux, 50 packets a second and R = 55 ms: four steps last 80 ms, and bounds for a
            // quarter are 10 and 20 ms.
            (&[20.0 / 13.75][..], 1.08, 1.10),
            (&[1.9][..], 1.35, 1.48),
            (&[1.9, 1.1, 2.4][..], 0.90, 1.15),
            (&[0.7, 1.4, 0.2][..], 0.95, 1.10),
        ] {
            let parts = by(spacings);
            assert!((low..=high).contains(&parts), "{spacings:?}: {parts}");
        }
    }

    #[test]
    fn nothing_is_known_before_a_step() {
        let mut rtt = CounterRtt::new();
        rtt.on_packet(Instant::ZERO, 3, Duration::ZERO);
        rtt.on_packet(Instant::from_nanos(1_000_000_000), 3, Duration::ZERO);
        rtt.on_packet(Instant::from_nanos(1_000_000_000), 2, Duration::ZERO);
        assert_eq!(rtt.estimate(), None);
    }

    /// By a clock of 10 ms a step in no time is one of less than 10 ms.
    #[test]
    fn a_grain_widens_the_bounds() {
        let step = |grain| {
            let mut rtt = CounterRtt::new();
            for counter in [0, 1] {
                rtt.on_packet(Instant::ZERO, counter, grain);
            }
            rtt.estimate()
        };
        assert_eq!(step(Duration::ZERO), None);
        assert_eq!(step(Duration::from_millis(10)), Some(Duration::from_millis(20)));
    }

    /// Steps of five, as between packets further apart than a round-trip time, say nothing.
    #[test]
    fn larger_steps_are_left_out() {
        let mut rtt = CounterRtt::new();
        for i in 0..10 {
            rtt.on_packet(Instant::from_nanos(i * 900_000_000), i * 5, Duration::ZERO);
        }
        assert_eq!(rtt.estimate(), None);
    }
}
