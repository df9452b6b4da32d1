//! The words of the TCPs: every setting of [`tfrc_sim::tcp::Settings`] by its name. `docs/models/tcp.md` says what each
//! means and where it comes from.

use tfrc_sim::tcp::study::{
    Choices, Duplicates, EcnAtOne, FastConvergence, Increase, InitialWindow, LimitedTransmit, LostSyn,
    OptionBytes, PartialAck, PartialAckTimer, Pipe, Precision, ReceiveBuffer, RecoveryExit, Repeat,
    RttArithmetic, SackAtTimeout, Shrink, TimestampBackoff,
};
use tfrc_sim::tcp::{Acks, EcnMode, Settings, SynMode, Timestamps, Variant};

use super::axis::{Axis, Wrong, bytes, quantity, time, whole, words};

/// The algorithm's choices, to deviate.
const fn study(settings: &mut Settings) -> &mut Choices {
    settings.algorithm.choices_mut()
}

/// The keys of a flow's `tcp` table, in the order in which they are taken: variant and set first.
pub(super) const AXES: &[Axis<Settings>] = &[
    Axis {
        key: "variant",
        words: &["sack", "newreno", "reno", "tahoe", "cubic"],
        quantity: None,
        set: |s, written| {
            let variant = match written {
                "sack" => Variant::Sack,
                "newreno" => Variant::NewReno,
                "reno" => Variant::Reno,
                "tahoe" => Variant::Tahoe,
                "cubic" => Variant::Cubic,
                _ => return Err(Wrong::Value),
            };
            *s = Settings { segment: s.segment, header: s.header, ..Settings::rfc(variant) };
            Ok(())
        },
    },
    Axis {
        key: "settings",
        words: &["rfc", "ns2"],
        quantity: None,
        set: |s, written| {
            let base = match written {
                "rfc" => Settings::rfc(s.variant),
                "ns2" => Settings::ns2(s.variant),
                _ => return Err(Wrong::Value),
            };
            *s = base;
            Ok(())
        },
    },
    quantity!("segment", [], "a size, such as 1460B", |s, w| s.segment = bytes(w)?.max(1)),
    quantity!("header", [], "a size, such as 40B", |s, w| s.header = bytes(w)?),
    words!("option_bytes", |s| study(s).option_bytes, {
        "counted" => OptionBytes::Counted,
        "ignored" => OptionBytes::Ignored,
    }),
    quantity!("window", [], "a number of segments", |s, w| s.window = whole(w)?),
    words!("receive_buffer", |s| study(s).receive_buffer, {
        "tuned" => ReceiveBuffer::Tuned,
        "fixed" => ReceiveBuffer::Fixed,
    }),
    quantity!(
        "initial_window",
        ["rfc3390"],
        "a number of segments",
        |s, w| study(s).initial_window = match w {
            "rfc3390" => InitialWindow::Rfc3390,
            _ => InitialWindow::Segments(whole(w)?),
        }
    ),
    quantity!(
        "increase",
        ["per-ack"],
        "the most segments of one acknowledgement that count, such as 1",
        |s, w| {
            study(s).increase = match w {
                "per-ack" => Increase::PerAck,
                _ => Increase::Counted { limit: whole(w)? },
            }
        }
    ),
    words!("fast_convergence", |s| study(s).fast_convergence, {
        "on" => FastConvergence::On,
        "off" => FastConvergence::Off,
    }),
    quantity!("dup_threshold", [], "a number of acknowledgements, such as 3", |s, w| study(s)
        .dup_threshold =
        whole(w)?),
    words!("duplicates", |s| study(s).duplicates, {
        "all" => Duplicates::All,
        "newly-reporting" => Duplicates::NewlyReporting,
    }),
    words!("limited_transmit", |s| study(s).limited_transmit, {
        "on" => LimitedTransmit::On,
        "off" => LimitedTransmit::Off,
        "also-old" => LimitedTransmit::AlsoOld,
    }),
    words!("shrink", |s| study(s).shrink, {
        "in-use" => Shrink::InUse,
        "flight" => Shrink::Flight,
        "window" => Shrink::Window,
    }),
    words!("precision", |s| study(s).precision, {
        "fraction" => Precision::Fraction,
        "whole" => Precision::Whole,
        "whole-threshold" => Precision::WholeThreshold,
    }),
    words!("repeat", |s| study(s).repeat, {
        "avoided" => Repeat::Avoided,
        "allowed" => Repeat::Allowed,
        "after-recovery" => Repeat::AfterRecovery,
    }),
    words!("partial_ack", |s| study(s).partial_ack, {
        "deflate" => PartialAck::Deflate,
        "collapse" => PartialAck::Collapse,
    }),
    words!("partial_ack_timer", |s| study(s).partial_ack_timer, {
        "first" => PartialAckTimer::First,
        "each" => PartialAckTimer::Each,
    }),
    words!("recovery_exit", |s| study(s).recovery_exit, {
        "outstanding" => RecoveryExit::Outstanding,
        "threshold" => RecoveryExit::Threshold,
        "grown" => RecoveryExit::Grown,
    }),
    words!("pipe", |s| study(s).pipe, { "scoreboard" => Pipe::Scoreboard, "counter" => Pipe::Counter }),
    words!("sack_at_timeout", |s| study(s).sack_at_timeout, {
        "expunge" => SackAtTimeout::Expunge,
        "keep" => SackAtTimeout::Keep,
    }),
    quantity!("max_burst", ["unlimited"], "a number of segments", |s, w| study(s).max_burst = match w {
        "unlimited" => None,
        _ => Some(whole(w)?),
    }),
    words!("ecn", |s| s.ecn, { "off" => EcnMode::Off, "on" => EcnMode::On }),
    words!("ecn_at_one", |s| study(s).ecn_at_one, { "wait" => EcnAtOne::Wait, "back-off" => EcnAtOne::BackOff }),
    words!("timestamps", |s| s.timestamps, { "off" => Timestamps::Off, "on" => Timestamps::On }),
    words!("timestamp_backoff", |s| study(s).timestamp_backoff, {
        "any-sample" => TimestampBackoff::AnySample,
        "new-data" => TimestampBackoff::NewData,
    }),
    words!("syn", |s| s.syn, { "off" => SynMode::Off, "on" => SynMode::On }),
    words!("lost_syn", |s| study(s).lost_syn, {
        "forgotten" => LostSyn::Forgotten,
        "as-segment" => LostSyn::AsSegment,
    }),
    quantity!("acks", ["each"], "the longest delay of an acknowledgement, such as 200ms", |s, w| s.acks =
        match w {
            "each" => Acks::Each,
            _ => Acks::Delayed(time(w)?),
        }),
    quantity!("initial_rto", [], "a time, such as 1s", |s, w| s.initial_rto = time(w)?),
    quantity!("min_rto", [], "a time, such as 200ms", |s, w| s.min_rto = time(w)?),
    quantity!("max_rto", [], "a time, such as 60s", |s, w| s.max_rto = time(w)?),
    quantity!("tick", [], "a time, such as 10ms", |s, w| s.tick = time(w)?),
    words!("rtt_arithmetic", |s| study(s).rtt_arithmetic, {
        "exact" => RttArithmetic::Exact,
        "fixed-point" => RttArithmetic::FixedPoint,
        "whole-ticks" => RttArithmetic::WholeTicks,
    }),
];

/// The name of a variant.
pub(crate) const fn name(variant: Variant) -> &'static str {
    match variant {
        Variant::Cubic => "tcp-cubic",
        Variant::NewReno => "tcp-newreno",
        Variant::Reno => "tcp-reno",
        Variant::Sack => "tcp-sack",
        Variant::Tahoe => "tcp-tahoe",
        _ => "tcp",
    }
}
