//! `--json-stream`: one record a line.

use std::process::Stdio;

use tfrc_report::record::{EventKind, Record, Role, Summary};

use crate::e2e::network::{end_link, link, recv, scenario, send};
use crate::e2e::program::{Finished, run};

/// The lines as records: a start, intervals and events in the order of their times, an end.
fn records(finished: &Finished, role: Role) -> (Vec<Record>, Summary) {
    let mut records: Vec<Record> = finished
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let Some(Record::End(summary)) = records.pop() else { panic!("no end: {}", finished.text()) };
    let Record::Start(start) = records.remove(0) else { panic!("no start: {}", finished.text()) };
    assert_eq!(start.role, role);
    assert!(start.version.starts_with("tfrc ") && start.command.starts_with("tfrc "), "{start:?}");
    let mut last = 0.0;
    for record in &records {
        let t = match record {
            Record::Interval(interval) => interval.t_s,
            Record::Event(event) => event.t_s,
            other => panic!("in the middle: {other:?}"),
        };
        assert!(t >= last, "back in time: {record:?}");
        last = t;
    }
    (records, *summary)
}

fn happened(records: &[Record], kind: EventKind) -> usize {
    records.iter().filter(|r| matches!(r, Record::Event(e) if e.event == kind)).count()
}

#[test]
fn both_ends_of_a_session_stream_records_that_add_up() {
    let (receiver, address) = recv(&["-1", "--json-stream"]);
    let (relay, entrance) = link(&scenario("bottleneck.toml"), &address);
    let sender = send(&entrance, &["-n", "500kB", "--json-stream"], Stdio::null()).succeed();
    let receiver = receiver.succeed();
    end_link(relay);
    let ((sent, sender), (received, receiver)) =
        (records(&sender, Role::Send), records(&receiver, Role::Recv));
    for side in [&sent, &received] {
        assert_eq!((happened(side, EventKind::Connected), happened(side, EventKind::Closed)), (1, 1));
        assert_eq!(happened(side, EventKind::SlowStartEnd), 1, "the queue overflows once at least");
        assert!(happened(side, EventKind::LossEvent) >= 1);
    }
    let sum = |records: &[Record], key: fn(&tfrc_world::results::Interval) -> Option<u64>| -> u64 {
        records.iter().filter_map(|r| if let Record::Interval(i) = r { key(i) } else { None }).sum()
    };
    assert_eq!(Some(sum(&sent, |i| i.sent_packets)), sender.sent_packets);
    assert_eq!(Some(sum(&received, |i| i.received_packets)), receiver.received_packets);
    assert_eq!(sender.sent_packets, receiver.sent_packets);
}

#[test]
fn a_simulation_streams_too() {
    let finished = run(["sim".as_ref(), "--json-stream".as_ref(), scenario("halving.toml").as_os_str()]);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let (records, summary) = records(&finished, Role::Sim);
    assert!(records.len() >= 60, "a line a second");
    assert_eq!(summary.flows.len(), 1);
    // Each interval names its flow or its link, and all of flows have the same keys, and all of
    // links, of one flow and of several.
    let mix = scenario("mix-droptail.toml");
    let short = ["--runs", "1", "--set", "duration=5s", "--set", "warmup=1s"].map(AsRef::as_ref);
    let several = run(["sim".as_ref(), "--json-stream".as_ref(), mix.as_os_str()].into_iter().chain(short));
    let keys = |finished: &Finished, about: &str, other: &str| -> Vec<Vec<String>> {
        let lines = finished.text().lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let intervals = lines.filter(|line: &serde_json::Value| line["type"] == "interval");
        let intervals = intervals.filter(|line| line.get(other).is_none());
        let mut all: Vec<Vec<String>> = intervals
            .map(|line| {
                assert!(line[about].is_string(), "{line}");
                line.as_object().expect("an object").keys().cloned().collect()
            })
            .collect();
        all.dedup();
        all
    };
    for (about, other) in [("flow", "link"), ("link", "flow")] {
        let one = keys(&finished, about, other);
        assert_eq!(one.len(), 1, "{one:?}");
        assert_eq!(keys(&several, about, other), one);
    }
}
