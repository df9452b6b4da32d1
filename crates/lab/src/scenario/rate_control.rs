//! The words of the rate control: every axis of [`tfrc::Settings`] by its name, with what may be written for it.
//!
//! `docs/models/tfrc.md` says what each means and where it comes from.

use tfrc::Settings;
use tfrc::config::{BurstCredit, MinInterval, NominalSegment, PacketSize, RateCap, SegmentSize, TfrcSp};
use tfrc::equation::{EquationForm, HighLoss, RtoPolicy};
use tfrc::guard::{AfterStop, BreakerLimits, CircuitBreaker, MinimumRate, StopRule};
use tfrc::study::{
    AfterExpiration, Choices, EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses, Growth,
    HistoryDiscounting, HistoryWindow, InitialRate, LossEventTiming, NoFeedbackCut, OpenInterval, RateFloor,
    RateStep, ReceiveLimit, ReceiveRateWindow, Reschedule, Revision, ShortIntervals, SizeCorrection,
    SlowStart, Spacing, Weights,
};
use tfrc_units::{Duration, Rate};

use super::axis::{self, Wrong, bytes, count, long, number, parameter, quantity, rate, time, words};
pub use super::axis::{Axis, Refusal};

/// The size to compare with unless another is given.
const REFERENCE_BYTES: u32 = 1460;

const fn compared(correction: SizeCorrection) -> PacketSize {
    PacketSize::Reference { segment: REFERENCE_BYTES, correction }
}

/// A whole revision, but for what belongs to the flow: TFRC-SP keeps its sizes and takes the revision's short intervals.
fn revise(settings: &mut Settings, revision: Revision) {
    let packet_size = match settings.packet_size {
        PacketSize::TfrcSp(sp) => {
            let short_intervals = revision.tfrc_sp().short_intervals;
            PacketSize::TfrcSp(TfrcSp { short_intervals, ..sp })
        }
        other => other,
    };
    *settings = Settings {
        segment: settings.segment,
        packet_size,
        guarantee: settings.guarantee,
        ..Settings::for_revision(revision)
    };
}

/// The algorithm's choices, to deviate.
const fn study(settings: &mut Settings) -> &mut Choices {
    settings.algorithm.choices_mut()
}

const BREAKER: fn() -> BreakerLimits = BreakerLimits::default;

/// A stop rule that takes its rates from the keys that follow; validation refuses it without them.
fn stop(after: AfterStop) -> StopRule {
    StopRule::Below(MinimumRate { after, ..MinimumRate::new(Rate::ZERO, 0.0) })
}

/// A table of TFRC-SP as it is there; the default of RFC 4828 if none is.
fn sp(settings: &Settings) -> TfrcSp {
    match settings.packet_size {
        PacketSize::TfrcSp(sp) => sp,
        _ => TfrcSp::default(),
    }
}

/// All keys, in the order in which they are taken: the revision first, a parameter after what it belongs to.
pub const AXES: &[Axis] = &[
    Axis {
        key: "revision",
        words: &["rfc5348", "rfc3448", "sigcomm2000", "ns2"],
        quantity: None,
        set: |s, written| {
            revise(s, Revision::from_name(written).ok_or(Wrong::Value)?);
            Ok(())
        },
    },
    quantity!("lost_after", [], "a number of packets from 1 to 8", |s, w| study(s).lost_after = count(w)?),
    words!("loss_event_timing", |s| study(s).loss_event_timing, {
        "arrival-time" => LossEventTiming::ArrivalTime,
        "sender-time" => LossEventTiming::SenderTime,
        "sender-time-and-round" => LossEventTiming::SenderTimeAndRound,
    }),
    words!("estimator", |s| study(s).estimator, {
        "average-loss-interval" => Estimator::default(),
        "ewma-loss-interval" => Estimator::EwmaLossInterval { weight: 0.75, open: OpenInterval::WhenLonger },
        "dynamic-history-window" => Estimator::DynamicHistoryWindow { events: 4, window: HistoryWindow::ByRate },
    }),
    parameter!("intervals", "a number of loss intervals from 1 to 32", count,
        |s| &mut study(s).estimator, Estimator::AverageLossInterval { intervals, .. } => *intervals,
        needs "estimator = \"average-loss-interval\""),
    Axis {
        key: "weights",
        words: &["decreasing", "constant"],
        quantity: None,
        set: |s, written| {
            let Estimator::AverageLossInterval { weights, .. } = &mut study(s).estimator else {
                return Err(Wrong::Idle("estimator = \"average-loss-interval\""));
            };
            *weights = match written {
                "decreasing" => Weights::Decreasing,
                "constant" => Weights::Constant,
                _ => return Err(Wrong::Value),
            };
            Ok(())
        },
    },
    Axis {
        key: "open_interval",
        words: &["when-longer", "when-longer-less-first", "never", "always"],
        quantity: None,
        set: |s, written| {
            let (Estimator::AverageLossInterval { open, .. } | Estimator::EwmaLossInterval { open, .. }) =
                &mut study(s).estimator
            else {
                return Err(Wrong::Idle("an estimator of loss intervals"));
            };
            *open = match written {
                "when-longer" => OpenInterval::WhenLonger,
                "when-longer-less-first" => OpenInterval::WhenLongerLessFirst,
                "never" => OpenInterval::Never,
                "always" => OpenInterval::Always,
                _ => return Err(Wrong::Value),
            };
            Ok(())
        },
    },
    parameter!("ewma_weight", "a weight from 0 to below 1, such as 0.75", number,
        |s| &mut study(s).estimator, Estimator::EwmaLossInterval { weight, .. } => *weight,
        needs "estimator = \"ewma-loss-interval\""),
    parameter!("window_events", "a number of loss events from 1 to 32", count,
        |s| &mut study(s).estimator, Estimator::DynamicHistoryWindow { events, .. } => *events,
        needs "estimator = \"dynamic-history-window\""),
    Axis {
        key: "window",
        words: &["by-rate", "by-events"],
        quantity: None,
        set: |s, written| {
            let Estimator::DynamicHistoryWindow { window, .. } = &mut study(s).estimator else {
                return Err(Wrong::Idle("estimator = \"dynamic-history-window\""));
            };
            *window = match written {
                "by-rate" => HistoryWindow::ByRate,
                "by-events" => HistoryWindow::ByEvents,
                _ => return Err(Wrong::Value),
            };
            Ok(())
        },
    },
    quantity!("discounting", ["off"], "a floor above 0 and at most 1, such as 0.25", |s, w| {
        study(s).discounting =
            if w == "off" { HistoryDiscounting::Off } else { HistoryDiscounting::Floor(number(w)?) };
    }),
    words!("first_interval", |s| study(s).first_interval, {
        "at-maximum-receive-rate" => FirstInterval::AtMaximumReceiveRate,
        "at-receive-rate" => FirstInterval::AtReceiveRate,
        "at-half-receive-rate" => FirstInterval::AtHalfReceiveRate,
    }),
    words!("feedback", |s| study(s).feedback, {
        "timer" => FeedbackTrigger::Timer,
        "arrival" => FeedbackTrigger::Arrival,
    }),
    words!("receive_rate", |s| study(s).receive_rate, {
        "round-trip" => ReceiveRateWindow::RoundTrip,
        "since-report" => ReceiveRateWindow::SinceReport,
    }),
    words!("empty_report", |s| study(s).empty_report, {
        "never" => EmptyReport::Never,
        "once-after-arrival" => EmptyReport::OnceAfterArrival,
    }),
    words!("first_losses", |s| study(s).first_losses, {
        "counted" => FirstLosses::Counted,
        "unknown" => FirstLosses::Unknown,
    }),
    quantity!("receiver_rtt_before_sample", [], "a time, such as 500ms", |s, w| s
        .receiver_rtt_before_sample =
        time(w)?),
    words!("equation", |s| study(s).equation.form, {
        "tfrc" => EquationForm::Tfrc,
        "timeout-term-capped" => EquationForm::TimeoutTermCapped,
        "square-root" => EquationForm::SquareRoot,
    }),
    words!("high_loss", |s| study(s).equation.high_loss, {
        "as-equation" => HighLoss::AsEquation,
        "moderate" => HighLoss::Moderate,
    }),
    quantity!("packets_per_ack", [], "a number of packets from 1 on", |s, w| study(s)
        .equation
        .packets_per_ack =
        count(w)?),
    quantity!("rate_scale", [], "a factor above 0, such as 1.0", |s, w| study(s).equation.scale = number(w)?),
    words!("rto", |s| study(s).equation.rto, {
        "four-rtt" => RtoPolicy::FourRtt,
        "four-rtt-at-least" => RtoPolicy::FourRttAtLeast(Duration::from_secs(1)),
        "fixed" => RtoPolicy::Fixed(Duration::from_secs(1)),
        "rfc6298" => RtoPolicy::Rfc6298 {
            granularity: Duration::from_millis(100),
            least: Duration::from_secs(1),
        },
        "ticks" => RtoPolicy::Ticks { tick: Duration::from_millis(100), least: Duration::ZERO },
    }),
    parameter!("rto_time", "a time, such as 1s", time, |s| &mut study(s).equation.rto, RtoPolicy::Fixed(t) => *t,
        needs "rto = \"fixed\""),
    parameter!("rto_least", "a time, such as 1s", time, |s| &mut study(s).equation.rto,
        RtoPolicy::FourRttAtLeast(least) | RtoPolicy::Rfc6298 { least, .. } | RtoPolicy::Ticks { least, .. } => *least,
        needs "rto = \"four-rtt-at-least\", \"rfc6298\" or \"ticks\""),
    parameter!("rto_tick", "a time, such as 100ms", time, |s| &mut study(s).equation.rto,
        RtoPolicy::Rfc6298 { granularity: tick, .. } | RtoPolicy::Ticks { tick, .. } => *tick,
        needs "rto = \"rfc6298\" or \"ticks\""),
    words!("segment_size", |s| s.segment, {
        "mean" => SegmentSize::Mean { initial: s.segment.initial() },
        "fixed" => SegmentSize::Fixed(s.segment.initial()),
    }),
    words!("packet_size", |s| s.packet_size, {
        "own" => PacketSize::Own,
        "tfrc-sp" => PacketSize::TfrcSp(sp(s)),
        "uncorrected" => compared(SizeCorrection::Uncorrected),
        "unbiasing" => compared(SizeCorrection::Unbiasing),
        "virtual-packets" => compared(SizeCorrection::VirtualPackets),
        "virtual-packets-byte-mode" => compared(SizeCorrection::VirtualPacketsByteMode),
        "random-sampling" => compared(SizeCorrection::RandomSampling { seed: 1 }),
        "lip-scaling" => compared(SizeCorrection::LipScaling),
        "drop-rate" => compared(SizeCorrection::DropRate),
    }),
    parameter!("reference_segment", "a size, such as 1460B", bytes,
        |s| &mut s.packet_size, PacketSize::Reference { segment, .. } => *segment,
        needs "a packet_size that compares, such as \"unbiasing\""),
    parameter!("sampling_seed", "a number", long, |s| &mut s.packet_size,
        PacketSize::Reference { correction: SizeCorrection::RandomSampling { seed }, .. } => *seed,
        needs "packet_size = \"random-sampling\""),
    parameter!("path_mss", "a size, such as 1400B", |w| bytes(w).map(NominalSegment::PathMss),
        |s| &mut s.packet_size, PacketSize::TfrcSp(sp) => sp.nominal, needs "packet_size = \"tfrc-sp\""),
    parameter!("charged_header", "a size, such as 40B", bytes,
        |s| &mut s.packet_size, PacketSize::TfrcSp(sp) => sp.header, needs "packet_size = \"tfrc-sp\""),
    Axis {
        key: "min_interval",
        words: &["unlimited"],
        quantity: Some("a time between packets, such as 10ms"),
        set: |s, written| {
            let PacketSize::TfrcSp(sp) = &mut s.packet_size else {
                return Err(Wrong::Idle("packet_size = \"tfrc-sp\""));
            };
            sp.min_interval = match written {
                "unlimited" => MinInterval::Unlimited,
                _ => MinInterval::Each(time(written)?),
            };
            Ok(())
        },
    },
    parameter!("min_interval_of_three", "a time, such as 10ms", |w| time(w).map(MinInterval::ThreePackets),
        |s| &mut s.packet_size, PacketSize::TfrcSp(sp) => sp.min_interval, needs "packet_size = \"tfrc-sp\""),
    Axis {
        key: "short_intervals",
        words: &["two-round-trips", "graded", "ns2"],
        quantity: None,
        set: |s, written| {
            let PacketSize::TfrcSp(sp) = &mut s.packet_size else {
                return Err(Wrong::Idle("packet_size = \"tfrc-sp\""));
            };
            sp.short_intervals = match written {
                "two-round-trips" => ShortIntervals::TwoRoundTrips,
                "graded" => ShortIntervals::Graded,
                "ns2" => ShortIntervals::Ns2,
                _ => return Err(Wrong::Value),
            };
            Ok(())
        },
    },
    quantity!("rtt_weight", [], "a weight from 0 to below 1, such as 0.9", |s, w| study(s).rtt_weight =
        number(w)?),
    words!("initial_rate", |s| study(s).initial_rate, {
        "rfc3390" => InitialRate::Rfc3390,
        "packet-per-rtt" => InitialRate::PacketPerRtt,
        "ns2" => InitialRate::Ns2,
    }),
    words!("slow_start", |s| study(s).slow_start, {
        "keep-initial-rate" => SlowStart::KeepInitialRate,
        "keep-packet-per-rtt" => SlowStart::KeepPacketPerRtt,
        "ns2" => SlowStart::Ns2,
    }),
    words!("growth", |s| study(s).growth, {
        "to-equation" => Growth::ToEquation,
        "packet-per-rtt" => Growth::PacketPerRtt,
    }),
    words!("receive_limit", |s| study(s).receive_limit, {
        "recent-maximum" => ReceiveLimit::RecentMaximum,
        "latest" => ReceiveLimit::Latest,
        "latest-or-packet-per-rtt" => ReceiveLimit::LatestOrPacketPerRtt,
        "ns2" => ReceiveLimit::Ns2,
        "ns2-conservative" => ReceiveLimit::Ns2Conservative,
        "unlimited" => ReceiveLimit::Unlimited,
    }),
    words!("floor", |s| study(s).floor, {
        "packet-per-64-seconds" => RateFloor::PacketPer64Seconds,
        "packet-per-rtt" => RateFloor::PacketPerRtt,
        "none" => RateFloor::None,
    }),
    quantity!("no_feedback_round_trips", [], "a number from 1 on", |s, w| study(s).no_feedback.round_trips =
        count(w)?),
    quantity!("no_feedback_factor", [], "a share between 0 and 1, such as 0.5", |s, w| study(s)
        .no_feedback
        .factor =
        number(w)?),
    words!("no_feedback_cut", |s| study(s).no_feedback.cut, {
        "update-limits" => NoFeedbackCut::UpdateLimits,
        "receive-rate" => NoFeedbackCut::ReceiveRate,
        "rate" => NoFeedbackCut::Rate,
        "rate-unless-data-limited" => NoFeedbackCut::RateUnlessDataLimited,
    }),
    words!("no_feedback_ask", |s| study(s).no_feedback.ask, {
        "nothing" => AfterExpiration::Nothing,
        "report-at-once" => AfterExpiration::ReportAtOnce,
    }),
    quantity!("no_feedback_floor", [], "a time, such as 20ms", |s, w| s.no_feedback_floor = time(w)?),
    quantity!("feedback_floor", [], "a time, such as 2ms", |s, w| s.feedback_floor = time(w)?),
    words!("spacing", |s| study(s).spacing, {
        "nominal" => Spacing::Nominal,
        "damped" => Spacing::Damped { weight: 0.9 },
    }),
    parameter!("damping_weight", "a weight from 0 to below 1, such as 0.9", number,
        |s| &mut study(s).spacing, Spacing::Damped { weight } => *weight, needs "spacing = \"damped\""),
    words!("rate_step", |s| study(s).rate_step, {
        "at-once" => RateStep::AtOnce,
        "per-packet" => RateStep::PerPacket,
    }),
    words!("reschedule", |s| study(s).reschedule, {
        "always" => Reschedule::Always,
        "in-slow-start" => Reschedule::InSlowStart,
    }),
    quantity!("credit", ["round-trip"], "a time, such as 0s", |s, w| {
        s.credit = if w == "round-trip" { BurstCredit::RoundTrip } else { BurstCredit::Time(time(w)?) };
    }),
    quantity!("timer_granularity", [], "a time, such as 10ms", |s, w| s.timer_granularity = time(w)?),
    quantity!("cap", ["unlimited"], "a rate, such as 1Mbit/s", |s, w| {
        s.cap = if w == "unlimited" { RateCap::Unlimited } else { RateCap::AtMost(rate(w)?) };
    }),
    words!("circuit_breaker", |s| s.circuit_breaker, {
        "with-guarantee" => CircuitBreaker::WithGuarantee(BREAKER()),
        "always" => CircuitBreaker::Always(BREAKER()),
        "off" => CircuitBreaker::Off,
    }),
    words!("stop_rule", |s| s.stop_rule, {
        "off" => StopRule::Off,
        "suspend" => stop(AfterStop::Suspend),
        "terminate" => stop(AfterStop::Terminate),
    }),
    parameter!("stop_below", "a rate, such as 64kbit/s", rate,
        |s| &mut s.stop_rule, StopRule::Below(least) => least.rate,
        needs "stop_rule = \"suspend\" or \"terminate\""),
    parameter!("stop_packets_per_second", "a number, such as 50", number,
        |s| &mut s.stop_rule, StopRule::Below(least) => least.packets_per_second,
        needs "stop_rule = \"suspend\" or \"terminate\""),
];

/// The axis of this key.
///
/// # Errors
/// A [`Refusal`] with the key that may be meant.
pub fn axis(key: &str) -> Result<&'static Axis, Refusal> {
    axis::find(AXES, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (key, written) in pairs {
            axis(key).and_then(|axis| axis.set(&mut settings, written)).unwrap();
        }
        settings
    }

    #[test]
    fn keys_and_words_are_there_once() {
        for (i, one) in AXES.iter().enumerate() {
            assert!(AXES[i + 1..].iter().all(|other| other.key != one.key), "{}", one.key);
            assert!(!one.words.is_empty() || one.quantity.is_some(), "{}", one.key);
        }
    }

    /// A word of an axis gives different settings from every other of its words, and no other word is taken.
    #[test]
    fn every_word_means_something_of_its_own() {
        let bases = [
            with(&[]),
            with(&[("estimator", "ewma-loss-interval")]),
            with(&[("estimator", "dynamic-history-window")]),
            with(&[("packet_size", "tfrc-sp")]),
        ];
        for axis in AXES {
            let taken = |word: &str| {
                bases.iter().find_map(|base| {
                    let mut settings = *base;
                    axis.set(&mut settings, word).ok().map(|()| settings)
                })
            };
            let all: Vec<Settings> =
                axis.words.iter().map(|w| taken(w).unwrap_or_else(|| panic!("{} = {w}", axis.key))).collect();
            for (i, one) in all.iter().enumerate() {
                assert!(all[i + 1..].iter().all(|other| other != one), "{} = {}", axis.key, axis.words[i]);
            }
            assert_eq!(taken("nonsense"), None, "{}", axis.key);
        }
    }

    /// The words of the revisions give what the core's own sets are made of.
    #[test]
    fn a_revision_can_be_spelt_out() {
        let ns2 = with(&[
            ("equation", "timeout-term-capped"),
            ("rto", "ticks"),
            ("lost_after", "1"),
            ("loss_event_timing", "sender-time-and-round"),
            ("discounting", "0.5"),
            ("first_interval", "at-receive-rate"),
            ("feedback", "arrival"),
            ("receive_rate", "since-report"),
            ("empty_report", "once-after-arrival"),
            ("first_losses", "unknown"),
            ("open_interval", "when-longer-less-first"),
            ("initial_rate", "ns2"),
            ("slow_start", "ns2"),
            ("growth", "packet-per-rtt"),
            ("receive_limit", "ns2"),
            ("floor", "none"),
            ("no_feedback_round_trips", "2"),
            ("no_feedback_cut", "rate-unless-data-limited"),
            ("no_feedback_ask", "report-at-once"),
            ("rtt_weight", "0.95"),
            ("damping_weight", "0.95"),
            ("rate_step", "per-packet"),
            ("reschedule", "in-slow-start"),
            ("credit", "0s"),
        ]);
        assert_eq!(ns2, with(&[("revision", "ns2")]));
    }

    #[test]
    fn parameters_reach_their_place() {
        let s = with(&[("rto", "rfc6298"), ("rto_least", "200ms"), ("rto_tick", "1ms")]);
        let (granularity, least) = (Duration::from_millis(1), Duration::from_millis(200));
        assert_eq!(s.algorithm.choices().equation.rto, RtoPolicy::Rfc6298 { granularity, least });
        let s = with(&[("packet_size", "unbiasing"), ("reference_segment", "1000B")]);
        let correction = SizeCorrection::Unbiasing;
        assert_eq!(s.packet_size, PacketSize::Reference { segment: 1000, correction });
        let s = with(&[
            ("packet_size", "tfrc-sp"),
            ("path_mss", "536B"),
            ("charged_header", "36B"),
            ("min_interval_of_three", "10ms"),
            ("short_intervals", "graded"),
        ]);
        let sp = TfrcSp {
            nominal: NominalSegment::PathMss(536),
            header: 36,
            min_interval: MinInterval::ThreePackets(Duration::from_millis(10)),
            short_intervals: ShortIntervals::Graded,
        };
        assert_eq!(s.packet_size, PacketSize::TfrcSp(sp));
        let s =
            with(&[("estimator", "ewma-loss-interval"), ("ewma_weight", "0.5"), ("open_interval", "never")]);
        assert_eq!(
            s.algorithm.choices().estimator,
            Estimator::EwmaLossInterval { weight: 0.5, open: OpenInterval::Never }
        );
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let refused = |key: &str, written: &str| {
            let mut settings = Settings::default();
            axis(key).and_then(|axis| axis.set(&mut settings, written)).unwrap_err().to_string()
        };
        for (key, written, said) in [
            ("growht", "x", "did you mean `growth`?"),
            ("growth", "quick", "possible: `to-equation`, `packet-per-rtt`"),
            ("growth", "to-equaton", "did you mean `to-equation`?"),
            ("rto_tick", "1s", "it needs rto = \"rfc6298\" or \"ticks\""),
            ("discounting", "half", "possible: `off`, or a floor"),
            ("timer_granularity", "10kB", "expected a time"),
        ] {
            let told = refused(key, written);
            assert!(told.contains(said), "{told}");
        }
    }
}
