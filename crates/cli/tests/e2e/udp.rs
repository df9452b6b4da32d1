//! Datagrams of local programs as the datagrams of a session: `--udp-in` and `--udp-out`.

use std::net::{SocketAddr, UdpSocket};
use std::process::Stdio;

use tfrc_report::record::{Outcome, Summary};

use crate::e2e::network::{Place, noise, recv, send};
use crate::e2e::program::{LIMIT, Program, other, run};
use crate::e2e::video::{encode, probe};

/// A player: a UDP port, and its address as text.
fn player() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(LIMIT)).expect("a time");
    let address = socket.local_addr().expect("bound").to_string();
    (socket, address)
}

/// The next datagram of a player, and who sent it.
fn next(player: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 70_000];
    let (length, from) = player.recv_from(&mut buffer).expect("a datagram");
    buffer.truncate(length);
    (buffer, from)
}

/// Starts `tfrc send` with a port for datagrams; where that is.
fn send_from_port(to: &str, args: &[&str]) -> (Program, String) {
    let mut sender = send(to, &[&["--udp-in", "0"], args].concat(), Stdio::null());
    let line = sender.wait_for("taking datagrams at");
    (sender, line.rsplit(' ').next().expect("an address").to_owned())
}

/// An encoder: sends datagrams of these lengths, with bytes that tell them apart.
fn encoder(to: &str, lengths: &[usize]) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let all = noise(lengths.iter().sum());
    let mut rest = all.as_slice();
    let mut sent = Vec::new();
    for length in lengths {
        let (datagram, after) = rest.split_at(*length);
        socket.send_to(datagram, to).expect("sent");
        sent.push(datagram.to_vec());
        rest = after;
    }
    sent
}

#[test]
fn datagrams_go_in_and_come_out_as_they_are() {
    let (player, at) = player();
    let (receiver, address) = recv(&["-1", "--json", "--udp-out", &at]);
    let lengths = [1316, 1, 188, 1400, 12, 1328, 500];
    let total = lengths.iter().sum::<usize>().to_string() + "B";
    let (sender, port) = send_from_port(&address, &["-n", &total, "--json"]);
    let sent = encoder(&port, &lengths);
    let arrived: Vec<Vec<u8>> = lengths.iter().map(|_| next(&player).0).collect();
    assert!(arrived == sent, "{:?}", arrived.iter().map(Vec::len).collect::<Vec<_>>());
    let (sender, receiver): (Summary, Summary) = (sender.succeed().json(), receiver.succeed().json());
    assert_eq!((sender.sent_packets, sender.received_packets), (Some(7), Some(7)), "{sender:?}");
    assert_eq!((receiver.received_packets, receiver.unreachable_reports), (Some(7), None), "{receiver:?}");
    assert_eq!((sender.too_long_packets, sender.source_dropped_packets), (None, None));
}

/// Video that ffmpeg sends to a port comes out of the other end bit by bit, and plays.
#[test]
fn video_goes_through_ports() {
    let place = Place::new();
    let (original, plain) = (place.file("in.ts"), place.file("plain.ts"));
    encode(&original);
    let remux = |re: &[&str], to: &str| {
        let mut ffmpeg = other("ffmpeg");
        ffmpeg.args(["-nostdin", "-loglevel", "error", "-y"]).args(re);
        ffmpeg.args(["-i", &original, "-c", "copy", "-f", "mpegts", to]);
        Program::start(ffmpeg)
    };
    remux(&[], &plain).succeed();
    let content = std::fs::read(&plain).expect("written");

    let (player, at) = player();
    let (receiver, address) = recv(&["-1", "--udp-out", &at]);
    let total = format!("{}B", content.len());
    let (sender, port) = send_from_port(&address, &["-n", &total, "--deadline", "2s"]);
    let ffmpeg = remux(&["-re"], &format!("udp://{port}?pkt_size=1316"));
    let mut arrived = Vec::new();
    while arrived.len() < content.len() {
        arrived.extend(next(&player).0);
    }
    ffmpeg.succeed();
    sender.succeed();
    receiver.succeed();
    assert!(arrived == content, "{} bytes of {}", arrived.len(), content.len());
    assert_eq!(probe(&place.write("out.ts", arrived)), probe(&original));
}

#[test]
fn datagrams_longer_than_a_packet_are_refused_and_counted() {
    let (receiver, address) = recv(&["-1", "--json"]);
    let (mut sender, port) = send_from_port(&address, &["-n", "5100B", "--json"]);
    encoder(&port, &[100, 2000, 3000]);
    let said = sender.wait_for("bytes exceeds the");
    assert!(said.contains("exceeds the 14") && said.contains("--udp-in"), "{said}");
    // Refused ones are no data of the session, but they were asked for.
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    assert_eq!(sender.stderr.matches("bytes exceeds the").count(), 1, "{}", sender.stderr);
    let summary: Summary = sender.json();
    assert_eq!((summary.too_long_packets, summary.sent_packets), (Some(2), Some(1)), "{summary:?}");
    assert_eq!(summary.outcome, Some(Outcome::Failed));
    let reason = summary.reason.expect("known");
    assert!(reason.starts_with("2 datagrams refused: up to 3000 bytes long"), "{reason}");
    // It heard that not all was sent.
    let receiver = receiver.end();
    assert_eq!(receiver.status.code(), Some(1), "{}", receiver.stderr);
    let receiver: Summary = receiver.json();
    assert_eq!((receiver.received_packets, receiver.received_bytes), (Some(1), Some(100)));
}

/// A line of 100 kbit/s cannot carry 300 datagrams at once, and UDP cannot wait.
#[test]
fn datagrams_that_come_too_fast_are_dropped_and_counted() {
    let (receiver, address) = recv(&["-1", "--json"]);
    let (mut sender, port) = send_from_port(&address, &["-b", "100k", "--json"]);
    sender.wait_for("connected");
    encoder(&port, &[1000; 600]);
    sender.wait_for("come faster than the allowed rate");
    sender.signal("INT");
    let sender = sender.end();
    assert_eq!(sender.status.code(), Some(1), "{}", sender.stderr);
    let summary: Summary = sender.json();
    let known = |n: Option<u64>| n.expect("known");
    let (dropped, sent, unsent) =
        (known(summary.source_dropped_packets), known(summary.sent_packets), known(summary.unsent_packets));
    // One may be on its way from the port to the connection.
    assert!((599..=600).contains(&(dropped + sent + unsent)), "{summary:?}");
    assert!(dropped > 100, "{summary:?}");
    assert!(summary.reason.is_some_and(|reason| reason.contains("found no room")));
    assert_eq!(receiver.end().status.code(), Some(1));
}

#[test]
fn a_player_that_is_not_there_ends_nothing_and_is_told_once() {
    let (absent, at) = player();
    drop(absent);
    let (mut receiver, address) = recv(&["-1", "--json", "--udp-out", &at]);
    let mut sender = send(&address, &["--pps", "50", "-t", "1min", "--json"], Stdio::null());
    let said = receiver.wait_for("nobody listens at");
    assert!(said.contains(&at) && said.contains("the session goes on"), "{said}");
    // A player that comes later gets what is sent then.
    let player = UdpSocket::bind(&at).expect("the port is free");
    player.set_read_timeout(Some(LIMIT)).expect("a time");
    assert_eq!(next(&player).0.len(), 1316);
    sender.wait_for("connected");
    sender.signal("INT");
    sender.succeed();
    let receiver = receiver.succeed();
    let summary: Summary = receiver.json();
    assert!(summary.unreachable_reports > Some(0), "{summary:?}");
    assert_eq!((summary.outcome, summary.dropped_by_reader_packets), (Some(Outcome::Complete), Some(0)));
    assert_eq!(receiver.stderr.matches("the session goes on").count(), 1, "{}", receiver.stderr);
    assert!(summary.reason.is_some_and(|reason| reason.contains("reports the port unreachable")));
}

/// Each connection sends from a port of its own, so that a reader can tell them apart.
#[test]
fn several_connections_come_out_of_several_ports() {
    let (player, at) = player();
    let (receiver, address) = recv(&["--connections", "2", "--udp-out", &at]);
    let args = ["--pps", "50", "-t", "1min"];
    let mut senders = [send(&address, &args, Stdio::null()), send(&address, &args, Stdio::null())];
    let mut ports = vec![next(&player).1];
    while ports.len() < 2 {
        let from = next(&player).1;
        if !ports.contains(&from) {
            ports.push(from);
        }
    }
    for sender in &mut senders {
        sender.wait_for("connected");
        sender.signal("INT");
    }
    for sender in senders {
        sender.succeed();
    }
    receiver.signal("INT");
    receiver.succeed();
}

#[test]
fn addresses_that_cannot_be_are_usage_errors() {
    let (receiver, address) = recv(&[]);
    let port = address.rsplit(':').next().expect("a port");
    let (taken, busy) = player();
    let free = {
        let (socket, _) = player();
        socket.local_addr().expect("bound").port().to_string()
    };
    for (line, said) in [
        (vec!["send", &address, "--udp-in", port], "would feed itself"),
        (vec!["send", &address, "--udp-in", &busy], "--udp-in 127.0.0.1"),
        (vec!["send", &address, "--udp-in", "239.1.1.1:5000"], "multicast"),
        (vec!["send", &address, "--udp-in", "192.0.2.1:5000"], "--udp-in 192.0.2.1:5000"),
        (vec!["send", &address, "--udp-in", "here"], "PORT"),
        (vec!["send", &address, "--udp-in", "5000", "-f", "-"], "cannot be used with"),
        (
            vec!["recv", "--bind", "127.0.0.1", "-p", &free, "--udp-out", &format!("localhost:{free}")],
            "is where this receiver listens",
        ),
        (vec!["recv", "--bind", "127.0.0.1", "-p", "0", "--udp-out", "0.0.0.0:5000"], "every address"),
        (vec!["recv", "--bind", "127.0.0.1", "-p", "0", "--udp-out", "5000"], "HOST:PORT"),
        (vec!["recv", "--udp-out", &busy, "-o", "-"], "cannot be used with"),
    ] {
        let finished = run(&line);
        assert_eq!(finished.status.code(), Some(2), "{line:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(said), "{line:?}: {}", finished.stderr);
    }
    drop(taken);
    receiver.signal("INT");
    receiver.succeed();
}
