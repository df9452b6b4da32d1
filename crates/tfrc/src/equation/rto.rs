//! t_RTO, TCP's retransmission timeout in the equation (RFC 5348 §3.1).

use tfrc_units::Duration;
#[cfg(feature = "schema")]
use tfrc_units::schema::{JsonSchema, Serialize};

use crate::study::ticks::{self, Scaled};

/// The t_RTO of the equation.
///
/// The two estimated policies follow round-trip time samples, which only a sender has
/// ([`RtoEstimate`]). Where there are none, at the receiver and in closed forms,
/// [`RtoPolicy::timeout`] gives what they settle at on a path whose round-trip time is steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum RtoPolicy {
    /// 4·R, as RFC 5348 §3.1 recommends.
    FourRtt,
    /// 4·R, but at least this long; RFC 5348 §3.1 allows one second here.
    FourRttAtLeast(Duration),
    /// Always this long.
    Fixed(Duration),
    /// SRTT + max(G, 4·RTTVAR) (RFC 6298 §2), what a TCP would have.
    Rfc6298 {
        /// G, the granularity of TCP's clock.
        granularity: Duration,
        /// The least: RFC 6298 §2.4 says 1 s; Linux has 200 ms.
        least: Duration,
    },
    /// A timeout in whole ticks, as simulators have it. Rounding leaves RTTVAR at three quarters of
    /// a tick, so that on a steady path the timeout is the rounded round-trip time and three ticks
    /// (two if that is a single tick).
    Ticks {
        /// The clock's tick.
        tick: Duration,
        /// The least timeout.
        least: Duration,
    },
}

impl RtoPolicy {
    /// t_RTO for the round-trip time `rtt`, all samples being equal to it.
    #[must_use]
    pub fn timeout(self, rtt: Duration) -> Duration {
        match self {
            Self::FourRtt => rtt * 4,
            Self::FourRttAtLeast(least) => (rtt * 4).max(least),
            Self::Fixed(timeout) => timeout,
            Self::Rfc6298 { granularity, least } => (rtt + granularity).max(least),
            Self::Ticks { tick, least } => (tick * ticks::steady(ticks::ticks(rtt, tick))).max(least),
        }
    }

    /// The estimator that follows samples.
    #[must_use]
    pub const fn estimate(self) -> RtoEstimate {
        RtoEstimate { policy: self, state: RtoState::Empty }
    }
}

/// t_RTO as it follows round-trip time samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoEstimate {
    policy: RtoPolicy,
    state: RtoState,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum RtoState {
    Empty,
    /// SRTT and RTTVAR in seconds.
    Seconds {
        srtt: f64,
        rttvar: f64,
    },
    Ticks(Scaled),
}

impl RtoEstimate {
    /// Forgets all samples.
    pub(crate) const fn restart(&mut self) {
        self.state = RtoState::Empty;
    }

    /// Takes in a sample.
    pub fn on_sample(&mut self, sample: Duration) {
        self.state = match self.policy {
            RtoPolicy::FourRtt | RtoPolicy::FourRttAtLeast(_) | RtoPolicy::Fixed(_) => RtoState::Empty,
            RtoPolicy::Rfc6298 { .. } => self.seconds(sample.as_secs_f64()),
            RtoPolicy::Ticks { tick, .. } => self.whole_ticks(ticks::ticks(sample, tick)),
        };
    }

    /// t_RTO while the smoothed round-trip time is `rtt`.
    #[must_use]
    pub fn timeout(&self, rtt: Duration) -> Duration {
        match (self.policy, self.state) {
            (RtoPolicy::Rfc6298 { granularity, least }, RtoState::Seconds { srtt, rttvar }) => {
                let margin = Duration::from_secs_f64(4.0 * rttvar).max(granularity);
                (Duration::from_secs_f64(srtt) + margin).max(least)
            }
            (RtoPolicy::Ticks { tick, least }, RtoState::Ticks(scaled)) => {
                (tick * scaled.timeout()).max(least)
            }
            _ => self.policy.timeout(rtt),
        }
    }

    /// RFC 6298 §2.2 and §2.3: RTTVAR first, with the old SRTT.
    fn seconds(self, sample: f64) -> RtoState {
        match self.state {
            RtoState::Seconds { srtt, rttvar } => RtoState::Seconds {
                srtt: 0.875 * srtt + 0.125 * sample,
                rttvar: 0.75 * rttvar + 0.25 * (srtt - sample).abs(),
            },
            _ => RtoState::Seconds { srtt: sample, rttvar: sample / 2.0 },
        }
    }

    fn whole_ticks(self, sample: u64) -> RtoState {
        RtoState::Ticks(match self.state {
            RtoState::Ticks(scaled) => scaled.after(sample),
            _ => Scaled::first(sample),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn after(policy: RtoPolicy, samples: &[u64]) -> Duration {
        let mut estimate = policy.estimate();
        for ms in samples {
            estimate.on_sample(MS(*ms));
        }
        estimate.timeout(MS(100))
    }

    #[test]
    fn policies_without_samples() {
        assert_eq!(RtoPolicy::FourRtt.timeout(MS(100)), MS(400));
        let one_second = RtoPolicy::FourRttAtLeast(Duration::from_secs(1));
        assert_eq!(one_second.timeout(MS(100)), MS(1000));
        assert_eq!(one_second.timeout(MS(500)), MS(2000));
        assert_eq!(RtoPolicy::Fixed(MS(100)).timeout(MS(9000)), MS(100));
        assert_eq!(after(RtoPolicy::FourRtt, &[300, 900]), MS(400), "samples do not count");
    }

    /// RFC 6298 §2.2: the first sample gives R + 4·R/2; §2.3 by hand for the second: RTTVAR =
    /// 0.75·50 + 0.25·100 = 62.5, SRTT = 0.875·100 + 0.125·200 = 112.5.
    #[test]
    fn rfc_6298_by_hand() {
        let policy = RtoPolicy::Rfc6298 { granularity: MS(10), least: MS(200) };
        assert_eq!(after(policy, &[100]), MS(300));
        let second = after(policy, &[100, 200]).as_secs_f64();
        assert!((second - 0.3625).abs() < 1e-9, "{second}");
        assert_eq!(after(policy, &[20]), MS(200), "the least");
        assert_eq!(after(policy, &[]), MS(200));
        let mut steady = policy.estimate();
        for _ in 0..200 {
            steady.on_sample(MS(300));
        }
        let settled = steady.timeout(MS(300)).as_secs_f64();
        assert!((settled - 0.31).abs() < 1e-6, "{settled}");
        assert_eq!(policy.timeout(MS(300)), MS(310));
    }
}
