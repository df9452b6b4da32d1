//! Tests of what a reporter says and writes.

use super::*;
use tfrc_report::record::{Role, Start};

fn config(format: Format) -> ReporterConfig {
    ReporterConfig::new(format)
}

fn records() -> Vec<Record> {
    let mut records = vec![Record::Start(Start::new(Role::Send, "tfrc 0.1.0", "tfrc send h"))];
    for tick in 1..=25u32 {
        records.push(Record::Interval(Interval {
            t_s: f64::from(tick) / 10.0,
            interval_s: 0.1,
            allowed_rate_bps: Some(1e6),
            ..Interval::default()
        }));
    }
    records.push(Record::End(Box::new(Summary {
        sent_packets: Some(250),
        duration_s: 2.5,
        ..Summary::default()
    })));
    records
}

fn run(config: ReporterConfig) -> (String, String) {
    let mut reporter = Reporter::on(config, Vec::new(), Vec::new());
    for record in records() {
        reporter.record(&record).expect("memory takes everything");
    }
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(reporter.out), text(reporter.err))
}

#[test]
fn progress_is_one_line_a_second_on_stderr() {
    let (_, err) = run(config(Format::Human));
    assert_eq!(err, "   1.0 s  allowed 1.00 Mbit/s\n   2.0 s  allowed 1.00 Mbit/s\n");
}

/// At 8 kbit/s 1 kB goes in a second; what was repaired in half a second has to be made up for.
#[test]
fn progress_says_how_long_the_rest_takes() {
    let config = ReporterConfig { bytes: Some(91_500), ..config(Format::Human) };
    let mut reporter = Reporter::on(config, Vec::new(), Vec::new());
    for (t_s, repaired_bytes) in [(0.5, None), (1.0, Some(500))] {
        let interval = Interval {
            t_s,
            interval_s: 0.5,
            send_rate_bps: Some(8000.0),
            repaired_bytes,
            ..Interval::default()
        };
        reporter.record(&Record::Interval(interval)).expect("memory takes everything");
    }
    let err = String::from_utf8(reporter.err).expect("text");
    assert_eq!(err, "   1.0 s  sent 8.00 kbit/s  repaired 500 B  91 s left\n");
}

#[test]
fn a_stream_is_every_record_on_a_line() {
    let (out, _) = run(config(Format::JsonStream));
    let read: Vec<Record> = out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert_eq!(read, records());
}

#[test]
fn json_is_one_document() {
    let (out, _) = run(config(Format::Json));
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(document["sent_packets"], 250);
    assert_eq!(document["goodput_bps"], serde_json::Value::Null);
}

#[test]
fn the_summary_leaves_stdout_to_the_data() {
    let (out, err) = run(ReporterConfig { summary_to: SummaryTo::Stderr, ..config(Format::Human) });
    assert_eq!(out, "");
    assert!(err.contains("Packets sent                           250"), "{err}");
}

#[test]
fn the_page_is_written_at_the_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("run.html");
    let (_, err) = run(ReporterConfig {
        report: Some(Page { path: path.clone(), existing: ExistingPage::Keep }),
        ..config(Format::Human)
    });
    let page = std::fs::read_to_string(&path).expect("the page");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(err.contains("report written to"));
    let page =
        |path, existing| ReporterConfig { report: Some(Page { path, existing }), ..config(Format::Json) };
    let nowhere = page(dir.path().join("no/run.html"), ExistingPage::Replace);
    let mut reporter = Reporter::on(nowhere, Vec::new(), Vec::new());
    let outcome: Vec<_> = records().iter().map(|r| reporter.record(r)).collect();
    assert!(matches!(outcome.last(), Some(Err(Failure::Run(why))) if why.contains("run.html")));
    // A page that came to be while the run ran.
    std::fs::write(&path, "somebody's").expect("written");
    for (existing, kept) in [(ExistingPage::Keep, true), (ExistingPage::Replace, false)] {
        let mut reporter = Reporter::on(page(path.clone(), existing), Vec::new(), Vec::new());
        let outcome: Vec<_> = records().iter().map(|r| reporter.record(r)).collect();
        assert_eq!(matches!(outcome.last(), Some(Err(Failure::Run(_)))), kept);
        assert_eq!(std::fs::read(&path).expect("there") == b"somebody's", kept);
    }
}
