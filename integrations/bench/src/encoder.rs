//! The synthetic encoder of RFC 8593 §5: frames whose sizes and distances vary, and which follow a
//! target rate late and with a burst.

use std::time::Duration;

use tfrc_testkit::Random;

/// t0, the mean time between frames: 30 frames a second.
const INTERVAL: f64 = 0.033;
/// tau_v, the least time between two rates that the encoder takes over.
const LATENCY: Duration = Duration::from_millis(200);
/// K_d, frames of the transient after a new rate.
const TRANSIENT: u32 = 8;
/// The first frame of a transient, in frames of the new rate: K_B of 13.5 kB over B0 of 4.17 kB.
const BURST: f64 = 13.5 / 4.17;
/// A rate that differs by less than this is taken over without a transient: the value of Cisco's
/// syncodecs.
const SMALL: f64 = 0.5;
/// `SCALE_t` and `SCALE_B`: scales of the Laplace distributions of distances and sizes, in means.
const SCALE: f64 = 0.15;
/// `R_min` and the highest rate, bit/s.
pub(crate) const RANGE: (f64, f64) = (150e3, 4e6);

/// An encoder.
pub(crate) struct Encoder {
    random: Random,
    rate: f64,
    changed: Duration,
    /// Frames of the transient that are to come.
    transient: u32,
    next: Duration,
}

impl Encoder {
    /// An encoder that begins at a time with this rate, bit/s.
    pub(crate) fn new(seed: u64, rate: f64, begin: Duration) -> Self {
        Self { random: Random::new(seed), rate, changed: begin, transient: 0, next: begin }
    }

    /// When the next frame is made.
    pub(crate) const fn next(&self) -> Duration {
        self.next
    }

    /// Puts the next frame off.
    pub(crate) const fn wait(&mut self, until: Duration) {
        self.next = until;
    }

    /// Asks for a rate, bit/s.
    pub(crate) fn aim(&mut self, now: Duration, target: f64) {
        let target = target.clamp(RANGE.0, RANGE.1);
        if now < self.changed + LATENCY {
            return;
        }
        if (target / self.rate - 1.0).abs() > SMALL {
            self.transient = TRANSIENT;
        }
        (self.rate, self.changed) = (target, now);
    }

    /// The bytes of the frame that is due.
    pub(crate) fn frame(&mut self) -> usize {
        let mean = self.rate * INTERVAL / 8.0;
        let size = match self.transient {
            0 => mean * (1.0 + self.noise()),
            TRANSIENT => mean * BURST,
            // The mean over the transient is that of the rate.
            _ => mean * (f64::from(TRANSIENT) - BURST) / f64::from(TRANSIENT - 1),
        };
        self.transient = self.transient.saturating_sub(1);
        let distance = INTERVAL * (1.0 + self.noise()).max(0.1);
        self.next += Duration::from_secs_f64(distance);
        size.max(100.0) as usize
    }

    /// A number of a Laplace distribution around zero.
    fn noise(&mut self) -> f64 {
        let mut exponential = || -(1.0 - self.random.uniform()).ln() * SCALE;
        exponential() - exponential()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean rate is the one asked for, and a transient has it too.
    #[test]
    fn frames_have_the_rate() {
        let mut encoder = Encoder::new(1, 1e6, Duration::ZERO);
        let mut bits = 0;
        while encoder.next() < Duration::from_secs(100) {
            bits += encoder.frame() * 8;
        }
        let rate = bits as f64 / 100.0;
        assert!((0.98e6..=1.02e6).contains(&rate), "{rate}");
        encoder.aim(encoder.next(), 2e6);
        let transient: usize = (0..TRANSIENT).map(|_| encoder.frame()).sum();
        let wanted = 2e6 * INTERVAL / 8.0 * f64::from(TRANSIENT);
        assert!((transient as f64 / wanted - 1.0).abs() < 0.01, "{transient} of {wanted}");
    }

    #[test]
    fn rates_are_taken_over_every_fifth_of_a_second() {
        let ms = Duration::from_millis;
        let mut encoder = Encoder::new(1, 1e6, Duration::ZERO);
        encoder.aim(ms(199), 3e6);
        assert!((encoder.rate - 1e6).abs() < 1.0);
        encoder.aim(ms(200), 9e6);
        assert!((encoder.rate - RANGE.1).abs() < 1.0);
        encoder.aim(ms(400), 1.0);
        assert!((encoder.rate - RANGE.0).abs() < 1.0);
    }
}
