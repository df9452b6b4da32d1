//! Files from end to end, on clean paths and bad ones.

use std::process::Stdio;

use tfrc_report::record::Summary;

use crate::e2e::network::{LENGTH, Place, noise, recv, scenario, send, session, session_over};
use crate::e2e::program::run;

#[test]
fn a_file_arrives_as_it_was() {
    let place = Place::new();
    let content = noise(400_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let session = session(&["-o", &to], &["-f", &from, "-b", "20M"], str::to_owned);
    assert!(std::fs::read(&to).expect("written") == content, "the file has changed on the way");
    let packets = 400_000_u64.div_ceil(LENGTH);
    // One word more says that this is all; it may be said again.
    assert!((packets + 1..packets + 5).contains(&session.sent()) && session.lost() == 0, "{session:?}");
    let sender = session.sender;
    assert_eq!((sender.sent_bytes, sender.received_bytes), (Some(400_000), Some(400_000)));
    assert_eq!((sender.late_packets, sender.late_dropped_packets), (Some(0), Some(0)));
    assert!(sender.rtt_s.is_some_and(|rtt| rtt > 0.0) && sender.allowed_rate_bps.is_some());
}

/// With `--append` one connection follows another; each has its summary, the file has them all.
#[test]
fn a_receiver_serves_one_after_another() {
    let place = Place::new();
    let content = noise(60_000);
    let (first, second) = (place.write("1", &content[..20_000]), place.write("2", &content[20_000..]));
    let to = place.write("out", "before ");
    let (receiver, address) = recv(&["-o", &to, "--append", "--json"]);
    for file in [first, second] {
        let sender: Summary = send(&address, &["-f", &file, "--json"], Stdio::null()).succeed().json();
        assert_eq!(sender.lost_packets, Some(0));
    }
    receiver.signal("INT");
    let said = receiver.succeed();
    let bytes: Vec<u64> = said
        .text()
        .lines()
        .map(|line| {
            serde_json::from_str::<Summary>(line).expect("a summary a line").received_bytes.unwrap_or(0)
        })
        .collect();
    assert_eq!(bytes, [20_000, 40_000]);
    assert!(std::fs::read(&to).expect("written") == [b"before ", &content[..]].concat());
}

/// Without a cap slow start goes up to what the machine can do.
#[test]
fn an_uncapped_sender_finds_loopback_fast() {
    let bytes = 3_000_000;
    let session = session(&[], &["-n", "3MB"], str::to_owned);
    assert_eq!(session.sender.sent_bytes, Some(bytes));
    assert_eq!(session.sent(), bytes.div_ceil(LENGTH));
}

#[test]
fn packets_lost_at_a_bottleneck_are_counted_alike_at_both_ends() {
    let place = Place::new();
    let content = noise(700_000);
    let (from, to) = (place.write("in", &content), place.file("out"));
    let (session, there, back) =
        session_over(&scenario("bottleneck.toml"), &["-o", &to], &["-f", &from, "--lossy"]);
    // Slow start overshoots a queue of 25 packets; what the queue dropped is what the ends miss.
    assert!(session.lost() > 0, "{session:?}");
    assert_eq!(session.lost(), there.dropped, "{session:?} {there:?}");
    assert_eq!(session.sent(), 700_000_u64.div_ceil(LENGTH));
    assert_eq!(back.dropped, 0);
    assert_eq!(std::fs::metadata(&to).expect("written").len(), 700_000);
    let holes = session.receiver.received_bytes.map(|bytes| 700_000 - bytes);
    assert!(holes > Some(0) && session.receiver.missing_bytes == holes, "{session:?}");
    assert!(
        session.sender.loss_event_rate.is_some_and(|p| p < session.sender.packet_loss_rate.unwrap_or(0.0))
    );
    // 20 ms each way and a queue of at most 26 packets of some 1400 bytes at 2 Mbit/s.
    assert!(session.sender.rtt_s.is_some_and(|rtt| (0.04..0.04 + 0.16).contains(&rtt)), "{session:?}");
}

#[test]
fn random_losses_both_ways_are_counted_alike_at_both_ends() {
    let place = Place::new();
    let path =
        place.one_link("rate = \"100Mbit/s\"\ndelay = \"5ms\"\nloss = \"5%\"\nreverse = { loss = \"5%\" }");
    let (session, there, back) = session_over(&path, &[], &["-n", "800kB"]);
    assert!(session.lost() > 0 && back.dropped > 0);
    // A lost Request, Ack or Close is no lost data packet.
    assert!((there.dropped - 3..=there.dropped).contains(&session.lost()), "{session:?} {there:?}");
    // 608 packets at 5 %: four standard deviations are 3.5 %.
    assert!(session.sender.packet_loss_rate.is_some_and(|p| (0.015..0.085).contains(&p)), "{session:?}");
}

/// Nothing comes after the last packets that could show them missing but the Close, and that is
/// lost once too.
#[test]
fn losses_at_the_very_end_are_counted() {
    let place = Place::new();
    // Request, Ack, 30 data packets, Close.
    let path =
        place.one_link("rate = \"10Mbit/s\"\ndelay = \"5ms\"\nloss = { scripted = [29, 30, 31, 32, 33] }");
    let (session, there, _) = session_over(&path, &[], &["-n", "39480B"]);
    assert_eq!((session.sent(), session.lost(), there.dropped), (30, 4, 5), "{session:?} {there:?}");
    assert_eq!(session.sender.received_bytes, Some(26 * LENGTH));
}

#[test]
fn time_bytes_length_and_pace_are_kept_to() {
    let whole = session(&[], &["-n", "50001B", "-l", "500B"], str::to_owned);
    assert_eq!((whole.sent(), whole.sender.sent_bytes), (101, Some(50_001)));

    // 41 packets at 20 a second take 2 s, however fast the path.
    let paced = session(&[], &["--pps", "20", "-n", "4100B", "-l", "100B"], str::to_owned);
    assert_eq!(paced.sent(), 41);
    assert!((1.99..20.0).contains(&paced.sender.duration_s), "{paced:?}");

    // A packet every 50 ms for 1 s.
    let timed = session(&[], &["--pps", "20", "-t", "1s", "-b", "1M"], str::to_owned);
    assert!((10..=21).contains(&timed.sent()), "{timed:?}");

    // 1 Mbit/s for 1 s are 95 packets; the first round-trip times are below.
    let capped = session(&[], &["-b", "1M", "-t", "1s"], str::to_owned);
    let rate = capped.sender.send_rate_bps.expect("known");
    assert!(capped.sent() > 1 && rate < 1.1e6, "{capped:?}");
}

/// A marked flow with a guarantee: everything it sends carries the codepoint, and the journal knows
/// of it.
#[test]
fn a_guaranteed_flow_is_marked() {
    let directory = tempfile::tempdir().expect("a directory");
    let (pcap, journal) = (directory.path().join("c.pcap"), directory.path().join("s.journal"));
    let (pcap, journal) = (pcap.to_str().expect("text"), journal.to_str().expect("text"));
    let (receiver, address) = recv(&["-1", "--json"]);
    let line =
        ["--guarantee", "200k", "--dscp", "af11", "-n", "50kB", "--pcap", pcap, "--journal", journal, "-J"];
    send(&address, &line, Stdio::null()).succeed();
    receiver.succeed();
    let capture = std::fs::read(pcap).expect("a capture");
    let (mut rest, mut marked, mut others) = (&capture[24..], 0, 0);
    while let [_, _, _, _, _, _, _, _, a, b, c, d, _, _, _, _, tail @ ..] = rest {
        let length = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).expect("small");
        // Of an IPv4 header in an Ethernet frame: the second byte.
        if tail[15] >> 2 == 10 {
            marked += 1;
        } else {
            others += 1;
        }
        rest = &tail[length..];
    }
    assert!(marked > 38 && others > 0, "{marked} marked, {others} from the peer");
    assert_eq!(run(["replay", journal]).status.code(), Some(0));
}
