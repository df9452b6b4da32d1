//! A connection that has fallen silent gives its place only to a new client from the same address.

use std::net::SocketAddr;

use tfrc_dccp::endpoint::{Listen, PerSource};
use tfrc_dccp::wire::{PacketType, ResetCode};
use tfrc_dccp::{Cause, ConnectionId, Endpoint, EndpointConfig, Event, State};
use tfrc_testkit::{ms, parse};
use tfrc_units::{Duration, Ecn, Instant};

use super::flood::{Caller, sent};
use super::packets::request;

const PORT: u16 = 5001;
/// Between two turns of the network.
const TURN: Duration = Duration::from_millis(10);

/// Marks who is not cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Up,
    Cut,
}

struct Client {
    caller: Caller,
    from: SocketAddr,
    line: Line,
    /// Sends whenever it may.
    busy: bool,
}

/// A listener and its clients, whose packets arrive within a turn.
struct Net {
    server: Endpoint,
    now: Instant,
    clients: Vec<Client>,
    ended: Vec<(ConnectionId, Cause)>,
    came: Vec<ConnectionId>,
    /// Syncs sent to the first client.
    asked: Vec<Instant>,
}

fn address(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], port))
}

impl Net {
    fn new(config: EndpointConfig) -> Self {
        Self {
            server: Endpoint::new(EndpointConfig { port: PORT, ..config }, [9; 32]),
            now: Instant::ZERO + ms(1),
            clients: Vec::new(),
            ended: Vec::new(),
            came: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// A client that is connected, and for a while has sent.
    fn with_sender(config: EndpointConfig) -> Self {
        let mut net = Self::new(config);
        net.connect(address(1, 40_000), true);
        net.run(ms(3000));
        assert_eq!((net.clients[0].caller.state(), net.came.len()), (State::Open, 1));
        net
    }

    fn connect(&mut self, from: SocketAddr, busy: bool) -> usize {
        self.clients.push(Client { caller: Caller::new(self.now), from, line: Line::Up, busy });
        self.clients.len() - 1
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let now = self.now;
        for client in self.clients.iter_mut().filter(|client| client.line == Line::Up) {
            client.caller.endpoint.handle_timeout(now);
            let id = client.caller.id;
            if client.busy
                && let Some(connection) = client.caller.endpoint.connection_mut(id)
            {
                // It may not be its turn yet.
                let _ = connection.send(now, &[0; 500]);
            }
            for (_, bytes) in sent(&mut client.caller.endpoint, now) {
                self.server.handle_datagram(now, client.from, Ecn::NotEct, &bytes);
            }
        }
        self.server.handle_timeout(now);
        let back = now + ms(5);
        for (to, bytes) in sent(&mut self.server, now) {
            if to == self.clients[0].from && parse(&bytes).header.kind() == PacketType::Sync {
                self.asked.push(now);
            }
            let to = self.clients.iter_mut().find(|client| client.from == to && client.line == Line::Up);
            if let Some(client) = to {
                let us = "203.0.113.1:6511".parse().expect("an address");
                client.caller.endpoint.handle_datagram(back, us, Ecn::NotEct, &bytes);
            }
        }
        while let Some((id, event)) = self.server.poll_event() {
            match event {
                Event::Incoming { .. } => self.came.push(id),
                Event::Readable => while self.server.recv(id).is_some() {},
                Event::Closed(closed) => {
                    self.ended.push((id, closed.cause));
                    self.server.release(now, id);
                }
                _ => {}
            }
        }
        self.now = now + TURN;
    }

    /// How a client stands or how it was refused.
    fn standing(&mut self, client: usize) -> Result<State, ResetCode> {
        let caller = &mut self.clients[client].caller;
        match caller.state() {
            State::Closed => Err(caller.closed().map_or(ResetCode::Unspecified, |closed| closed.code)),
            state => Ok(state),
        }
    }
}

fn configs() -> [EndpointConfig; 4] {
    let one = EndpointConfig { listen: Listen::One, ..EndpointConfig::default() };
    let many = Listen::Many { limit: 5 };
    [
        one.clone(),
        EndpointConfig { half_open: 0, ..one.clone() },
        EndpointConfig { listen: Listen::Many { limit: 1 }, ..one.clone() },
        EndpointConfig { listen: many, per_source: PerSource::AtMost(1), ..one },
    ]
}

/// The sender is killed; the next one from its address has the place within three seconds, also by
/// way of a cookie and under a limit for each source. Nothing that it sends is lost in between.
#[test]
fn a_killed_sender_is_replaced() {
    for config in configs() {
        let label = format!("{config:?}");
        let mut net = Net::with_sender(config);
        net.clients[0].line = Line::Cut;
        net.run(ms(1500));
        let second = net.connect(address(1, 40_001), true);
        net.run(ms(3000));
        assert_eq!(net.standing(second), Ok(State::Open), "{label}");
        assert_eq!(net.ended, [(net.came[0], Cause::Replaced)], "{label}");
        assert_eq!((net.came.len(), net.server.stats().replaced), (2, 1), "{label}");
        let server = net.server.connection(net.came[1]).expect("it lives");
        assert_eq!(server.received_data_packets(), server.peer_sent_data_packets(), "{label}");
        assert_eq!(net.asked.len(), 2, "{label}");
        assert!(net.asked[1].saturating_since(net.asked[0]) >= ms(250), "{label}: {:?}", net.asked);
    }
}

/// A transfer, and three hundred attempts from behind the same translator: none gets the place,
/// nobody is asked, and the transfer goes on.
#[test]
fn a_live_sender_keeps_its_place() {
    let mut net = Net::with_sender(configs()[0].clone());
    for n in 0..300u16 {
        let attempt = net.connect(address(1, 41_000 + n), false);
        net.run(ms(100));
        assert_eq!(net.standing(attempt), Err(ResetCode::TooBusy), "{n}");
        net.clients.pop();
    }
    assert_eq!((net.came.len(), net.ended.len(), net.asked.len()), (1, 0, 0));
    assert_eq!(net.clients[0].caller.state(), State::Open);
    let server = net.server.connection(net.came[0]).expect("it lives");
    assert_eq!(server.received_data_packets(), server.peer_sent_data_packets());
    assert!(server.received_data_packets() > 3000, "{}", server.received_data_packets());
}

/// A sender that has nothing to send for a minute keeps its place too: it answers what it is asked,
/// which is one Sync in five seconds, and keeps its place.
#[test]
fn an_idle_sender_keeps_its_place() {
    let mut net = Net::with_sender(configs()[0].clone());
    net.clients[0].busy = false;
    net.run(ms(3000));
    let start = net.now;
    for n in 0..300u16 {
        net.connect(address(1, 41_000 + n), false);
        net.run(ms(200));
        net.clients.truncate(3);
    }
    assert_eq!((net.came.len(), net.ended.len()), (1, 0));
    let asked = net.asked.iter().filter(|at| **at >= start).count();
    assert!((2..=16).contains(&asked), "{asked} Syncs in a minute");
    assert_eq!(net.clients[0].caller.state(), State::Open);
}

/// The place of a killed sender is not for other addresses, nor for Requests that nobody completes:
/// those cause a question now and then, and that is all.
#[test]
fn others_do_not_replace_a_killed_sender() {
    let mut net = Net::with_sender(configs()[0].clone());
    net.clients[0].line = Line::Cut;
    net.run(ms(1500));
    for n in 0..20u16 {
        let other = net.connect(address(2, 40_000 + n), true);
        net.run(ms(500));
        assert_eq!(net.standing(other), Err(ResetCode::TooBusy));
        net.clients.pop();
    }
    assert!(net.asked.is_empty());
    for n in 0..2000u16 {
        let now = net.now;
        net.server.handle_datagram(now, address(1, 50_000 + n % 500), Ecn::NotEct, &request((7, PORT), 1));
        net.turn();
    }
    assert_eq!((net.came.len(), net.ended.len(), net.server.stats().replaced), (1, 0, 0));
    // Silence asks of itself after 15 s and then each 3 s, six times in these 33 s.
    assert!(net.asked.len() <= 2 + 6, "two questions, and what silence asks of itself: {:?}", net.asked);
}

/// The application does not release what was replaced: then there are two connections at most for
/// one place.
#[test]
fn replaced_connections_are_bounded_too() {
    let mut server = Endpoint::new(EndpointConfig { port: PORT, ..configs()[0].clone() }, [9; 32]);
    let mut now = Instant::ZERO + ms(1);
    let mut served = 0;
    for n in 0..6u16 {
        let mut caller = Caller::new(now);
        for _ in 0..400 {
            caller.exchange(now, &mut server, address(1, 40_000 + n));
            now += TURN;
        }
        served += u32::from(caller.state() == State::Open);
    }
    assert_eq!((served, server.connections().count()), (2, 0), "the application has not looked");
    let events = std::iter::from_fn(|| server.poll_event());
    assert_eq!(events.filter(|(_, event)| matches!(event, Event::Incoming { .. })).count(), 2);
}
