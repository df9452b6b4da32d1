//! The report page: its data for a realistic run, and that nothing of a run can break out of it.

mod sample;

use tfrc_report::pages::{RunRecords, page};
use tfrc_report::record::{Event, EventKind, Record, Role, Start, Summary};
use tfrc_world::results::{FlowSummary, Interval};

/// The JSON the page's script reads, as text.
fn data_text(page: &str) -> &str {
    let (_, rest) = page.split_once("id=\"run-data\">").expect("the page has a data part");
    rest.split_once("</script>").expect("the data part ends").0
}

fn data(page: &str) -> serde_json::Value {
    serde_json::from_str(data_text(page)).expect("the data part is JSON")
}

#[test]
fn the_data_of_a_realistic_run() {
    // One member of an object a line, so that a change shows as the line it is.
    let text = data_text(&page(&sample::demo(3))).replace(",\"", ",\n\"");
    insta::assert_snapshot!(text);
}

#[test]
fn the_words_of_a_realistic_run() {
    let page = page(&sample::demo(3));
    let start = page.find("<header>").expect("header");
    let end = page.find("<details>").expect("details");
    // An element a line, so that a change shows as the line it is.
    insta::assert_snapshot!(page[start..end].replace("><", ">\n<"));
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = page(&sample::demo(3));
    for outside in ["src=\"", "src='", "@import", "url(", "<link rel=\"stylesheet", "<iframe", "<base"] {
        assert!(!page.contains(outside), "{outside} in the page");
    }
    assert!(page.contains("default-src 'none'"));
}

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' & \u{2028} <!-- \u{0}";

fn hostile_run() -> RunRecords {
    let mut start = Start::new(Role::Demo, HOSTILE, HOSTILE);
    start.peer = Some(HOSTILE.to_owned());
    start.parameters.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    let mut run = RunRecords::new(start);
    run.title = HOSTILE.to_owned();
    for flow in [None, Some(HOSTILE.to_owned())] {
        run.push(Record::Interval(Interval {
            t_s: 1.0,
            interval_s: 1.0,
            flow,
            goodput_bps: Some(1e6),
            ..Interval::default()
        }));
    }
    run.push(Record::Event(Event {
        t_s: 0.5,
        event: EventKind::NoFeedback,
        flow: None,
        detail: Some(HOSTILE.to_owned()),
    }));
    let flow = FlowSummary { id: HOSTILE.to_owned(), kind: HOSTILE.to_owned(), ..FlowSummary::default() };
    run.push(Record::End(Box::new(Summary { flows: vec![flow.clone(), flow], ..Summary::default() })));
    run
}

#[test]
fn hostile_text_stays_text() {
    let mut run = hostile_run();
    for failure in [None, Some((1.0, HOSTILE.to_owned()))] {
        run.failure = failure;
        let page = page(&run);
        let plain = page.replace(include_str!("../../vendor/uplot/uPlot.iife.min.js"), "");
        assert!(!plain.contains("<script>alert"));
        assert!(!plain.contains("<img"));
        assert!(!plain.contains("<!--"));
        assert!(!plain.contains('\u{0}'));
        // One script of data, uPlot, and the page's own.
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script").count(), 3);
        // Escaped, not lost: the data still says exactly what the run said.
        let label = format!("goodput of {HOSTILE}");
        assert!(data(&page).pointer("/charts/0/series").and_then(|s| s.as_array()).is_some_and(|series| {
            series.iter().any(|s| s.get("label").and_then(|l| l.as_str()) == Some(label.as_str()))
        }));
    }
}

#[test]
fn odd_numbers_make_a_page_all_the_same() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e308, f64::MIN_POSITIVE];
    let mut run =
        RunRecords::new(Start { bottleneck_bps: Some(f64::NAN), ..Start::new(Role::Send, "v", "c") });
    for t_s in odd {
        for x in odd {
            run.push(Record::Interval(Interval {
                t_s,
                interval_s: x,
                send_rate_bps: Some(x),
                allowed_rate_bps: Some(x),
                loss_event_rate: Some(x),
                rtt_s: Some(x),
                queue_packets: Some(x),
                ..Interval::default()
            }));
        }
        run.push(Record::Event(Event { t_s, event: EventKind::LossEvent, flow: None, detail: None }));
        run.push(Record::End(Box::new(Summary {
            duration_s: t_s,
            share: Some(t_s),
            send_rate_bps: Some(t_s),
            ..Summary::default()
        })));
        let times = data(&page(&run));
        let times: Vec<f64> =
            times["t_s"].as_array().expect("times").iter().filter_map(serde_json::Value::as_f64).collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}

#[test]
fn a_run_without_intervals_still_has_its_summary() {
    let mut run = RunRecords::new(Start::new(Role::Recv, "tfrc 0.1.0", "tfrc recv"));
    run.push(Record::End(Box::new(Summary {
        received_packets: Some(7),
        duration_s: 1.0,
        ..Summary::default()
    })));
    let page = page(&run);
    assert!(page.contains("Nothing was measured over time"));
    assert!(page.contains("received_packets"));
}

#[test]
fn many_competitors_are_drawn_as_their_mean() {
    let mut run = RunRecords::new(Start::new(Role::Demo, "v", "c"));
    for n in 0..6u32 {
        run.push(Record::Interval(Interval {
            t_s: 1.0,
            interval_s: 1.0,
            flow: (n > 0).then(|| format!("tcp-{n}")),
            goodput_bps: Some(f64::from(n) * 1e6),
            ..Interval::default()
        }));
    }
    let data = data(&page(&run));
    let series = data["charts"][0]["series"].as_array().expect("series");
    assert_eq!(series.len(), 2);
    assert_eq!(series[1]["values"][0], 3e6);
    assert_eq!(series[1]["label"], "mean goodput of 5 competing flows");
}

#[test]
fn four_competitors_are_drawn_one_by_one() {
    let mut run = RunRecords::new(Start::new(Role::Demo, "v", "c"));
    for n in 0..5u32 {
        run.push(Record::Interval(Interval {
            t_s: 1.0,
            interval_s: 1.0,
            flow: (n > 0).then(|| format!("tcp-{n}")),
            goodput_bps: Some(f64::from(n) * 1e6),
            ..Interval::default()
        }));
    }
    let data = data(&page(&run));
    let series = data["charts"][0]["series"].as_array().expect("series");
    let pens: Vec<_> = series.iter().map(|s| s["pen"].as_str().expect("a pen")).collect();
    assert_eq!(pens, ["goodput", "other1", "other2", "other3", "other4"]);
    assert_eq!(series[4]["values"][0], 4e6);
}

#[test]
fn headlines_say_what_happened() {
    let summary = Summary {
        sent_bytes: Some(4_980_000),
        received_bytes: Some(4_970_000),
        duration_s: 20.0,
        send_rate_bps: Some(1.99e6),
        goodput_bps: Some(1.98e6),
        packet_loss_rate: Some(0.004),
        bottleneck_bps: Some(2e6),
        ..Summary::default()
    };
    let say = |role, records: Vec<Record>| {
        let mut run =
            RunRecords::new(Start { peer: Some("192.0.2.1:6511".to_owned()), ..Start::new(role, "v", "c") });
        run.extend(records);
        run.headline()
    };
    let end = || vec![Record::End(Box::new(summary.clone()))];
    assert_eq!(
        say(Role::Send, end()),
        "4.98 MB sent to 192.0.2.1:6511 in 20.0 s, 1.99 Mbit/s on average; 0.400 % of the packets were lost."
    );
    assert_eq!(
        say(Role::Recv, end()),
        "4.97 MB received from 192.0.2.1:6511 in 20.0 s, 1.98 Mbit/s on average; 0.400 % of the packets were lost."
    );
    assert_eq!(
        say(Role::Demo, end()),
        "A TFRC flow had a 2.00 Mbit/s bottleneck to itself for 20.0 s: 1.98 Mbit/s arrived, 99.0 % of the link; \
         0.400 % of the packets were lost."
    );
    assert_eq!(
        say(Role::Send, vec![Record::Error { t_s: 3.0, message: "the peer is gone".to_owned() }]),
        "The run failed after 3.00 s: the peer is gone."
    );
    assert_eq!(say(Role::Send, Vec::new()), "The run has not ended.");
}
