//! One value behind three: the `outcome` of the JSON, the last line and the exit status of each way
//! in which a command ends.

use std::process::Stdio;

use serde_json::Value;

use crate::e2e::network::{Place, noise, recv, recv_into, scenario, send};
use crate::e2e::program::{Finished, Program, tfrc};

/// A device that is a full disk to those who write to it.
const FULL: &str = "/dev/full";

/// The last JSON document of standard output; `None` if there is none, or not a whole one.
fn document(finished: &Finished) -> Option<Value> {
    serde_json::from_str(finished.text().lines().last()?).ok()
}

/// The outcome, the last line and the exit status are of one ending, and the ending is this one.
#[track_caller]
fn agree(finished: &Finished, outcome: &str, status: i32) {
    let (said, last) = (&finished.stderr, finished.stderr.lines().last().unwrap_or_default());
    assert_eq!(finished.status.code(), Some(status), "{said}");
    assert!(last.starts_with(&format!("{outcome}: ")), "the last line is not of {outcome}:\n{said}");
    let document = document(finished).unwrap_or_else(|| panic!("no document: {}\n{said}", finished.text()));
    assert_eq!(document["outcome"], outcome, "{said}");
    let reason = document["reason"].as_str().expect("a reason");
    assert_eq!(last, format!("{outcome}: {reason}"));
}

/// A command without an outcome of its own: it prints its result, or a reason and status 1.
#[track_caller]
fn all_or_nothing(finished: &Finished, status: i32) {
    let said = &finished.stderr;
    assert_eq!(finished.status.code(), Some(status), "{said}");
    assert_eq!(document(finished).is_some(), status == 0, "{}\n{said}", finished.text());
    let last = said.lines().last().unwrap_or_default();
    assert_eq!(last.starts_with("error: "), status != 0, "{said}");
}

#[test]
fn of_a_sender() {
    let place = Place::new();
    let file = place.write("in", noise(100_000));
    for (more, outcome, status) in [
        (vec!["-f", &file], "complete", 0),
        (vec!["-t", "300ms", "--pps", "50"], "stopped", 0),
        (vec!["-f", &file, "--pcap", FULL], "failed", 1),
        (vec!["-f", &file, "--journal", FULL], "failed", 1),
        (vec!["-f", &file, "--series", FULL], "failed", 1),
        (vec!["-f", &file, "--report", FULL], "failed", 1),
        (vec!["-t", "300ms", "--pps", "50", "--series", FULL, "--report", FULL], "failed", 1),
    ] {
        let (receiver, address) = recv(&["-1"]);
        let sender = send(&address, &[&more[..], &["--json"]].concat(), Stdio::null()).end();
        agree(&sender, outcome, status);
        receiver.end();
    }
    for json in ["--json", "--json-stream"] {
        let (receiver, address) = recv(&["-1"]);
        let full = std::fs::OpenOptions::new().write(true).open(FULL).expect("a device");
        let mut command = tfrc(["send", &address, "-f", &file, json]);
        command.stdin(Stdio::null());
        let sender = Program::start_writing(command, full.into()).end();
        assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
        let last = sender.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with("failed: standard output: "), "{}", sender.stderr);
        receiver.end();
    }
}

/// A receiver that fails, one that is interrupted, and one that cannot write its records: the data
/// of the last is whole, and in its place.
#[test]
fn of_both_ends() {
    let place = Place::new();
    let file = place.write("in", noise(100_000));
    for (receives, sends, receiver_is, sender_is) in [
        (vec!["-1"], vec!["-f", &file], ("complete", 0), ("complete", 0)),
        (vec!["-1", "-o", FULL], vec!["-f", &file], ("failed", 1), ("failed", 1)),
        (vec!["-1", "--series", FULL], vec!["-f", &file], ("failed", 1), ("complete", 0)),
        (vec!["-1", "--report", FULL], vec!["-f", &file], ("failed", 1), ("complete", 0)),
        (vec!["-1", "--idle", "300ms"], vec!["-f", "-"], ("failed", 1), ("failed", 1)),
    ] {
        let (receiver, address) = recv(&[&receives[..], &["--json"]].concat());
        let mut sender = send(&address, &[&sends[..], &["--json"]].concat(), Stdio::piped());
        let pipe = sender.stdin();
        agree(&sender.end(), sender_is.0, sender_is.1);
        agree(&receiver.end(), receiver_is.0, receiver_is.1);
        drop(pipe);
    }
    for (interrupt_receiver, receiver_is, sender_is) in
        [(true, ("failed", 1), ("failed", 1)), (false, ("complete", 0), ("stopped", 0))]
    {
        let (receiver, address) = recv(&["-1", "--json"]);
        let mut sender = send(&address, &["-t", "2min", "--pps", "100", "--json"], Stdio::null());
        sender.wait_for("1.0 s");
        if interrupt_receiver {
            receiver.signal("INT");
        } else {
            sender.signal("INT");
        }
        agree(&sender.end(), sender_is.0, sender_is.1);
        agree(&receiver.end(), receiver_is.0, receiver_is.1);
    }
    let full = std::fs::OpenOptions::new().write(true).open(FULL).expect("a device");
    let out = place.file("out");
    let (receiver, address) = recv_into(&["-o", &out, "--json"], full.into());
    agree(&send(&address, &["-f", &file, "--json"], Stdio::null()).end(), "complete", 0);
    let receiver = receiver.end();
    assert_eq!(receiver.status.code(), Some(1), "{}", receiver.stderr);
    let last = receiver.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("failed: standard output: ") && last.contains("holds 100,000 bytes"), "{last}");
    assert_eq!(std::fs::read(&out).expect("there"), noise(100_000));
}

/// A receiver of many connections ends with a line of its own.
#[test]
fn of_a_receiver_of_many() {
    for (more, word, status) in [(vec![], "stopped: ", 0), (vec!["--series", FULL], "failed: --series: ", 1)]
    {
        let (receiver, address) = recv(&[&more[..], &["--json"]].concat());
        agree(&send(&address, &["-n", "10kB", "--json"], Stdio::null()).end(), "complete", 0);
        receiver.signal("TERM");
        let receiver = receiver.end();
        assert_eq!(receiver.status.code(), Some(status), "{}", receiver.stderr);
        let last = receiver.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with(word), "{}", receiver.stderr);
    }
}

#[test]
fn of_the_demo() {
    for (more, outcome, status) in [
        (vec![], "complete", 0),
        (vec!["--series", FULL], "failed", 1),
        (vec!["--report", FULL], "failed", 1),
    ] {
        let mut command = tfrc(["demo", "--duration", "1s", "--json"]);
        command.args(more);
        agree(&Program::start(command).end(), outcome, status);
    }
    let mut demo = Program::start(tfrc(["demo", "--duration", "1min", "--json"]));
    demo.wait_for("1.0 s");
    demo.signal("INT");
    agree(&demo.end(), "stopped", 0);
}

#[test]
fn of_commands_that_print_a_result() {
    let place = Place::new();
    let network = scenario("bottleneck.toml");
    let network = network.to_str().expect("text");
    let short = ["sim", network, "--json", "--set", "duration=2s", "--set", "warmup=1s"];
    for (more, status) in [
        (vec![], 0),
        (vec!["--series", FULL], 1),
        (vec!["--report", FULL], 1),
        (vec!["--runs", "2", "--series", FULL], 1),
        (vec!["--runs", "2", "--report", FULL], 1),
    ] {
        let mut command = tfrc(short);
        command.args(more);
        all_or_nothing(&Program::start(command).end(), status);
    }
    for (more, status) in [(vec![], 0), (vec!["--series", FULL], 1), (vec!["--report", FULL], 1)] {
        let line = ["link", network, "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--json"];
        let mut command = tfrc(line);
        command.args(&more);
        let mut link = Program::start(command);
        link.wait_for("relaying");
        link.signal("INT");
        let link = link.end();
        assert_eq!(link.status.code(), Some(status), "{more:?}: {}", link.stderr);
        assert_eq!(document(&link).is_some(), status == 0, "{more:?}: {}", link.text());
    }
    // A journal as it was written, and one that was changed.
    let journal = place.file("journal");
    let (receiver, address) = recv(&["-1"]);
    send(&address, &["-n", "10kB", "--journal", &journal], Stdio::null()).succeed();
    receiver.succeed();
    all_or_nothing(&Program::start(tfrc(["replay", &journal, "--json"])).end(), 0);
    let mut bytes = std::fs::read(&journal).expect("written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let changed = place.write("changed", bytes);
    all_or_nothing(&Program::start(tfrc(["replay", &changed, "--json"])).end(), 3);
}
