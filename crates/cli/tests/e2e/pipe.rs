//! Standard input and standard output as the ends of a session.

use std::io::Write;
use std::process::Stdio;

use tfrc_report::record::Summary;

use crate::e2e::network::{LENGTH, Place, end_link, link, noise, recv, send};
use crate::e2e::program::run;

#[test]
fn what_is_piped_in_is_piped_out() {
    let content = noise(200_000);
    let (receiver, address) = recv(&["-1", "-o", "-"]);
    let mut sender = send(&address, &["-f", "-", "-b", "20M"], Stdio::piped());
    sender.stdin().write_all(&content).expect("read to the end");
    sender.succeed();
    let receiver = receiver.succeed();
    assert!(receiver.stdout == content, "{} bytes came", receiver.stdout.len());
    // The summary is there, but not in the data.
    let words = receiver.stderr.to_lowercase();
    assert!(["received", "lost", "late"].iter().all(|word| words.contains(word)), "{words}");
}

#[test]
fn data_and_json_do_not_share_standard_output() {
    for format in ["--json", "--json-stream"] {
        let refused = run(["recv", "-o", "-", format]);
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
        assert!(refused.stdout.is_empty() && refused.stderr.contains("-o FILE"), "{}", refused.stderr);
    }
}

/// 3 MB at once onto a line of 1 Mbit/s, which would need 24 s for it.
fn flood(args: &[&str]) -> (Summary, Summary) {
    let place = Place::new();
    let slow = place.one_link("rate = \"1Mbit/s\"\ndelay = \"10ms\"\nqueue = \"10p\"");
    let (receiver, address) = recv(&["-1", "--json"]);
    let (relay, entrance) = link(&slow, &address);
    let mut sender = send(&entrance, &[&["-f", "-", "--json"], args].concat(), Stdio::piped());
    sender.stdin().write_all(&noise(3_000_000)).expect("read to the end");
    let (sender, receiver) = (sender.succeed().json(), receiver.succeed().json());
    end_link(relay);
    (sender, receiver)
}

#[test]
fn with_a_deadline_a_pipe_too_fast_for_the_path_loses_its_oldest_data_and_never_waits() {
    let (sender, receiver) = flood(&["--deadline", "100ms"]);
    let (sent, dropped) = (sender.sent_packets.expect("known"), sender.late_dropped_packets.expect("known"));
    // Every datagram was sent or dropped. A writer that pauses makes short ones, so there may be
    // some more.
    let datagrams = 3_000_000_u64.div_ceil(LENGTH);
    assert!((datagrams..datagrams + 50).contains(&(sent + dropped)), "{sender:?}");
    assert!(dropped > datagrams / 2, "{sender:?}");
    assert!(sender.duration_s < 12.0, "it waited for the line: {sender:?}");
    assert_eq!((receiver.sent_packets, receiver.lost_packets), (Some(sent), sender.lost_packets));
}

/// A burst of 150 datagrams, as a key picture is, needs 0.8 s of 5.
#[test]
fn a_burst_that_goes_before_its_deadline_loses_nothing() {
    let (receiver, address) = recv(&["-1", "--json"]);
    let mut sender = send(&address, &["-f", "-", "--json", "-b", "2M", "--deadline", "5s"], Stdio::piped());
    sender.stdin().write_all(&noise(200_000)).expect("read to the end");
    let (sender, receiver): (Summary, Summary) = (sender.succeed().json(), receiver.succeed().json());
    assert_eq!((sender.late_dropped_packets, sender.sent_bytes), (Some(0), Some(200_000)));
    assert_eq!((receiver.lost_packets, receiver.received_bytes), (Some(0), Some(200_000)));
}

/// Without a deadline everything goes out, in its own time.
#[test]
fn without_a_deadline_a_pipe_waits_and_nothing_is_dropped() {
    let place = Place::new();
    let slow = place.one_link("rate = \"2Mbit/s\"\ndelay = \"10ms\"");
    let (receiver, address) = recv(&["-1", "--json"]);
    let (relay, entrance) = link(&slow, &address);
    let mut sender = send(&entrance, &["-f", "-", "--json", "-b", "1.6M"], Stdio::piped());
    sender.stdin().write_all(&noise(400_000)).expect("read to the end");
    let (sender, receiver): (Summary, Summary) = (sender.succeed().json(), receiver.succeed().json());
    end_link(relay);
    assert_eq!((sender.late_dropped_packets, sender.sent_bytes), (Some(0), Some(400_000)));
    assert_eq!((receiver.lost_packets, receiver.received_bytes), (Some(0), Some(400_000)));
    // 400 kB at 1.6 Mbit/s are 2 s. The first round trip may send four packets at once.
    assert!((1.9..20.0).contains(&sender.duration_s), "{sender:?}");
}
