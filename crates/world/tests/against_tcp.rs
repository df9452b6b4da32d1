//! TFRC flows against the TCPs next to them: the factors of the ratio of their rates.

use tfrc_scenario::Scenario;
use tfrc_sim::trace::{DropCause, Happening, TraceRecord};
use tfrc_world::results::{AgainstTcp, FlowSummary, NoFactors, RateFactors};
use tfrc_world::{Run, run};

fn scenario(duration: &str, flows: &str, more: &str) -> Scenario {
    let text = format!(
        r#"duration = "{duration}"
warmup = "20s"
nodes = ["a", "b"]
[[link]]
name = "l"
from = "a"
to = "b"
rate = "5Mbit/s"
delay = "20ms"
queue = "20p"
[[flow]]
name = "tfrc"
kind = "tfrc"
from = "a"
to = "b"
{more}
{flows}"#
    );
    Scenario::parse("test.toml", &text).map_err(miette::Report::new).unwrap()
}

const TCP: &str = r#"[[flow]]
name = "tcp"
kind = "tcp"
from = "a"
to = "b"
start = "1s"
overhead = "1ms"
[flow.tcp]
variant = "cubic"
settings = "linux"
"#;

fn factors(flow: &FlowSummary) -> RateFactors {
    flow.against_tcp.and_then(|against| against.factors).expect("ten loss events of each")
}

fn product(of: RateFactors) -> f64 {
    of.obedience * of.loss_events * of.rtt * of.rto * of.tcp
}

/// An identity, whatever the equation, and for each of several flows.
#[test]
fn the_factors_multiply_to_the_ratio() {
    for settings in ["", "[flow.tfrc]\nprofile = \"balanced\"", "count = 2\n[flow.tfrc]\nrevision = \"ns2\""]
    {
        let outcome = run(&scenario(
            "120s",
            &format!("{TCP}{}", TCP.replace("\"tcp\"\nkind", "\"two\"\nkind")),
            settings,
        ));
        let goodput = |flow: &FlowSummary| flow.goodput_bps.unwrap();
        let tcps: Vec<f64> =
            outcome.flows.iter().filter(|flow| flow.kind.starts_with("tcp")).map(goodput).collect();
        let mean = tcps.iter().sum::<f64>() / 2.0;
        for flow in outcome.flows.iter().filter(|flow| flow.kind == "tfrc") {
            let of = factors(flow);
            assert_eq!(of.tcp_flows, 2);
            assert!((of.ratio / (goodput(flow) / mean) - 1.0).abs() < 1e-12, "{settings}: {of:?}");
            assert!((product(of) / of.ratio - 1.0).abs() < 1e-12, "{settings}: {of:?}");
            // It obeys its equation, less what is lost.
            assert!((0.7..1.3).contains(&of.obedience), "{settings}: {of:?}");
        }
    }
}

/// The loss events of TCP, from the record of every packet: drops at the link, those within its
/// mean round-trip time of the first in one event.
#[test]
fn the_loss_events_of_tcp_are_its_drops() {
    let scenario = scenario("120s", TCP, "");
    let mut dropped = Vec::new();
    let each = |record: &TraceRecord| {
        if let Happening::Dropped(_, cause) = record.what
            && cause != DropCause::Loss
        {
            dropped.push((record.at.as_secs_f64(), record.header.flow.0 as usize));
        }
    };
    let outcome = Run::of(&scenario).trace(each).outcome().unwrap();
    let place = outcome.flows.iter().position(|flow| flow.id == "tcp").unwrap();
    let tcp = &outcome.flows[place];
    let (mut events, mut begun) = (0, f64::NEG_INFINITY);
    for (t, flow) in dropped {
        if flow == place && t >= 20.0 && t > begun + tcp.rtt_s.unwrap() {
            events += 1;
            begun = t;
        }
    }
    let of = factors(&outcome.flows[0]);
    let sent = f64::from(events) / of.tcp_loss_event_rate;
    let by_rate = tcp.send_rate_bps.unwrap() * outcome.measured_s / 8.0 / 1448.0;
    assert!(
        events >= 10 && (sent / by_rate - 1.0).abs() < 0.01,
        "{events} events of {sent} packets, {by_rate}"
    );
}

/// Under ten loss events there is a reason in place of the factors; without a TCP there is nothing.
#[test]
fn the_reason_why_there_are_none() {
    let of = |scenario: &Scenario| run(scenario).flows[0].against_tcp;
    let few = Some(AgainstTcp { factors: None, missing: Some(NoFactors::FewLossEvents) });
    assert_eq!(of(&scenario("21s", TCP, "")), few);
    assert_eq!(of(&scenario("21s", "", "")), None);
    let json = serde_json::to_value(run(&scenario("21s", TCP, ""))).unwrap();
    assert_eq!(json["flows"][0]["against_tcp"]["missing"], "few-loss-events");
}
