//! The encoders of `contrib/encoder`, over a path that halves: counts and their order, no times.

use std::path::Path;

use serde_json::Value;

use crate::e2e::network::Place;
use crate::e2e::program::{Program, other};

/// Runs the comparison for 16 s, of which the last six have half the rate; its results.
fn compare(encoder: &str, ways: &[&str]) -> Vec<Value> {
    let place = Place::new();
    let (out, script) = (place.file("out"), "../../contrib/encoder/compare.py");
    let mut python = other("python3");
    python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script));
    python.args(["--seconds", "16", "--encoder", encoder, "--out", &out, "--tfrc"]);
    python.arg(assert_cmd::cargo::cargo_bin!("tfrc"));
    python.args(ways.iter().flat_map(|way| ["--way", way]));
    Program::start(python).succeed();
    let results = std::fs::read_to_string(Path::new(&out).join("results.json")).expect("results");
    serde_json::from_str(&results).expect("JSON")
}

fn number(result: &Value, key: &str) -> f64 {
    result[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {result}"))
}

/// The encoder's bitrates are those of lines that came, and its pictures arrive.
fn check_following(result: &Value) {
    let [first, lowest] = ["first_bps", "lowest_bps"].map(|key| number(result, key));
    assert!((150_000.0..=1_500_000.0).contains(&first) && lowest <= first, "{result}");
    assert!(number(result, "pictures") > 0.0 && number(result, "ssim") > 0.0, "{result}");
    assert!(number(result, "datagrams") > number(result, "late"), "{result}");
}

#[test]
fn segments_that_follow_the_rate_drop_less_than_those_of_a_fixed_one() {
    let results = compare("segments", &["following", "fixed"]);
    let [following, fixed] = results.as_slice() else { panic!("{results:?}") };
    check_following(following);
    assert!(number(following, "late_share") < number(fixed, "late_share"), "{results:?}");
}

#[test]
fn a_stream_takes_bitrates_as_they_come() {
    let results = compare("stream", &["following"]);
    let [following] = results.as_slice() else { panic!("{results:?}") };
    check_following(following);
    assert!(number(following, "last_bps") > 0.0, "{results:?}");
}
