//! The scenario language: what it reads, and how it says what it does not.

use std::fs;
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};
use tfrc_scenario::{FlowKind, Pace, Scenario, World};
use tfrc_sim::loss::Loss;
use tfrc_sim::network::RateChange;
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::traffic::Distribution;
use tfrc_sim::{LinkSpec, Seed};
use tfrc_units::{Duration, Instant, Probability, Rate};

fn read(text: &str) -> Scenario {
    match Scenario::parse("test.toml", text) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{:?}", miette::Report::new(error)),
    }
}

/// Report that a person sees for a wrong file.
fn complaint(text: &str) -> String {
    let error = Scenario::parse("wrong.toml", text).expect_err("this file is wrong");
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .render_report(&mut out, &error)
        .unwrap();
    out
}

/// A right file with one line replaced.
fn with(line: &str, by: &str) -> String {
    const RIGHT: &str = r#"duration = "60s"
nodes = ["near", "far"]

[[link]]
from = "near"
to = "far"
rate = "2Mbit/s"
delay = "20ms"
queue = "25p"

[[flow]]
kind = "tfrc"
from = "near"
to = "far"
"#;
    assert!(RIGHT.contains(line));
    RIGHT.replacen(line, by, 1)
}

fn links(scenario: &Scenario) -> Vec<LinkSpec> {
    scenario.network.links().map(|(_, spec)| spec.clone()).collect()
}

#[test]
fn the_shipped_scenarios_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|suffix| suffix != "toml") {
            continue;
        }
        let scenario = Scenario::load(&path, World::Simulated);
        assert!(!scenario.map_err(miette::Report::new).unwrap().flows.is_empty());
        files += 1;
    }
    assert!(files >= 18);
}

#[test]
fn every_key_is_read() {
    let scenario = read(
        r#"
        duration = "60s"
        warmup = "10s"
        seed = 7
        nodes = ["a", "r", "b"]
        gateway = { listen = "b", to = "a" }

        [[link]]
        name = "access"
        from = "a"
        to = "r"
        rate = "1Gbit/s"
        delay = "1ms"

        [[link]]
        from = "r"
        to = "b"
        rate = "2Mbit/s"
        delay = "20ms"
        queue = "50kB"
        loss = 0.01
        changes = [{ at = "10s", rate = "1Mbit/s" }, { at = "20s", rate = 0 }]
        reverse = { rate = "128k", queue = "10 packets", loss = { scripted = [3, 5] } }

        [[flow]]
        name = "video"
        kind = "tfrc"
        from = "a"
        to = "b"
        start = "1s"
        stop = "50s"
        segment = "1200B"
        header = "36B"
        packets_per_second = 50
        "#,
    );
    assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(60), Duration::from_secs(10)));
    assert_eq!(scenario.measured(), Duration::from_secs(50));
    assert_eq!(scenario.seed, Seed(7));
    assert_eq!(Some(scenario.gateways.listen), scenario.network.find_node("b"));
    assert_eq!(Some(scenario.gateways.to), scenario.network.find_node("a"));
    let names: Vec<String> = links(&scenario).into_iter().map(|l| l.name).collect();
    assert_eq!(names, ["access", "access back", "r-b", "b-r"]);
    let [_, back, there, reverse] = &links(&scenario)[..] else { panic!("four links") };
    assert_eq!((back.rate, back.delay), (Rate::from_bits_per_sec(1e9), Duration::from_millis(1)));
    assert_eq!(there.queue, Queue::DropTail(Limit::Bytes(50_000)));
    assert_eq!(there.loss, Loss::Bernoulli(Probability::saturating(0.01)));
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    assert_eq!(
        there.changes,
        [
            RateChange { at: at(10), rate: Rate::from_bits_per_sec(1e6) },
            RateChange { at: at(20), rate: Rate::ZERO }
        ]
    );
    assert_eq!((reverse.from, reverse.to), (there.to, there.from));
    assert_eq!((reverse.rate, reverse.delay), (Rate::from_bits_per_sec(128e3), Duration::from_millis(20)));
    assert_eq!(reverse.queue, Queue::DropTail(Limit::Packets(10)));
    assert_eq!(reverse.loss, Loss::Scripted(vec![3, 5]));
    assert!(reverse.changes.is_empty());
    let [flow] = &scenario.flows[..] else { panic!("one flow") };
    assert_eq!((flow.group.name.as_str(), flow.group.count), ("video", 1));
    assert_eq!((flow.start, flow.stop), (Distribution::Constant(1.0), Some(at(50))));
    let FlowKind::Tfrc(tfrc) = &flow.kind else { panic!("a TFRC flow") };
    assert_eq!((tfrc.segment, tfrc.header), (1200, 36));
    assert_eq!(tfrc.application.pace, Pace::Every(Duration::from_millis(20)));
}

#[test]
fn what_is_left_out() {
    let scenario = read(&with("queue = \"25p\"\n", ""));
    assert_eq!((scenario.warmup, scenario.seed), (Duration::ZERO, Seed(1)));
    let [there, back] = &links(&scenario)[..] else { panic!("two links") };
    assert_eq!(there.queue, Queue::DropTail(Limit::Unlimited));
    assert_eq!(there.loss, Loss::None);
    assert_eq!((back.rate, back.delay, back.queue), (there.rate, there.delay, there.queue));
    assert_eq!(scenario.flows[0].group.name, "tfrc-1");
    assert_eq!(Some(scenario.gateways.listen), scenario.network.find_node("near"));
}

#[test]
fn the_way_back_has_no_loss_unless_it_is_given_one() {
    let scenario = read(&with("queue = \"25p\"", "loss = { bernoulli = \"5%\" }"));
    assert_eq!(links(&scenario)[1].loss, Loss::None);
    let gilbert =
        r#"loss = { gilbert_elliott = { to_bad = "1%", to_good = 0.3, in_good = 0, in_bad = "50%" } }"#;
    let share = Probability::saturating;
    let model = Loss::GilbertElliott {
        to_bad: share(0.01),
        to_good: share(0.3),
        in_good: share(0.0),
        in_bad: share(0.5),
    };
    let scenario = read(&with("queue = \"25p\"", &format!("{gilbert}\nreverse = {{ {gilbert} }}")));
    assert!(links(&scenario).iter().all(|l| l.loss == model));
}

macro_rules! complaints {
    ($($name:ident: $text:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let text: String = $text.into();
                let complaint = complaint(&text);
                insta::assert_snapshot!(complaint);
            }
        )*
    };
}

complaints! {
    syntax: with("delay = \"20ms\"", "delay = 20ms");
    unknown_key: with("queue", "qeue");
    unknown_key_far_from_any: with("queue", "colour");
    unknown_key_in_a_loss_model: with("queue = \"25p\"", "loss = { bernouli = \"1%\" }");
    missing_key: with("rate = \"2Mbit/s\"\n", "");
    wrong_type: with("\"20ms\"", "true");
    unknown_unit: with("2Mbit/s", "2MiB");
    no_number: with("20ms", "slow");
    queue_without_unit_that_fits: with("25p", "25 cars");
    fractional_packets: with("25p", "2.5p");
    loss_above_one: with("queue = \"25p\"", "loss = \"150%\"");
    unknown_node: with("to = \"far\"", "to = \"fare\"");
    duplicate_node: with("\"near\", \"far\"", "\"near\", \"far\", \"near\"");
    link_to_itself: with("to = \"far\"", "to = \"near\"");
    duplicate_link: with("[[flow]]", "[[link]]\nfrom = \"near\"\nto = \"far\"\nrate = \"1M\"\ndelay = \"1ms\"\n\n[[flow]]");
    unordered_changes: with("queue = \"25p\"", "changes = [{ at = \"20s\", rate = \"1M\" }, { at = \"10s\", rate = \"2M\" }]");
    no_way_back: with("queue = \"25p\"", "reverse = \"none\"");
    unknown_reverse: with("queue = \"25p\"", "reverse = \"slow\"");
    unknown_kind: with("\"tfrc\"", "\"tfcr\"");
    stops_before_it_starts: with("kind = \"tfrc\"", "kind = \"tfrc\"\nstart = \"5s\"\nstop = \"4s\"");
    no_duration: with("60s", "0s");
    warmup_too_long: with("duration = \"60s\"", "duration = \"60s\"\nwarmup = \"60s\"");
    segment_too_large: with("kind = \"tfrc\"", "kind = \"tfrc\"\nsegment = \"1MB\"");
    packet_rate_of_zero: with("kind = \"tfrc\"", "kind = \"tfrc\"\npackets_per_second = 0");
    one_node: "duration = \"1s\"\nnodes = [\"alone\"]\n";
    two_flows_of_one_name: with(
        "kind = \"tfrc\"",
        "name = \"x\"\nkind = \"tfrc\"\nfrom = \"near\"\nto = \"far\"\n\n[[flow]]\nname = \"x\"\nkind = \"tfrc\"",
    );
}

#[test]
fn a_file_that_is_not_there() {
    let error = Scenario::load(Path::new("no/such/file.toml"), World::Links).unwrap_err();
    assert_eq!(error.to_string(), "cannot read no/such/file.toml");
}
