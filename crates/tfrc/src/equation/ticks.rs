//! The retransmission timeout of ns-2.35 (`tcp_tick_`, `minrto_`): whole ticks, every division cut.

use tfrc_units::{Duration, f64_from_u64, u64_from_f64};

/// `rtt` in whole ticks, rounded, at least one.
pub(crate) fn ticks(rtt: Duration, tick: Duration) -> u64 {
    u64_from_f64(f64_from_u64(rtt.as_nanos()) / f64_from_u64(tick.as_nanos()) + 0.5).max(1)
}

/// The timeout in ticks on a path whose round-trip time is always `rtt` ticks.
pub(crate) fn steady(rtt: u64) -> u64 {
    rtt.saturating_add(rtt.saturating_mul(2).min(3))
}

/// SRTT in eighths of a tick, RTTVAR in quarters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scaled {
    srtt_8: u64,
    rttvar_4: u64,
}

impl Scaled {
    /// The estimate after the first sample.
    pub(crate) const fn first(sample: u64) -> Self {
        Self { srtt_8: sample.saturating_mul(8), rttvar_4: sample.saturating_mul(2) }
    }

    /// The estimate after another sample, with the gains of RFC 6298 §2.3.
    pub(crate) fn after(self, sample: u64) -> Self {
        let Self { srtt_8, rttvar_4 } = self;
        let old = srtt_8 / 8;
        Self {
            srtt_8: (srtt_8 + sample).saturating_sub(old).max(1),
            rttvar_4: (rttvar_4 + sample.abs_diff(old)).saturating_sub(rttvar_4 / 4).max(1),
        }
    }

    /// The timeout in ticks: four times RTTVAR is its quarters, taken whole.
    pub(crate) const fn timeout(self) -> u64 {
        self.srtt_8 / 8 + self.rttvar_4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equation::RtoPolicy;

    const MS: fn(u64) -> Duration = Duration::from_millis;
    const NS2: RtoPolicy = RtoPolicy::Ticks { tick: Duration::from_millis(100), least: Duration::ZERO };

    fn after(policy: RtoPolicy, samples: &[u64]) -> Duration {
        let mut estimate = policy.estimate();
        for ms in samples {
            estimate.on_sample(MS(*ms));
        }
        estimate.timeout(MS(100))
    }

    /// A steady path of 240 ms has 0.5 s in ns-2, 2.1 round-trip times: two ticks, and the three
    /// that rounding leaves.
    #[test]
    fn a_steady_path() {
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

    /// By hand: 2 ticks first (SRTT 16/8, RTTVAR 4/4), then 6: SRTT 20/8, RTTVAR 4 + 4 - 1 = 7/4;
    /// so 2 + 7 ticks.
    #[test]
    fn by_hand() {
        assert_eq!(after(NS2, &[200]), MS(600));
        assert_eq!(after(NS2, &[200, 600]), MS(900));
        let floored = RtoPolicy::Ticks { tick: MS(100), least: MS(1000) };
        assert_eq!(after(floored, &[200, 600]), MS(1000));
    }
}
