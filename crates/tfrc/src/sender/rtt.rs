//! The round-trip time estimate R and the damping of §4.5 that rides on it (RFC 5348 §4.3 step 2).

use tfrc_units::{Duration, Rate};

use crate::equation::{RtoEstimate, RtoPolicy};
use crate::study::Spacing;

#[derive(Debug, Clone, Copy)]
struct Estimate {
    /// The mean of the samples in seconds; less than R where they are shorter than a grain of the
    /// clock.
    mean: f64,
    /// R_sqmean, the mean of √R_sample.
    root_mean: f64,
    /// R as a time: asked for several times for each packet.
    time: Duration,
    /// R_sqmean/√R_sample of the newest sample.
    damping: f64,
}

/// R, R_sqmean and the factor of X_inst, and t_RTO where it follows samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    weight: f64,
    spacing: Spacing,
    estimate: Option<Estimate>,
    /// Where the samples in the estimate come from.
    origin: Origin,
    timeout: RtoEstimate,
}

/// A sample of the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// A difference between two times of the host.
    Measured(Duration),
    /// The word of a transport with an estimate of its own.
    Stated(Duration),
}

/// Where a sample comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A handshake or an earlier connection.
    Elsewhere,
    Feedback,
}

impl RoundTrip {
    pub(crate) const fn new(weight: f64, spacing: Spacing, rto: RtoPolicy) -> Self {
        Self { weight, spacing, estimate: None, origin: Origin::Elsewhere, timeout: rto.estimate() }
    }

    /// Takes in a sample, measured by a clock of this grain. The first sample from feedback takes
    /// the place of what was known before (§4.3 step 2, §4.5): a handshake may have waited for an
    /// application.
    ///
    /// A round trip shorter than a grain reads as none or as one grain, and these readings have the
    /// right mean. So the mean is kept as it is, and R is the mean, at least a grain.
    pub(crate) fn on_sample(&mut self, sample: Duration, grain: Duration, origin: Origin) {
        let least = grain.max(Duration::from_nanos(1));
        if origin == Origin::Feedback && self.origin == Origin::Elsewhere {
            self.origin = origin;
            self.estimate = None;
            self.timeout.restart();
        }
        self.timeout.on_sample(sample.max(least));
        let seconds = sample.as_secs_f64();
        let root = libm::sqrt(sample.max(least).as_secs_f64());
        let root_weight = match self.spacing {
            Spacing::Nominal => 0.0,
            Spacing::Damped { weight } => weight,
        };
        let mix = |weight: f64, old: f64, new: f64| weight * old + (1.0 - weight) * new;
        let (mean, root_mean) = match self.estimate {
            None => (seconds, root),
            Some(old) => (mix(self.weight, old.mean, seconds), mix(root_weight, old.root_mean, root)),
        };
        let time = Duration::from_secs_f64(mean).max(least);
        self.estimate = Some(Estimate { mean, root_mean, time, damping: root_mean / root });
    }

    /// R.
    pub(crate) fn mean(&self) -> Option<Duration> {
        self.estimate.map(|e| e.time)
    }

    /// t_RTO of the equation while R is `rtt`.
    pub(crate) fn timeout(&self, rtt: Duration) -> Duration {
        self.timeout.timeout(rtt)
    }

    /// X_inst for the allowed rate `x` (§4.5): X · R_sqmean/√R_sample.
    pub(crate) fn instantaneous(&self, x: Rate) -> Rate {
        match (self.spacing, self.estimate) {
            (Spacing::Damped { .. }, Some(e)) => x * e.damping,
            _ => x,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const FINE: Duration = Duration::ZERO;

    #[test]
    fn the_first_sample_is_the_estimate() {
        let mut rtt = RoundTrip::new(0.9, Spacing::Nominal, RtoPolicy::FourRtt);
        assert_eq!(rtt.mean(), None);
        rtt.on_sample(MS(100), FINE, Origin::Feedback);
        assert_eq!(rtt.mean(), Some(MS(100)));
        rtt.on_sample(MS(200), FINE, Origin::Feedback);
        assert_eq!(rtt.mean(), Some(MS(110)));
    }

    /// RFC 5348 §4.3 step 2 and §4.5: without feedback before, R and R_sqmean are those of the
    /// sample.
    #[test]
    fn the_first_sample_from_feedback_replaces_others() {
        let rto = RtoPolicy::Rfc6298 { granularity: MS(1), least: Duration::ZERO };
        let mut rtt = RoundTrip::new(0.9, Spacing::Damped { weight: 0.9 }, rto);
        rtt.on_sample(MS(1000), FINE, Origin::Elsewhere);
        assert_eq!(rtt.mean(), Some(MS(1000)));
        rtt.on_sample(MS(100), FINE, Origin::Feedback);
        let x = Rate::from_bytes_per_sec(1000.0);
        assert_eq!((rtt.mean(), rtt.instantaneous(x)), (Some(MS(100)), x));
        assert_eq!(rtt.timeout(MS(100)), MS(300), "SRTT and four times half of it");
        rtt.on_sample(MS(200), FINE, Origin::Feedback);
        assert_eq!(rtt.mean(), Some(MS(110)));
    }

    /// RFC 5348 §4.5: a sample of twice the long-term mean slows sending to about 0.7.
    #[test]
    fn a_doubled_round_trip_slows_to_seven_tenths() {
        let mut rtt = RoundTrip::new(0.9, Spacing::Damped { weight: 0.99 }, RtoPolicy::FourRtt);
        for _ in 0..100 {
            rtt.on_sample(MS(100), FINE, Origin::Feedback);
        }
        let x = Rate::from_bytes_per_sec(1000.0);
        assert!((rtt.instantaneous(x).bytes_per_sec() - 1000.0).abs() < 1e-6);
        rtt.on_sample(MS(200), FINE, Origin::Feedback);
        let slowed = rtt.instantaneous(x).bytes_per_sec();
        assert!((700.0..720.0).contains(&slowed), "{slowed}");
        let nominal = RoundTrip::new(0.9, Spacing::Nominal, RtoPolicy::FourRtt);
        assert_eq!(nominal.instantaneous(x), x);
    }

    /// Readings of a round trip of 0.4 grains: none or one grain. A round trip of 1.4 grains reads
    /// as one or two. R is at least one grain, and has no bias above.
    #[test]
    fn the_mean_of_coarse_samples() {
        for (tenths, expected) in [(0, 10.0), (4, 10.0), (14, 14.0), (25, 25.0)] {
            let mut rtt = RoundTrip::new(0.99, Spacing::Damped { weight: 0.9 }, RtoPolicy::FourRtt);
            for n in 0..1000u64 {
                let sent = n * 7 % 10;
                rtt.on_sample(MS((sent + tenths) / 10 * 10), MS(10), Origin::Feedback);
            }
            let mean = rtt.mean().map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3);
            assert!((mean / expected - 1.0).abs() < 0.05, "{tenths} tenths: {mean} ms");
            let x = Rate::from_bytes_per_sec(1000.0);
            assert!((500.0..2000.0).contains(&rtt.instantaneous(x).bytes_per_sec()));
        }
    }
}
