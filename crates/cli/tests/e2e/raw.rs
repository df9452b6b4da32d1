//! DCCP over IP alone, `--raw`: for processes that may have raw sockets.
#![allow(clippy::disallowed_macros, reason = "a test that cannot run says so")]

use serde_json::Value;
use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, noise};
use crate::e2e::program::{Program, run, tfrc};

/// Starts a receiver at a free port of this host; where that is. `None` without raw sockets, and
/// the refusal has the line that gives them.
fn recv(host: &str, args: &[&str]) -> Option<(Program, String)> {
    let mut command = tfrc(["recv", "--raw", "--bind", host, "-p", "0"]);
    command.args(args);
    let mut program = Program::start(command);
    let line = program.wait_for_either("listening on", "raw sockets");
    if !line.contains("listening on") {
        program.wait_for("sudo setcap cap_net_raw+ep $(command -v tfrc)");
        assert_eq!(program.end().status.code(), Some(2));
        eprintln!("not run: {line}");
        return None;
    }
    let address = line.rsplit(' ').next().expect("an address").to_owned();
    Some((program, address))
}

fn send(to: &str, args: &[&str]) -> Program {
    let mut command = tfrc(["send", "--raw", to]);
    command.args(args);
    Program::start(command)
}

/// Two receivers and two senders of one host at once.
#[test]
fn files_arrive_whole_though_other_pairs_are_on_the_host() {
    let place = Place::new();
    let mut pairs = Vec::new();
    for (n, host) in ["127.0.0.1", "127.0.0.1", "::1"].into_iter().enumerate() {
        let content = noise(300_000 + n);
        let (original, arrived) = (place.write(&format!("in{n}"), &content), place.file(&format!("out{n}")));
        let Some((receiver, address)) = recv(host, &["-o", &arrived, "--json"]) else { return };
        let sender = send(&address, &["-f", &original, "--json"]);
        pairs.push((sender, receiver, content, arrived));
    }
    for (sender, receiver, content, arrived) in pairs {
        let ends: [Summary; 2] = [sender.succeed().json(), receiver.succeed().json()];
        for end in &ends {
            assert_eq!((end.outcome, end.transport.as_deref()), (Some(Outcome::Complete), Some("raw")));
        }
        assert_eq!((ends[0].sent_packets, ends[0].lost_packets), (ends[1].received_packets, Some(0)));
        assert!(std::fs::read(&arrived).expect("written") == content);
    }
}

/// The sender listens, and the receiver, which knows its address, calls.
#[test]
fn a_sender_that_listens_is_called() {
    let mut command = tfrc(["send", "-R", "--raw", "--bind", "127.0.0.1", "-p", "0"]);
    command.args(["-n", "100kB", "--json"]);
    let mut sender = Program::start(command);
    let line = sender.wait_for_either("listening on", "raw sockets");
    let Some((_, address)) = line.rsplit_once("listening on ") else {
        eprintln!("not run: {line}");
        return;
    };
    let mut command = tfrc(["recv", "--raw", "--from", address]);
    command.arg("--json");
    let receiver: Summary = Program::start(command).succeed().json();
    let sender: Summary = sender.succeed().json();
    assert_eq!(sender.sent_bytes, receiver.received_bytes);
    assert_eq!((sender.transport, receiver.transport), (Some("raw".into()), Some("raw".into())));
}

/// The recordings of a sender are read as those of sessions over UDP.
#[test]
fn a_capture_and_a_journal_are_read() {
    let place = Place::new();
    let (pcap, journal) = (place.file("a.pcap"), place.file("a.journal"));
    let Some((receiver, address)) = recv("127.0.0.1", &["-1", "--json"]) else { return };
    send(&address, &["-n", "50kB", "--pcap", &pcap, "--journal", &journal]).succeed();
    receiver.succeed();
    let read = run(["capture", &pcap, "--json"]);
    assert!(read.status.success());
    let read: Value = read.json();
    assert_eq!(read["connections"][0]["carrier"], "ip");
    assert!(run(["replay", &journal]).status.success());
}

#[test]
fn raw_is_not_private() {
    if cfg!(feature = "quic") {
        let refused = run(["send", "--raw", "--quic", "127.0.0.1"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(refused.stderr.contains("'--raw' cannot be used with '--quic'"), "{}", refused.stderr);
    }
}
