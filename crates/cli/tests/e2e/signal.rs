//! Ctrl-C on either side ends a session cleanly.

use std::process::Stdio;

use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, end_link, link, noise, recv, send};

#[test]
fn a_sender_that_is_interrupted_still_sums_up() {
    for name in ["INT", "TERM", "HUP"] {
        let (receiver, address) = recv(&["-1", "--json"]);
        let mut sender = send(&address, &["--pps", "100", "--json"], Stdio::null());
        sender.wait_for("connected");
        sender.wait_for("1.0 s");
        sender.signal(name);
        let (sender, receiver): (Summary, Summary) = (sender.succeed().json(), receiver.succeed().json());
        assert!(sender.sent_packets > Some(20), "{sender:?}");
        assert_eq!(sender.received_packets, sender.sent_packets);
        assert_eq!(sender.sent_packets, receiver.sent_packets);
        assert_eq!((sender.outcome, receiver.outcome), (Some(Outcome::Stopped), Some(Outcome::Complete)));
    }
}

#[test]
fn a_receiver_that_is_interrupted_ends_the_session() {
    let (mut receiver, address) = recv(&["--json"]);
    let mut sender = send(&address, &["--pps", "100", "--json"], Stdio::null());
    sender.wait_for("1.0 s");
    receiver.wait_for("connected");
    receiver.signal("INT");
    let receiver: Summary = receiver.succeed().json();
    assert!(receiver.received_packets > Some(20), "{receiver:?}");
    // The sender did not want the end: its data is not all there, and it says so.
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert!(sender.stderr.contains("failed: the receiver was interrupted"), "{}", sender.stderr);
    let sender: Summary = sender.json();
    assert_eq!((sender.outcome, receiver.outcome), (Some(Outcome::Failed), Some(Outcome::Stopped)));
    assert!(sender.sent_packets >= receiver.received_packets, "{sender:?} {receiver:?}");
}

#[test]
fn a_receiver_without_a_connection_ends_at_once() {
    for json in [&[][..], &["--json"]] {
        let (receiver, _) = recv(json);
        receiver.signal("INT");
        assert!(receiver.succeed().stdout.is_empty());
    }
}

/// The receiver is suspended, so that no answer to the close comes.
#[test]
fn a_second_interrupt_still_sums_up() {
    let (receiver, address) = recv(&["-1"]);
    let mut sender = send(&address, &["--pps", "100", "--json"], Stdio::null());
    sender.wait_for("1.0 s");
    receiver.signal("STOP");
    sender.signal("INT");
    sender.wait_for("ending");
    sender.signal("INT");
    let sender = sender.end();
    receiver.signal("CONT");
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert!(sender.stderr.contains("failed: "), "{}", sender.stderr);
    let summary: Summary = sender.json();
    assert!(summary.sent_packets > Some(20), "{summary:?}");
    assert_eq!(summary.outcome, Some(Outcome::Failed));
}

/// 64 datagrams wait at 128 kbit/s: five seconds' worth, which nobody who wants the end waits for.
/// The queue of the link grows without limit, and the round-trip time with it, though not beyond
/// the six seconds for which an answer to the Close is waited for.
#[test]
fn the_end_does_not_wait_for_the_queue_and_says_what_was_left() {
    let place = Place::new();
    let path = place.one_link("rate = \"128kbit/s\"\ndelay = \"10ms\"");
    let source = place.write("in", noise(2_000_000));
    for how in ["-t", "INT"] {
        let (receiver, address) = recv(&["-1", "--json"]);
        let (relay, entrance) = link(&path, &address);
        let limit = if how == "-t" { "2s" } else { "2min" };
        let mut sender = send(&entrance, &["--json", "-t", limit, "-f", &source], Stdio::null());
        sender.wait_for("1.0 s");
        if how == "INT" {
            sender.signal(how);
        }
        let sender = sender.succeed();
        end_link(relay);
        receiver.succeed();
        let unsent = sender.json::<Summary>().unsent_packets.expect("known");
        assert!(unsent > 0 && unsent <= 64, "{}", sender.stderr);
        assert!(sender.stderr.contains(&format!("{unsent} datagrams not sent")), "{}", sender.stderr);
        assert!(sender.stderr.contains("stopped: "), "{}", sender.stderr);
    }
}
