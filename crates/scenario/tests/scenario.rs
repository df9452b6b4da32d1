//! The scenario language: what it reads, and how it says what it does not.

use std::fs;
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};
use tfrc_scenario::{FlowKind, Pace, Scenario, World};
use tfrc_sim::loss::Loss;
use tfrc_sim::network::LinkChange;
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
        [LinkChange::of_rate(at(10), Rate::from_bits_per_sec(1e6)), LinkChange::of_rate(at(20), Rate::ZERO)]
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

/// A file of a scenario and a log next to it.
fn with_log(log: &str, text: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("log.csv"), log).expect("written");
    let path = folder.path().join("scenario.toml");
    fs::write(&path, text).expect("written");
    Scenario::load(&path, World::Simulated).map_err(|error| format!("{:?}", miette::Report::new(error)))
}

const LOG_RATE: &str =
    "{ log = \"log.csv\", time = \"Timestamp\", rate = \"DL_bitrate\", unit = \"kbit/s\" }";

#[test]
fn a_log_gives_the_rates_of_a_link_again_and_again() {
    let log = "Timestamp,DL_bitrate,UL_bitrate\n0,72,20\n1,24100,310\n2,0,0\n3,51000,400\n";
    let text = with("\"2Mbit/s\"", LOG_RATE).replace("60s", "6s");
    let scenario = with_log(log, &text).expect("a right file");
    for link in links(&scenario) {
        assert_eq!((link.rate, link.changes.len()), (Rate::from_bits_per_sec(72e3), 7));
        let rates = [24.1e6, 0.0, 51e6, 72e3, 24.1e6, 0.0, 51e6].map(Rate::from_bits_per_sec);
        for ((change, rate), s) in link.changes.iter().zip(rates).zip(1..) {
            assert_eq!(*change, LinkChange::of_rate(Instant::ZERO + Duration::from_secs(s), rate));
        }
    }
    for (from, to, fault) in [
        ("time = \"Timestamp\", ", "", "`time` is missing"),
        ("unit = \"kbit/s\"", "unit = \"kbps\"", "there is no unit `kbps`"),
        ("DL_bitrate", "down", "there is no column `down`"),
        ("log.csv", "none.csv", "cannot be read"),
        (LOG_RATE, "{ trace = \"./log.csv\" }", "is a log: { log ="),
        ("log.csv", "/dev/zero", "it is not a file"),
        (
            "delay = ",
            "changes = [{ at = \"1s\", rate = \"1Mbit/s\" }]\ndelay = ",
            "has every rate of its link",
        ),
    ] {
        let complaint = with_log(log, &text.replace(from, to)).expect_err(fault);
        assert!(complaint.contains(fault), "{complaint}");
    }
}

#[test]
fn a_change_sets_everything_at_one_time() {
    let changes =
        "changes = [{ at = \"10s\", rate = \"1Mbit/s\", delay = \"90ms\", queue = \"9p\", loss = \"100%\" }]";
    let scenario = read(&with("queue = \"25p\"", &format!("queue = \"25p\"\n{changes}")));
    let change = LinkChange {
        at: Instant::ZERO + Duration::from_secs(10),
        rate: Some(Rate::from_bits_per_sec(1e6)),
        delay: Some(Duration::from_millis(90)),
        limit: Some(Limit::Packets(9)),
        losses: Some(vec![Loss::Bernoulli(Probability::ONE).into()]),
    };
    let [there, back] = &links(&scenario)[..] else { panic!("two links") };
    assert_eq!((&there.changes[..], back.changes.len()), (&[change][..], 0));
    for (entry, fault) in [
        ("{ at = \"10s\" }", "nothing changes at this time"),
        ("{ at = \"10s\", queue = { codel = { limit = \"9p\" } } }", "limit"),
        ("{ at = \"10s\", delay = 5 }", "no unit"),
    ] {
        let text = with("queue = \"25p\"", &format!("queue = \"25p\"\nchanges = [{entry}]"));
        assert!(complaint(&text).contains(fault), "{}", complaint(&text));
    }
    let codel = "queue = { codel = { limit = \"9p\" } }\nchanges = [{ at = \"1s\", queue = \"9p\" }]";
    let refused = complaint(&with("queue = \"25p\"", codel));
    assert!(refused.contains("is not drop-tail"), "{refused}");
}

#[test]
fn every_kind_has_a_timetable_or_says_why_not() {
    let of = |kind: &str, keys: &str| with("kind = \"tfrc\"", &format!("kind = \"{kind}\"\n{keys}"));
    let active = "active = [{ from = \"1s\", to = \"2s\" }, { from = \"4s\", to = \"5s\" }]";
    let writes = "writes = [{ at = \"1s\", bytes = \"3kB\" }, { at = \"1s\", bytes = \"1B\" }]";
    for kind in ["tfrc", "tfrc-sp", "dccp", "dccp-sp", "tcp", "cbr", "onoff", "ping"] {
        let more = match kind {
            "cbr" => "\nrate = \"1Mbit/s\"",
            "onoff" => "\nrate = \"1Mbit/s\"\non = \"1s\"\noff = \"1s\"",
            _ => "",
        };
        let [flow] = &read(&of(kind, &format!("transfer = \"9kB\"{more}"))).flows[..] else {
            panic!("{kind}")
        };
        assert_eq!(flow.timetable.total(), Some(9000), "{kind}");
        let given = of(kind, &format!("{active}{more}"));
        match kind {
            "onoff" => assert!(complaint(&given).contains("stand beside given times")),
            _ => assert!(!read(&given).flows[0].timetable.is_endless()),
        }
        let given = of(kind, &format!("{writes}{more}"));
        match kind {
            "onoff" | "ping" => assert!(complaint(&given).contains("does nothing in a flow of kind")),
            _ => assert_eq!(read(&given).flows[0].timetable.total(), Some(3001), "{kind}"),
        }
    }
    for key in [active, writes, "transfer = \"1B\""] {
        assert!(complaint(&of("web", key)).contains("does nothing in a flow of kind `web`"));
    }
    for (keys, fault) in [
        ("active = []", "never active"),
        ("writes = []", "nothing is written"),
        ("writes = \"9kB\"", "neither a list nor a table"),
        ("transfer = \"0B\"", "no end"),
        ("active = [{ from = \"2s\", to = \"1s\" }]", "must follow each other"),
        (
            "active = [{ from = \"1s\", to = \"3s\" }, { from = \"2s\", to = \"4s\" }]",
            "must follow each other",
        ),
        ("writes = [{ at = \"2s\", bytes = \"1B\" }, { at = \"1s\", bytes = \"1B\" }]", "order of time"),
        (&format!("{active}\n{writes}"), "`writes` says when"),
        (&format!("transfer = \"1kB\"\n{writes}"), "all times and sizes"),
        (&format!("packets_per_second = 50\n{writes}"), "all times and sizes"),
    ] {
        assert!(complaint(&of("tfrc", keys)).contains(fault), "{keys}: {}", complaint(&of("tfrc", keys)));
    }
}

#[test]
fn frames_of_a_file_are_written_from_the_start_of_the_flow() {
    let writes = "writes = { file = \"log.csv\", interval = \"40ms\", bytes = \"2\" }\nstart = \"5s\"";
    let text = with("kind = \"tfrc\"", &format!("kind = \"tcp\"\n{writes}"));
    let scenario = with_log("I 9000\nP 1200\nP 0\nP 800\n", &text).expect("a right file");
    let start = Instant::ZERO + Duration::from_secs(5);
    let table = scenario.flows[0].timetable.starting(start);
    let at = |ms| table.at(start + Duration::from_millis(ms));
    assert_eq!((at(0).bytes, at(40).bytes, at(119).bytes, at(120).bytes), (9000, 10_200, 10_200, 11_000));
    assert_eq!((at(40).next, at(120).next), (Some(start + Duration::from_millis(120)), None));
}

#[test]
fn ns2_brings_the_sizes_of_its_packets() {
    let sizes =
        |keys: &str| match &read(&with("kind = \"tfrc\"", &format!("kind = \"tfrc\"\n{keys}"))).flows[0].kind
        {
            FlowKind::Tfrc(flow) => (flow.segment, flow.header),
            other => panic!("{other:?}"),
        };
    assert_eq!(sizes("tfrc = { revision = \"ns2\" }"), (1000, 32));
    assert_eq!(sizes("segment = \"960B\"\ntfrc = { revision = \"ns2\" }"), (960, 32));
    assert_eq!(sizes("tfrc = { revision = \"rfc3448\" }"), (1460, 44));
}
