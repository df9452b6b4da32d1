//! Ctrl-C on either side ends a session cleanly.

use std::process::Stdio;

use tfrc_lab::record::Summary;

use crate::network::{recv, send};

#[test]
fn a_sender_that_is_interrupted_still_sums_up() {
    for name in ["INT", "TERM"] {
        let (receiver, address) = recv(&["-1", "--json"]);
        let mut sender = send(&address, &["--pps", "100", "--json"], Stdio::null());
        sender.wait_for("connected");
        sender.wait_for("1.0 s");
        sender.signal(name);
        let (sender, receiver): (Summary, Summary) = (sender.succeed().json(), receiver.succeed().json());
        assert!(sender.sent_packets > Some(20), "{sender:?}");
        assert_eq!(sender.received_packets, sender.sent_packets);
        assert_eq!(sender.sent_packets, receiver.sent_packets);
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
    assert!(sender.stderr.contains("the receiver ended the session"), "{}", sender.stderr);
    let sender: Summary = sender.json();
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
