//! `tfrc demo`.

use serde_json::Value;

use crate::e2e::network::Place;
use crate::e2e::program::{Program, run, tfrc};

#[test]
fn the_demo_sums_up_and_writes_its_report() {
    let place = Place::new();
    let page = place.file("demo.html");
    let finished = run(["demo", "--tcp", "0", "--duration", "4s", "--json", "--report", &page]);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let document: Value = finished.json();
    let number =
        |key: &str| document[key].as_f64().unwrap_or_else(|| panic!("{key} is no number: {document}"));
    let counts = ["received_packets", "lost_packets", "late_packets"].map(number);
    assert!((number("sent_packets") - counts.iter().sum::<f64>()).abs() < 0.5, "{document}");
    assert!(counts[0] > 100.0 && counts[1] > 0.0, "{document}");
    for key in [
        "sent_bytes",
        "received_bytes",
        "send_rate_bps",
        "goodput_bps",
        "allowed_rate_bps",
        "loss_event_rate",
        "packet_loss_rate",
        "wire_goodput_bps",
    ] {
        assert!(number(key) > 0.0, "{key}: {document}");
    }
    // The network of the demo: 2 Mbit/s; 40 ms, and at most 26 packets of some 1400 bytes before
    // ours.
    assert!((number("bottleneck_bps") - 2e6).abs() < 1.0);
    assert!(number("goodput_bps") < 2e6 && number("wire_goodput_bps") <= 2.02e6, "{document}");
    assert!((0.04..0.2).contains(&number("rtt_s")), "{document}");
    assert!((3.9..10.0).contains(&number("duration_s")), "{document}");
    assert_eq!(document["late_dropped_packets"], 0);
    assert_eq!(document["flows"][0]["kind"], "tfrc");
    for key in ["id", "send_rate_bps", "goodput_bps", "packet_loss_rate", "loss_event_rate", "rtt_s", "cov"] {
        assert!(!document["flows"][0][key].is_null(), "flows[0].{key}: {document}");
    }
    // Without a competitor there is no comparison.
    for key in ["share", "cov_ratio", "equivalence_ratio"] {
        assert!(document[key].is_null(), "{key}: {document}");
    }
    let page = std::fs::read_to_string(&page).expect("written");
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("tfrc demo --tcp 0 --duration 4s"), "the command that repeats it");
}

/// Figures that depend on the machine's speed are left to `cargo xtask measure demo`.
#[test]
fn simulated_tcps_compete() {
    let place = Place::new();
    let page = place.file("demo.html");
    let finished = run(["demo", "--tcp", "2", "--duration", "6s", "--json", "--report", &page]);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let document: Value = finished.json();
    let flows = document["flows"].as_array().expect("flows");
    let word = |flow: &Value, key: &str| flow[key].as_str().map(str::to_owned);
    let ids: Vec<_> = flows.iter().filter_map(|flow| word(flow, "id")).collect();
    let kinds: Vec<_> = flows.iter().filter_map(|flow| word(flow, "kind")).collect();
    assert_eq!(
        (ids, kinds),
        (strings(["tfrc", "tcp-1", "tcp-2"]), strings(["tfrc", "tcp-sack", "tcp-sack"]))
    );
    let mut goodput = 0.0;
    for flow in flows {
        for key in ["send_rate_bps", "goodput_bps", "packet_loss_rate", "rtt_s", "cov"] {
            assert!(flow[key].is_f64(), "{key}: {document}");
        }
        goodput += flow["goodput_bps"].as_f64().expect("a number");
    }
    // All of them go through the same 2 Mbit/s; a queue of 25 packets may empty into the measured
    // time.
    assert!(goodput < 2.2e6, "{document}");
    for key in ["share", "cov_ratio", "equivalence_ratio"] {
        assert!(document[key].as_f64().is_some_and(|x| x > 0.0), "{key}: {document}");
    }
    let page = std::fs::read_to_string(&page).expect("written");
    for curve in ["goodput of tcp-1", "goodput of tcp-2"] {
        assert!(page.contains(curve), "{curve}");
    }
}

#[test]
fn a_late_tcp_has_not_sent_before_its_time() {
    let finished = run(["demo", "--tcp", "2", "--tcp-start", "3s", "--duration", "7s", "--json-stream"]);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    let records: Vec<Value> =
        finished.text().lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let sent = |flow: &str, until: f64| -> u64 {
        let of_flow = records.iter().filter(|r| r["flow"] == flow);
        let then = of_flow.filter(|r| r["t_s"].as_f64().is_some_and(|t| t <= until));
        then.filter_map(|r| r["sent_packets"].as_u64()).sum()
    };
    // The relay's clock starts a moment before the sender's.
    assert_eq!(sent("tcp-2", 2.5), 0);
    let both = ["tcp-1", "tcp-2"].map(|flow| sent(flow, 10.0));
    assert!(both.iter().all(|packets| *packets > 0), "{both:?}\n{}", finished.text());
}

#[test]
fn a_tcp_cannot_start_after_the_end() {
    for arguments in [["--tcp", "1", "--tcp-start", "20s"], ["--tcp", "0", "--tcp-start", "1s"]] {
        let finished = run([&["demo"], &arguments[..]].concat());
        assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains("--tcp-start"), "{}", finished.stderr);
    }
}

/// In a pipe there is no chart, with or without `--plain`, whatever the terminal is called.
#[test]
fn without_a_terminal_there_are_lines_of_80_columns_and_no_escape_codes() {
    for plain in [&["--plain"][..], &[]] {
        let mut command = tfrc([&["demo", "--tcp", "2", "--duration", "3s"], plain].concat());
        command.env("TERM", "xterm-256color");
        let finished = Program::start(command).end();
        assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
        let said = format!("{}{}", finished.text(), finished.stderr);
        assert!(!said.contains('\u{1b}'), "{said}");
        let seconds = finished.stderr.lines().filter(|line| line.contains(" s  TFRC "));
        // Until the second TCP has sent, a line names one.
        let rates = seconds.filter(|line| line.contains("  TCP") && line.contains("  fair "));
        assert!((2..=4).contains(&rates.count()), "{said}");
        for line in said.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        assert!(finished.text().contains("of a fair share alongside 2 TCPs"), "{said}");
    }
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}
