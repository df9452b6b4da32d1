//! `tfrc send --rate-out`: the allowed rate as lines for an encoder.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::e2e::network::{Place, noise, recv, send};
use crate::e2e::program::{Program, other, run, tfrc};

/// The rates in some lines, each a whole number of bit/s.
fn rates(lines: &str) -> Vec<u64> {
    lines.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{line:?} is not a rate"))).collect()
}

fn fifo(place: &Place) -> String {
    let path = place.file("rate");
    let mut mkfifo = other("mkfifo");
    mkfifo.arg(&path);
    Program::start(mkfifo).succeed();
    path
}

#[test]
fn a_file_has_rates_up_to_the_cap() {
    let place = Place::new();
    let path = place.write("rate", "of an earlier run\n");
    let (receiver, address) = recv(&["-1"]);
    send(&address, &["-n", "100kB", "-b", "1M", "--rate-out", &path], Stdio::null()).succeed();
    receiver.succeed();
    let rates = rates(&std::fs::read_to_string(&path).expect("there"));
    assert!(!rates.is_empty() && rates.iter().all(|rate| (1..=1_000_000).contains(rate)), "{rates:?}");
}

/// The shell opens the descriptor, as a program that starts `tfrc send` would.
#[test]
fn a_descriptor_is_written_to() {
    let place = Place::new();
    let path = place.file("rate");
    let (receiver, address) = recv(&["-1"]);
    let send = tfrc(["send", &address, "-n", "100kB", "--rate-out", "5"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$@\" 5>\"$RATE\""]).env("RATE", &path).stdin(Stdio::null());
    shell.arg(send.get_program()).args(send.get_args());
    Program::start(shell).succeed();
    receiver.succeed();
    assert!(!rates(&std::fs::read_to_string(&path).expect("there")).is_empty());
}

#[test]
fn a_reader_that_goes_does_not_end_the_session() {
    let place = Place::new();
    let path = fifo(&place);
    let (receiver, address) = recv(&["-1", "-o", "-"]);
    let mut sender = send(&address, &["-f", "-", "--rate-out", &path], Stdio::piped());
    let mut input = sender.stdin();
    let content = noise(50_000);
    // Opening waits for the sender, and reading for its first line.
    let mut reader = BufReader::new(std::fs::File::open(&path).expect("a FIFO"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    assert_eq!(rates(&line).len(), 1);
    drop(reader);
    std::io::Write::write_all(&mut input, &content).expect("read to the end");
    drop(input);
    sender.succeed();
    assert!(receiver.succeed().stdout == content);
}

#[test]
fn a_fifo_without_a_reader_holds_up_nothing() {
    let place = Place::new();
    let path = fifo(&place);
    let (receiver, address) = recv(&["-1"]);
    send(&address, &["-n", "100kB", "--rate-out", &path], Stdio::null()).succeed();
    receiver.succeed();
}

#[test]
fn places_that_cannot_be_written_are_refused_before_anybody_is_called() {
    let place = Place::new();
    let source = place.write("in", "data");
    for (arguments, words) in [
        (vec!["--rate-out", "77"], "descriptor 77"),
        (vec!["--rate-out", "1"], "standard stream"),
        (vec!["-f", &source, "--rate-out", &source], "both -f and --rate-out"),
    ] {
        let finished = run([vec!["send", "192.0.2.1"], arguments].concat());
        assert_eq!(finished.status.code(), Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    }
    assert_eq!(std::fs::read_to_string(&source).expect("there"), "data");
}
