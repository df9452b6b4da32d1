//! t_RTO, what stands for TCP's retransmission timeout in the equation (RFC 5348 §3.1).

use tfrc_units::{Duration, f64_from_u64, u64_from_f64};

/// The t_RTO of the equation.
///
/// The two estimated policies follow round-trip time samples, which only a sender has ([`RtoEstimate`]). Where there are
/// none, at the receiver and in closed forms, [`RtoPolicy::timeout`] gives what they settle at on a path whose round-trip
/// time is steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtoPolicy {
    /// 4·R, what RFC 5348 §3.1 says one should do.
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
    /// The same in whole ticks, as ns-2 computes it (`tcp_tick_` 0.1 s, `minrto_` 0). Rounding leaves RTTVAR at three
    /// quarters of a tick, so that on a steady path the timeout is the rounded round-trip time and three ticks (two if that
    /// is a single tick).
    Ticks {
        /// The tick.
        tick: Duration,
        /// The least.
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
            Self::Ticks { tick, least } => {
                let rtt = ticks(rtt, tick);
                (tick * rtt.saturating_add(rtt.saturating_mul(2).min(3))).max(least)
            }
        }
    }

    /// The estimator that follows samples.
    #[must_use]
    pub const fn estimate(self) -> RtoEstimate {
        RtoEstimate { policy: self, state: State::Empty }
    }
}

/// `rtt` in whole ticks, rounded, at least one.
fn ticks(rtt: Duration, tick: Duration) -> u64 {
    u64_from_f64(f64_from_u64(rtt.as_nanos()) / f64_from_u64(tick.as_nanos()) + 0.5).max(1)
}

/// t_RTO as it follows round-trip time samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoEstimate {
    policy: RtoPolicy,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Empty,
    /// SRTT and RTTVAR in seconds.
    Seconds {
        srtt: f64,
        rttvar: f64,
    },
    /// SRTT in eighths of a tick, RTTVAR in quarters.
    Ticks {
        srtt_8: u64,
        rttvar_4: u64,
    },
}

impl RtoEstimate {
    /// Forgets all samples.
    pub(crate) const fn restart(&mut self) {
        self.state = State::Empty;
    }

    /// Takes in a sample.
    pub fn on_sample(&mut self, sample: Duration) {
        self.state = match self.policy {
            RtoPolicy::FourRtt | RtoPolicy::FourRttAtLeast(_) | RtoPolicy::Fixed(_) => State::Empty,
            RtoPolicy::Rfc6298 { .. } => self.seconds(sample.as_secs_f64()),
            RtoPolicy::Ticks { tick, .. } => self.whole_ticks(ticks(sample, tick)),
        };
    }

    /// t_RTO while the smoothed round-trip time is `rtt`.
    #[must_use]
    pub fn timeout(&self, rtt: Duration) -> Duration {
        match (self.policy, self.state) {
            (RtoPolicy::Rfc6298 { granularity, least }, State::Seconds { srtt, rttvar }) => {
                let margin = Duration::from_secs_f64(4.0 * rttvar).max(granularity);
                (Duration::from_secs_f64(srtt) + margin).max(least)
            }
            (RtoPolicy::Ticks { tick, least }, State::Ticks { srtt_8, rttvar_4 }) => {
                // Four times RTTVAR is its quarters, taken whole.
                (tick * (srtt_8 / 8 + rttvar_4)).max(least)
            }
            _ => self.policy.timeout(rtt),
        }
    }

    /// RFC 6298 §2.2 and §2.3: RTTVAR first, with the old SRTT.
    fn seconds(self, sample: f64) -> State {
        match self.state {
            State::Seconds { srtt, rttvar } => State::Seconds {
                srtt: 0.875 * srtt + 0.125 * sample,
                rttvar: 0.75 * rttvar + 0.25 * (srtt - sample).abs(),
            },
            _ => State::Seconds { srtt: sample, rttvar: sample / 2.0 },
        }
    }

    /// The same gains on scaled integers, every division cut.
    fn whole_ticks(self, sample: u64) -> State {
        match self.state {
            State::Ticks { srtt_8, rttvar_4 } => {
                let old = srtt_8 / 8;
                State::Ticks {
                    srtt_8: (srtt_8 + sample).saturating_sub(old).max(1),
                    rttvar_4: (rttvar_4 + sample.abs_diff(old)).saturating_sub(rttvar_4 / 4).max(1),
                }
            }
            _ => State::Ticks { srtt_8: sample.saturating_mul(8), rttvar_4: sample.saturating_mul(2) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const NS2: RtoPolicy = RtoPolicy::Ticks { tick: Duration::from_millis(100), least: Duration::ZERO };

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

    /// RFC 6298 §2.2: the first sample gives R + 4·R/2; §2.3 by hand for the second: RTTVAR = 0.75·50 + 0.25·100 = 62.5,
    /// SRTT = 0.875·100 + 0.125·200 = 112.5.
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

    /// A steady path of 240 ms has 0.5 s in ns-2, 2.1 round-trip times: two ticks, and the three that rounding leaves.
    #[test]
    fn ns2_on_a_steady_path() {
        for (rtt, settled) in [(240, 500), (40, 300), (149, 300), (150, 500), (500, 800)] {
            let mut estimate = NS2.estimate();
            estimate.on_sample(MS(rtt));
            assert_eq!(estimate.timeout(MS(rtt)), MS(300) * ticks(MS(rtt), MS(100)), "the first sample");
            for _ in 0..40 {
                estimate.on_sample(MS(rtt));
            }
            assert_eq!(estimate.timeout(MS(rtt)), MS(settled), "{rtt}");
            assert_eq!(NS2.timeout(MS(rtt)), MS(settled), "{rtt}");
        }
    }

    /// By hand: 2 ticks first (SRTT 16/8, RTTVAR 4/4), then 6: SRTT 20/8, RTTVAR 4 + 4 - 1 = 7/4; so 2 + 7 ticks.
    #[test]
    fn ns2_by_hand() {
        assert_eq!(after(NS2, &[200]), MS(600));
        assert_eq!(after(NS2, &[200, 600]), MS(900));
        let floored = RtoPolicy::Ticks { tick: MS(100), least: MS(1000) };
        assert_eq!(after(floored, &[200, 600]), MS(1000));
    }
}
