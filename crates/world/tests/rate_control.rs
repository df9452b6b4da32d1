//! Rate control from a scenario: its words, its refusals, and what they do to a flow.

use std::path::Path;

use tfrc::Settings;
use tfrc::config::{PacketSize, Promise, PromiseStart};
use tfrc::guard::CircuitBreaker;
use tfrc::study::Revision;
use tfrc_scenario::rate_control::vocabulary;
use tfrc_scenario::{FlowKind, Scenario, ScenarioError, TfrcFlow};
use tfrc_units::Rate;
use tfrc_world::{Outcome, run};

fn text(kind: &str, loss: &str, flow: &str) -> String {
    format!(
        r#"duration = "120s"
warmup = "20s"
nodes = ["near", "far"]
[[link]]
from = "near"
to = "far"
rate = "1Gbit/s"
delay = "50ms"
loss = "{loss}"
[[flow]]
kind = "{kind}"
from = "near"
to = "far"
{flow}
"#
    )
}

fn scenario(kind: &str, loss: &str, flow: &str) -> Scenario {
    Scenario::parse("test.toml", &text(kind, loss, flow)).map_err(miette::Report::new).unwrap()
}

fn flow_of(flow: &str) -> TfrcFlow {
    tfrc_flow(&scenario("tfrc", "1%", flow))
}

fn tfrc_flow(scenario: &Scenario) -> TfrcFlow {
    match &scenario.flows[0].kind {
        FlowKind::Tfrc(flow) => TfrcFlow::clone(flow),
        other => panic!("{other:?}"),
    }
}

/// Message, what is marked, and hint.
fn refused(kind: &str, flow: &str) -> (String, String, String) {
    let text = text(kind, "1%", flow);
    match Scenario::parse("test.toml", &text) {
        Err(ScenarioError::Invalid(wrong)) => {
            let marked = text[wrong.place.offset()..wrong.place.offset() + wrong.place.len()].to_owned();
            (wrong.message, marked, wrong.hint.unwrap_or_default())
        }
        other => panic!("{other:?}"),
    }
}

fn rate_of(outcome: &Outcome) -> f64 {
    outcome.flows[0].send_rate_bps.unwrap()
}

#[test]
fn a_table_sets_the_rate_control() {
    let flow = flow_of("segment = \"1000B\"\n[flow.tfrc]\nrevision = \"ns2\"\nrtt_weight = 0.5");
    let mut expected = Settings::for_revision(Revision::Ns2);
    expected.algorithm.choices_mut().rtt_weight = 0.5;
    assert_eq!(*flow.config.settings(), expected);
    let flow = flow_of("");
    assert_eq!(*flow.config.settings(), Settings::default());
}

#[test]
fn what_is_wrong_is_marked_and_what_is_right_is_said() {
    for (kind, flow, marked, hint) in [
        ("tfrc", "[flow.tfrc]\nflor = \"none\"", "flor", "did you mean `floor`"),
        ("tfrc", "[flow.tfrc]\nfeedback = \"quick\"", "\"quick\"", "`timer`, `arrival`"),
        ("tfrc", "[flow.tfrc]\nrto_tick = \"1s\"", "\"1s\"", "it needs rto"),
        // Out of range for the core, at the key that made it so.
        ("tfrc", "[flow.tfrc]\nintervals = 33\nfeedback = \"timer\"", "33", ""),
        ("tfrc", "[flow.tfrc]\nfloor = \"none\"\nrtt_weight = 0.5", "\"none\"", ""),
        ("tfrc-sp", "[flow.tfrc]\npacket_size = \"unbiasing\"", "\"unbiasing\"", "kind = \"tfrc\""),
        ("tfrc-xp", "", "\"tfrc-xp\"", "did you mean `tfrc-sp`"),
        ("tfrc", "guarantee = \"fast\"", "\"fast\"", "expected"),
        ("tfrc", "guarantee = \"0\"", "\"0\"", ""),
        ("tfrc", "guarantee_start = \"first-rtt\"", "\"first-rtt\"", "add guarantee"),
        ("tfrc", "guarantee = \"1M\"\nguarantee_start = \"now\"", "\"now\"", "`first-loss-report`"),
        ("tfrc", "dscp = \"af14\"", "\"af14\"", "af11 to af43"),
        (
            "tfrc",
            "guarantee = \"1Mbit/s\"\n[flow.tfrc]\ncircuit_breaker = \"off\"",
            "\"1Mbit/s\"",
            "add dscp = \"af11\"",
        ),
    ] {
        let told = refused(kind, flow);
        assert_eq!(told.1, marked, "{told:?}");
        assert!(told.2.contains(hint), "{told:?}");
    }
}

/// Two keys that go together only in the end are taken together.
#[test]
fn a_later_key_may_mend_an_earlier_one() {
    let flow = flow_of("[flow.tfrc]\nfloor = \"none\"\nreceive_limit = \"ns2\"\n");
    assert_eq!(flow.config.settings().algorithm.choices().floor, tfrc::study::RateFloor::None);
}

#[test]
fn a_guarantee_and_its_mark() {
    let more = "guarantee = \"1Mbit/s\"\nguarantee_start = \"first-loss-report\"\nguarantee_threshold = 2.0\ndscp = \"af21\"\n[flow.tfrc]\ncircuit_breaker = \"off\"";
    let flow = flow_of(more);
    let promise = Promise {
        rate: Rate::from_bits_per_sec(1e6),
        start: PromiseStart::FirstLossReport,
        give_way_below: Some(2.0),
    };
    assert_eq!(flow.config.settings().guarantee, Some(promise));
    assert_eq!(flow.config.settings().circuit_breaker, CircuitBreaker::Off);
    assert_eq!(flow.dscp.to_string(), "af21");
    // The circuit breaker, on by default, stands in for the mark.
    assert_eq!(flow_of("guarantee = \"1Mbit/s\"").dscp, tfrc_units::Dscp::DEFAULT);
}

/// gTFRC keeps g where TFRC alone has about half of it: at p = 0.1 and R = 0.1 s theory gives 2.271
/// packets, 265 kbit/s.
#[test]
fn a_guaranteed_flow_keeps_its_rate_under_loss() {
    let plain = rate_of(&run(&scenario("tfrc", "10%", "")));
    assert!((200e3..=330e3).contains(&plain), "{plain}");
    for start in ["first-rtt", "first-loss-report"] {
        let more = format!("guarantee = \"500kbit/s\"\nguarantee_start = \"{start}\"\ndscp = \"af11\"");
        let kept = rate_of(&run(&scenario("tfrc", "10%", &more)));
        // X itself passes g now and then.
        assert!((498e3..=540e3).contains(&kept), "{start}: {kept}");
    }
    // With a threshold X rules while it is below g/1.01, which is nearly always.
    let more = "guarantee = \"500kbit/s\"\nguarantee_threshold = 1.01";
    let given_way = rate_of(&run(&scenario("tfrc", "10%", more)));
    assert!((200e3..=350e3).contains(&given_way), "{given_way}");
}

/// Each revision makes a run of its own, and the same one twice: ns-2's loss events need what
/// packets carry of the sender.
#[test]
fn revisions_differ_and_repeat_themselves() {
    let of =
        |revision: &str| run(&scenario("tfrc", "2%", &format!("[flow.tfrc]\nrevision = \"{revision}\"")));
    let outcomes: Vec<Outcome> = Revision::ALL.iter().map(|revision| of(revision.name())).collect();
    for (i, one) in outcomes.iter().enumerate() {
        assert_eq!(*one, of(Revision::ALL[i].name()), "the same again");
        assert!(outcomes[i + 1..].iter().all(|other| other != one), "{}", Revision::ALL[i].name());
    }
}

/// ns-2's rules ask for sender times and rounds on the packets. Without rounds there would be one
/// loss event in the whole run, without sender times those of arrival would stand for them, which a
/// queue stretches.
#[test]
fn loss_events_by_sender_times_and_rounds() {
    let events = |timing: &str| {
        let more = format!("[flow.tfrc]\nloss_event_timing = \"{timing}\"");
        run(&scenario("tfrc", "5%", &more)).flows[0].loss_event_rate.unwrap()
    };
    let [arrival, sender, round] = ["arrival-time", "sender-time", "sender-time-and-round"].map(events);
    // p_e = p/(1 + pL) = 0.041 at L = 4.349. Nothing waits on this path, so the three agree.
    for p in [arrival, sender, round] {
        assert!((0.035..=0.047).contains(&p), "{p}");
    }
    let in_a_queue = |timing: &str| {
        let text = text("tfrc", "1%", &format!("[flow.tfrc]\nloss_event_timing = \"{timing}\""))
            .replace("rate = \"1Gbit/s\"", "rate = \"1Mbit/s\"\nqueue = \"25p\"");
        run(&Scenario::parse("test.toml", &text).map_err(miette::Report::new).unwrap())
    };
    assert_ne!(in_a_queue("arrival-time"), in_a_queue("sender-time"));
}

/// RFC 4828 §3: many small packets get the bytes of few large ones, less the headers, in at most
/// 100 packets a second.
#[test]
fn small_packets_by_tfrc_sp() {
    let small = "segment = \"160B\"\nheader = \"40B\"";
    let sp = run(&scenario("tfrc-sp", "2%", small));
    assert_eq!(sp.flows[0].kind, "tfrc-sp");
    let plain = rate_of(&run(&scenario("tfrc", "2%", small)));
    let (sp, most) = (rate_of(&sp), 100.0 * 160.0 * 8.0);
    assert!(sp > 1.2 * plain && sp <= most * 1.001, "{sp} against {plain}");
    let flow = tfrc_flow(&scenario("tfrc-sp", "2%", small));
    assert!(matches!(flow.config.settings().packet_size, PacketSize::TfrcSp(sp) if sp.header == 40));
}

/// Every key and every word is explained on the model's page.
#[test]
fn the_page_has_every_word() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/tfrc.md");
    let page = std::fs::read_to_string(path).unwrap();
    for key in vocabulary() {
        assert!(page.contains(&format!("`{}`", key.name)), "the key {} is not there", key.name);
        for word in key.words() {
            assert!(page.contains(&format!("`{word}`")), "{} = {word} is not there", key.name);
        }
    }
    for key in ["guarantee", "guarantee_start", "guarantee_threshold", "dscp"] {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}
