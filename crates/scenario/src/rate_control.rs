//! Keys of `[flow.tfrc]`: settings of [`tfrc::Settings`] by their names; habits of a text or of
//! ns-2 come with its `revision` alone. The types have the words and their meaning;
//! `docs/models/tfrc.md` has the sources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tfrc::Settings;
use tfrc::config::{MinInterval, NominalSegment, PacketSize, SegmentSize, TfrcSp};
use tfrc::equation::RtoPolicy;
use tfrc::guard::{AfterStop, MinimumRate, StopRule};
use tfrc::study::{Estimator, HistoryWindow, OpenInterval, Profile, Revision, SizeCorrection, Spacing};
use tfrc_units::{Duration, Rate};

pub use super::table::Key;
use super::table::{self, Keys, Tabular, fields};
use super::written::PacketBytes;

/// The size to compare with unless another is given.
const REFERENCE_BYTES: u32 = 1460;
const SECOND: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// The words of [`PacketSize`].
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Size {
    /// The flow is compared with a TCP of its own packet size (RFC 5348 §4.1).
    Own,
    /// TFRC-SP (RFC 4828 §3).
    TfrcSp,
    /// A comparison with a flow of larger packets.
    #[serde(untagged)]
    Reference(SizeCorrection),
}

/// The words of [`StopRule`].
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Stop {
    /// No rule: the application can follow any rate.
    Off,
    /// The rule, with what comes after.
    #[serde(untagged)]
    After(AfterStop),
}

/// A whole revision, but for what belongs to the flow: TFRC-SP keeps its sizes and takes the
/// revision's short intervals.
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

impl Tabular for Settings {
    const NAME: &'static str = "Tfrc";

    fn start() -> Self {
        Self::default()
    }

    fn keys(&mut self, keys: &mut Keys<'_>) {
        if let Some(revision) = keys.value("revision", "") {
            revise(self, revision);
        }
        let mut profile = Profile::default();
        keys.key("profile", &mut profile);
        profile.choose(self.algorithm.choices_mut());
        let study = self.algorithm.choices_mut();
        fields!(keys, study, [loss_event_timing, discounting, feedback, receive_rate, initial_rate]);
        fields!(keys, study, [receive_limit, floor, friend_choice]);
        fields!(keys, self, [receiver_rtt_before_sample, no_feedback_floor, feedback_floor]);
        fields!(keys, self, [credit, timer_granularity, cap, max_queue_delay]);
        estimator(&mut study.estimator, keys);
        let equation = &mut study.equation;
        keys.key("equation", &mut equation.form);
        keys.key("friend", &mut equation.friend);
        fields!(keys, equation, [high_loss]);
        keys.number("packets_per_ack", "a number of packets from 1 on", &mut equation.packets_per_ack);
        keys.number("rate_scale", "a factor above 0, such as 1.0", &mut equation.scale);
        rto(&mut equation.rto, keys);
        let initial = self.segment.initial();
        let segment =
            keys.choice("segment_size", [SegmentSize::Mean { initial }, SegmentSize::Fixed(initial)]);
        self.segment = segment.unwrap_or(self.segment);
        packet_size(&mut self.packet_size, keys);
        keys.number("rtt_weight", "a weight from 0 to below 1, such as 0.9", &mut study.rtt_weight);
        let spacing = keys.choice("spacing", [Spacing::Nominal, Spacing::Damped { weight: 0.9 }]);
        study.spacing = spacing.unwrap_or(study.spacing);
        keys.key("pairs", &mut study.pairs);
        keys.key("circuit_breaker", &mut self.circuit_breaker);
        stop_rule(&mut self.stop_rule, keys);
    }
}

fn estimator(estimator: &mut Estimator, keys: &mut Keys<'_>) {
    let all = [
        Estimator::default(),
        Estimator::EwmaLossInterval { weight: 0.75, open: OpenInterval::WhenLonger },
        Estimator::DynamicHistoryWindow { events: 4, window: HistoryWindow::ByRate },
        Estimator::Linux,
    ];
    *estimator = keys.choice("estimator", all).unwrap_or(*estimator);
    match estimator {
        Estimator::AverageLossInterval { intervals, weights, .. } => {
            keys.number("intervals", "a number of loss intervals from 1 to 32", intervals);
            keys.key("weights", weights);
        }
        Estimator::EwmaLossInterval { weight, .. } => {
            keys.number("ewma_weight", "a weight from 0 to below 1, such as 0.75", weight);
        }
        Estimator::DynamicHistoryWindow { events, window } => {
            keys.number("window_events", "a number of loss events from 1 to 32", events);
            keys.key("window", window);
        }
        _ => {}
    }
}

fn rto(rto: &mut RtoPolicy, keys: &mut Keys<'_>) {
    let all = [
        RtoPolicy::FourRtt,
        RtoPolicy::FourRttAtLeast(SECOND),
        RtoPolicy::Fixed(SECOND),
        RtoPolicy::Rfc6298 { granularity: TICK, least: SECOND },
        RtoPolicy::Ticks { tick: TICK, least: Duration::ZERO },
    ];
    *rto = keys.choice("rto", all).unwrap_or(*rto);
    match rto {
        RtoPolicy::Fixed(time) => keys.key("rto_time", time),
        RtoPolicy::FourRttAtLeast(least) => keys.key("rto_least", least),
        RtoPolicy::Rfc6298 { granularity: tick, least } | RtoPolicy::Ticks { tick, least } => {
            keys.key("rto_least", least);
            keys.key("rto_tick", tick);
        }
        _ => {}
    }
}

fn packet_size(size: &mut PacketSize, keys: &mut Keys<'_>) {
    let corrections = [
        SizeCorrection::Uncorrected,
        SizeCorrection::Unbiasing,
        SizeCorrection::VirtualPackets,
        SizeCorrection::VirtualPacketsByteMode,
        SizeCorrection::RandomSampling { seed: 1 },
        SizeCorrection::LipScaling,
        SizeCorrection::DropRate,
    ];
    let [a, b, c, d, e, f, g] = corrections.map(Size::Reference);
    match keys.choice("packet_size", [Size::Own, Size::TfrcSp, a, b, c, d, e, f, g]) {
        Some(Size::Own) => *size = PacketSize::Own,
        Some(Size::TfrcSp) if !matches!(size, PacketSize::TfrcSp(_)) => {
            *size = PacketSize::TfrcSp(TfrcSp::default());
        }
        Some(Size::Reference(correction)) => {
            *size = PacketSize::Reference { segment: REFERENCE_BYTES, correction };
        }
        Some(Size::TfrcSp) | None => {}
    }
    match size {
        PacketSize::Reference { segment, correction } => {
            keys.written_as::<PacketBytes, _>("reference_segment", "", segment);
            if let SizeCorrection::RandomSampling { seed } = correction {
                keys.number("sampling_seed", "a number", seed);
            }
        }
        PacketSize::TfrcSp(sp) => {
            if let Some(PacketBytes(mss)) = keys.value("path_mss", "") {
                sp.nominal = NominalSegment::PathMss(mss);
            }
            keys.written_as::<PacketBytes, _>("charged_header", "", &mut sp.header);
            fields!(keys, sp, [min_interval, short_intervals]);
            if let Some(time) = keys.value("min_interval_of_three", "") {
                sp.min_interval = MinInterval::ThreePackets(time);
            }
        }
        _ => {}
    }
}

/// A stop rule takes its rates from the keys that follow; validation refuses it without them.
fn stop_rule(rule: &mut StopRule, keys: &mut Keys<'_>) {
    match keys.value("stop_rule", "") {
        Some(Stop::Off) => *rule = StopRule::Off,
        Some(Stop::After(after)) => {
            *rule = StopRule::Below(MinimumRate { after, ..MinimumRate::new(Rate::ZERO, 0.0) });
        }
        None => {}
    }
    if let StopRule::Below(least) = rule {
        keys.key("stop_below", &mut least.rate);
        keys.number("stop_packets_per_second", "a number, such as 50", &mut least.packets_per_second);
    }
}

/// All keys, in the order in which they are taken.
#[must_use]
pub fn vocabulary() -> Vec<Key> {
    table::vocabulary(&Settings::start())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;
    use tfrc::config::MinInterval;
    use tfrc::study::{ReceiveLimit, ShortIntervals};

    fn with(pairs: &[(&str, &str)]) -> Settings {
        Table::of(pairs).apply(&Settings::start()).unwrap()
    }

    /// A key after the revision counts, and the revision's habits stay.
    #[test]
    fn a_key_deviates_from_a_revision() {
        let ns2 = with(&[("revision", "ns2")]);
        let unlimited = with(&[("revision", "ns2"), ("receive_limit", "unlimited")]);
        let with_limit = |settings: Settings| {
            settings.algorithm.with(|choices| choices.receive_limit = ReceiveLimit::Unlimited)
        };
        assert_eq!(unlimited, Settings { algorithm: with_limit(ns2), ..ns2 });
        assert_ne!(with_limit(ns2), with_limit(Settings::default()));
    }

    /// The words of a profile give what the core's is made of; a key after it counts.
    #[test]
    fn a_profile_can_be_spelt_out() {
        let parts = [
            ("friend", "cubic"),
            ("rto", "rfc6298"),
            ("rto_least", "200ms"),
            ("rto_tick", "200ms"),
            ("pairs", "3"),
        ];
        assert_eq!(with(&parts), with(&[("profile", "balanced")]));
        assert_ne!(with(&parts), with(&[("profile", "balanced"), ("friend", "reno")]));
        assert_eq!(with(&[("profile", "rfc5348")]), Settings::default());
        let told = Table::of(&[("pairs", "1")]).apply(&Settings::start()).unwrap().validate();
        assert_eq!(told, Err(tfrc::ConfigError::Pairs));
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
        let s = with(&[("estimator", "ewma-loss-interval"), ("ewma_weight", "0.5")]);
        assert_eq!(
            s.algorithm.choices().estimator,
            Estimator::EwmaLossInterval { weight: 0.5, open: OpenInterval::WhenLonger }
        );
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        for (key, written, said) in [
            ("flor", "x", "did you mean `floor`?"),
            ("feedback", "quick", "possible: `timer`, `arrival`"),
            ("feedback", "arival", "did you mean `arrival`?"),
            ("rto_tick", "1s", "it needs rto = \"rfc6298\" or \"ticks\""),
            ("weights", "constant", "it needs estimator = \"average-loss-interval\""),
            ("discounting", "half", "possible: `off`, or a floor above 0"),
            ("min_interval", "1B", "possible: `unlimited`, or "),
            ("timer_granularity", "10kB", "expected a time"),
            ("intervals", "two", "expected a number of loss intervals from 1 to 32"),
        ] {
            let estimator = if key == "weights" { "ewma-loss-interval" } else { "average-loss-interval" };
            let pairs = [(key, written), ("estimator", estimator), ("packet_size", "tfrc-sp")];
            let told = Table::of(&pairs).apply(&Settings::start()).unwrap_err().hint.unwrap();
            assert!(told.contains(said), "{key} = {written}: {told}");
        }
    }
}
