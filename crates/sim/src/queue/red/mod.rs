//! Random early detection: Floyd and Jacobson 1993, gentle (Floyd 2000), adaptive (Floyd, Gummadi,
//! Shenker 2001), with ECN (RFC 3168 §7). Habits of ns-2 are choices too: `ns2.rs` has them, and
//! none is on in [`Red::new`].

mod ns2;
mod process;

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};
use tfrc_units::{Duration, Probability, Rate};

use super::{Limit, Marking};
pub(crate) use process::RedProcess;

/// Random early detection. Thresholds are in packets; a queue measured in bytes multiplies them by
/// `mean_packet`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Red {
    /// How much fits at all.
    pub limit: Limit,
    /// Unit of the queue length that is averaged.
    pub measure: Measure,
    /// Role of the packet size in the drop probability.
    pub mode: DropMode,
    /// Bytes of a typical packet: for the decay over idle times, for bytes as packets, for
    /// automatic parameters.
    pub mean_packet: u32,
    /// Where early drops begin and where they become frequent.
    pub thresholds: Thresholds,
    /// Drop probability where the average meets the upper threshold.
    pub max_p: Probability,
    /// Weight of a new sample in the average.
    pub weight: Weight,
    /// Drop probability above the upper threshold.
    pub above_max: AboveMax,
    /// How drops are spread over packets.
    pub spacing: Spacing,
    /// Adaptation of max_p to the load.
    pub adaptation: Adaptation,
    /// Treatment of ECN-capable packets.
    pub marking: Marking,
    /// How bytes since the last drop count as packets, in byte mode.
    pub byte_count: ByteCount,
    /// How short a queue may be for early drops.
    pub early_drop: EarlyDrop,
    /// Drops where the average gives a probability of 1: with or without regard to the spacing.
    pub forced: Forced,
    /// Decay of the average while the line is idle.
    pub idle_decay: IdleDecay,
}

/// Units of the queue length that is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Measure {
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
}

/// Role of the packet size in the drop probability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum DropMode {
    /// Byte mode: the probability is in proportion to the packet's size, and the spacing counts
    /// bytes.
    Byte,
    /// Packet mode: all packets are alike.
    Packet,
}

/// The thresholds of the average queue, in packets.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Thresholds {
    /// The lower one is half of what `target_delay` holds at the line's first rate, at least 5
    /// packets; the upper one three times that (Adaptive RED; in ns-2 `thresh_` 0 with
    /// `targetdelay_`, 5 ms).
    Automatic {
        /// Queueing delay to aim at.
        target_delay: Duration,
    },
    /// The given values.
    Fixed {
        /// Below it nothing is dropped early.
        min: f64,
        /// At it the probability is max_p.
        max: f64,
    },
}

/// The weight of a new sample in the average, 0 < w ≤ 1.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Weight {
    /// 1 − exp(−1/C) with C the packets per second of the line at its first rate (Adaptive RED):
    /// about one second.
    Automatic,
    /// 1 − exp(−1/(10·R·C)) with R = max(100 ms, 3·(propagation + 1/C)): ns-2's `q_weight_` −1.
    AutomaticNs2,
    /// A weight, such as 0.002: that of the paper.
    #[cfg_attr(feature = "schema", serde(untagged))]
    Fixed(f64),
}

/// The drop probability above the upper threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum AboveMax {
    /// Probability 1.
    Drop,
    /// From max_p to 1, where the average is twice the threshold.
    Gentle,
    /// As `Gentle`, with the max_p of the start, which adaptation leaves behind
    /// (docs/ns2-facts.md §4: coefficients computed once at reset).
    GentleFromStart,
}

/// How drops are spread over packets, p being the probability by the average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Spacing {
    /// Each packet on its own: geometric intervals (method 1 of the paper).
    Geometric,
    /// Intervals uniform over 1 … 1/p − 1 packets (method 2, the paper's choice; its pseudocode
    /// counts the packet itself, hence the − 1).
    Uniform,
    /// Intervals uniform over 1/p … 2/p − 1 packets: none right after a drop (ns-2's `wait_`, its
    /// default). The first packet above the lower threshold counts as one and passes.
    Wait,
}

/// Adaptation of max_p to the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Adaptation {
    /// Additive increase, multiplicative decrease towards a band between the thresholds (Adaptive
    /// RED). Made at the first arrival after the interval: the average does not change without
    /// arrivals.
    Aimd {
        /// Time between changes, 0.5 s in the paper.
        interval: Duration,
        /// Added when the average is above the band, a quarter of max_p at most; 0.01.
        alpha: f64,
        /// Factor when the average is below the band, 0.9.
        beta: f64,
        /// The band begins at this share of the way from the lower to the upper threshold, 0.4.
        low: f64,
        /// And ends at this one, 0.6.
        high: f64,
        /// No decrease at or below this.
        bottom: Bottom,
        /// No increase at or above this, 0.5.
        top: Probability,
    },
    /// max_p stays.
    Off,
}

/// The lower bound of an adaptive max_p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bottom {
    /// 0.01, or 80,000 divided by the line's first rate in bit/s if that is less (ns-2's `bottom_`
    /// 0).
    AutomaticNs2,
    /// As given, 0.01 in the paper.
    Fixed(Probability),
}

/// How bytes since the last drop count as packets, in byte mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ByteCount {
    /// Exactly.
    Exact,
    /// In whole mean packets, cut (docs/ns2-facts.md §4: integer division).
    WholePackets,
}

/// How short a queue may be for early drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum EarlyDrop {
    /// Any, an empty one included: only the average counts.
    Always,
    /// More than one packet (more than one byte, if measured in bytes) must wait (docs/ns2-facts.md
    /// §4).
    TwoWaiting,
}

/// Treatment of packets where the average gives a probability of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Forced {
    /// The spacing applies and, in byte mode, may let a packet pass; ECN-capable ones are treated
    /// by the marking rule (docs/ns2-facts.md §4: the forced branch is skipped with `use_mark_p_`).
    ByProbability,
    /// Each packet is dropped, ECN-capable or not (RFC 3168 §7).
    Drop,
}

/// Decay of the average while the line is idle, in packets of mean size that meet an empty queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum IdleDecay {
    /// As many as the line could have sent, with their fraction (the paper's m).
    Exact,
    /// As many whole ones, and the arriving packet besides (ns-2.35:
    /// `testdata/ns2-queues/average.csv`).
    WholePackets,
}

impl Adaptation {
    /// The values of the Adaptive RED paper.
    #[must_use]
    pub const fn paper() -> Self {
        Self::Aimd {
            interval: Duration::from_millis(500),
            alpha: 0.01,
            beta: 0.9,
            low: 0.4,
            high: 0.6,
            bottom: Bottom::Fixed(Probability::saturating(0.01)),
            top: Probability::saturating(0.5),
        }
    }
}

impl Red {
    /// The 1993 paper in packets, with max_p 0.1 and the gentle slope its authors recommended
    /// later: thresholds 5 and 15, weight 0.002, mean packet 500 bytes, no adaptation, no ECN.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self {
            limit,
            measure: Measure::Packets,
            mode: DropMode::Packet,
            mean_packet: 500,
            thresholds: Thresholds::Fixed { min: 5.0, max: 15.0 },
            max_p: Probability::saturating(0.1),
            weight: Weight::Fixed(0.002),
            above_max: AboveMax::Gentle,
            spacing: Spacing::Uniform,
            adaptation: Adaptation::Off,
            marking: Marking::Off,
            byte_count: ByteCount::Exact,
            early_drop: EarlyDrop::Always,
            forced: Forced::Drop,
            idle_decay: IdleDecay::Exact,
        }
    }

    pub(crate) fn fault(&self, rate: Rate) -> Option<&'static str> {
        if self.mean_packet == 0 {
            return Some("RED's mean packet must have at least one byte");
        }
        if let Thresholds::Fixed { min, max } = self.thresholds
            && !(min >= 0.0 && max > min && max.is_finite())
        {
            return Some("RED's upper threshold must be above the lower one, and that not negative");
        }
        match self.weight {
            Weight::Fixed(w) if !(w > 0.0 && w <= 1.0) => {
                return Some("RED's weight must be above 0 and at most 1");
            }
            _ => {}
        }
        let automatic = matches!(self.thresholds, Thresholds::Automatic { .. })
            || !matches!(self.weight, Weight::Fixed(_))
            || matches!(self.adaptation, Adaptation::Aimd { bottom: Bottom::AutomaticNs2, .. });
        if automatic && (rate.is_zero() || rate.is_infinite()) {
            return Some("RED's automatic parameters need a line with a rate, neither zero nor infinite");
        }
        if let Adaptation::Aimd { alpha, beta, low, high, .. } = self.adaptation
            && !(alpha >= 0.0 && beta > 0.0 && beta <= 1.0 && low >= 0.0 && high >= low && high <= 1.0)
        {
            return Some("RED's adaptation needs alpha ≥ 0, 0 < beta ≤ 1 and a band inside 0..=1");
        }
        None
    }
}

#[cfg(test)]
mod tests;
