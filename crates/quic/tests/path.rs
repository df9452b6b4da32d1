//! Paths that do something to packets: a relay of UDP datagrams in a thread.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use noq::udp::{Transmit, UdpSocketState};
use tfrc_net::options::Common;
use tfrc_net::{Cause, ClosedBy};
use tfrc_quic::{Connection, Endpoint};

use crate::support::{connect, key, listen, receiver, sender};

/// A relay between one client and a server, as an address translator is one.
struct Relay {
    entrance: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Longer UDP payloads are dropped; 0: none.
    most: AtomicUsize,
    dropped: AtomicU64,
    /// The translator takes another port for the client at the next packet.
    forgets: AtomicBool,
    ended: AtomicBool,
    moves: AtomicU64,
    /// An observer sends a copy of each packet of the client from another port, sooner than the
    /// packet comes.
    copies: AtomicBool,
    copied: AtomicU64,
    /// It sends them behind a packet for nobody, both in one call, so that they come as one.
    batches: AtomicBool,
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_millis(1))).expect("a time");
    socket
}

/// Sends a packet behind one for nobody, by segmentation offload.
fn behind_another(socket: &UdpSocket, packet: &[u8], to: SocketAddr) {
    let other = [&[0x41][..], &vec![5; packet.len() - 1]].concat();
    let (state, contents) = (UdpSocketState::new(socket.into()).expect("UDP"), [&other, packet].concat());
    let transmit = Transmit {
        destination: to,
        ecn: None,
        contents: &contents,
        segment_size: Some(packet.len()),
        src_ip: None,
    };
    state.try_send(socket.into(), &transmit).expect("sent");
}

impl Relay {
    fn new(server: SocketAddr) -> Self {
        let (inside, state) = (socket(), Arc::new(State::default()));
        let entrance = inside.local_addr().expect("bound");
        let here = Arc::clone(&state);
        thread::spawn(move || {
            let (mut outside, mut client, mut buffer) = (socket(), None, vec![0; 1 << 16]);
            let observer = socket();
            while !here.ended.load(Ordering::Relaxed) {
                if here.forgets.swap(false, Ordering::Relaxed) {
                    outside = socket();
                    here.moves.fetch_add(1, Ordering::Relaxed);
                }
                let passes = |length: usize| {
                    let most = here.most.load(Ordering::Relaxed);
                    let passes = most == 0 || length <= most;
                    here.dropped.fetch_add(u64::from(!passes), Ordering::Relaxed);
                    passes
                };
                if let Ok((length, from)) = inside.recv_from(&mut buffer) {
                    client = Some(from);
                    if here.copies.load(Ordering::Relaxed) {
                        if here.batches.load(Ordering::Relaxed) {
                            behind_another(&observer, &buffer[..length], server);
                        } else {
                            observer.send_to(&buffer[..length], server).expect("sent");
                        }
                        here.copied.fetch_add(1, Ordering::Relaxed);
                    }
                    if passes(length) {
                        outside.send_to(&buffer[..length], server).expect("sent");
                    }
                }
                outside.set_nonblocking(true).expect("a mode");
                while let Ok((length, _)) = outside.recv_from(&mut buffer) {
                    if passes(length)
                        && let Some(client) = client
                    {
                        inside.send_to(&buffer[..length], client).expect("sent");
                    }
                }
            }
        });
        Self { entrance, state }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
    }
}

/// A sender's options with a rate that the relay keeps up with.
fn capped() -> Common {
    Common { cap_bps: Some(20e6), ..sender() }
}

/// A sender and a receiver with a relay between them.
struct Ends {
    relay: Relay,
    sender: Connection,
    receiver: Connection,
    endpoints: [Endpoint; 2],
}

/// `most`: the longest UDP payload that the path takes; 0: any.
async fn ends(most: usize) -> Ends {
    let there = key();
    let listening = listen(&receiver(1), &there, &[]);
    let relay = Relay::new(listening.local_addr());
    relay.state.most.store(most, Ordering::Relaxed);
    let connected = connect(relay.entrance, &capped(), &key(), there.fingerprint()).await;
    let (calling, sender) = connected.expect("a connection");
    let receiver = listening.accept().await.expect("open");
    Ends { relay, sender, receiver, endpoints: [calling, listening] }
}

/// Sends datagrams until the receiver has got this many more.
async fn exchange(ends: &Ends, count: usize) {
    let sending = async {
        loop {
            ends.sender.send(vec![7; 1000]).await.expect("open");
        }
    };
    let receiving = async {
        for _ in 0..count {
            ends.receiver.recv().await.expect("open");
        }
    };
    tokio::select! {
        () = sending => {}
        () = receiving => {}
    }
}

async fn end(ends: &Ends) -> u64 {
    let receiving = async {
        while ends.receiver.recv().await.is_some() {}
        ends.receiver.accept_close("done").await
    };
    let (closed, accepted) = tokio::join!(ends.sender.close(), receiving);
    let closed = closed.expect("ended");
    assert_eq!(
        (closed.by, closed.cause, closed.text.as_deref()),
        (ClosedBy::Us, Cause::Agreed, Some("done"))
    );
    accepted.expect("ended").peer_sent_data_packets
}

/// A translator that takes another port for the sender, again and again: the session goes on, and
/// the receiver sees the new address.
#[tokio::test]
async fn a_session_outlives_its_address() {
    let ends = ends(0).await;
    for round in 1..=4 {
        exchange(&ends, 100).await;
        let before = ends.receiver.remote_addr().expect("open");
        ends.relay.state.forgets.store(true, Ordering::Relaxed);
        while ends.receiver.remote_addr() == Some(before) {
            exchange(&ends, 1).await;
        }
        assert_eq!(ends.relay.state.moves.load(Ordering::Relaxed), round);
    }
    exchange(&ends, 100).await;
    let sent = end(&ends).await;
    assert_eq!(sent, ends.sender.status().stats.sent_data_packets);
    assert!(sent >= 500, "{sent}");
}

/// An observer whose copies come sooner from the first packet on: the client has to prove its
/// address.
#[tokio::test]
async fn copies_from_elsewhere_do_not_end_a_handshake() {
    let there = key();
    let listening = listen(&receiver(1), &there, &[]);
    let relay = Relay::new(listening.local_addr());
    relay.state.copies.store(true, Ordering::Relaxed);
    let connected = connect(relay.entrance, &capped(), &key(), there.fingerprint()).await;
    let (calling, sender) = connected.expect("a connection");
    let receiver = listening.accept().await.expect("open");
    let ends = Ends { relay, sender, receiver, endpoints: [calling, listening] };
    exchange(&ends, 1000).await;
    let sent = end(&ends).await;
    assert_eq!(ends.receiver.status().stats.received_data_packets, sent);
}

/// An observer whose copies of all packets come from another address, sooner than the packets: the
/// session stays where it is, and loses nothing.
#[tokio::test]
async fn copies_from_elsewhere_do_not_move_a_session() {
    copies_move_nothing(false).await;
}

/// Copies as before, where the system gives one and a packet for nobody as one.
#[tokio::test]
async fn copies_behind_another_packet_do_not_move_a_session() {
    copies_move_nothing(true).await;
}

async fn copies_move_nothing(batches: bool) {
    let ends = ends(0).await;
    exchange(&ends, 20).await;
    let home = ends.receiver.remote_addr().expect("open");
    ends.relay.state.batches.store(batches, Ordering::Relaxed);
    ends.relay.state.copies.store(true, Ordering::Relaxed);
    for _ in 0..100 {
        exchange(&ends, 20).await;
        assert_eq!(ends.receiver.remote_addr(), Some(home));
    }
    assert!(ends.relay.state.copied.load(Ordering::Relaxed) >= 1900);
    let sent = end(&ends).await;
    assert_eq!(ends.receiver.status().stats.received_data_packets, sent);
}

/// A path that is away for longer than questions wait, and strangers from the sender's address who
/// prove no key: the session goes on. One who does takes the place of a sender that was killed.
#[tokio::test]
async fn strangers_take_no_place_of_a_session_whose_path_is_away() {
    let ends = ends(0).await;
    exchange(&ends, 20).await;
    ends.relay.state.most.store(1, Ordering::Relaxed);
    let [_, listening] = &ends.endpoints;
    let (at, begin) = (listening.local_addr(), std::time::Instant::now());
    while begin.elapsed() < Duration::from_millis(4500) {
        // It asks for another key than the one it hears, and hangs up.
        let (options, own, other) = (sender(), key(), key().fingerprint());
        let patience = Duration::from_millis(200);
        assert!(tfrc_quic::connect(at, &options, &own, &[other], patience).await.is_err());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    ends.relay.state.most.store(0, Ordering::Relaxed);
    exchange(&ends, 20).await;
    assert_eq!(ends.receiver.status().stats.malformed_packets, 0);
    end(&ends).await;
}

/// The sender is gone without a word; its successor has the same address and a key.
#[tokio::test]
async fn a_successor_takes_the_place_of_a_sender_that_is_gone() {
    let there = key();
    let listening = listen(&receiver(1), &there, &[]);
    let relay = Relay::new(listening.local_addr());
    let connected = connect(relay.entrance, &capped(), &key(), there.fingerprint()).await;
    let (_calling, sends) = connected.expect("a connection");
    let first = listening.accept().await.expect("open");
    sends.send(vec![1]).await.expect("open");
    assert!(first.recv().await.is_some());
    relay.state.most.store(1, Ordering::Relaxed);
    let at = listening.local_addr();
    let ended = async {
        assert!(first.recv().await.is_none());
        let closed = first.close_now().await;
        drop(first);
        closed.map(|closed| closed.cause)
    };
    let succeeds = async {
        loop {
            if let Ok(connected) = connect(at, &sender(), &key(), there.fingerprint()).await {
                return connected;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let (cause, (_second, sends)) = tokio::join!(ended, succeeds);
    assert_eq!(cause, Some(Cause::Replaced));
    let successor = listening.accept().await.expect("open");
    sends.send(vec![2]).await.expect("open");
    assert_eq!(successor.recv().await.map(|datagram| datagram.bytes), Some(vec![2]));
}

/// A path of the least MTU of IPv6, 1280 bytes: longer probes are dropped there, no data is.
#[tokio::test]
async fn a_narrow_path_carries_data() {
    let ends = ends(1232).await;
    while ends.relay.state.dropped.load(Ordering::Relaxed) == 0 {
        exchange(&ends, 20).await;
    }
    exchange(&ends, 200).await;
    let limit = ends.sender.max_datagram();
    assert!((1100..=1232).contains(&limit), "{limit}");
    let (status, there) = (ends.sender.status(), ends.receiver.status());
    assert!(status.stats.sent_path_probes > 0);
    assert!(there.stats.received_data_packets >= 200);
    end(&ends).await;
}
