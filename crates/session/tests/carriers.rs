//! One session over each carrier, by the same calls.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc_session::{
    Carrier, ClosedBy, Common, ConnectError, DataFrom, Dccp, Endpoint, LatePolicy, Listen, Options,
    Recordings, RefusalReason, connect_any, connect_waiting,
};
#[cfg(feature = "quic")]
use tfrc_session::{Key, Quic};

const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Options of both ends, over each carrier: the one that listens first.
pub(crate) fn pairs() -> Vec<[Options; 2]> {
    let common = [Common { accept: Listen::One, ..Common::default() }, Common::default()];
    let with = |[listens, calls]: [Carrier; 2]| {
        let [there, here] = common.clone();
        [Options { common: there, carrier: listens }, Options { common: here, carrier: calls }]
    };
    vec![
        with([Carrier::default(), Carrier::Dccp(Dccp::default())]),
        #[cfg(feature = "quic")]
        with(keys()),
    ]
}

/// Two ends that know each other's keys.
#[cfg(feature = "quic")]
fn keys() -> [Carrier; 2] {
    let [there, here] = [0; 2].map(|_| Key::temporary().expect("random numbers"));
    let listens = Quic { key: there.clone(), peers: vec![here.fingerprint()] };
    let calls = Quic { key: here, peers: vec![there.fingerprint()] };
    [Carrier::Quic(listens), Carrier::Quic(calls)]
}

pub(crate) fn listen(options: &Options) -> Endpoint {
    Endpoint::bind(HERE.into(), options).expect("a port")
}

/// An address at which the system says that nobody listens.
fn closed(host: [u8; 4]) -> SocketAddr {
    let socket = std::net::UdpSocket::bind(SocketAddr::from((host, 0))).expect("a port");
    socket.local_addr().expect("bound")
}

#[tokio::test]
async fn data_goes_over_any_carrier() {
    for [there, here] in pairs() {
        let listening = listen(&there);
        let at = [closed([127, 0, 0, 2]), listening.local_addr()];
        // It may be a task.
        let connecting = tokio::spawn(async move { connect_any(&at, &here, Recordings::default()).await });
        let connected = connecting.await.expect("no panic");
        let (calling, sender) = connected.expect("one answers");
        let receiver = listening.accept().await.expect("a client");
        assert_eq!(sender.remote_addr(), Some(listening.local_addr()));
        assert_eq!(sender.transport(), receiver.transport());
        sender.set_closing_text("all of it");
        sender.send(vec![7; 900]).await.expect("open");
        assert_eq!(receiver.recv().await.map(|datagram| datagram.bytes), Some(vec![7; 900]));
        let (closed, heard) = tokio::join!(sender.close(), async {
            assert_eq!(receiver.recv().await, None);
            assert_eq!(receiver.peer_closing_text().as_deref(), Some("all of it"));
            receiver.accept_close("thanks").await
        });
        let closed = closed.expect("the endpoint is there");
        assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Us, Some("thanks")));
        assert_eq!(heard.map(|heard| heard.by), Some(ClosedBy::Peer));
        assert!(calling.shut_down().await.is_ok());
    }
}

/// The rate has a turn each two seconds: of what is handed over at once, one datagram at most goes
/// in time, and none goes later.
#[tokio::test]
async fn no_datagram_goes_after_its_deadline() {
    for [there, mut here] in pairs() {
        here.common.cap_bps = Some(4000.0);
        let listening = listen(&there);
        let at = [listening.local_addr()];
        let (_calling, sender) = connect_any(&at, &here, Recordings::default()).await.expect("a place");
        let receiver = listening.accept().await.expect("a client");
        sender.set_late_policy(LatePolicy::DropAfter(tfrc_units::Duration::from_millis(300)));
        let sent = || sender.status().stats.sent_data_packets;
        for _ in 0..5 {
            sender.send(vec![5; 1000]).await.expect("open");
        }
        sender.flushed().await;
        let (in_time, late) = (sent(), sender.status().late_dropped);
        assert!(in_time <= 1 && late == 5 - in_time, "{in_time} sent, {late} late");
        while sent() == in_time {
            sender.send(vec![6; 1000]).await.expect("open");
            sender.flushed().await;
        }
        let first = receiver.recv().await.map(|datagram| datagram.bytes);
        assert_eq!(first, Some(vec![if in_time == 0 { 6 } else { 5 }; 1000]));
    }
}

#[tokio::test]
async fn the_end_that_is_busy_says_so() {
    for [there, here] in pairs() {
        let listening = listen(&there);
        let at = [listening.local_addr()];
        let first = connect_any(&at, &here, Recordings::default()).await.expect("a place");
        let second = connect_any(&at, &here, Recordings::default()).await;
        assert!(matches!(&second, Err(ConnectError::Failed(attempts)) if attempts.len() == 1), "{second:?}");
        let reasons: Vec<_> = listening.take_refusals().iter().map(|refusal| refusal.reason).collect();
        assert!(!reasons.is_empty() && reasons.iter().all(|reason| *reason == RefusalReason::Busy));
        drop(first);
    }
}

/// Each address is tried once, and each failure has its address.
#[tokio::test]
async fn every_failure_is_listed() {
    let addresses = [closed([127, 0, 0, 1]), closed([127, 0, 0, 2]), closed([127, 0, 0, 3])];
    let twice = [addresses, addresses].concat();
    for [_, here] in pairs() {
        let failed = connect_any(&twice, &here, Recordings::default()).await;
        let Err(ConnectError::Failed(attempts)) = &failed else { panic!("{failed:?}") };
        assert_eq!(attempts.iter().map(|(address, _)| *address).collect::<Vec<_>>(), addresses);
        let text = failed.map(drop).expect_err("nobody listens").to_string();
        assert_eq!(text.matches("nobody listens there").count(), 3, "{text}");
        let wait = Duration::from_millis(400);
        let failed = connect_waiting(&addresses[..1], &here, Recordings::default(), wait).await;
        assert!(matches!(&failed, Err(ConnectError::Failed(attempts)) if attempts.len() == 1), "{failed:?}");
    }
}

#[tokio::test]
async fn an_end_that_listens_may_send() {
    for [mut there, mut here] in pairs() {
        there.common.data_from = DataFrom::Listener;
        here.common.data_from = DataFrom::Listener;
        let listening = listen(&there);
        let at = [listening.local_addr()];
        let (_calling, receiver) = connect_any(&at, &here, Recordings::default()).await.expect("a place");
        let sender = listening.accept().await.expect("a client");
        sender.send(vec![3; 10]).await.expect("open");
        assert_eq!(receiver.recv().await.map(|datagram| datagram.bytes), Some(vec![3; 10]));
    }
}

/// A wrong key at one address ends the wait at once, though nobody listens at the other one.
#[cfg(feature = "quic")]
#[tokio::test]
async fn a_wrong_key_ends_the_wait() {
    let [there, _] = keys();
    let [_, other] = keys();
    let common = Common { accept: Listen::One, ..Common::default() };
    let listening = listen(&Options { common, carrier: there });
    let here = Options { carrier: other, ..Options::default() };
    let at = [closed([127, 0, 0, 2]), listening.local_addr()];
    let failed = connect_waiting(&at, &here, Recordings::default(), Duration::from_mins(1)).await;
    let Err(ConnectError::Failed(attempts)) = &failed else { panic!("{failed:?}") };
    assert_eq!(attempts.iter().filter(|(_, error)| error.other_key().is_some()).count(), 1, "{attempts:?}");
}

/// An end that calls and names no key takes no peer.
#[cfg(feature = "quic")]
#[tokio::test]
async fn no_key_lets_nobody_in() {
    let [there, here] = keys();
    let common = Common { accept: Listen::One, ..Common::default() };
    let listening = listen(&Options { common, carrier: there });
    let Carrier::Quic(Quic { key, .. }) = here else { panic!("over QUIC") };
    let here = Options { carrier: Carrier::Quic(Quic { key, peers: Vec::new() }), ..Options::default() };
    let failed = connect_any(&[listening.local_addr()], &here, Recordings::default()).await;
    assert!(matches!(&failed, Err(ConnectError::Failed(_))), "{failed:?}");
}

/// A recording that the carrier cannot make is an error, not an empty file.
#[cfg(feature = "quic")]
#[tokio::test]
async fn sessions_over_quic_are_not_recorded() {
    let [_, here] = keys();
    let here = Options { carrier: here, ..Options::default() };
    for wanted in [false, true] {
        let recordings = Recordings {
            journal: wanted.then(|| Box::new(std::io::sink()) as _),
            capture: (!wanted).then(|| Box::new(std::io::sink()) as _),
            ..Recordings::default()
        };
        let failed = connect_any(&[closed([127, 0, 0, 1])], &here, recordings).await;
        assert!(matches!(failed, Err(ConnectError::NotRecorded)), "{failed:?}");
    }
}
