//! `tfrc demo`.

use serde_json::Value;

use crate::network::Place;
use crate::program::run;

#[test]
fn the_demo_sums_up_and_writes_its_report() {
    let place = Place::new();
    let page = place.file("demo.html");
    let finished = run(["demo", "--duration", "4s", "--json", "--report", &page]);
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
    // The network of the demo: 2 Mbit/s; 40 ms, and at most 26 packets of some 1400 bytes before ours.
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
    assert!(page.contains("tfrc demo --duration 4s"), "the command that repeats it");
}
