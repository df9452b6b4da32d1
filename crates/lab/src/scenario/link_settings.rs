//! The words of the queue disciplines. `docs/models/queues.md` says what each means and where it comes from.

use tfrc_sim::{
    AboveMax, Activation, Adaptation, Bottom, ByteCount, CoDel, Coupling, DropMode, EarlyDrop, Forced,
    IdleDecay, Limit, Marking, Measure, Pie, Randomness, Red, Rio, RioCurve, Spacing, StepLimit, Thresholds,
    Weight,
};
use tfrc_units::{Duration, Probability, text};

use super::axis::{Axis, Wrong, bytes, number, parameter, quantity, share, time, words};

/// What may be written for a limit.
pub(super) const LIMIT: &str = "packets (\"25p\"), bytes (\"50kB\"), \"20 buffers of 500B\", ns-2's (\"25p ns2\", \"50kB ns2\", \"50kB ns2-red\"), or \"unlimited\"";

/// A limit of a queue.
pub(super) fn limit(written: &str) -> Result<Limit, Wrong> {
    let written = written.trim();
    let (plain, habit) = match written.rsplit_once(' ') {
        Some((plain, habit @ ("ns2" | "ns2-red"))) => (plain.trim(), habit),
        _ => (written, ""),
    };
    let whole = |digits: &str| digits.trim().replace('_', "").parse::<u64>().map_err(|_| Wrong::Value);
    if let Some((count, each)) = plain.split_once("buffers of") {
        return match habit {
            "" => Ok(Limit::Buffers { count: whole(count)?, bytes: bytes(each.trim())? }),
            _ => Err(Wrong::Value),
        };
    }
    let packets = plain.strip_suffix("packets").or_else(|| plain.strip_suffix('p'));
    match (packets, habit) {
        (None, "") if plain == "unlimited" => Ok(Limit::Unlimited),
        (Some(digits), "") => Ok(Limit::Packets(whole(digits)?)),
        (Some(digits), "ns2") => Ok(Limit::Ns2Packets(whole(digits)?)),
        (Some(_), _) => Err(Wrong::Value),
        (None, habit) => {
            let size = text::size(plain).map_err(|_| Wrong::Value)?;
            Ok(match habit {
                "ns2" => Limit::Ns2Bytes(size),
                "ns2-red" => Limit::Ns2RedBytes(size),
                _ => Limit::Bytes(size),
            })
        }
    }
}

fn marking(written: &str) -> Result<Marking, Wrong> {
    Ok(match written {
        "on" => Marking::On,
        "off" => Marking::Off,
        _ => Marking::Below(share(written)?),
    })
}

/// RED as its table begins: the limit is set by the table.
pub(super) const fn red() -> Red {
    Red::new(Limit::Unlimited)
}

/// RIO with the curves of the gTFRC paper's kind: out of profile dropped early, in profile late.
pub(super) const fn rio() -> Rio {
    Rio::two(
        Limit::Unlimited,
        Coupling::Coupled,
        RioCurve { min: 40.0, max: 70.0, max_p: Probability::saturating(0.02) },
        RioCurve { min: 10.0, max: 40.0, max_p: Probability::saturating(0.1) },
    )
}

/// The keys of `red`.
pub(super) const RED: &[Axis<Red>] =
    &[
        Axis {
            key: "revision",
            words: &["paper", "adaptive", "ns2"],
            quantity: None,
            set: |s, written| {
                *s = match written {
                    "paper" => Red::new(s.limit),
                    "adaptive" => Red {
                        thresholds: Thresholds::Automatic { target_delay: Duration::from_millis(5) },
                        weight: Weight::Automatic,
                        adaptation: Adaptation::paper(),
                        ..Red::new(s.limit)
                    },
                    "ns2" => Red::ns2(s.limit),
                    _ => return Err(Wrong::Value),
                };
                Ok(())
            },
        },
        quantity!("limit", [], "a limit, such as 100p", |s, w| s.limit = limit(w)?),
        words!("measure", |s| s.measure, { "packets" => Measure::Packets, "bytes" => Measure::Bytes }),
        words!("mode", |s| s.mode, { "packet" => DropMode::Packet, "byte" => DropMode::Byte }),
        quantity!("mean_packet", [], "a size, such as 500B", |s, w| s.mean_packet = bytes(w)?),
        words!("thresholds", |s| s.thresholds, {
            "fixed" => Thresholds::Fixed { min: 5.0, max: 15.0 },
            "automatic" => Thresholds::Automatic { target_delay: Duration::from_millis(5) },
        }),
        parameter!("min", "a number of packets, such as 5", number, |s| &mut s.thresholds,
        Thresholds::Fixed { min, .. } => *min, needs "thresholds = \"fixed\""),
        parameter!("max", "a number of packets, such as 15", number, |s| &mut s.thresholds,
        Thresholds::Fixed { max, .. } => *max, needs "thresholds = \"fixed\""),
        parameter!("target_delay", "a time, such as 5ms", time, |s| &mut s.thresholds,
        Thresholds::Automatic { target_delay } => *target_delay, needs "thresholds = \"automatic\""),
        quantity!("max_p", [], "a probability, such as 0.1", |s, w| s.max_p = share(w)?),
        quantity!("weight", ["automatic", "automatic-ns2"], "a weight, such as 0.002", |s, w| s.weight =
            match w {
                "automatic" => Weight::Automatic,
                "automatic-ns2" => Weight::AutomaticNs2,
                _ => Weight::Fixed(number(w)?),
            }),
        words!("above_max", |s| s.above_max, {
            "drop" => AboveMax::Drop,
            "gentle" => AboveMax::Gentle,
            "gentle-from-start" => AboveMax::GentleFromStart,
        }),
        words!("spacing", |s| s.spacing, {
            "geometric" => Spacing::Geometric,
            "uniform" => Spacing::Uniform,
            "wait" => Spacing::Wait,
        }),
        words!("adaptation", |s| s.adaptation, {
            "off" => Adaptation::Off,
            "paper" => Adaptation::paper(),
            "ns2" => Adaptation::ns2(),
        }),
        parameter!("adaptation_interval", "a time, such as 500ms", time, |s| &mut s.adaptation,
        Adaptation::Aimd { interval, .. } => *interval, needs "adaptation"),
        parameter!("adaptation_alpha", "a number, such as 0.01", number, |s| &mut s.adaptation,
        Adaptation::Aimd { alpha, .. } => *alpha, needs "adaptation"),
        parameter!("adaptation_beta", "a factor, such as 0.9", number, |s| &mut s.adaptation,
        Adaptation::Aimd { beta, .. } => *beta, needs "adaptation"),
        parameter!("adaptation_low", "a share, such as 0.4", number, |s| &mut s.adaptation,
        Adaptation::Aimd { low, .. } => *low, needs "adaptation"),
        parameter!("adaptation_high", "a share, such as 0.6", number, |s| &mut s.adaptation,
        Adaptation::Aimd { high, .. } => *high, needs "adaptation"),
        parameter!("adaptation_bottom", "a probability, such as 0.01", |w| share(w).map(Bottom::Fixed),
        |s| &mut s.adaptation, Adaptation::Aimd { bottom, .. } => *bottom, needs "adaptation"),
        parameter!("adaptation_top", "a probability, such as 0.5", share, |s| &mut s.adaptation,
        Adaptation::Aimd { top, .. } => *top, needs "adaptation"),
        quantity!("ecn", ["off", "on"], "the probability from which on it drops", |s, w| s.marking =
            marking(w)?),
        words!("byte_count", |s| s.byte_count, {
            "exact" => ByteCount::Exact,
            "whole-packets" => ByteCount::WholePackets,
        }),
        words!("early_drop", |s| s.early_drop, {
            "always" => EarlyDrop::Always,
            "two-waiting" => EarlyDrop::TwoWaiting,
        }),
        words!("forced", |s| s.forced, {
            "drop" => Forced::Drop,
            "by-probability" => Forced::ByProbability,
        }),
        words!("idle_decay", |s| s.idle_decay, {
            "exact" => IdleDecay::Exact,
            "whole-packets" => IdleDecay::WholePackets,
        }),
    ];

/// The keys of `rio`: curves for low, medium and high drop precedence, which are in and out of profile.
pub(super) const RIO: &[Axis<Rio>] = &[
    quantity!("limit", [], "a limit, such as 100p", |s, w| s.limit = limit(w)?),
    words!("coupling", |s| s.coupling, { "coupled" => Coupling::Coupled, "decoupled" => Coupling::Decoupled }),
    quantity!("low_min", [], "a number of packets", |s, w| s.curves[0].min = number(w)?),
    quantity!("low_max", [], "a number of packets", |s, w| s.curves[0].max = number(w)?),
    quantity!("low_max_p", [], "a probability", |s, w| s.curves[0].max_p = share(w)?),
    // Whoever gives two curves means everything out of profile by the second.
    quantity!("medium_min", [], "a number of packets", |s, w| {
        s.curves[1].min = number(w)?;
        s.curves[2].min = s.curves[1].min;
    }),
    quantity!("medium_max", [], "a number of packets", |s, w| {
        s.curves[1].max = number(w)?;
        s.curves[2].max = s.curves[1].max;
    }),
    quantity!("medium_max_p", [], "a probability", |s, w| {
        s.curves[1].max_p = share(w)?;
        s.curves[2].max_p = s.curves[1].max_p;
    }),
    quantity!("high_min", [], "a number of packets", |s, w| s.curves[2].min = number(w)?),
    quantity!("high_max", [], "a number of packets", |s, w| s.curves[2].max = number(w)?),
    quantity!("high_max_p", [], "a probability", |s, w| s.curves[2].max_p = share(w)?),
    quantity!("weight", [], "a weight, such as 0.002", |s, w| s.weight = number(w)?),
    quantity!("mean_packet", [], "a size, such as 1000B", |s, w| s.mean_packet = bytes(w)?),
    quantity!("ecn", ["off", "on"], "the probability from which on it drops", |s, w| s.marking = marking(w)?),
];

/// The keys of `pie`.
pub(super) const PIE: &[Axis<Pie>] = &[
    Axis {
        key: "revision",
        words: &["basic", "enhanced"],
        quantity: None,
        set: |s, written| {
            *s = match written {
                "basic" => Pie::new(s.limit),
                "enhanced" => Pie::enhanced(s.limit),
                _ => return Err(Wrong::Value),
            };
            Ok(())
        },
    },
    quantity!("limit", [], "a limit, such as 100p", |s, w| s.limit = limit(w)?),
    quantity!("target", [], "a time, such as 15ms", |s, w| s.target = time(w)?),
    quantity!("update", [], "a time, such as 15ms", |s, w| s.update = time(w)?),
    quantity!("max_burst", [], "a time, such as 150ms", |s, w| s.max_burst = time(w)?),
    quantity!("alpha", [], "a number, such as 0.125", |s, w| s.alpha = number(w)?),
    quantity!("beta", [], "a number, such as 1.25", |s, w| s.beta = number(w)?),
    quantity!("mean_packet", [], "a size, such as 1000B", |s, w| s.mean_packet = bytes(w)?),
    quantity!("ecn", ["off", "on"], "the probability from which on it drops", |s, w| s.marking = marking(w)?),
    words!("activation", |s| s.activation, {
        "always" => Activation::Always,
        "third-full" => Activation::ThirdFull,
    }),
    words!("randomness", |s| s.randomness, {
        "independent" => Randomness::Independent,
        "bounded" => Randomness::Bounded,
    }),
    words!("step", |s| s.step, { "uncapped" => StepLimit::Uncapped, "capped" => StepLimit::Capped }),
];

/// The keys of `codel`.
pub(super) const CODEL: &[Axis<CoDel>] = &[
    quantity!("limit", [], "a limit, such as 100p", |s, w| s.limit = limit(w)?),
    quantity!("target", [], "a time, such as 5ms", |s, w| s.target = time(w)?),
    quantity!("interval", [], "a time, such as 100ms", |s, w| s.interval = time(w)?),
    quantity!("mtu", [], "a size, such as 1500B", |s, w| s.mtu = bytes(w)?),
    words!("ecn", |s| s.marking, { "off" => Marking::Off, "on" => Marking::On }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        for (written, expected) in [
            ("25p", Some(Limit::Packets(25))),
            ("10 packets", Some(Limit::Packets(10))),
            ("50kB", Some(Limit::Bytes(50_000))),
            ("25p ns2", Some(Limit::Ns2Packets(25))),
            ("50kB ns2", Some(Limit::Ns2Bytes(50_000))),
            ("50kB ns2-red", Some(Limit::Ns2RedBytes(50_000))),
            ("20 buffers of 500B", Some(Limit::Buffers { count: 20, bytes: 500 })),
            ("unlimited", Some(Limit::Unlimited)),
            ("2.5p", None),
            ("25p ns2-red", None),
            ("unlimited ns2", None),
        ] {
            assert_eq!(limit(written).ok(), expected, "{written}");
        }
    }
}
