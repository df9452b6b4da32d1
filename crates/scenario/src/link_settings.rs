//! Keys of the queue disciplines' tables. The types have the words and their meaning;
//! `docs/models/queues.md` has the sources.

use schemars::JsonSchema;
use serde::Deserialize;
use tfrc_sim::queue::{
    Adaptation, Bottom, CoDel, Coupling, FqCoDel, Limit, Marking, Pie, Red, Rio, RioCurve, Thresholds, Weight,
};
use tfrc_units::{Duration, Ecn, Probability};

use super::table::{Keys, Tabular, fields};
use super::written::{PacketBytes, QueueLimit};

/// Sets of settings of RED to begin with.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RedRevision {
    /// The paper of 1993.
    Paper,
    /// Adaptive RED: thresholds and weight by the line, max_p by the load.
    Adaptive,
    /// ns-2.35 as it comes.
    Ns2,
}

/// Adaptation of max_p to the load.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RedAdaptation {
    /// None.
    Off,
    /// The values of the Adaptive RED paper.
    Paper,
    /// The values of ns-2.35.
    Ns2,
}

/// Sets of settings of PIE to begin with.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum PieRevision {
    /// The basic scheme (RFC 8033 §4).
    Basic,
    /// With the enhancements (RFC 8033 §5).
    Enhanced,
}

/// Use of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Switch {
    /// None.
    Off,
    /// Marks in place of drops.
    On,
}

impl From<Switch> for Marking {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Off => Self::Off,
            Switch::On => Self::On,
        }
    }
}

impl From<Switch> for Ecn {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::Off => Self::NotEct,
            Switch::On => Self::Ect0,
        }
    }
}

/// The queueing delay that Adaptive RED aims at.
const TARGET: Duration = Duration::from_millis(5);

impl Tabular for Red {
    const NAME: &'static str = "Red";

    fn start() -> Self {
        Self::new(Limit::Unlimited)
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        match keys.value("revision", "") {
            Some(RedRevision::Paper) => *self = Self::new(self.limit),
            Some(RedRevision::Adaptive) => {
                *self = Self {
                    thresholds: Thresholds::Automatic { target_delay: TARGET },
                    weight: Weight::Automatic,
                    adaptation: Adaptation::paper(),
                    ..Self::new(self.limit)
                };
            }
            Some(RedRevision::Ns2) => *self = Self::ns2(self.limit),
            None => {}
        }
        keys.written_as::<QueueLimit, _>("limit", "", &mut self.limit);
        fields!(keys, self, [measure, mode, max_p, weight, above_max, spacing]);
        fields!(keys, self, [byte_count, early_drop, forced, idle_decay]);
        keys.written_as::<PacketBytes, _>("mean_packet", "", &mut self.mean_packet);
        let all = [Thresholds::Fixed { min: 5.0, max: 15.0 }, Thresholds::Automatic { target_delay: TARGET }];
        self.thresholds = keys.choice("thresholds", all).unwrap_or(self.thresholds);
        match &mut self.thresholds {
            Thresholds::Fixed { min, max } => {
                keys.number("min", "a number of packets, such as 5", min);
                keys.number("max", "a number of packets, such as 15", max);
            }
            Thresholds::Automatic { target_delay } => keys.key("target_delay", target_delay),
        }
        match keys.value("adaptation", "") {
            Some(RedAdaptation::Off) => self.adaptation = Adaptation::Off,
            Some(RedAdaptation::Paper) => self.adaptation = Adaptation::paper(),
            Some(RedAdaptation::Ns2) => self.adaptation = Adaptation::ns2(),
            None => {}
        }
        if let Adaptation::Aimd { interval, alpha, beta, low, high, bottom, top } = &mut self.adaptation {
            keys.key("adaptation_interval", interval);
            keys.number("adaptation_alpha", "a number, such as 0.01", alpha);
            keys.number("adaptation_beta", "a factor, such as 0.9", beta);
            keys.number("adaptation_low", "a share, such as 0.4", low);
            keys.number("adaptation_high", "a share, such as 0.6", high);
            if let Some(least) = keys.value("adaptation_bottom", "") {
                *bottom = Bottom::Fixed(least);
            }
            keys.key("adaptation_top", top);
        }
        keys.key("ecn", &mut self.marking);
    }
}

/// Curves for low, medium and high drop precedence, which are in and out of profile.
impl Tabular for Rio {
    const NAME: &'static str = "Rio";

    /// Curves of the gTFRC paper's kind: out of profile dropped early, in profile late.
    fn start() -> Self {
        Self::two(
            Limit::Unlimited,
            Coupling::Coupled,
            RioCurve { min: 40.0, max: 70.0, max_p: Probability::saturating(0.02) },
            RioCurve { min: 10.0, max: 40.0, max_p: Probability::saturating(0.1) },
        )
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        keys.written_as::<QueueLimit, _>("limit", "", &mut self.limit);
        fields!(keys, self, [coupling]);
        let [low, medium, high] = &mut self.curves;
        curve(["low_min", "low_max", "low_max_p"], &mut [low], keys);
        // Two curves given mean everything out of profile by the second.
        curve(["medium_min", "medium_max", "medium_max_p"], &mut [medium, high], keys);
        curve(["high_min", "high_max", "high_max_p"], &mut [high], keys);
        keys.number("weight", "a weight, such as 0.002", &mut self.weight);
        keys.written_as::<PacketBytes, _>("mean_packet", "", &mut self.mean_packet);
        keys.key("ecn", &mut self.marking);
    }
}

/// The keys of a curve, which set each of `curves`.
fn curve([min, max, max_p]: [&'static str; 3], curves: &mut [&mut RioCurve], keys: &mut Keys<'_>) {
    let [least, most] = [min, max].map(|key| keys.value(key, "a number of packets"));
    let probability = keys.value(max_p, "");
    for curve in curves {
        curve.min = least.unwrap_or(curve.min);
        curve.max = most.unwrap_or(curve.max);
        curve.max_p = probability.unwrap_or(curve.max_p);
    }
}

impl Tabular for Pie {
    const NAME: &'static str = "Pie";

    fn start() -> Self {
        Self::new(Limit::Unlimited)
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        match keys.value("revision", "") {
            Some(PieRevision::Basic) => *self = Self::new(self.limit),
            Some(PieRevision::Enhanced) => *self = Self::enhanced(self.limit),
            None => {}
        }
        keys.written_as::<QueueLimit, _>("limit", "", &mut self.limit);
        fields!(keys, self, [target, update, max_burst, activation, randomness, step]);
        keys.number("alpha", "a number, such as 0.125", &mut self.alpha);
        keys.number("beta", "a number, such as 1.25", &mut self.beta);
        keys.written_as::<PacketBytes, _>("mean_packet", "", &mut self.mean_packet);
        keys.key("ecn", &mut self.marking);
    }
}

impl Tabular for CoDel {
    const NAME: &'static str = "CoDel";

    fn start() -> Self {
        Self::new(Limit::Unlimited)
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        keys.written_as::<QueueLimit, _>("limit", "", &mut self.limit);
        fields!(keys, self, [target, interval]);
        keys.written_as::<PacketBytes, _>("mtu", "", &mut self.mtu);
        keys.written_as::<Switch, _>("ecn", "", &mut self.marking);
    }
}

impl Tabular for FqCoDel {
    const NAME: &'static str = "FqCoDel";

    fn start() -> Self {
        Self::new(Limit::Unlimited)
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        keys.written_as::<QueueLimit, _>("limit", "", &mut self.limit);
        keys.number("queues", "a number of queues from 1 to 65536, such as 1024", &mut self.queues);
        keys.written_as::<PacketBytes, _>("quantum", "", &mut self.quantum);
        fields!(keys, self, [target, interval]);
        keys.written_as::<PacketBytes, _>("mtu", "", &mut self.mtu);
        keys.written_as::<Switch, _>("ecn", "", &mut self.marking);
    }
}
