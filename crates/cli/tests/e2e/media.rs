//! `tfrc stream`: video and audio arrive as an MPEG transport stream that can be decoded.

use std::path::Path;

use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, recv};
use crate::e2e::program::{Finished, Program, other, tfrc};
use crate::e2e::video::{encode, probe};

/// Streams this input to its end, or as `more` says; the file that arrived.
fn streamed(place: &Place, input: &str, more: &[&str]) -> String {
    let arrived = place.file("arrived.ts");
    let (receiver, address) = recv(&["-1", "-o", &arrived]);
    let mut stream = tfrc(["stream", input, &address, "--size", "320x240", "--max-bitrate", "500k"]);
    stream.args(more);
    Program::start(stream).succeed();
    receiver.succeed();
    arrived
}

/// Decodes all of a file; fails for the least damage.
fn decode(file: &str) {
    let mut ffmpeg = other("ffmpeg");
    ffmpeg.args(["-nostdin", "-loglevel", "error", "-xerror", "-i", file, "-f", "null", "-"]);
    Program::start(ffmpeg).succeed();
}

#[test]
fn the_test_picture_arrives_with_sound() {
    let place = Place::new();
    let (log, report) = (place.file("bitrates"), place.file("run.html"));
    let arrived = streamed(&place, "test", &["-t", "2s", "--bitrate-log", &log, "--report", &report]);
    let (kinds, pictures) = probe(&arrived);
    assert_eq!(kinds, ["audio", "video"]);
    // Two seconds of 25, less what the encoder's start takes on a busy machine.
    assert!((10..=52).contains(&pictures), "{pictures} pictures");
    let bitrates = std::fs::read_to_string(log).expect("a log");
    assert!(bitrates.lines().all(|line| line.ends_with(" bit/s")) && !bitrates.is_empty(), "{bitrates}");
    assert!(Path::new(&report).is_file());
}

#[test]
fn a_file_arrives_with_or_without_its_sound_and_can_be_decoded() {
    let place = Place::new();
    let original = place.file("in.ts");
    encode(&original);
    for (more, expected) in [(&[][..], &["audio", "video"][..]), (&["--no-sound"], &["video"])] {
        let arrived = streamed(&place, &original, more);
        let (kinds, pictures) = probe(&arrived);
        assert_eq!(kinds, expected);
        // A machine that is too busy to encode leaves some of the 75 out.
        assert!((30..=76).contains(&pictures), "{pictures} of 75 pictures");
        decode(&arrived);
        std::fs::remove_file(arrived).expect("written");
    }
}

/// A stream to nobody, with this search path.
fn refused(log: &str, input: &str, path: Option<&str>) -> Finished {
    let mut stream = tfrc(["stream", input, "127.0.0.1:1", "--bitrate-log", log]);
    if let Some(path) = path {
        stream.env("PATH", path);
    }
    Program::start(stream).end()
}

#[test]
fn a_missing_gstreamer_or_source_is_status_2_with_the_remedy() {
    let place = Place::new();
    let empty = place.file("empty");
    std::fs::create_dir(&empty).expect("a directory");
    let file = place.write("in.ts", "");
    let log = place.file("log");
    let (empty, file, log) = (empty.as_str(), file.as_str(), log.as_str());
    for (log, input, path, words) in [
        (log, "test", Some(empty), "python3-gi gir1.2-gstreamer-1.0 gstreamer1.0-plugins-base"),
        (log, "none.mp4", None, "none.mp4: No such file"),
        (log, empty, None, "a directory"),
        (file, file, None, "--bitrate-log"),
        (file, "test", None, "exists already"),
    ] {
        let finished = refused(log, input, path);
        assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "no {words:?} in {}", finished.stderr);
    }
}

/// Status, last line and JSON are those of this failure.
#[track_caller]
fn failed(finished: &Finished, line: &str) {
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    let last = finished.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with(line), "{}", finished.stderr);
    assert_eq!(finished.json::<Summary>().outcome, Some(Outcome::Failed), "{}", finished.stderr);
}

#[test]
fn a_file_without_a_picture_is_a_failure_that_names_it() {
    let place = Place::new();
    let words = place.write("words.txt", "no picture\n".repeat(1000));
    let (receiver, address) = recv(&["-1"]);
    let finished = Program::start(tfrc(["stream", &words, &address, "--json"])).end();
    failed(&finished, &format!("failed: {words}: "));
    receiver.end();
}

#[test]
fn an_address_from_which_nothing_comes_is_a_failure_that_names_it() {
    let (receiver, address) = recv(&["-1"]);
    let line = ["stream", "udp://127.0.0.1:9", &address, "-t", "2s", "--json"];
    failed(&Program::start(tfrc(line)).end(), "failed: udp://127.0.0.1:9: no picture came from it");
    receiver.end();
}
