//! Two endpoints over the loopback interface, and the journal of one of them.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tfrc_net::journal::{JournalEnd, JournalError, ReplayError, replay};
use tfrc_net::options::{Common, Dccp, Listen};
use tfrc_net::{
    Cause, ClosedBy, ConfigError, ConnectError, Endpoint, Options, RateCap, Recordings, SendError, Variant,
};
use tfrc_units::Rate;

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

fn any() -> SocketAddr {
    ANY.into()
}

fn server() -> Endpoint {
    Endpoint::bind(any(), &Options::from(Common { accept: Listen::One, ..Common::default() }))
        .expect("a port")
}

/// Bytes written to a journal, still readable by the test.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A disk that takes the beginning of a file.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = self.0.min(bytes.len());
        self.0 -= room;
        if room > 0 { Ok(room) } else { Err(std::io::ErrorKind::StorageFull.into()) }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A full disk disturbs no session; its end says which recording is not whole.
#[tokio::test]
async fn a_recording_on_a_full_disk_is_named_at_the_end() {
    let recordings = [
        ("the journal", Recordings { journal: Some(Box::new(FullDisk(5000))), ..Recordings::default() }),
        ("the capture", Recordings { capture: Some(Box::new(FullDisk(100))), ..Recordings::default() }),
    ];
    for (name, recordings) in recordings {
        let server = server();
        let client = Endpoint::bind_recorded(any(), &Options::default(), recordings).expect("a port");
        let connection = client.connect(server.local_addr()).await.expect("an open door");
        let accepted = server.accept().await.expect("a client");
        for _ in 0..10 {
            connection.send(vec![7; 1000]).await.expect("open");
            accepted.recv().await.expect("it arrives");
        }
        drop((connection, accepted));
        let error = client.shut_down().await.expect_err("no room");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with(name), "{error}");
    }
}

/// Sends datagrams to a receiver that says at the end how many came; the client's journal comes
/// back.
async fn session(variant: Variant, datagrams: u32) -> Vec<u8> {
    let server = server();
    let memory = Memory::default();
    let recordings = Recordings { journal: Some(Box::new(memory.clone())), ..Recordings::default() };
    let options = Options { dccp: Dccp { variant, ..Dccp::default() }, ..Options::default() };
    let client = Endpoint::bind_recorded(any(), &options, recordings).expect("a port");
    let to = server.local_addr();
    let receiver = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client");
        assert_eq!(connection.status().receiving, Some(variant));
        let mut got = Vec::new();
        while let Some(datagram) = connection.recv().await {
            got.push(datagram.bytes);
        }
        let closed = connection.accept_close(&format!("received {}", got.len())).await.expect("an end");
        assert_eq!((closed.by, closed.peer_sent_data_packets), (ClosedBy::Peer, u64::from(datagrams)));
        server.shut_down().await.expect("a clean end");
        got
    });
    let connection = client.connect(to).await.expect("an open door");
    for i in 0..datagrams {
        connection.send(vec![i.to_le_bytes()[0]; 1000]).await.expect("open");
    }
    let closed = connection.close().await.expect("an end");
    assert_eq!((closed.by, closed.text), (ClosedBy::Us, Some(format!("received {datagrams}"))));
    assert_eq!(connection.status().stats.sent_data_packets, u64::from(datagrams));
    assert_eq!(connection.send(vec![0]).await, Err(SendError::Closed));
    drop(connection);
    client.shut_down().await.expect("a clean end");
    let got = receiver.await.expect("no panic");
    assert!((0..datagrams).zip(&got).all(|(i, bytes)| *bytes == vec![i.to_le_bytes()[0]; 1000]));
    Arc::try_unwrap(memory.0)
        .map_or_else(|m| m.lock().expect("no panic").clone(), |m| m.into_inner().expect("no panic"))
}

/// The rates that an encoder gets while 300 datagrams go.
async fn target_rates(cap_bps: Option<f64>) -> Vec<f64> {
    let server = server();
    let client =
        Endpoint::bind(any(), &Options::from(Common { cap_bps, ..Common::default() })).expect("a port");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let receiver = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client");
        while connection.recv().await.is_some() {}
        connection.accept_close("").await
    });
    let listen = async {
        let mut rates = Vec::new();
        while let Some(rate) = connection.rate_changed().await {
            rates.push(rate.bits_per_sec());
        }
        rates
    };
    let talk = async {
        for _ in 0..300 {
            connection.send(vec![7; 1000]).await.expect("open");
        }
        connection.close().await.expect("an end");
    };
    let (rates, ()) = tokio::join!(listen, talk);
    assert_eq!(connection.rate_changed().await, None, "it is over");
    receiver.await.expect("no panic").expect("an end");
    rates
}

/// A change is reported once, and with the cap in it: the loopback interface allows much more.
#[tokio::test]
async fn an_encoder_waits_for_another_rate() {
    let (capped, free) = (target_rates(Some(8e6)).await, target_rates(None).await);
    assert!(
        capped.iter().all(|rate| *rate <= 8e6) && free.iter().any(|rate| *rate > 8e6),
        "{capped:?} {free:?}"
    );
    for rates in [capped, free] {
        assert!(!rates.is_empty() && rates.windows(2).all(|pair| pair[0] != pair[1]), "{rates:?}");
    }
}

/// The journal has the changes: without them the replay sends sooner or later than the session did.
#[tokio::test]
async fn a_cap_changes_while_running() {
    let server = server();
    let memory = Memory::default();
    let recordings = Recordings { journal: Some(Box::new(memory.clone())), ..Recordings::default() };
    let options = Options::from(Common { cap_bps: Some(2e6), ..Common::default() });
    let client = Endpoint::bind_recorded(any(), &options, recordings).expect("a port");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let receiver = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client");
        while connection.recv().await.is_some() {}
        connection.accept_close("").await
    });
    for cap in [1e6, 4e6] {
        let cap = Rate::from_bits_per_sec(cap);
        connection.set_cap(RateCap::AtMost(cap)).expect("above zero");
        assert_eq!(connection.set_cap(RateCap::AtMost(Rate::ZERO)), Err(ConfigError::Cap));
        while connection.status().target_rate != cap {
            connection.send(vec![7; 1000]).await.expect("open");
        }
    }
    connection.set_cap(RateCap::Unlimited).expect("none is a cap");
    while connection.status().target_rate.bits_per_sec() <= 4e6 {
        connection.send(vec![7; 1000]).await.expect("open");
    }
    connection.close().await.expect("an end");
    drop(connection);
    client.shut_down().await.expect("a clean end");
    receiver.await.expect("no panic").expect("an end");
    let journal = memory.0.lock().expect("no panic").clone();
    replay(journal.as_slice()).expect("the same machine");
}

#[tokio::test]
async fn datagrams_arrive_and_both_ends_count_them() {
    session(Variant::Tfrc, 300).await;
}

/// Both variants are served by one listener, and the journal knows which it was.
#[tokio::test]
async fn small_packets_have_their_own_rate_control() {
    let journal = session(Variant::TfrcSp, 30).await;
    replay(journal.as_slice()).expect("the same machine");
}

#[tokio::test]
async fn a_journal_replays_to_the_same_bytes_and_every_change_is_noticed() {
    let journal = session(Variant::Tfrc, 50).await;
    let replayed = replay(journal.as_slice()).expect("the same machine");
    assert!(replayed.transmitted >= 50 && replayed.transmitted_bytes > 50_000, "{replayed:?}");
    // One bit of any byte, times included. (Every 97th keeps the test short; the head of each kind
    // of block is among them.)
    for i in (0..journal.len()).step_by(97) {
        let mut changed = journal.clone();
        changed[i] ^= 1;
        assert!(
            matches!(replay(changed.as_slice()), Err(ReplayError::Journal(_))),
            "byte {i} of {}",
            journal.len()
        );
    }
    // One that was cut off is replayed as far as it is whole, but not one without its setup.
    for cut in [journal.len() - 1, journal.len() / 2] {
        let part = replay(&journal[..cut]).expect("the same machine");
        assert!(
            matches!(part.end, JournalEnd::CutOff { offset, .. } if (1..=70_000).contains(&(cut as u64 - offset)))
        );
        assert!((1..=replayed.transmitted).contains(&part.transmitted), "{part:?}");
    }
    for cut in [3, 40] {
        let error = replay(&journal[..cut]).expect_err("cut off");
        assert!(matches!(
            error,
            ReplayError::Journal(JournalError::CutOff { block: 0, .. } | JournalError::NotAJournal)
        ));
    }
    // Other versions are refused by name, not misread: those of older programs and of later ones.
    for version in [1, 3] {
        let line = journal.iter().position(|byte| *byte == b'\n').expect("a first line");
        let other = [format!("tfrc journal {version}\n").as_bytes(), &journal[line + 1..]].concat();
        let error = replay(other.as_slice()).expect_err("another version");
        assert!(
            matches!(error, ReplayError::Journal(JournalError::Version { found }) if found == version),
            "{error}"
        );
    }
    let mut longer = journal.clone();
    longer.push(0);
    assert!(matches!(replay(longer.as_slice()), Err(ReplayError::Journal(JournalError::Trailing { .. }))));
}

/// At 8 kbit/s the queue is worth a minute; nobody waits for it, and what was left is known
/// exactly.
#[tokio::test]
async fn closing_at_once_says_what_was_left_unsent() {
    let server = server();
    let memory = Memory::default();
    let recordings = Recordings { journal: Some(Box::new(memory.clone())), ..Recordings::default() };
    let options = Options::from(Common { cap_bps: Some(8e3), ..Common::default() });
    let client = Endpoint::towards(server.local_addr(), &options, recordings).expect("a route");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let accepted = server.accept().await.expect("a client");
    for _ in 0..60 {
        connection.send(vec![7; 1000]).await.expect("open");
    }
    accepted.recv().await.expect("the first");
    // Somebody waits for the ordinary end already; that ends too.
    let (waiting, closed, received) = tokio::join!(connection.close(), connection.close_now(), async {
        let mut received = 1;
        while accepted.recv().await.is_some() {
            received += 1;
        }
        accepted.accept_close("so much").await.expect("an end");
        received
    });
    let closed = closed.expect("an answer");
    assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Us, Some("so much")));
    assert_eq!(waiting, Some(closed));
    let status = connection.status();
    assert_eq!(status.stats.sent_data_packets, received);
    assert_eq!((status.unsent_packets, status.unsent_bytes), (60 - received, 1000 * (60 - received)));
    assert!(received < 30, "{received} sent");
    assert_eq!((status.queued, status.late_dropped), (0, 0));
    drop((connection, accepted));
    client.shut_down().await.expect("a clean end");
    let journal = memory.0.lock().expect("no panic").clone();
    replay(journal.as_slice()).expect("the same machine");
}

/// The peer's host is gone: after three seconds nobody waits for it any more.
#[tokio::test]
async fn closing_at_once_gives_up_on_a_peer_that_is_gone() {
    let server = server();
    let options = Options::from(Common { cap_bps: Some(8e3), ..Common::default() });
    let client = Endpoint::bind(any(), &options).expect("a port");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let accepted = server.accept().await.expect("a client");
    server.shut_down().await.expect("a clean end");
    for _ in 0..10 {
        connection.send(vec![7; 1000]).await.expect("open");
    }
    assert_eq!(connection.close_now().await, None);
    let status = connection.status();
    assert_eq!(status.stats.sent_data_packets + status.unsent_packets, 10);
    drop((connection, accepted));
    client.shut_down().await.expect("a clean end");
}

/// The peer ends the connection: what waited was never sent.
#[tokio::test]
async fn what_waits_when_the_peer_ends_counts_as_unsent() {
    let server = server();
    let options = Options::from(Common { cap_bps: Some(8e3), ..Common::default() });
    let client = Endpoint::bind(any(), &options).expect("a port");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let accepted = server.accept().await.expect("a client");
    for _ in 0..20 {
        connection.send(vec![7; 500]).await.expect("open");
    }
    accepted.recv().await.expect("the first");
    let (closed, ended) = tokio::join!(accepted.close(), async {
        while connection.recv().await.is_some() {}
        connection.accept_close("").await
    });
    assert!(closed.is_some_and(|closed| closed.by == ClosedBy::Us));
    assert!(ended.is_some_and(|closed| closed.by == ClosedBy::Peer));
    let status = connection.status();
    assert_eq!(status.stats.sent_data_packets + status.unsent_packets, 20);
    assert_eq!(status.stats.sent_data_bytes + status.unsent_bytes, 10_000);
    assert!(status.unsent_packets > 0);
}

/// The pace of reading is part of a session: a full queue refuses datagrams, and the peer is
/// informed.
#[tokio::test]
async fn a_slow_readers_journal_replays() {
    let memory = Memory::default();
    let recordings = Recordings { journal: Some(Box::new(memory.clone())), ..Recordings::default() };
    let options = Options::from(Common { accept: Listen::One, receive_queue: 4, ..Common::default() });
    let server = Endpoint::bind_recorded(any(), &options, recordings).expect("a port");
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let accepted = server.accept().await.expect("a client");
    for round in 0..10 {
        for _ in 0..20 {
            connection.send(vec![7; 500]).await.expect("open");
        }
        connection.flushed().await;
        while accepted.status().stats.received_data_packets < 20 * (round + 1) {
            tokio::task::yield_now().await;
        }
        accepted.recv().await.expect("up to four wait");
    }
    let dropped = accepted.status().stats.queue_dropped_packets;
    assert_eq!(dropped, 200 - 13, "four places, one free in each round after the first");
    drop(connection);
    while accepted.recv().await.is_some() {}
    accepted.accept_close("").await.expect("an end");
    drop(accepted);
    server.shut_down().await.expect("a clean end");
    let journal = memory.0.lock().expect("no panic").clone();
    replay(journal.as_slice()).expect("the same machine");
}

#[tokio::test]
async fn a_second_connection_at_once_is_refused_and_another_one_later_is_not() {
    let server = server();
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let first = client.connect(server.local_addr()).await.expect("an open door");
    let second = client.connect(server.local_addr()).await;
    assert!(
        matches!(&second, Err(ConnectError::Refused(closed)) if closed.by == ClosedBy::PeerReset),
        "{second:?}"
    );
    let accepted = server.accept().await.expect("the first");
    let (closed, end) = tokio::join!(first.close(), async {
        assert_eq!(accepted.recv().await, None);
        accepted.accept_close("").await
    });
    assert!(closed.is_some() && end.is_some());
    drop((first, accepted));
    client.connect(server.local_addr()).await.expect("room again");
}

#[tokio::test]
async fn too_long_a_datagram_is_refused_with_the_limit() {
    let (server, client) = (server(), Endpoint::bind(any(), &Options::default()).expect("a port"));
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let limit = connection.max_datagram();
    assert!((1200..1472).contains(&limit), "{limit}");
    assert_eq!(
        connection.send(vec![0; limit + 1]).await,
        Err(SendError::TooLong { length: limit + 1, limit })
    );
    connection.send(vec![0; limit]).await.expect("just fits");
}

/// Nobody accepts: what has ended stays within the limit, and can still be accepted and read.
#[tokio::test]
async fn connections_nobody_accepts_are_bounded() {
    let options = Options::from(Common { accept: Listen::Many(3), receive_queue: 5, ..Common::default() });
    let server = Endpoint::bind(any(), &options).expect("a port");
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let (mut refused, mut closing) = (0, tokio::task::JoinSet::new());
    for n in 0..8u8 {
        match client.connect(server.local_addr()).await {
            Ok(connection) => {
                for _ in 0..10 {
                    connection.send(vec![n; 100]).await.expect("open");
                }
                connection.flushed().await;
                // Each waits until it knows that nobody takes what it brought.
                closing.spawn(async move { connection.close().await });
            }
            Err(ConnectError::Refused(closed)) if closed.by == ClosedBy::PeerReset => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 5);
    for closed in closing.join_all().await {
        assert!(closed.is_some_and(|closed| closed.by == ClosedBy::Us));
    }
    for n in 0..3u8 {
        let over = server.accept().await.expect("it waits");
        for _ in 0..5 {
            assert_eq!(over.recv().await.map(|datagram| datagram.bytes), Some(vec![n; 100]));
        }
        assert_eq!(over.recv().await, None);
        assert_eq!(over.status().stats.queue_dropped_packets, 5);
    }
    client.connect(server.local_addr()).await.expect("room again");
}

#[tokio::test]
async fn who_is_not_allowed_gets_no_answer() {
    let allow = vec!["192.0.2.0/24".parse().expect("a prefix")];
    let options = Options::from(Common { accept: Listen::One, allow, ..Common::default() });
    let server = Endpoint::bind(any(), &options).expect("a port");
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let counted = async {
        while server.stats().strangers.not_allowed == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answered = client.connect(server.local_addr()) => panic!("{answered:?}"),
        () = counted => {}
    }
}

#[tokio::test]
async fn who_sends_nothing_loses_the_place() {
    let first_data_within = Some(tfrc_units::Duration::from_millis(50));
    let options = Options::from(Common { accept: Listen::One, first_data_within, ..Common::default() });
    let server = Endpoint::bind(any(), &options).expect("a port");
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let silent = client.connect(server.local_addr()).await.expect("an open door");
    assert_eq!(silent.recv().await, None);
    let accepted = server.accept().await.expect("it was there");
    let closed = accepted.close().await.expect("over");
    assert_eq!(closed.cause, Cause::NoData(tfrc_units::Duration::from_millis(50)));
    drop(accepted);
    client.connect(server.local_addr()).await.expect("room again");
}

#[tokio::test]
async fn a_wrong_service_is_refused() {
    let server = server();
    let client = Endpoint::bind(
        any(),
        &Options { dccp: Dccp { service: 7, ..Dccp::default() }, ..Options::default() },
    )
    .expect("a port");
    assert!(matches!(client.connect(server.local_addr()).await, Err(ConnectError::Refused(_))));
}

/// A relay that decides packet by packet what goes through: the end is heard of although the first
/// Reset is lost.
#[tokio::test]
async fn who_lingers_repeats_a_lost_reset_and_takes_nobody_new() {
    let server = server();
    let to = server.local_addr();
    let (outside, inside) = (
        tokio::net::UdpSocket::bind(any()).await.expect("a port"),
        tokio::net::UdpSocket::bind(any()).await.expect("a port"),
    );
    let entrance = outside.local_addr().expect("bound");
    // A path that loses the first Reset: DCCP packet type 7, in the upper half of byte 8 less a bit
    // (RFC 4340 §5.1).
    let path = tokio::spawn(async move {
        let (mut there, mut back) = ([0; 2000], [0; 2000]);
        let (mut client, mut resets) = (None, 0);
        loop {
            tokio::select! {
                got = outside.recv_from(&mut there) => {
                    let (length, from) = got.expect("a datagram");
                    client = Some(from);
                    inside.send_to(&there[..length], to).await.expect("sent");
                }
                got = inside.recv_from(&mut back) => {
                    let (length, _) = got.expect("a datagram");
                    let reset = back[8] >> 1 & 0xF == 7;
                    resets += u32::from(reset);
                    if !reset || resets > 1 {
                        outside.send_to(&back[..length], client.expect("spoken")).await.expect("sent");
                    }
                }
            }
        }
    });
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let connection = client.connect(entrance).await.expect("an open door");
    let accepted = server.accept().await.expect("a client");
    let (closed, refused) = tokio::join!(connection.close(), async {
        assert_eq!(accepted.recv().await, None);
        accepted.accept_close("bye").await;
        let other = Endpoint::bind(any(), &Options::default()).expect("a port");
        let (refused, ()) = tokio::join!(
            async {
                tokio::task::yield_now().await;
                other.connect(to).await
            },
            server.linger()
        );
        refused
    });
    assert_eq!(closed.and_then(|closed| closed.text), Some("bye".to_owned()));
    assert!(matches!(refused, Err(ConnectError::Refused(_))), "{refused:?}");
    path.abort();
}

/// An ICMP message about the Request: nobody needs to wait for a minute.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_unreachable_port_is_told_at_once() {
    let nobody = std::net::UdpSocket::bind(any()).expect("a port").local_addr().expect("bound");
    let endpoints = [
        Endpoint::bind(any(), &Options::default()).expect("a port"),
        Endpoint::towards(nobody, &Options::default(), Recordings::default()).expect("a route"),
    ];
    for endpoint in endpoints {
        let refused = endpoint.connect(nobody).await.map(drop);
        assert!(
            matches!(&refused, Err(ConnectError::Refused(closed)) if closed.by == ClosedBy::Unreachable),
            "{refused:?}"
        );
        assert!(refused.is_err_and(|error| error.to_string().contains("unreachable")));
        endpoint.shut_down().await.expect("a clean end");
    }
}

#[tokio::test]
async fn an_endpoint_towards_one_peer_connects_to_no_other() {
    let server = server();
    let client =
        Endpoint::towards(server.local_addr(), &Options::default(), Recordings::default()).expect("a route");
    let other = client.connect(client.local_addr()).await.map(drop);
    assert_eq!(other, Err(ConnectError::OtherPeer { peer: server.local_addr() }));
    client.connect(server.local_addr()).await.expect("an open door");
}

/// The route's MTU is known before the first datagram: what no UDP datagram can be is refused to
/// the application, whatever the options allow, and shorter ones follow.
#[tokio::test]
async fn what_no_datagram_can_be_is_refused_at_once() {
    let server = server();
    let memory = Memory::default();
    let recordings = Recordings { journal: Some(Box::new(memory.clone())), ..Recordings::default() };
    let options = Options { dccp: Dccp { max_udp_payload: 70_000, ..Dccp::default() }, ..Options::default() };
    let client = Endpoint::towards(server.local_addr(), &options, recordings).expect("a route");
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let accepted = server.accept().await.expect("the client");
    assert!((60_000..65_507).contains(&connection.max_datagram()), "{}", connection.max_datagram());
    let refused = connection.send(vec![1; 69_000]).await;
    assert!(matches!(refused, Err(SendError::TooLong { length: 69_000, .. })), "{refused:?}");
    connection.send(vec![2; 1000]).await.expect("open");
    let got = accepted.recv().await.expect("the second");
    assert_eq!((got.bytes.len(), got.data_index), (1000, 0), "the first was never sent");
    drop((connection, accepted));
    client.shut_down().await.expect("a clean end");
    let journal = memory.0.lock().expect("no panic").clone();
    replay(journal.as_slice()).expect("the same machine");
}
