//! RED of ns-2.35: its defaults, and the parameters that it works out from the line
//! (`docs/models/queues.md`).

use tfrc_units::{Duration, Probability, Rate};

use super::{
    AboveMax, Adaptation, Bottom, ByteCount, DropMode, EarlyDrop, Forced, IdleDecay, Measure, Red, Spacing,
    Thresholds, Weight,
};
use crate::queue::{Limit, Marking};

impl Adaptation {
    /// [`Adaptation::paper`] with the lower bound of ns-2.
    #[must_use]
    pub const fn ns2() -> Self {
        Self::Aimd {
            interval: Duration::from_millis(500),
            alpha: 0.01,
            beta: 0.9,
            low: 0.4,
            high: 0.6,
            bottom: Bottom::AutomaticNs2,
            top: Probability::saturating(0.5),
        }
    }
}

impl Red {
    /// The defaults of ns-2.35, all its habits on (docs/ns2-facts.md §4). With `limit_` N the limit
    /// is [`Limit::Ns2RedBytes`] of 500 N, or [`Limit::Packets`] of N once `measure` is set to
    /// packets.
    #[must_use]
    pub const fn ns2(limit: Limit) -> Self {
        Self {
            limit,
            measure: Measure::Bytes,
            mode: DropMode::Byte,
            mean_packet: 500,
            thresholds: Thresholds::Automatic { target_delay: Duration::from_millis(5) },
            max_p: Probability::saturating(0.1),
            weight: Weight::AutomaticNs2,
            above_max: AboveMax::GentleFromStart,
            spacing: Spacing::Wait,
            adaptation: Adaptation::Off,
            marking: Marking::Off,
            byte_count: ByteCount::WholePackets,
            early_drop: EarlyDrop::TwoWaiting,
            forced: Forced::ByProbability,
            idle_decay: IdleDecay::WholePackets,
        }
    }
}

/// `q_weight_` −1 on a line of `packets_per_sec` with this propagation delay.
pub(super) fn weight(packets_per_sec: f64, delay: Duration) -> f64 {
    let rtt = (3.0 * (delay.as_secs_f64() + 1.0 / packets_per_sec)).max(0.1);
    1.0 - libm::exp(-1.0 / (10.0 * rtt * packets_per_sec))
}

/// `bottom_` 0: the lower bound of max_p on a line of this rate.
pub(super) fn bottom(rate: Rate) -> f64 {
    (80_000.0 / rate.bits_per_sec()).min(0.01)
}
