//! Places of a listener: their holders, and for how long they hold them.

use std::net::SocketAddr;

use tfrc_dccp::endpoint::{Allow, Listen};
use tfrc_dccp::{Cause, ConnectionConfig, Endpoint, EndpointConfig, Event, State};
use tfrc_testkit::ms;
use tfrc_units::{Duration, Instant};

use super::flood::Caller;
use crate::heap;

const PORT: u16 = 5001;

fn server(config: EndpointConfig) -> Endpoint {
    Endpoint::new(EndpointConfig { port: PORT, ..config }, [9; 32])
}

fn address(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], port))
}

/// A stranger connects, sends 200 datagrams of 1000 bytes, and closes; gives how it ended.
fn come_and_go(server: &mut Endpoint, now: &mut Instant, from: SocketAddr) -> Option<tfrc_dccp::Closed> {
    let mut caller = Caller::new(*now);
    let (mut sent, id) = (0, caller.id);
    for _ in 0..600 {
        if let Some(connection) = caller.endpoint.connection_mut(id) {
            if sent < 200 && connection.queued() == 0 {
                connection.send(*now, &[0; 1000]).expect("there is room");
                sent += 1;
            } else if sent == 200 && connection.state() == State::Open {
                connection.close(*now);
            }
        }
        caller.exchange(*now, server, from);
        *now += ms(5);
        if caller.state() == State::Closed {
            return caller.closed();
        }
    }
    None
}

/// The application takes no events and reads nothing: connections that end go on holding their
/// places, and strangers that come one after another find none. Before, each left its datagrams
/// behind.
#[test]
fn a_stalled_application_bounds_what_waits_for_it() {
    for (listen, limit) in [(Listen::One, 1), (Listen::Many(3), 3)] {
        let mut server = server(EndpointConfig { listen, ..EndpointConfig::default() });
        let mut now = Instant::ZERO + ms(1);
        let mut held = Vec::new();
        for n in 0..20u16 {
            let closed = come_and_go(&mut server, &mut now, address(1, 40_000 + n));
            let busy = closed.is_some_and(|closed| closed.code == tfrc_dccp::wire::ResetCode::TooBusy);
            assert_eq!(busy, usize::from(n) >= limit, "{n}");
            held.push(heap::held());
            // Who came earlier would hear nothing and ask again.
            now += Duration::from_secs(4);
            server.handle_timeout(now);
        }
        let (full, after) = (held[limit], held[19]);
        assert!(held[0] > 150_000, "the first one's datagrams wait: {}", held[0]);
        assert!(after <= full + 16_384, "{full} bytes when the places are taken, {after} bytes in the end");
        let mut taken = 0;
        while let Some((id, event)) = server.poll_event() {
            if matches!(event, Event::Closed(_)) {
                taken += 1;
                while server.recv(id).is_some() {}
                server.release(now, id);
            }
        }
        assert_eq!(taken, limit, "the application finds those that had a place");
        now += Duration::from_secs(1);
        server.handle_timeout(now);
        let closed = come_and_go(&mut server, &mut now, address(2, 40_000));
        assert!(closed.is_some_and(|closed| closed.code == tfrc_dccp::wire::ResetCode::Closed));
    }
}

/// A client that connects, sends no datagram and answers every Sync has its place for as long
/// as configured; one that has sent a datagram may be silent afterwards.
#[test]
fn who_connects_and_sends_nothing_loses_its_place() {
    let patience = Duration::from_secs(20);
    for sends in [false, true] {
        let connection =
            ConnectionConfig { first_data_within: Some(patience), ..ConnectionConfig::default() };
        let mut server =
            server(EndpointConfig { listen: Listen::One, connection, ..EndpointConfig::default() });
        let start = Instant::ZERO + ms(1);
        let mut caller = Caller::new(start);
        let (mut ended, mut connected) = (None, None);
        for step in 0..12_000 {
            let now = start + ms(5 * step);
            caller.exchange(now, &mut server, address(1, 40_000));
            if sends
                && connected.is_some()
                && caller
                    .endpoint
                    .connection(caller.id)
                    .is_some_and(|connection| connection.stats().sent_data_packets == 0)
            {
                let id = caller.id;
                caller
                    .endpoint
                    .connection_mut(id)
                    .expect("it lives")
                    .send(now, b"x")
                    .expect("the first may go");
            }
            while let Some((_, event)) = server.poll_event() {
                match event {
                    Event::Incoming { .. } => connected = Some(now),
                    Event::Closed(closed) => ended = Some((now, closed.cause)),
                    _ => {}
                }
            }
        }
        let connected = connected.expect("it connects");
        match ended {
            None => assert!(sends, "it kept its place"),
            Some((at, cause)) => {
                assert!(!sends);
                assert_eq!((cause, at.saturating_since(connected)), (Cause::NoData(patience), patience));
            }
        }
    }
}

/// Packets from addresses that are not allowed get no answer at all; packets from allowed addresses
/// are handled as usual, also under pressure.
#[test]
fn strangers_that_are_not_allowed_get_no_answer() {
    for half_open in [128, 0] {
        let allow = Allow::Only(vec!["192.0.2.0/28".parse().expect("a prefix")]);
        let listen = Listen::Many(10);
        let mut server = server(EndpointConfig { listen, allow, half_open, ..EndpointConfig::default() });
        let mut now = Instant::ZERO + ms(1);
        for (host, connects) in [(1, true), (16, false), (15, true)] {
            let mut caller = Caller::new(now);
            for _ in 0..20 {
                caller.exchange(now, &mut server, address(host, 40_000));
                now += ms(5);
            }
            assert_eq!(caller.state() == State::Open, connects, "{host}");
        }
        let stranger = address(99, 7);
        let before = server.stats();
        let ack = super::packets::packet(
            (7, PORT),
            tfrc_dccp::wire::Header::Ack {
                numbers: tfrc_dccp::wire::SeqAck::Long {
                    seq: tfrc_units::SeqNo48::new(1),
                    ack: tfrc_units::SeqNo48::new(2),
                },
            },
            &[],
            &[],
        );
        server.handle_datagram(now, stranger, tfrc_units::Ecn::NotEct, &ack);
        assert!(super::flood::sent(&mut server, now).is_empty());
        let after = server.stats();
        assert_eq!((after.not_allowed, after.resets), (before.not_allowed + 1, before.resets));
        assert!(after.not_allowed >= 2, "the Request of the one outside, and this");
    }
}
