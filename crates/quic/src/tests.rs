//! Peers that break rules: they have QUIC and a key, and write what they like. Strangers whose
//! handshakes never go on.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use noq::udp::RecvMeta;
use noq::{AsyncUdpSocket, ClientConfig, SendStream, TokioRuntime, UdpSender, VarInt};
use tfrc_net::options::{Common, DataFrom, Listen};
use tfrc_net::{Cause, Closed, ClosedBy};
use tfrc_noq::Readings;
use tfrc_units::Duration;
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::closing::Violation;
use crate::frame::{self, Message};
use crate::handshakes::MOST_OF_NETWORK;
use crate::socket::{Guard, Watched};
use crate::state::{FURTHEST, MANY_DROPPED};
use crate::tls::{self, Peers, Verifier};
use crate::{Connection, Endpoint, Key, settings};

/// Any port of this host.
const HERE: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
/// The longest attempt, as sessions have it.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

fn key() -> Key {
    Key::temporary().expect("random numbers")
}

/// The settings of a client with a new key, at a server with the key `there`.
fn config(there: &Key, data_from: DataFrom) -> ClientConfig {
    let verifier = Arc::new(Verifier::new(Peers::These(vec![there.fingerprint()])));
    let crypto = tls::client(&key(), verifier).expect("cryptography");
    let mut config = ClientConfig::new(Arc::new(crypto));
    let readings = Arc::new(Readings::new(Clock::start().epoch()));
    let options = Common { accept: Listen::Refuse, data_from, ..Common::default() };
    config.transport_config(settings::transport(&options, &readings).expect("sound"));
    config
}

/// The end that listens, and a client that does nothing by itself.
struct Ends {
    listens: Connection,
    client: noq::Connection,
    control: SendStream,
    _endpoints: [Endpoint; 2],
}

impl Ends {
    /// A receiver that listens, and a client that has sent one datagram.
    async fn receiver() -> Self {
        let ends = Self::new("sends", DataFrom::Caller).await;
        ends.client.send_datagram(frame::header(0).to_vec().into()).expect("room");
        assert!(ends.listens.recv().await.is_some());
        ends
    }

    /// A sender that listens.
    async fn sender() -> Self {
        Self::new("receives", DataFrom::Listener).await
    }

    async fn new(greeting: &str, data_from: DataFrom) -> Self {
        let there = key();
        let options = Common { accept: Listen::One, data_from, ..Common::default() };
        let listening = Endpoint::bind(HERE.into(), &options, &there, &[]).expect("a port");
        let (calling, _) = Endpoint::towards(listening.local_addr(), Clock::start()).expect("a port");
        let connecting =
            calling.quic().connect_with(config(&there, data_from), listening.local_addr(), tls::NAME);
        let client = connecting.expect("begun").await.expect("connected");
        let mut control = client.open_uni().await.expect("open");
        let hello = Message::Hello { greeting: greeting.to_owned() };
        control.write_all(&hello.encode()).await.expect("open");
        let listens = listening.accept().await.expect("open");
        Self { listens, client, control, _endpoints: [calling, listening] }
    }

    async fn say(&mut self, message: Message) {
        self.control.write_all(&message.encode()).await.expect("open");
    }

    /// The end of the session at the end that listens, when it waits for data.
    async fn ended(&self) -> Closed {
        assert!(self.listens.recv().await.is_none());
        self.listens.accept_close("").await.expect("over")
    }

    /// Asserts that the session ends because of this rule, and that the client hears the reason.
    async fn broke(&self, rule: Violation) {
        let closed = self.ended().await;
        assert_eq!((closed.by, closed.cause), (ClosedBy::OurReset, Cause::Rule(rule.phrase())));
        let heard = self.client.closed().await.to_string();
        assert!(heard.contains(rule.phrase()), "{heard}");
    }
}

const fn close(sent: u64) -> Message {
    Message::Close { sent, text: String::new() }
}

/// Nobody is an end of a session by a public key without its private half.
#[tokio::test]
async fn a_public_key_alone_opens_nothing() {
    let victim = key();
    let impostor = Key::claiming(&victim, &key());
    let calls = Common { accept: Listen::Refuse, ..Common::default() };
    let options = Common { accept: Listen::One, ..Common::default() };
    let known = [victim.fingerprint()];
    let short = std::time::Duration::from_secs(2);

    let listening = Endpoint::bind(HERE.into(), &options, &impostor, &[]).expect("a port");
    let connected = crate::connect(listening.local_addr(), &calls, &key(), &known, short).await;
    assert!(connected.is_err(), "it cannot sign as the server");

    let there = key();
    let listening = Endpoint::bind(HERE.into(), &options, &there, &known).expect("a port");
    let (at, server) = (listening.local_addr(), [there.fingerprint()]);
    let _ = crate::connect(at, &calls, &impostor, &server, short).await;
    let nobody = tokio::time::timeout(std::time::Duration::from_millis(200), listening.accept());
    assert!(nobody.await.is_err(), "it cannot sign as the client");
    let connected = crate::connect(at, &calls, &victim, &server, PATIENCE).await;
    assert!(connected.is_ok() && listening.accept().await.is_some(), "the place is free");
}

#[tokio::test]
async fn a_count_beyond_what_can_have_been_sent_ends_the_session() {
    for sent in [u64::MAX, FURTHEST + 2] {
        let mut ends = Ends::receiver().await;
        ends.say(close(sent)).await;
        ends.broke(Violation::Count).await;
        assert_eq!(ends.listens.status().peer_sent_packets, 1, "the claim counts nothing");
    }
}

#[tokio::test]
async fn a_count_that_is_possible_is_taken() {
    let mut ends = Ends::receiver().await;
    ends.say(close(FURTHEST + 1)).await;
    let closed = ends.ended().await;
    assert_eq!((closed.by, closed.cause), (ClosedBy::Peer, Cause::Agreed));
    assert_eq!(ends.listens.status().peer_sent_packets, FURTHEST + 1);
}

/// Each Close but the first says nothing new: none makes a task of its own.
#[tokio::test]
async fn many_closes_cost_as_much_as_one() {
    let mut ends = Ends::receiver().await;
    for _ in 0..10_000 {
        ends.say(close(FURTHEST)).await;
    }
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(tasks < 50, "{tasks}");
    let closed = ends.ended().await;
    assert_eq!(closed.cause, Cause::Agreed);
}

/// A receiver sends no datagrams, and may say so with its agreement.
#[tokio::test]
async fn an_agreement_has_a_bound_too() {
    for (sent, is_possible) in [(u64::MAX, false), (0, true)] {
        let mut ends = Ends::sender().await;
        let agreed = Message::Agreed { sent, text: String::new() };
        let (closed, _control) = tokio::join!(ends.listens.close(), async {
            let mut control = ends.client.accept_uni().await.expect("open");
            let (mut bytes, mut reader) = ([0; 1024], frame::Reader::default());
            loop {
                match reader.read().expect("messages") {
                    Some(Message::Close { .. }) => break,
                    Some(_) => {}
                    None => {
                        let count = control.read(&mut bytes).await.expect("open").expect("more");
                        reader.push(&bytes[..count]);
                    }
                }
            }
            ends.control.write_all(&agreed.encode()).await.expect("open");
            control
        });
        let cause = if is_possible { Cause::Agreed } else { Cause::Rule(Violation::Count.phrase()) };
        assert_eq!(closed.map(|closed| closed.cause), Some(cause));
    }
}

#[tokio::test]
async fn an_agreement_that_nobody_asked_for_ends_the_session() {
    let mut ends = Ends::sender().await;
    ends.say(Message::Agreed { sent: 0, text: "received 9".to_owned() }).await;
    ends.broke(Violation::Unasked).await;
}

/// An application that does not keep up slows the sender down, as a marked packet does.
#[tokio::test]
async fn a_peer_that_drops_slows_the_sender_down() {
    let mut ends = Ends::sender().await;
    let mut told = 0;
    for (more, events) in [(MANY_DROPPED - 1, 0), (MANY_DROPPED, 1)] {
        told += more;
        ends.say(Message::Dropped { datagrams: told }).await;
        for _ in 0..20 {
            ends.listens.send(vec![1; 100]).await.expect("open");
            assert!(ends.client.read_datagram().await.is_ok());
        }
        while ends.listens.status().stats.peer_dropped_packets == 0
            || ends.listens.status().reported_loss_events < events
        {
            ends.listens.send(vec![1; 100]).await.expect("open");
            assert!(ends.client.read_datagram().await.is_ok());
        }
        assert_eq!(ends.listens.status().reported_loss_events, events);
    }
}

#[tokio::test]
async fn a_control_stream_that_ends_ends_the_session() {
    let mut ends = Ends::receiver().await;
    ends.control.reset(VarInt::from_u32(7)).expect("open");
    ends.broke(Violation::Stream).await;
    let mut ends = Ends::sender().await;
    ends.control.finish().expect("open");
    ends.broke(Violation::Stream).await;
}

/// Messages that the peer does not take cannot end anything in agreement.
#[tokio::test]
async fn a_peer_that_takes_no_messages_ends_the_session() {
    let ends = Ends::receiver().await;
    ends.client.accept_uni().await.expect("open").stop(VarInt::from_u32(7)).expect("open");
    ends.broke(Violation::Stream).await;
}

/// The peer lives: QUIC answers for it. Time moves while both ends wait.
#[tokio::test(start_paused = true)]
async fn a_close_without_an_answer_is_given_up() {
    let ends = Ends::sender().await;
    let closed = ends.listens.close().await.expect("given up");
    let waited = Duration::from_secs(30);
    assert_eq!((closed.by, closed.cause), (ClosedBy::OurReset, Cause::CloseUnanswered(waited)));
    let heard = ends.client.closed().await.to_string();
    assert!(heard.contains("not answered"), "{heard}");
}

/// More datagrams than QUIC keeps come while this program takes none out: those that QUIC drops
/// have arrived, and are not lost on the way.
#[tokio::test]
async fn datagrams_that_nobody_takes_in_time_are_dropped_here() {
    /// 36 bytes each in a buffer of 4 MiB, and some more.
    const COUNT: u64 = 130_000;
    let mut ends = Ends::receiver().await;
    let receiver = Arc::clone(ends.listens.shared());
    let held = receiver.held.lock().await;
    for number in 1..COUNT {
        ends.client.send_datagram_wait(frame::header(number).to_vec().into()).await.expect("open");
    }
    while receiver.quic.stats().frame_rx.datagram < COUNT {
        tokio::time::sleep(Duration::from_millis(1).into()).await;
    }
    drop(held);
    ends.say(close(COUNT)).await;
    while ends.listens.recv().await.is_some() {}
    let status = ends.listens.status();
    assert_eq!((status.peer_sent_packets, status.stats.received_data_packets), (COUNT, COUNT));
    assert!(status.stats.queue_dropped_packets > 0);
}

/// A socket of strangers: it hears nothing but the question whether its address is its own, so that
/// no handshake goes on.
#[derive(Debug)]
struct Deaf(Watched);

impl AsyncUdpSocket for Deaf {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        self.0.create_sender()
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            let count = ready!(self.0.poll_recv(cx, bufs, meta))?;
            // A Retry packet (RFC 9000 §17.2.5).
            let is_heard = |at: usize| bufs[at].first().is_some_and(|byte| byte & 0xf0 == 0xf0);
            let heard: Vec<usize> = (0..count).filter(|at| is_heard(*at)).collect();
            for (to, from) in heard.iter().enumerate() {
                let bytes = bufs[*from][..meta[*from].len].to_vec();
                bufs[to][..bytes.len()].copy_from_slice(&bytes);
                meta[to] = meta[*from];
            }
            if !heard.is_empty() {
                return Poll::Ready(Ok(heard.len()));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }
}

/// Strangers at this address, each of whom begins a handshake, and another one whenever it ends,
/// for as long as the tasks exist.
fn besiege(at: [u8; 4], to: SocketAddr, there: &Key, strangers: usize) -> JoinSet<()> {
    let socket = Deaf(Watched::bind((at, 0).into(), Guard::default()).expect("a port"));
    let (settings, runtime) = (noq::EndpointConfig::default(), Arc::new(TokioRuntime));
    let quic = noq::Endpoint::new_with_abstract_socket(settings, None, Box::new(socket), runtime);
    let (quic, config) = (quic.expect("an endpoint"), config(there, DataFrom::Caller));
    let mut tasks = JoinSet::new();
    for _ in 0..strangers {
        let (quic, config) = (quic.clone(), config.clone());
        tasks.spawn(async move {
            while let Ok(connecting) = quic.connect_with(config.clone(), to, tls::NAME) {
                let _ = connecting.await;
            }
        });
    }
    tasks
}

/// More strangers than one address may have handshakes: an honest sender gets in from another
/// address, and from theirs, also where an address may have one connection.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn strangers_who_hold_handshakes_shut_nobody_out() {
    for (at, strangers) in [([127, 0, 0, 2], 240), ([127, 0, 0, 1], MOST_OF_NETWORK + 4)] {
        let there = key();
        let options = Common { accept: Listen::Many(2), per_source: Some(1), ..Common::default() };
        let listening = Endpoint::bind(HERE.into(), &options, &there, &[]).expect("a port");
        let to = listening.local_addr();
        let _siege = besiege(at, to, &there, strangers);
        while listening.kept().0 < MOST_OF_NETWORK {
            tokio::time::sleep(Duration::from_millis(1).into()).await;
        }
        let options = Common { accept: Listen::Refuse, ..Common::default() };
        let connected = crate::connect(to, &options, &key(), &[there.fingerprint()], PATIENCE).await;
        assert!(connected.is_ok(), "{:?}", connected.err());
        assert!(listening.kept().0 > MOST_OF_NETWORK / 2, "the strangers are still there");
    }
}

/// A stranger at an address who begins 600 handshakes a second, proves the address where it is
/// asked to, and finishes none.
fn flood(at: [u8; 4], to: SocketAddr, there: &Key) -> JoinSet<()> {
    let socket = Deaf(Watched::bind((at, 0).into(), Guard::default()).expect("a port"));
    let (settings, runtime) = (noq::EndpointConfig::default(), Arc::new(TokioRuntime));
    let quic = noq::Endpoint::new_with_abstract_socket(settings, None, Box::new(socket), runtime);
    let (quic, config) = (quic.expect("an endpoint"), config(there, DataFrom::Caller));
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut begun = Vec::new();
        let mut tick = tokio::time::interval(std::time::Duration::from_secs(1) / 100);
        loop {
            tick.tick().await;
            // A handshake that is dropped says goodbye.
            begun.extend((0..6).map(|_| quic.connect_with(config.clone(), to, tls::NAME)));
        }
    });
    task
}

/// Whoever begins handshakes all the time, without a key that is let in, shuts nobody out: neither
/// from another address nor from behind the same one.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_who_begins_600_handshakes_a_second_shuts_nobody_out() {
    for at in [[127, 0, 0, 2], [127, 0, 0, 1]] {
        let (there, own) = (key(), key());
        let options = Common { accept: Listen::Many(9), ..Common::default() };
        let listening = Endpoint::bind(HERE.into(), &options, &there, &[own.fingerprint()]).expect("a port");
        let to = listening.local_addr();
        let _flood = flood(at, to, &there);
        while listening.kept().0 < MOST_OF_NETWORK {
            tokio::time::sleep(Duration::from_millis(1).into()).await;
        }
        let options = Common { accept: Listen::Refuse, ..Common::default() };
        for _ in 0..5 {
            let connected = crate::connect(to, &options, &own, &[there.fingerprint()], PATIENCE).await;
            assert!(connected.is_ok(), "{:?}", connected.err());
            assert!(listening.kept().0 > MOST_OF_NETWORK / 2, "the stranger is still there");
        }
    }
}

/// A client whose handshake loses its place begins another one.
#[tokio::test]
async fn a_handshake_that_loses_its_place_is_begun_again() {
    let there = key();
    let options = Common { accept: Listen::Many(1), ..Common::default() };
    let listening = Endpoint::bind(HERE.into(), &options, &there, &[]).expect("a port");
    let options = Common { accept: Listen::Refuse, ..Common::default() };
    let (at, own, peers) = (listening.local_addr(), key(), [there.fingerprint()]);
    let displacing = async {
        // Before the handshake has begun, in its first steps, and later.
        for steps in 0..6 {
            while listening.kept().0 == 0 {
                tokio::task::yield_now().await;
            }
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            listening.displace();
        }
        std::future::pending::<()>().await;
    };
    let connecting = crate::connect(at, &options, &own, &peers, PATIENCE);
    let connected = tokio::select! {
        connected = connecting => connected,
        () = displacing => unreachable!("it waits"),
    };
    assert!(connected.is_ok(), "{:?}", connected.err());
}

#[tokio::test]
async fn connections_that_have_ended_are_forgotten() {
    let there = key();
    let options = Common { accept: Listen::Many(100), ..Common::default() };
    let listening = Endpoint::bind(HERE.into(), &options, &there, &[]).expect("a port");
    let options = Common { accept: Listen::Refuse, ..Common::default() };
    for _ in 0..5 {
        let connected =
            crate::connect(listening.local_addr(), &options, &key(), &[there.fingerprint()], PATIENCE).await;
        let (_calling, sender) = connected.expect("a place");
        let receiver = listening.accept().await.expect("open");
        let receiving = async {
            assert!(receiver.recv().await.is_none());
            receiver.accept_close("").await
        };
        assert!(tokio::join!(sender.close(), receiving).1.is_some());
        drop(receiver);
        assert_eq!(listening.kept(), (0, 1), "the last one, until another comes");
    }
}
