//! Strangers, and many connections.

use std::net::{SocketAddr, UdpSocket};
use std::thread;

use tfrc_net::Cause;
use tfrc_net::options::{Common, DataFrom};
use tfrc_quic::{Endpoint, RefusalReason};
use tfrc_units::Duration;

use crate::support::{Pair, connect, key, listen, receiver, sender};

/// Datagrams of strangers; `STRANGERS=10000000` is the long form.
const DATAGRAMS: u32 = 20_000;

/// A source of bytes: xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A datagram that looks like QUIC in part: any bytes, a first byte of each kind of packet with
    /// the right version, or an Initial as long as it must be.
    fn datagram(&mut self) -> Vec<u8> {
        let length = match self.next() % 4 {
            0 => self.next() % 40,
            1 => 1200,
            _ => self.next() % 1400,
        };
        let mut bytes: Vec<u8> = (0..length).map(|_| self.next().to_le_bytes()[0]).collect();
        if self.next().is_multiple_of(2) && bytes.len() > 6 {
            bytes[0] |= 0xc0;
            bytes[1..5].copy_from_slice(&[0, 0, 0, 1]);
            // A connection id of a length that fits.
            bytes[5] %= 21;
        }
        bytes
    }
}

/// Noise at both ports: a session beside it loses nothing but what loopback drops, and ends as it
/// should.
#[tokio::test]
async fn noise_disturbs_nothing() {
    let there = key();
    let listening = listen(&receiver(2), &there, &[]);
    let at = listening.local_addr();
    let connected = connect(at, &sender(), &key(), there.fingerprint()).await;
    let (_calling, sender_end) = connected.expect("a connection");
    let receiver_end = listening.accept().await.expect("open");
    let count = std::env::var("STRANGERS").ok().and_then(|n| n.parse().ok()).unwrap_or(DATAGRAMS);
    let noise = thread::spawn(move || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let mut random = Random(0x5eed_0001);
        for _ in 0..count {
            // A full buffer there drops it.
            let _ = socket.send_to(&random.datagram(), at);
        }
    });
    let sending = async {
        let mut sent = 0;
        while sent < 1000 || !noise.is_finished() {
            sender_end.send(vec![9; 500]).await.expect("open");
            sent += 1;
        }
        sender_end.close().await
    };
    let receiving = async {
        while receiver_end.recv().await.is_some() {}
        receiver_end.accept_close("").await
    };
    let (closed, accepted) = tokio::join!(sending, receiving);
    assert_eq!(closed.map(|closed| closed.cause), Some(Cause::Agreed));
    let sent = accepted.expect("ended").peer_sent_data_packets;
    assert_eq!(sent, sender_end.status().stats.sent_data_packets);
    let got = receiver_end.status().stats;
    assert_eq!(got.malformed_packets, 0);
    assert!(got.received_data_packets * 2 > sent, "{} of {sent}", got.received_data_packets);
    // A place is free for who has the key to it.
    drop((sender_end, receiver_end));
    let connected = connect(at, &sender(), &key(), there.fingerprint()).await;
    assert!(connected.is_ok());
}

/// The token in the stateless reset that answers a packet with this connection ID: its last 16
/// bytes (RFC 9000 §10.3). A reset of short before stops an answer, so the packet is repeated.
async fn token(of: SocketAddr, id: [u8; 8]) -> [u8; 16] {
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
    let packet = [&[0x41][..], &id, &[7; 60]].concat();
    let mut answer = [0; 2000];
    loop {
        socket.send_to(&packet, of).await.expect("sent");
        let answered = tokio::time::timeout(Duration::from_millis(50).into(), socket.recv(&mut answer));
        if let Ok(length) = answered.await {
            let answer = &answer[..length.expect("a datagram")];
            return *answer.last_chunk().expect("longer");
        }
    }
}

/// Two ends with one key, at one address, one after the other: what one of them says of a
/// connection ID ends no session of the other.
#[tokio::test]
async fn a_copy_of_the_key_gives_no_token_of_a_reset_away() {
    let there = key();
    let first = listen(&receiver(1), &there, &[]);
    let (at, id) = (first.local_addr(), [5; 8]);
    let known = token(at, id).await;
    assert_eq!(token(at, id).await, known, "it is the token of that connection ID");
    first.shut_down().await.expect("no error");
    // The port is free once the endpoint's task has ended.
    let second = loop {
        match Endpoint::bind(at, &receiver(1), &there, &[]) {
            Ok(second) => break second,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(second.local_addr(), at);
    assert_ne!(token(at, id).await, known);
}

/// Kilobytes of memory that this process has in use.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// 1,000 receiving ends and their peers in one process, and no more than that: bounded memory, and
/// data over the last of them. The peers call as receivers do, so that neither end has a sender's
/// record of its packets, 300 kB each.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thousand_connections() {
    let there = key();
    let most = 1000;
    let listening = listen(&receiver(most), &there, &[]);
    let at = listening.local_addr();
    let quiet = Common { data_from: DataFrom::Listener, greeting: "sends".to_owned(), ..sender() };
    let own = key();
    let before = resident();
    let mut held = Vec::new();
    for _ in 0..most {
        let (calling, connection) = connect(at, &quiet, &own, there.fingerprint()).await.expect("a place");
        held.push((calling, connection, listening.accept().await.expect("open")));
    }
    let each = (resident().saturating_sub(before)) / u64::try_from(most).expect("small");
    assert!((1..400).contains(&each), "{each} kB for both ends");
    let one_more = connect(at, &quiet, &own, there.fingerprint()).await;
    assert!(one_more.is_err());
    assert!(listening.take_refusals().iter().all(|refusal| refusal.reason == RefusalReason::Busy));
    let (_, last, end) = held.last().expect("some");
    last.send(vec![1, 2, 3]).await.expect("open");
    assert_eq!(end.recv().await.map(|datagram| datagram.bytes), Some(vec![1, 2, 3]));
}

/// A client that brings no data does not keep its place.
#[tokio::test]
async fn no_data_no_place() {
    let within = Duration::from_millis(50);
    let options = Common { first_data_within: Some(within), ..receiver(1) };
    let Pair { sender, receiver, .. } = Pair::with(&options, &sender()).await;
    assert!(receiver.recv().await.is_none());
    let closed = receiver.accept_close("").await.expect("over");
    assert_eq!(closed.cause, Cause::NoData(within));
    assert!(sender.recv().await.is_none());
    let closed = sender.accept_close("").await.expect("over");
    assert_eq!((closed.cause, closed.text.as_deref()), (Cause::PeerReset, Some("no data came")));
}

/// As many connections as one address may have.
#[tokio::test]
async fn each_address_has_its_share() {
    let there = key();
    let listening = listen(&Common { per_source: Some(2), ..receiver(10) }, &there, &[]);
    let at = listening.local_addr();
    let mut held = Vec::new();
    for _ in 0..2 {
        let connected = connect(at, &sender(), &key(), there.fingerprint()).await.expect("a place");
        held.push((connected, listening.accept().await));
    }
    assert!(connect(at, &sender(), &key(), there.fingerprint()).await.is_err());
    held.pop();
    assert!(connect(at, &sender(), &key(), there.fingerprint()).await.is_ok());
}
