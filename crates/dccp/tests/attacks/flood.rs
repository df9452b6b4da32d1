//! Requests from strangers who may not exist (RFC 4340 §8.1.3, 8.1.4).

use std::net::SocketAddr;

use tfrc_dccp::endpoint::{ConnectConfig, Listen, PerSource, Pressure};
use tfrc_dccp::feature::{CcidPreference, Wishes};
use tfrc_dccp::wire::{Header, Opt, PacketType, ResetCode, SeqAck, ServiceCode, options};
use tfrc_dccp::{Closed, ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event, State};
use tfrc_testkit::{Random, ms, parse};
use tfrc_units::{Duration, Ecn, Instant, SeqNo48};

use super::packets::{packet, request};
use crate::heap;

const PORT: u16 = 5001;

fn server(config: EndpointConfig) -> Endpoint {
    Endpoint::new(EndpointConfig { port: PORT, ..config }, [9; 32])
}

fn one() -> EndpointConfig {
    EndpointConfig { listen: Listen::One, ..EndpointConfig::default() }
}

/// An address nobody has; each number another port, then another host.
fn stranger(n: u32) -> SocketAddr {
    let port = u16::try_from(1024 + n % 60_000).expect("a port");
    SocketAddr::from(([198, 51, 100, u8::try_from(n / 60_000).expect("few")], port))
}

fn honest() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 40_000))
}

/// Datagrams that the server sends now, each with its destination.
pub(super) fn sent(server: &mut Endpoint, now: Instant) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut bytes = Vec::new();
    std::iter::from_fn(|| server.poll_transmit(now, &mut bytes).map(|sent| (sent.remote, bytes.clone())))
        .collect()
}

fn ask(server: &mut Endpoint, now: Instant, from: SocketAddr) -> Vec<(SocketAddr, Vec<u8>)> {
    server.handle_datagram(now, from, Ecn::NotEct, &request((7, PORT), 1));
    sent(server, now)
}

/// A client that connects over a path of 5 ms; gives the time it took, or how it ended.
pub(super) struct Caller {
    pub(super) endpoint: Endpoint,
    pub(super) id: ConnectionId,
    began: Instant,
}

impl Caller {
    pub(super) fn new(now: Instant) -> Self {
        let mut endpoint = Endpoint::new(EndpointConfig::default(), [1; 32]);
        let config = ConnectConfig { port: PORT, connection: ConnectionConfig::default() };
        let id = endpoint.connect(now, "203.0.113.1:6511".parse().expect("an address"), config);
        Self { endpoint, id: id.expect("a port"), began: now }
    }

    /// Exchanges datagrams: the caller's arrive at once, the server's 5 ms later.
    pub(super) fn exchange(&mut self, now: Instant, server: &mut Endpoint, from: SocketAddr) {
        self.endpoint.handle_timeout(now);
        server.handle_timeout(now);
        for (_, bytes) in sent(&mut self.endpoint, now) {
            server.handle_datagram(now, from, Ecn::NotEct, &bytes);
        }
        for (to, bytes) in sent(server, now) {
            if to == from {
                let us = "203.0.113.1:6511".parse().expect("an address");
                self.endpoint.handle_datagram(now + ms(5), us, Ecn::NotEct, &bytes);
            }
        }
    }

    pub(super) fn state(&self) -> State {
        self.endpoint.connection(self.id).map_or(State::Closed, tfrc_dccp::Connection::state)
    }

    pub(super) fn closed(&mut self) -> Option<Closed> {
        std::iter::from_fn(|| self.endpoint.poll_event()).find_map(|(_, event)| match event {
            Event::Closed(closed) => Some(closed),
            _ => None,
        })
    }
}

/// The Must-show of the issue: two hundred thousand Requests from forged ports in ten seconds leave
/// nothing behind, and in the middle of it an honest client connects within a second; to a server
/// that serves only one, too.
#[test]
fn a_flood_leaves_nothing_behind_and_locks_nobody_out() {
    for listen in [Listen::One, Listen::Many(1000)] {
        let mut server = server(EndpointConfig { listen, ..EndpointConfig::default() });
        // The table is full: from here on nothing may grow.
        let mut now = Instant::ZERO + ms(1);
        for n in 0..1000 {
            ask(&mut server, now, stranger(n));
        }
        let before = heap::held();
        let mut caller = None;
        let mut connected = None;
        for n in 0..200_000 {
            now += Duration::from_micros(50);
            ask(&mut server, now, stranger(n));
            if n % 100 == 0 {
                server.handle_timeout(now);
            }
            if n == 100_000 {
                caller = Some(Caller::new(now));
            }
            if let Some(caller) = caller.as_mut().filter(|_| n % 100 == 0) {
                caller.exchange(now, &mut server, honest());
                if connected.is_none() && caller.state() == State::Open {
                    connected = Some(now.saturating_since(caller.began));
                }
            }
        }
        let connected = connected.expect("it connects");
        assert!(connected <= ms(100), "it took {connected}");
        drop(caller);
        let incoming = std::iter::from_fn(|| server.poll_event())
            .filter(|(_, event)| matches!(event, Event::Incoming { .. }))
            .count();
        assert_eq!(incoming, 1);
        // The one connection, and five per cent of the table.
        let (after, table) = (heap::held(), before);
        assert!(after <= table + table / 20 + 8192, "{before} bytes before, {after} after");
        let stats = server.stats();
        assert!(stats.cookies_sent + stats.refused > 199_000, "{stats:?}");
    }
}

/// A half-open connection is a record of what a cookie would hold, not a connection.
#[test]
fn a_half_open_connection_is_small() {
    let mut server = server(EndpointConfig { listen: Listen::Many(1000), ..one() });
    // What stays allocated whatever comes: queues that have held something once.
    ask(&mut server, Instant::ZERO, stranger(0));
    let before = heap::held();
    for n in 1..128 {
        ask(&mut server, Instant::ZERO, stranger(n));
    }
    let each = (heap::held() - before) / 127;
    assert!((40..=320).contains(&each), "{each} bytes");
    assert_eq!(server.stats().cookies_sent, 0);
}

/// A repeated Request gets a new Response under the next number; either of the two may be
/// acknowledged.
#[test]
fn requests_may_be_repeated_and_either_response_acknowledged() {
    for acknowledged in 0..2 {
        let mut server = server(EndpointConfig { listen: Listen::Many(2), ..one() });
        let mut numbers = Vec::new();
        for (at, seq) in [(1, 10), (1001, 11)] {
            let now = Instant::ZERO + ms(at);
            server.handle_datagram(now, honest(), Ecn::NotEct, &request((7, PORT), seq));
            let answers = sent(&mut server, now);
            let Header::Response { seq, ack, .. } = parse(&answers.first().expect("a Response").1).header
            else {
                panic!("{answers:?}")
            };
            numbers.push((seq, ack));
        }
        assert_eq!(numbers[1].0, numbers[0].0.add(1));
        assert_eq!([numbers[0].1, numbers[1].1], [SeqNo48::new(10), SeqNo48::new(11)]);
        // A guess next to them is answered with a Sync at most.
        let now = Instant::ZERO + ms(1010);
        let guess = Header::Ack { numbers: SeqAck::Long { seq: SeqNo48::new(12), ack: numbers[1].0.add(5) } };
        server.handle_datagram(now, honest(), Ecn::NotEct, &packet((7, PORT), guess, &[], &[]));
        let answers = sent(&mut server, now);
        assert!(server.poll_event().is_none());
        let [(_, sync)] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(parse(sync).header.kind(), PacketType::Sync);
        let ack = numbers[acknowledged].0;
        let header = Header::Ack { numbers: SeqAck::Long { seq: SeqNo48::new(12), ack } };
        server.handle_datagram(now, honest(), Ecn::NotEct, &packet((7, PORT), header, &[], &[]));
        let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
        assert!(events.iter().any(|(_, event)| matches!(event, Event::Incoming { .. })), "{events:?}");
    }
}

/// Below the limit no cookies are given: Linux does not echo them.
#[test]
fn without_pressure_there_are_no_cookies() {
    let mut server = server(one());
    for n in 0..128 {
        let answers = ask(&mut server, Instant::ZERO, stranger(n));
        let response = parse(&answers.first().expect("a Response").1);
        assert_eq!(response.header.kind(), PacketType::Response);
        let cookie = options(PacketType::Response, response.options)
            .flatten()
            .any(|item| matches!(item.option, Ok(Opt::InitCookie(_))));
        assert!(!cookie);
    }
    assert_eq!(server.stats().cookies_sent, 0);
    let answers = ask(&mut server, Instant::ZERO, stranger(128));
    let response = parse(&answers.first().expect("a Response").1);
    let cookie = options(PacketType::Response, response.options)
        .flatten()
        .any(|item| matches!(item.option, Ok(Opt::InitCookie(_))));
    assert!(cookie);
    assert_eq!(server.stats().cookies_sent, 1);
}

fn pressed() -> Endpoint {
    server(EndpointConfig { half_open: 0, listen: Listen::Many(10), ..EndpointConfig::default() })
}

/// A connection by way of a cookie is one like any other: the same features, and a round-trip time.
#[test]
fn a_cookie_makes_the_same_connection() {
    let outcome = |mut server: Endpoint| {
        let mut now = Instant::ZERO + ms(1);
        let mut caller = Caller::new(now);
        for _ in 0..40 {
            caller.exchange(now, &mut server, honest());
            now += ms(5);
        }
        let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).collect();
        let (id, _) = events.first().cloned().expect("somebody came");
        let connection = server.connection(id).expect("it lives");
        let features: Vec<u64> = tfrc_dccp::feature::Feature::ALL
            .into_iter()
            .flat_map(|feature| {
                use tfrc_dccp::feature::Location;
                [Location::Local, Location::Remote].map(|location| connection.feature(feature, location))
            })
            .collect();
        (connection.state(), connection.rtt(), features, caller.state(), server.stats().cookies_redeemed)
    };
    let table = outcome(server(EndpointConfig { listen: Listen::Many(10), ..one() }));
    let cookie = outcome(pressed());
    assert_eq!((table.4, cookie.4), (0, 1));
    assert_eq!((table.0, table.1, table.2, table.3), (cookie.0, cookie.1, cookie.2, cookie.3));
    assert_eq!(cookie.0, State::Open);
}

/// As long as the handshake is not complete a datagram that leaves no room for the cookie waits:
/// without it the server knows nothing.
#[test]
fn every_packet_brings_the_cookie() {
    let mut server = pressed();
    let mut now = Instant::ZERO + ms(1);
    let mut caller = Caller::new(now);
    let (mut with, mut received) = (0, 0);
    for _ in 0..100 {
        let (id, datagram) = (caller.id, [0; 1400]);
        if let Some(connection) = caller.endpoint.connection_mut(id) {
            let _ = connection.send(now, &datagram);
        }
        let part_open = caller.state() == State::PartOpen;
        for (_, bytes) in sent(&mut caller.endpoint, now) {
            let packet = parse(&bytes);
            if part_open {
                let mut found = options(packet.header.kind(), packet.options).flatten();
                assert!(
                    found.any(|item| matches!(item.option, Ok(Opt::InitCookie(_)))),
                    "{:?}",
                    packet.header
                );
                with += 1;
            }
            server.handle_datagram(now, honest(), Ecn::NotEct, &bytes);
        }
        caller.exchange(now, &mut server, honest());
        while let Some((id, _)) = server.poll_event() {
            let Some(connection) = server.connection_mut(id) else { continue };
            received += std::iter::from_fn(|| connection.recv()).count();
        }
        now += ms(5);
    }
    assert!(with > 0 && received > 3, "{with} packets with a cookie, {received} datagrams");
}

/// The Acks that answer a Response to one's own Request, with other cookies.
#[test]
fn cookies_that_are_not_ours_open_nothing() {
    let mut server = pressed();
    let now = Instant::ZERO + ms(1);
    let answers = ask(&mut server, now, honest());
    let (_, bytes) = answers.first().expect("a Response");
    let response = parse(bytes);
    let Header::Response { seq, .. } = response.header else { panic!("{:?}", response.header) };
    let cookie: Vec<u8> = options(PacketType::Response, response.options)
        .flatten()
        .find_map(|item| match item.option {
            Ok(Opt::InitCookie(cookie)) => Some(cookie.to_vec()),
            _ => None,
        })
        .expect("a cookie");
    let ack = |ack| Header::Ack { numbers: SeqAck::Long { seq: SeqNo48::new(2), ack } };
    let answer = |server: &mut Endpoint, from, ack_of, options: &[Opt<'_>]| {
        let bytes = packet((7, PORT), ack(ack_of), options, &[]);
        server.handle_datagram(now + ms(10), from, Ecn::NotEct, &bytes);
        let answers = sent(server, now + ms(10));
        answers.first().map(|(_, bytes)| match parse(bytes).header {
            Header::Reset { reset, .. } => reset.code,
            other => panic!("{other:?}"),
        })
    };
    let mut tampered = cookie.clone();
    if let Some(byte) = tampered.first_mut() {
        *byte ^= 1;
    }
    assert_eq!(
        answer(&mut server, honest(), seq, &[Opt::InitCookie(&tampered)]),
        Some(ResetCode::BadInitCookie)
    );
    assert_eq!(
        answer(&mut server, stranger(1), seq, &[Opt::InitCookie(&cookie)]),
        Some(ResetCode::BadInitCookie),
        "another address"
    );
    assert_eq!(
        answer(&mut server, honest(), seq.add(1), &[Opt::InitCookie(&cookie)]),
        Some(ResetCode::BadInitCookie),
        "who has not seen the Response"
    );
    assert_eq!(answer(&mut server, honest(), seq, &[]), Some(ResetCode::NoConnection), "as Linux answers");
    assert_eq!(server.stats().cookies_not_echoed, 1, "which is noted");
    assert_eq!(server.poll_event(), None);
    let bytes = packet((7, PORT), ack(seq), &[Opt::InitCookie(&cookie)], &[]);
    server.handle_datagram(now + ms(10), honest(), Ecn::NotEct, &bytes);
    assert!(matches!(server.poll_event(), Some((_, Event::Incoming { .. }))), "the right one does");
}

/// A connection by way of a cookie that is closed again: its Acks, the cookie in the first of them.
fn come_and_go(server: &mut Endpoint, now: &mut Instant, from: SocketAddr) -> Vec<Vec<u8>> {
    let mut caller = Caller::new(*now);
    let mut acks = Vec::new();
    for step in 0..60 {
        caller.endpoint.handle_timeout(*now);
        for (_, bytes) in sent(&mut caller.endpoint, *now) {
            if parse(&bytes).header.kind() == PacketType::Ack {
                acks.push(bytes.clone());
            }
            server.handle_datagram(*now, from, Ecn::NotEct, &bytes);
        }
        for (_, bytes) in sent(server, *now) {
            let us = "203.0.113.1:6511".parse().expect("an address");
            caller.endpoint.handle_datagram(*now, us, Ecn::NotEct, &bytes);
        }
        if step == 20 {
            let id = caller.id;
            caller.endpoint.connection_mut(id).expect("it lives").close(*now);
        }
        server.handle_timeout(*now);
        *now += ms(20);
    }
    assert!(caller.closed().is_some() && !acks.is_empty());
    acks
}

/// Connections that the application hears of; ended ones are released.
fn incoming(server: &mut Endpoint, now: Instant) -> usize {
    let mut count = 0;
    while let Some((id, event)) = server.poll_event() {
        count += usize::from(matches!(event, Event::Incoming { .. }));
        if matches!(event, Event::Closed(_)) {
            server.release(now, id);
        }
    }
    count
}

/// A cookie used once more after its connection is over opens nothing either: neither while the
/// connection is remembered, nor when it is forgotten after its time, nor when others have crowded
/// it out before.
#[test]
fn cookies_do_not_outlive_their_connection() {
    for (remembered, time_wait) in [(4096, 240), (4096, 20), (2, 240), (0, 240)] {
        let time_wait = Duration::from_secs(time_wait);
        let config = EndpointConfig { half_open: 0, remembered, time_wait, ..EndpointConfig::default() };
        let mut server = server(EndpointConfig { listen: Listen::Many(10), ..config });
        let mut now = Instant::ZERO + ms(1);
        let mut acks = come_and_go(&mut server, &mut now, honest());
        for n in 0..3 {
            acks.extend(come_and_go(&mut server, &mut now, stranger(n)));
        }
        assert_eq!((incoming(&mut server, now), server.stats().cookies_redeemed), (4, 4));
        while now < Instant::ZERO + Duration::from_secs(300) {
            server.handle_timeout(now);
            for bytes in &acks {
                server.handle_datagram(now, honest(), Ecn::NotEct, bytes);
            }
            let _ = sent(&mut server, now);
            assert_eq!(server.stats().cookies_redeemed, 4, "{remembered} remembered, at {now:?}");
            now += Duration::from_secs(1);
        }
        assert_eq!(incoming(&mut server, now), 0);
        // A new one is as good as ever.
        come_and_go(&mut server, &mut now, honest());
        assert_eq!(incoming(&mut server, now), 1, "{remembered} remembered");
    }
}

/// Of two clients that complete the handshake with a server for one, the second is refused; the
/// application hears of the first.
#[test]
fn half_open_connections_reserve_nothing() {
    let mut server = server(one());
    let now = Instant::ZERO + ms(1);
    let mut first = Caller::new(now);
    let mut second = Caller::new(now);
    let near = SocketAddr::from(([192, 0, 2, 2], 40_000));
    for step in 0..10 {
        let now = now + ms(10 * step);
        second.exchange(now, &mut server, near);
        first.exchange(now, &mut server, honest());
    }
    assert_eq!(
        (second.state(), first.closed().map(|closed| closed.code)),
        (State::Open, Some(ResetCode::TooBusy))
    );
    let incoming = std::iter::from_fn(|| server.poll_event())
        .filter(|(_, event)| matches!(event, Event::Incoming { .. }))
        .count();
    assert_eq!(incoming, 1);
}

#[test]
fn one_address_takes_its_share_and_no_more() {
    for under_pressure in [Pressure::Cookies, Pressure::Refuse] {
        let mut server = server(EndpointConfig {
            listen: Listen::Many(100),
            per_source: PerSource::AtMost(3),
            under_pressure,
            ..EndpointConfig::default()
        });
        let at = |port: u16, host: u8| SocketAddr::from(([192, 0, 2, host], port));
        let mut callers: Vec<(SocketAddr, Caller)> = Vec::new();
        let start = Instant::ZERO + ms(1);
        for n in 0..6 {
            callers.push((at(40_000 + n, 1), Caller::new(start)));
        }
        callers.push((at(40_000, 2), Caller::new(start)));
        let mut run = |callers: &mut Vec<(SocketAddr, Caller)>, from: u64| {
            for step in 0..10 {
                while let Some((id, event)) = server.poll_event() {
                    if matches!(event, Event::Closed(_)) {
                        server.release(start + ms(from + 10 * step), id);
                    }
                }
                for (from_address, caller) in callers.iter_mut() {
                    caller.exchange(start + ms(from + 10 * step), &mut server, *from_address);
                }
            }
            callers.iter().filter(|(_, caller)| caller.state() == State::Open).count()
        };
        assert_eq!(run(&mut callers, 0), 3 + 1);
        // One of them goes: there is room for another.
        let (_, leaving) = callers.first_mut().expect("there are some");
        let id = leaving.id;
        leaving.endpoint.connection_mut(id).expect("it lives").close(start + ms(200));
        assert_eq!(run(&mut callers, 300), 2 + 1);
        assert_eq!(run(&mut callers, 500), 2 + 1, "its Close is accepted, and then it is released");
        callers.push((at(50_000, 1), Caller::new(start + ms(700))));
        assert_eq!(run(&mut callers, 700), 3 + 1);
    }
}

/// Before the handshake is complete a forged address gets one packet for each of the forger's, at
/// most three times as long with what is around it: of a server that negotiates and greets as
/// programs do, and whatever greeting the forger has.
#[test]
fn amplification_is_bounded() {
    const AROUND: usize = 28;
    let ccids = CcidPreference::FourThenThree;
    let connection = ConnectionConfig {
        wishes: Wishes { sending: ccids, receiving: ccids, ..Wishes::default() },
        greeting: "receives files with holes".to_owned(),
        ..ConnectionConfig::default()
    };
    for (half_open, greeting) in [0, 128].into_iter().flat_map(|room| (0..=32).map(move |n| (room, n))) {
        let mut server = server(EndpointConfig { half_open, connection: connection.clone(), ..one() });
        let greeting = vec![b'a'; greeting];
        let note = [Opt::Note(&greeting)];
        let options = if greeting.is_empty() { &[] } else { &note[..] };
        let mut random = Random::new(5);
        let (mut given, mut taken) = (0, 0);
        let mut now = Instant::ZERO;
        for n in 0..300 {
            now += ms(random.below(50));
            let seq = SeqNo48::new(random.bits() >> 16);
            let bytes = packet((7, PORT), Header::Request { seq, service: ServiceCode::NONE }, options, &[]);
            server.handle_datagram(now, stranger(n % 50), Ecn::NotEct, &bytes);
            server.handle_timeout(now);
            given += bytes.len() + AROUND;
            taken += sent(&mut server, now).iter().map(|(_, bytes)| bytes.len() + AROUND).sum::<usize>();
        }
        // And afterwards, in ten minutes, nothing by itself.
        while let Some(wake) = server.poll_timeout().filter(|wake| wake.at < now + Duration::from_secs(600)) {
            server.handle_timeout(wake.at);
            let late = sent(&mut server, wake.at);
            taken += late.iter().map(|(_, bytes)| bytes.len() + AROUND).sum::<usize>();
        }
        let about = format!("{half_open}, greeting of {} bytes: {taken} bytes for {given}", greeting.len());
        assert!(taken <= 3 * given, "{about}");
        assert!(2 * taken >= given, "it answers; {about}");
    }
}

/// Garbage and stragglers are answered with a limited number of Resets a second, and never a Reset
/// with a Reset.
#[test]
fn resets_are_limited() {
    let mut server = server(one());
    let mut resets = 0;
    for n in 0..20_000 {
        let now = Instant::ZERO + Duration::from_micros(u64::from(n) * 50);
        let header = Header::Ack { numbers: SeqAck::Long { seq: SeqNo48::new(5), ack: SeqNo48::new(6) } };
        server.handle_datagram(now, stranger(n), Ecn::NotEct, &packet((7, PORT), header, &[], &[]));
        resets += sent(&mut server, now).len();
    }
    assert!((1024..=2048).contains(&resets), "in one second: {resets}");
    let header = Header::Reset {
        seq: SeqNo48::new(5),
        ack: SeqNo48::new(6),
        reset: tfrc_dccp::wire::Reset::new(ResetCode::Closed),
    };
    let now = Instant::ZERO + Duration::from_secs(10);
    server.handle_datagram(now, honest(), Ecn::NotEct, &packet((7, PORT), header, &[], &[]));
    assert!(sent(&mut server, now).is_empty());
}
