//! Exit statuses and last lines: how a session ended, as both ends report it.

use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, noise, recv, recv_into, send};
use crate::e2e::program::{Finished, run};

/// The last line on standard error.
fn last_line(finished: &Finished) -> &str {
    finished.stderr.lines().last().unwrap_or_default()
}

#[track_caller]
fn ended(finished: &Finished, status: i32, line: &str) {
    assert_eq!(finished.status.code(), Some(status), "{}", finished.stderr);
    assert!(last_line(finished).contains(line), "no {line:?} in the last line of\n{}", finished.stderr);
}

#[test]
fn a_killed_sender_leaves_a_part_and_status_1() {
    let place = Place::new();
    let to = place.file("out");
    let (mut receiver, address) = recv(&["-1", "-o", &to, "--silence", "2s", "--json"]);
    let sender = send(&address, &["--pps", "100"], Stdio::null());
    receiver.wait_for("1.0 s");
    sender.signal("KILL");
    sender.end();
    let receiver = receiver.end();
    ended(&receiver, 1, "failed: the peer was silent for 2.0 s; ");
    let held = std::fs::metadata(format!("{to}.part")).expect("kept").len();
    let summary: Summary = receiver.json();
    assert_eq!((summary.outcome, summary.received_bytes), (Some(Outcome::Failed), Some(held)));
    assert!(summary.reason.is_some_and(|reason| reason.contains("out.part holds ")));
    assert!(held > 0 && !Path::new(&to).exists());
}

#[test]
fn a_full_disk_is_told_to_both_ends() {
    let (receiver, address) = recv(&["-o", "/dev/full", "--json"]);
    let sender = send(&address, &["-n", "200kB", "-b", "2M", "--json"], Stdio::null()).end();
    let receiver = receiver.end();
    ended(&receiver, 1, "failed: the disk is full: /dev/full");
    ended(&sender, 1, "failed: the receiver's disk is full; it has written 0 bytes");
    let (sender, receiver): (Summary, Summary) = (sender.json(), receiver.json());
    for summary in [&sender, &receiver] {
        assert_eq!((summary.outcome, summary.received_bytes), (Some(Outcome::Failed), Some(0)));
        assert_eq!(summary.received_packets, Some(0), "written is what counts");
        assert!(summary.dropped_by_reader_packets > Some(0), "{summary:?}");
    }
}

#[test]
fn a_reader_that_closes_is_told_to_both_ends() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let (receiver, address) = recv_into(&["-1", "-o", "-"], writer.into());
    let sender = send(&address, &["-n", "200kB", "-b", "2M"], Stdio::null()).end();
    ended(&receiver.end(), 1, "failed: the reader of standard output has closed it");
    ended(&sender, 1, "failed: the program that reads the receiver's output has closed it");
}

/// Nobody reads until datagrams are dropped; from then on everybody does.
#[test]
fn a_slow_reader_drops_and_both_ends_say_so() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let (mut receiver, address) = recv_into(&["-1", "-o", "-"], writer.into());
    let sender = send(&address, &["-t", "2min", "--json"], Stdio::null());
    receiver.wait_for("dropped here: the reader of standard output is too slow");
    let reading = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map(|_| u64::try_from(bytes.len()).expect("small"))
    });
    sender.signal("INT");
    let (sender, receiver) = (sender.end(), receiver.end());
    ended(&receiver, 1, "dropped here: the reader of standard output is too slow");
    ended(&sender, 1, "failed: the receiver reads too slowly: it dropped ");
    let sender: Summary = sender.json();
    let read = reading.join().expect("no panic").expect("readable");
    assert_eq!(sender.received_bytes, Some(read), "written is what counts");
    let all =
        [sender.received_packets, sender.lost_packets, sender.late_packets, sender.dropped_by_reader_packets];
    assert_eq!(all.into_iter().sum::<Option<u64>>(), sender.sent_packets, "{sender:?}");
}

/// A pipe that stalls holds up neither the interrupt nor the end.
#[test]
fn a_stalled_reader_does_not_hold_up_an_interrupt() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (mut receiver, address) = recv_into(&["-1", "-o", "-"], writer.into());
    let sender = send(&address, &["-t", "2min"], Stdio::null());
    receiver.wait_for("dropped here");
    receiver.signal("INT");
    ended(&receiver.end(), 1, "failed: interrupted before the sender had ended");
    ended(&sender.end(), 1, "failed: the receiver was interrupted");
    drop(reader);
}

#[test]
fn a_source_that_shrinks_is_a_failure() {
    let place = Place::new();
    let (from, to) = (place.write("in", noise(1_000_000)), place.file("out"));
    let (receiver, address) = recv(&["-o", &to]);
    let mut sender = send(&address, &["-f", &from, "-b", "4M"], Stdio::null());
    sender.wait_for("connected");
    std::fs::OpenOptions::new().write(true).open(&from).and_then(|file| file.set_len(1000)).expect("ours");
    let sender = sender.end();
    ended(&sender, 1, "in: became shorter while it was sent: ");
    assert!(last_line(&sender).contains("of 1,000,000 bytes were there"), "{}", sender.stderr);
    // The receiver has all that was sent, and not all that was meant.
    let receiver = receiver.end();
    ended(&receiver, 1, "failed: not whole: the sender ended before it had sent all that it meant to; ");
    assert!(last_line(&receiver).contains("out.part holds ") && !Path::new(&to).exists());
    // More than is there is not a failure.
    let (receiver, address) = recv(&["-1"]);
    send(&address, &["-f", &from, "-n", "5MB"], Stdio::null()).succeed();
    receiver.succeed();
}

/// A sender that its user ends before there were data.
fn bring_nothing(address: &str) {
    let mut sender = send(address, &["-f", "-"], Stdio::piped());
    let pipe = sender.stdin();
    sender.wait_for("connected");
    sender.signal("INT");
    sender.succeed();
    drop(pipe);
}

#[test]
fn a_stranger_who_brings_nothing_is_no_success() {
    let place = Place::new();
    let to = place.file("out");
    for args in [vec!["-1"], vec!["-1", "-o", &to]] {
        let (receiver, address) = recv(&args);
        bring_nothing(&address);
        ended(&receiver.end(), 1, "failed: the sender closed without sending anything");
    }
    assert!(!Path::new(&to).exists() && !Path::new(&format!("{to}.part")).exists());
}

/// Without -1 a receiver that waits for a file goes on waiting.
#[test]
fn who_brings_nothing_does_not_use_up_a_receiver() {
    let place = Place::new();
    let (full, to) = (place.write("in", noise(10_000)), place.file("out"));
    let (receiver, address) = recv(&["-o", &to]);
    bring_nothing(&address);
    send(&address, &["-f", &full], Stdio::null()).succeed();
    ended(&receiver.end(), 0, "complete: the file is whole: 10,000 bytes, and the hash agrees");
    assert_eq!(std::fs::read(&to).expect("whole"), noise(10_000));
}

/// Nothing is all that its sender meant to send. A directory has no data at all.
#[test]
fn an_empty_file_arrives() {
    let place = Place::new();
    let (empty, to) = (place.write("empty", ""), place.file("out"));
    for (args, end) in [
        (vec!["-1"], "complete: the sender closed after 0 datagrams"),
        (vec!["-o", &to], "complete: the file is whole: 0 bytes, and the hash agrees"),
    ] {
        let (receiver, address) = recv(&args);
        send(&address, &["-f", &empty], Stdio::null()).succeed();
        ended(&receiver.end(), 0, end);
    }
    assert_eq!(std::fs::read(&to).expect("made"), b"");
    let name = place.file("in-%n");
    let (receiver, address) = recv(&["-o", &name]);
    send(&address, &["-f", "-"], Stdio::null()).succeed();
    receiver.signal("TERM");
    receiver.succeed();
    assert_eq!(std::fs::read(name.replace("%n", "1")).expect("made"), b"");
    let directory = run(["send", "localhost", "-f", "/"]);
    assert_eq!(directory.status.code(), Some(2), "{}", directory.stderr);
    assert!(directory.stderr.contains("/: is a directory"), "{}", directory.stderr);
}

#[test]
fn who_is_connected_and_silent_has_to_go() {
    let (receiver, address) = recv(&["-1", "--idle", "500ms", "--allow", "127.0.0.0/8"]);
    let mut sender = send(&address, &["-f", "-"], Stdio::piped());
    let pipe = sender.stdin();
    ended(&receiver.end(), 1, "failed: the sender sent nothing for ");
    // It says so although its own input stays open.
    assert_eq!(sender.end().status.code(), Some(1));
    drop(pipe);
}

/// A receiver that serves many says of each how it ended, and ends well itself.
#[test]
fn failures_of_single_connections_are_not_those_of_the_receiver() {
    let place = Place::new();
    let source = place.write("in", noise(10_000));
    let (receiver, address) = recv(&["--json", "--idle", "500ms"]);
    let mut silent = send(&address, &["-f", "-"], Stdio::piped());
    let pipe = silent.stdin();
    assert_eq!(silent.end().status.code(), Some(1));
    drop(pipe);
    send(&address, &["-f", &source], Stdio::null()).succeed();
    receiver.signal("TERM");
    let receiver = receiver.end();
    ended(&receiver, 0, "stopped: interrupted after 2 connections, 1 of them failed");
    let outcomes: Vec<_> = receiver
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Summary>(line).expect("a summary a line").outcome)
        .collect();
    assert_eq!(outcomes, [Some(Outcome::Failed), Some(Outcome::Complete)]);
}
