//! Real datagrams through a relay on the loopback interface.

#![allow(clippy::disallowed_methods, reason = "these tests run on the real clock")]

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use tfrc_emu::{Datagram, GatewayNetwork, HEADER_BYTES, Limits, Monitor, Relay, Snapshot};
use tfrc_sim::loss::Loss;
use tfrc_sim::packet::FlowId;
use tfrc_sim::tcp::{self, SenderStats, SinkStats};
use tfrc_sim::traffic::{Peer, Segment, TcpSetup, TcpSink, TcpSource, Timetable, Traffic};
use tfrc_sim::{Agent, Context, Engine, LinkSpec, Network, Packet, Seed, TimerKey};
use tfrc_units::{Duration, Instant as At, Probability, Rate};
use tokio::io::Interest;
use tokio::net::UdpSocket;

const LOCAL: &str = "127.0.0.1:0";

fn here() -> SocketAddr {
    LOCAL.parse().unwrap()
}

/// Content of the packets: real datagrams, and those of TCPs inside.
#[derive(Debug, Clone)]
enum Payload {
    Datagram(Datagram),
    Segment(Segment),
}

impl From<Datagram> for Payload {
    fn from(datagram: Datagram) -> Self {
        Self::Datagram(datagram)
    }
}

impl From<Segment> for Payload {
    fn from(segment: Segment) -> Self {
        Self::Segment(segment)
    }
}

impl TryFrom<Payload> for Datagram {
    type Error = ();

    fn try_from(payload: Payload) -> Result<Self, ()> {
        if let Payload::Datagram(datagram) = payload { Ok(datagram) } else { Err(()) }
    }
}

/// An end of a TCP inside.
#[derive(Debug)]
struct Background(Traffic);

impl Agent for Background {
    type Payload = Payload;

    fn on_packet(&mut self, now: At, packet: Packet<Payload>, context: &mut Context<'_, Payload>) {
        let Payload::Segment(segment) = packet.payload else { panic!("a datagram at an agent") };
        self.0.on_packet(now, &packet.header, &segment, context);
    }

    fn on_timer(&mut self, now: At, key: TimerKey, context: &mut Context<'_, Payload>) {
        self.0.on_timer(now, key, context);
    }
}

/// Counts of the two ends of each TCP.
type Flows = Vec<(SenderStats, SinkStats)>;

/// Two nodes with one link each way, as `change` leaves them.
fn world(change: impl Fn(&mut LinkSpec)) -> GatewayNetwork<Background, Flows> {
    world_with(&[], change)
}

/// A [`world`] with TCPs inside that begin at these times.
fn world_with(starts: &[At], change: impl Fn(&mut LinkSpec)) -> GatewayNetwork<Background, Flows> {
    let mut network = Network::new();
    let a = network.node("a").unwrap();
    let b = network.node("b").unwrap();
    for (name, from, to) in [("a-b", a, b), ("b-a", b, a)] {
        let mut spec = LinkSpec::new(name, from, to, Rate::from_bits_per_sec(100e6), Duration::ZERO);
        change(&mut spec);
        network.link(spec).unwrap();
    }
    let mut engine: Engine<Background> = network.build(Seed(1));
    let settings = tcp::Settings::default();
    let mut ends = Vec::new();
    for (start, number) in starts.iter().zip(0..) {
        let sink = Traffic::TcpSink(Box::new(TcpSink::new(&settings)));
        let sink = engine.attach(b, Background(sink)).unwrap();
        let source = TcpSource::new(TcpSetup {
            settings,
            timetable: Timetable::default(),
            peer: Peer { to: engine.address(sink).unwrap(), flow: FlowId(number) },
            stop: None,
            overhead: Duration::ZERO,
            stream: Seed(1).stream("tcp"),
        });
        let source = engine.attach(a, Background(Traffic::TcpSource(Box::new(source)))).unwrap();
        engine.set_timer(source, TimerKey::First, *start);
        ends.push((source, sink));
    }
    let look = move |engine: &Engine<Background>| {
        let counts = ends.iter().map(|(source, sink)| match (engine.agent(*source), engine.agent(*sink)) {
            (Some(Background(Traffic::TcpSource(source))), Some(Background(Traffic::TcpSink(sink)))) => {
                (*source.sender().stats(), *sink.sink().stats())
            }
            other => panic!("{other:?}"),
        });
        counts.collect()
    };
    GatewayNetwork::new(engine, a, b, look).unwrap()
}

fn limits() -> Limits {
    Limits { sample: Duration::from_millis(1), ..Limits::default() }
}

/// Answers every datagram with itself.
async fn echo() -> SocketAddr {
    let socket = UdpSocket::bind(LOCAL).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2000];
        while let Ok((n, from)) = socket.recv_from(&mut buffer).await {
            socket.send_to(&buffer[..n], from).await.unwrap();
        }
    });
    address
}

async fn client_of(relay: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(LOCAL).await.unwrap();
    socket.connect(relay).await.unwrap();
    socket
}

async fn until(
    monitor: &mut Monitor<Flows>,
    ready: impl Fn(&Snapshot<Flows>) -> bool,
) -> Arc<Snapshot<Flows>> {
    loop {
        let snapshot = monitor.latest();
        if ready(&snapshot) {
            return snapshot;
        }
        monitor.next().await.expect("the relay has ended");
    }
}

/// Content and length that depend on the number; number 7 is empty.
fn message(number: usize) -> Vec<u8> {
    (0..(number * 13 + 3 - 94 * usize::from(number == 7)) % 1200).map(|i| (i * 7 + number) as u8).collect()
}

#[tokio::test]
async fn bytes_arrive_intact_in_order_and_not_too_early() {
    let server = echo().await;
    let delay = Duration::from_millis(15);
    let relay = Relay::bind(here(), server, world(|l| l.delay = delay), limits()).unwrap().start().unwrap();
    let client = client_of(relay.local_addr()).await;
    let start = Instant::now();
    let mut buffer = [0; 2000];
    // In rounds that the sockets' buffers hold: what they cannot, the kernel drops.
    for round in [0..50, 50..100, 100..150] {
        for number in round.clone() {
            client.send(&message(number)).await.unwrap();
        }
        for number in round {
            let n = client.recv(&mut buffer).await.unwrap();
            if number == 0 {
                assert!(start.elapsed() >= std::time::Duration::from_millis(30));
            }
            assert!(buffer[..n] == message(number), "datagram {number} is not what came {n} bytes long");
        }
    }
    let last = relay.stop().unwrap();
    assert_eq!((last.clients, last.refused, last.unsent), (1, 0, 0));
    for direction in [last.there, last.back] {
        assert_eq!((direction.entered.packets, direction.delivered.packets), (150, 150));
        let bytes: usize = (0..150).map(|n| message(n).len() + HEADER_BYTES as usize).sum();
        assert_eq!(direction.delivered.bytes, bytes as u64);
    }
    assert_eq!(message(7).len(), 0);
}

#[tokio::test]
async fn loses_the_share_it_is_told_to() {
    let server = UdpSocket::bind(LOCAL).await.unwrap();
    let target = server.local_addr().unwrap();
    let lossy = world(|l| l.loss = Loss::Bernoulli(Probability::saturating(0.2)));
    let relay = Relay::bind(here(), target, lossy, limits()).unwrap().start().unwrap();
    let reading = tokio::spawn(async move {
        let (mut buffer, mut numbers) = ([0; 8], Vec::new());
        loop {
            let n = server.recv(&mut buffer).await.unwrap();
            match <[u8; 4]>::try_from(&buffer[..n]) {
                Ok(bytes) => numbers.push(u32::from_be_bytes(bytes)),
                Err(_) => break numbers, // the end mark
            }
        }
    });
    let client = client_of(relay.local_addr()).await;
    let mut monitor = relay.monitor();
    for number in 0..3000u32 {
        client.send(&number.to_be_bytes()).await.unwrap();
        // No more than the sockets' buffers hold may be under way, or the kernel loses some as
        // well.
        if number % 100 == 99 {
            until(&mut monitor, |s| s.there.entered.packets == u64::from(number) + 1).await;
        }
    }
    let done = |s: &Snapshot<Flows>| s.there.delivered.packets + s.there.lost.packets == 3000;
    let last = until(&mut monitor, done).await;
    while !reading.is_finished() {
        let seen = monitor.latest().there.entered.packets;
        client.send(b"end").await.unwrap();
        until(&mut monitor, |s| s.there.entered.packets > seen && s.there.queued.packets == 0).await;
    }
    let numbers = reading.await.unwrap();
    assert_eq!(numbers.len() as u64, last.there.delivered.packets);
    assert!(numbers.is_sorted_by(|a, b| a < b));
    // Five standard deviations of the binomial are 110.
    let lost = 3000 - numbers.len();
    assert!((490..=710).contains(&lost), "{lost} of 3000 lost");
    let last = relay.stop().unwrap();
    assert_eq!((last.unsent, last.there.overflowed.packets), (0, 0));
}

#[tokio::test]
async fn ecn_bits_go_through_both_ways() {
    let receive = async |io: &UdpSocket, state: &UdpSocketState| {
        let (mut buffer, mut meta) = ([0; 2000], [RecvMeta::default()]);
        io.async_io(Interest::READABLE, || {
            state.recv(UdpSockRef::from(io), &mut [IoSliceMut::new(&mut buffer)], &mut meta)
        })
        .await
        .unwrap();
        (meta[0].addr, meta[0].ecn)
    };
    let send = |io: &UdpSocket, state: &UdpSocketState, destination, ecn| {
        let transmit = Transmit { destination, ecn, contents: b"x", segment_size: None, src_ip: None };
        io.try_io(Interest::WRITABLE, || state.try_send(UdpSockRef::from(io), &transmit)).unwrap();
    };
    let socket = async || {
        let io = UdpSocket::bind(LOCAL).await.unwrap();
        let state = UdpSocketState::new(UdpSockRef::from(&io)).unwrap();
        io.writable().await.unwrap();
        (io, state)
    };
    let (server, server_state) = socket().await;
    let (client, client_state) = socket().await;
    let target = server.local_addr().unwrap();
    let relay = Relay::bind(here(), target, world(|_| {}), limits()).unwrap().start().unwrap();
    for ecn in [None, Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ect1), Some(EcnCodepoint::Ce)] {
        send(&client, &client_state, relay.local_addr(), ecn);
        let (from, seen) = receive(&server, &server_state).await;
        assert_eq!(seen, ecn);
        send(&server, &server_state, from, ecn);
        assert_eq!(receive(&client, &client_state).await, (relay.local_addr(), ecn));
    }
}

#[tokio::test]
async fn each_client_gets_its_own_answers_and_one_too_many_none() {
    let server = echo().await;
    let two = Limits { clients: 2, ..limits() };
    let relay = Relay::bind(here(), server, world(|_| {}), two).unwrap().start().unwrap();
    let a = client_of(relay.local_addr()).await;
    let b = client_of(relay.local_addr()).await;
    let mut buffer = [0; 2000];
    for round in 0..20u8 {
        a.send(&[1, round]).await.unwrap();
        b.send(&[2, round]).await.unwrap();
        let n = a.recv(&mut buffer).await.unwrap();
        assert_eq!(buffer[..n], [1, round]);
        let n = b.recv(&mut buffer).await.unwrap();
        assert_eq!(buffer[..n], [2, round]);
    }
    let c = client_of(relay.local_addr()).await;
    c.send(b"let me in").await.unwrap();
    let last = until(&mut relay.monitor(), |s| s.refused > 0).await;
    assert_eq!((last.clients, last.refused, last.there.entered.packets), (2, 1, 40));
}

/// One client at two doors: each server hears what came by its own, and their answers come from
/// there.
#[tokio::test]
async fn doors_share_the_network_and_not_the_server() {
    let (first, second) = (echo().await, UdpSocket::bind(LOCAL).await.unwrap());
    let mut relay = Relay::bind(here(), first, world(|_| {}), limits()).unwrap();
    relay.add_door(here(), second.local_addr().unwrap()).unwrap();
    let relay = relay.start().unwrap();
    let [to_first, to_second] = *relay.local_addrs() else { panic!("{:?}", relay.local_addrs()) };
    let client = UdpSocket::bind(LOCAL).await.unwrap();
    client.send_to(b"one", to_first).await.unwrap();
    client.send_to(b"two", to_second).await.unwrap();
    let mut buffer = [0; 8];
    let (n, from) = client.recv_from(&mut buffer).await.unwrap();
    assert_eq!((&buffer[..n], from), (&b"one"[..], to_first));
    let (n, upstream) = second.recv_from(&mut buffer).await.unwrap();
    assert_eq!(buffer[..n], *b"two");
    second.send_to(b"back", upstream).await.unwrap();
    let (n, from) = client.recv_from(&mut buffer).await.unwrap();
    assert_eq!((&buffer[..n], from), (&b"back"[..], to_second));
    // Of others than the server nothing is let in, and each is counted.
    let port = upstream.port();
    client.send_to(b"not the server", ("127.0.0.1", port)).await.unwrap();
    let last = until(&mut relay.monitor(), |s| s.refused > 0).await;
    assert_eq!((last.refused, last.back.entered.packets), (1, 2));
    let last = relay.stop().unwrap();
    assert_eq!((last.clients, last.there.entered.packets, last.back.delivered.packets), (2, 2, 2));
}

/// More strangers than there are places: the next one is served, and an established client
/// keeps its place.
#[tokio::test]
async fn strangers_who_are_never_answered_make_room() {
    let server = UdpSocket::bind(LOCAL).await.unwrap();
    let target = server.local_addr().unwrap();
    // Like DCCP, it does not answer a single byte.
    let mut peers = tokio::spawn(async move {
        let (mut buffer, mut peers) = ([0; 2000], std::collections::BTreeSet::new());
        loop {
            let (n, from) = server.recv_from(&mut buffer).await.unwrap();
            match &buffer[..n] {
                b"end" => break peers,
                [_] => {}
                request => {
                    peers.insert(from);
                    server.send_to(request, from).await.unwrap();
                }
            }
        }
    });
    let few = Limits { clients: 16, ..limits() };
    let relay = Relay::bind(here(), target, world(|_| {}), few).unwrap().start().unwrap();
    let ask = async |client: &UdpSocket| {
        let mut buffer = [0; 2000];
        client.send(b"request").await.unwrap();
        assert_eq!(client.recv(&mut buffer).await.unwrap(), 7);
    };
    let established = client_of(relay.local_addr()).await;
    for _ in 0..3 {
        ask(&established).await;
    }
    let mut monitor = relay.monitor();
    for round in 1..=3 {
        for _ in 0..40 {
            client_of(relay.local_addr()).await.send(b"x").await.unwrap();
        }
        let seen = until(&mut monitor, |s| s.there.delivered.packets >= 40 * round).await;
        assert_eq!((seen.clients, seen.refused), (16, 0));
        ask(&client_of(relay.local_addr()).await).await;
        ask(&established).await;
    }
    established.send(b"end").await.unwrap();
    // Three newcomers, and the established one through one and the same place.
    assert_eq!((&mut peers).await.unwrap().len(), 4);
}

#[tokio::test]
async fn strangers_cannot_answer() {
    let server = UdpSocket::bind(LOCAL).await.unwrap();
    let target = server.local_addr().unwrap();
    let relay = Relay::bind(here(), target, world(|_| {}), limits()).unwrap().start().unwrap();
    let client = client_of(relay.local_addr()).await;
    client.send(b"ask").await.unwrap();
    let mut buffer = [0; 10];
    let (_, upstream) = server.recv_from(&mut buffer).await.unwrap();
    let stranger = UdpSocket::bind(LOCAL).await.unwrap();
    stranger.send_to(b"wrong", upstream).await.unwrap();
    server.send_to(b"right", upstream).await.unwrap();
    let n = client.recv(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..n], b"right");
}

#[tokio::test]
async fn holds_no_more_than_it_may() {
    let standstill = world(|l| l.rate = Rate::ZERO);
    let ten = Limits { in_flight: 10, ..limits() };
    let relay = Relay::bind(here(), here(), standstill, ten).unwrap().start().unwrap();
    let client = client_of(relay.local_addr()).await;
    for _ in 0..25 {
        client.send(b"x").await.unwrap();
    }
    let last = until(&mut relay.monitor(), |s| s.there.entered.packets + s.refused == 25).await;
    assert_eq!((last.there.entered.packets, last.there.queued.packets, last.refused), (10, 10, 15));
}

#[tokio::test]
async fn ends_when_told_to_on_the_callers_runtime() {
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let relay = Relay::bind(here(), here(), world(|_| {}), limits()).unwrap();
    let mut monitor = relay.monitor();
    let running = tokio::spawn(relay.run(async { drop(stopped.await) }));
    until(&mut monitor, |s| s.elapsed > Duration::ZERO).await;
    stop.send(()).unwrap();
    let last = running.await.unwrap().unwrap();
    assert!(last.elapsed >= Duration::from_nanos(1));
    while monitor.next().await.is_some() {}
}

#[tokio::test]
async fn an_address_in_use_is_an_error_that_says_so() {
    let taken = UdpSocket::bind(LOCAL).await.unwrap().into_std().unwrap();
    let address = taken.local_addr().unwrap();
    let error = Relay::bind(address, here(), world(|_| {}), limits()).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {address}: choose a free address of this machine")
    );
}

#[tokio::test]
async fn flows_inside_run_by_the_clock_and_share_the_links() {
    let at = |s| At::ZERO + Duration::from_secs(s);
    let queue = tfrc_sim::queue::Queue::DropTail(tfrc_sim::queue::Limit::Packets(25));
    let world = world_with(&[at(0), at(100_000)], |l| l.queue = queue);
    let server = echo().await;
    let relay = Relay::bind(here(), server, world, limits()).unwrap().start().unwrap();
    let client = client_of(relay.local_addr()).await;
    client.send(b"through the same links").await.unwrap();
    let mut buffer = [0; 100];
    assert_eq!(client.recv(&mut buffer).await.unwrap(), 22);
    until(&mut relay.monitor(), |s| s.flows.first().is_some_and(|(_, sink)| sink.delivered_segments > 100))
        .await;
    let last = relay.stop().unwrap();
    let [first, second] = last.flows[..] else { panic!("{:?}", last.flows) };
    let ((sender, sink), (other, nothing)) = (first, second);
    assert!(sender.sent_bytes >= sink.delivered_bytes, "{sender:?} {sink:?}");
    // The other has not begun, and datagrams are counted apart.
    assert_eq!((other.sent_segments, nothing.received_segments), (0, 0));
    assert_eq!((last.there.entered.packets, last.there.delivered.packets, last.unsent), (1, 1, 0));
}

#[tokio::test]
async fn a_network_changes_while_it_runs() {
    let server = echo().await;
    let lossless = world(|l| l.loss = Loss::Bernoulli(Probability::ZERO));
    let relay = Relay::bind(here(), server, lossless, limits()).unwrap();
    let control = relay.control();
    let mut monitor = relay.monitor();
    let relay = relay.start().unwrap();
    let client = client_of(relay.local_addr()).await;
    client.send(b"passes").await.unwrap();
    let mut buffer = [0; 8];
    assert_eq!(client.recv(&mut buffer).await.unwrap(), 6);
    let lose = |p: f64| {
        control.change(move |engine| {
            let links: Vec<_> = engine.link_ids().collect();
            links.into_iter().for_each(|link| engine.set_loss(link, Probability::saturating(p)));
        });
    };
    lose(1.0);
    // The change comes before the sample that follows it.
    monitor.next().await.unwrap();
    monitor.next().await.unwrap();
    client.send(b"is lost").await.unwrap();
    loop {
        let lost = monitor.next().await.expect("the relay has ended").there.lost.packets;
        if lost == 1 {
            break;
        }
    }
    lose(0.0);
    monitor.next().await.unwrap();
    monitor.next().await.unwrap();
    client.send(b"passes").await.unwrap();
    assert_eq!(client.recv(&mut buffer).await.unwrap(), 6);
    drop(relay.stop().unwrap());
    lose(1.0);
}
