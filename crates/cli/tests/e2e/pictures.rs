//! Pages, time series and streams of `tfrc sim`, and the refusal of files that cannot be written.

use serde_json::Value;

use crate::e2e::network::{Place, scenario};
use crate::e2e::program::{Finished, run};

/// Two points of two runs each, of a TFRC flow and a TCP.
const SWEEP: &str = r#"
duration = "4s"
warmup = "1s"
runs = 2
nodes = ["a", "b"]

[[link]]
name = "path"
from = "a"
to = "b"
rate = "1Mbit/s"
delay = "10ms"
queue = "20p"

[[flow]]
name = "control"
kind = "tfrc"
from = "a"
to = "b"

[[flow]]
name = "other"
kind = "tcp"
from = "a"
to = "b"

[[sweep]]
set = "link.path.rate"
values = ["1Mbit/s", "2Mbit/s"]
"#;

fn right(args: &[&str]) -> Finished {
    let finished = run(args);
    assert!(finished.status.success(), "{args:?}: {}", finished.stderr);
    finished
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).expect(path)
}

fn columns(csv: &str) -> Vec<Vec<String>> {
    csv.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The page of one run has each flow and each link, by name.
#[test]
fn the_page_of_a_run_has_every_flow_and_link() {
    let place = Place::new();
    let (file, page) = (place.write("s.toml", SWEEP), place.file("page.html"));
    right(&["sim", &file, "--set", "sweep=[]", "--runs", "1", "--report", &page]);
    let page = read(&page);
    let (_, data) = page.split_once("id=\"run-data\">").expect("data");
    let data: Value = serde_json::from_str(data.split_once("</script>").expect("its end").0).expect("JSON");
    let charts = data["charts"].as_array().expect("charts");
    let keys = |id: &str| -> Vec<&str> {
        let chart = charts.iter().find(|chart| chart["id"] == id).expect(id);
        chart["series"].as_array().expect("curves").iter().filter_map(|one| one["key"].as_str()).collect()
    };
    assert_eq!(keys("rates"), ["allowed_rate_bps", "send_rate_bps", "goodput_bps", "goodput_bps other"]);
    assert_eq!(keys("shares"), ["share control", "share other"]);
    assert_eq!(keys("cwnd"), ["cwnd_packets other"]);
    assert_eq!(keys("queues"), ["queue_packets path", "queue_packets path back"]);
    assert_eq!(keys("rtts").len(), 2);
    assert!(data["loss_events_s"].as_array().is_some_and(|ticks| !ticks.is_empty()), "loss ticks");
    // Shares of what both got add up to all of it.
    let chart = charts.iter().find(|chart| chart["id"] == "shares").expect("shares");
    let share = |n: usize, cell: usize| chart["series"][n]["values"][cell].as_f64();
    for cell in 10..40 {
        if let (Some(a), Some(b)) = (share(0, cell), share(1, cell)) {
            assert!((a + b - 1.0).abs() < 1e-4, "{a} and {b}");
        }
    }
    assert!(page.contains("link path was busy for"), "the headline names the busiest link");
}

/// A line for each flow and each direction of the link, of each second of each run, whatever the
/// number of threads; their sums are the figures of the document.
#[test]
fn the_series_of_a_sweep_are_the_same_bytes_on_any_threads() {
    let place = Place::new();
    let (file, one, two) = (place.write("s.toml", SWEEP), place.file("1.csv"), place.file("2.csv"));
    let document: Value = right(&["sim", &file, "--json", "--series", &one]).json();
    right(&["sim", &file, "--json", "--series", &two, "--jobs", "2"]);
    let text = read(&one);
    assert!(text == read(&two), "the same bytes");
    let lines = columns(&text);
    assert_eq!(lines[0][..7], ["run", "point", "link.path.rate", "flow", "link", "t_s", "interval_s"]);
    assert_eq!(lines.len(), 1 + 2 * 2 * 4 * (2 + 2));
    let column = |name: &str| lines[0].iter().position(|head| head == name).expect(name);
    let (goodput, sent) = (column("goodput_bps"), column("send_rate_bps"));
    let mean = |at: usize| {
        let wanted = |line: &&Vec<String>| {
            line[..5] == ["2", "2", "2Mbit/s", "control", ""] && line[5].parse::<f64>().expect("a time") > 1.5
        };
        let values: Vec<f64> =
            lines.iter().filter(wanted).map(|line| line[at].parse().expect("a number")).collect();
        assert_eq!(values.len(), 3);
        values.iter().sum::<f64>() / 3.0
    };
    let flow = &document["points"][1]["runs"][1]["flows"][0];
    assert_eq!(flow["id"], "control");
    for (key, at) in [("goodput_bps", goodput), ("send_rate_bps", sent)] {
        let whole = flow[key].as_f64().expect(key);
        assert!((mean(at) / whole - 1.0).abs() < 1e-9, "{key}: {} and {whole}", mean(at));
    }
    // Half the time, twice the lines.
    right(&["sim", &file, "--json", "--series", &two, "--interval", "500ms"]);
    assert_eq!(read(&two).lines().count() - 1, 2 * (lines.len() - 1));
}

/// Each line of a stream names its run and its point, in their order on any threads.
#[test]
fn a_stream_of_several_runs_tells_them_apart() {
    let place = Place::new();
    let file = place.write("s.toml", SWEEP);
    let stream = |jobs: &str| -> Vec<Value> {
        let text = right(&["sim", &file, "--json-stream", "--jobs", jobs]);
        let mut lines: Vec<Value> =
            text.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        // The command that repeats the run names the threads.
        lines.iter_mut().for_each(|line| line["command"] = Value::Null);
        lines
    };
    let lines = stream("1");
    assert!(stream("2") == lines, "the same lines on any threads");
    let of = |kind: &str| {
        let lines = lines.iter().filter(|line| line["type"] == kind);
        lines.map(|line| (line["point"].as_u64(), line["run"].as_u64())).collect::<Vec<_>>()
    };
    let runs: Vec<_> = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(p, r)| (Some(p), Some(r))).into();
    assert_eq!((of("start"), of("end")), (runs.clone(), runs));
    assert_eq!(of("interval").len(), 2 * 2 * 4 * (2 + 2));
    let starts: Vec<&Value> = lines.iter().filter(|line| line["type"] == "start").collect();
    assert_eq!(starts[3]["parameters"]["link.path.rate"], "2Mbit/s");
    let seeds: Vec<&Value> = starts.iter().map(|start| &start["parameters"]["seed"]).collect();
    assert!(seeds[0] != seeds[1] && seeds[0] == seeds[2], "{seeds:?}");
    let end = lines.iter().find(|line| line["type"] == "end").expect("an end");
    assert_eq!(end["links"].as_array().map(Vec::len), Some(2));
}

/// A file that could not be written at the end is reported before anything runs.
#[test]
fn an_unwritable_file_is_told_before_the_run() {
    let place = Place::new();
    let (file, nowhere) = (place.write("s.toml", SWEEP), place.file("no/file"));
    let bottleneck = scenario("bottleneck.toml");
    let bottleneck = bottleneck.to_str().expect("text");
    for args in [
        &["sim", &file, "--series", &nowhere][..],
        &["sim", &file, "--report", &nowhere],
        &["sim", bottleneck, "--pcap", &nowhere],
        &["recv", "-1", "--series", &nowhere],
        &["demo", "--report", &nowhere],
        &["emu", bottleneck, "--report", &nowhere],
    ] {
        let finished = run(args);
        assert_eq!(finished.status.code(), Some(2), "{args:?}: {}", finished.stderr);
        assert!(finished.stdout.is_empty() && finished.stderr.contains("no/file: "), "{}", finished.stderr);
        assert!(finished.stderr.lines().count() <= 3, "nothing ran: {}", finished.stderr);
    }
}

/// The page of a sweep draws the means over what is swept.
#[test]
fn the_page_of_a_sweep_has_means_and_intervals() {
    let place = Place::new();
    let (file, page) = (place.write("s.toml", SWEEP), place.file("sweep.html"));
    let document: Value = right(&["sim", &file, "--json", "--report", &page]).json();
    let page = read(&page);
    assert!(page.contains("2 points, 2 runs each.") && page.contains("link.path.rate"));
    for figure in ["goodput_bps", "loss_event_rate", "rtt_s", "utilization", "mean_queue_packets"] {
        assert!(page.contains(&format!("<figure id=\"{figure}\"")), "{figure}");
    }
    let goodput = document["points"][1]["mean"]["groups"][0]["goodput_bps"]["mean"].as_f64().expect("a mean");
    assert!(page.contains(&tfrc_report::human::rate(goodput)), "{goodput}");
}
