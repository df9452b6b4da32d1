//! Who may hold a place of a listener, and for how long.

use std::net::SocketAddr;

use tfrc_dccp::{Endpoint, EndpointConfig, Event, Listen, State};
use tfrc_units::{Duration, Instant};

use super::flood::Caller;
use super::heap;
use super::pair::ms;

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
            if sent < 200 && connection.next_send(*now) == tfrc::SendDecision::Now {
                connection.send(*now, &[0; 1000]).expect("it said now");
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

/// The application takes no events and reads nothing: connections that end go on holding their places, and strangers that come
/// one after another find none. Before, each left its datagrams behind.
#[test]
fn a_stalled_application_bounds_what_waits_for_it() {
    for (listen, limit) in [(Listen::One, 1), (Listen::Many { limit: 3 }, 3)] {
        let mut server = server(EndpointConfig { listen, ..EndpointConfig::default() });
        let mut now = Instant::ZERO + ms(1);
        let mut held = Vec::new();
        for n in 0..20u16 {
            let closed = come_and_go(&mut server, &mut now, address(1, 40_000 + n));
            let busy = closed.is_some_and(|closed| closed.code == tfrc_dccp::wire::ResetCode::TooBusy);
            assert_eq!(busy, usize::from(n) >= limit, "{n}");
            held.push(heap::held());
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
        server.handle_timeout(now + Duration::from_secs(1));
        let closed = come_and_go(&mut server, &mut now, address(2, 40_000));
        assert!(closed.is_some_and(|closed| closed.code == tfrc_dccp::wire::ResetCode::Closed));
    }
}
