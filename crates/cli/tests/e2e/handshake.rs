//! Connections that are hard to establish.

use std::process::Stdio;

use crate::e2e::network::{Place, end_link, link, recv, send};
use crate::e2e::program::{Program, run, tfrc};

/// Until the connection is open every packet is in its place, so a seed fixes which of them are
/// lost.
#[test]
fn a_connection_comes_to_be_over_a_path_that_loses_three_in_ten_both_ways() {
    let mut waiting = Vec::new();
    for seed in 1..=6 {
        let place = Place::new();
        let path = place.seeded_link(
            seed,
            "rate = \"10Mbit/s\"\ndelay = \"5ms\"\nloss = \"30%\"\nreverse = { loss = \"30%\" }",
        );
        let (receiver, address) = recv(&["-1"]);
        let (relay, entrance) = link(&path, &address);
        let sender = send(&entrance, &["--pps", "10"], Stdio::null());
        waiting.push((place, receiver, relay, sender));
    }
    let mut lost = 0;
    for (_place, mut receiver, relay, mut sender) in waiting {
        sender.wait_for("connected");
        receiver.wait_for("connected");
        let (there, back) = end_link(relay);
        lost += there.dropped + back.dropped;
    }
    assert!(lost > 6, "a path that loses nothing shows nothing");
}

/// `localhost` has an IPv6 and an IPv4 address on most machines; the receiver listens on the second
/// only.
#[test]
fn all_addresses_of_a_name_are_tried() {
    let (receiver, address) = recv(&["-1", "--json"]);
    let port = address.rsplit(':').next().expect("a port");
    send(&format!("localhost:{port}"), &["-n", "10kB"], Stdio::null()).succeed();
    receiver.succeed();
    // Nobody listens on either now, and each address is named with its reason.
    let nobody = send(&format!("localhost:{port}"), &["-n", "10kB"], Stdio::null()).end();
    assert_eq!(nobody.status.code(), Some(1), "{}", nobody.stderr);
    assert!(nobody.stderr.contains(&format!("127.0.0.1:{port}")), "{}", nobody.stderr);
    assert!(nobody.stderr.contains("nobody listens there"), "{}", nobody.stderr);
}

/// Nobody else listens at this address, so nobody takes the port meanwhile.
#[test]
fn a_receiver_that_comes_later_is_waited_for() {
    let line = ["send", "127.0.77.1:6511", "-n", "10kB", "--wait", "2min"];
    let mut sender = Program::start(tfrc(line));
    sender.wait_for("trying 127.0.77.1:6511 ... 3 s");
    let receiver = Program::start(tfrc(["recv", "--bind", "127.0.77.1", "-1"]));
    sender.succeed();
    receiver.succeed();
}

#[test]
fn a_receiver_that_died_is_noticed_in_seconds() {
    let (receiver, address) = recv(&[]);
    let mut sender = send(&address, &["--pps", "50", "-t", "10min"], Stdio::null());
    sender.wait_for("1.0 s");
    receiver.signal("KILL");
    receiver.end();
    sender.wait_for("no feedback from the receiver for 3 s");
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert!(sender.stderr.contains("failed: the receiver is gone: no feedback for "), "{}", sender.stderr);
}

#[test]
fn a_receiver_that_stands_still_is_told_and_waited_for() {
    let (receiver, address) = recv(&["-1"]);
    let mut sender = send(&address, &["--pps", "50", "-t", "10min"], Stdio::null());
    sender.wait_for("1.0 s");
    receiver.signal("STOP");
    sender.wait_for("no feedback from the receiver for ");
    receiver.signal("CONT");
    sender.wait_for("feedback again after ");
    sender.signal("INT");
    sender.succeed();
    receiver.succeed();
}

#[test]
fn the_ip_version_can_be_chosen() {
    for (host, option, lacking) in [("::1", "-4", "IPv4"), ("127.0.0.1", "-6", "IPv6")] {
        let refused = run(["send", host, option]);
        assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(&format!("{host}: has no {lacking} address")), "{}", refused.stderr);
    }
}
