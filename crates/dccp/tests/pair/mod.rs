//! Two endpoints in virtual time with a network between them whose every packet a rule decides on.

#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tfrc_dccp::wire::{Integrity, Packet, PacketType};
use tfrc_dccp::{
    ConnectConfig, ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event, Listen, Received, State,
};
use tfrc_units::{Duration, Ecn, Instant};

/// DCCP port and service of the server.
pub(crate) const PORT: u16 = 5001;

/// Which end a packet comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A packet that is about to cross the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flight {
    pub(crate) from: Side,
    pub(crate) kind: PacketType,
    /// Packets sent before it, by both ends.
    pub(crate) index: usize,
    pub(crate) at: Instant,
    /// Of the packet, in bytes.
    pub(crate) length: usize,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Deliver,
    Drop,
    /// Arrives later by this.
    Late(Duration),
    /// Arrives twice, the second time later by this.
    Twice(Duration),
    /// Arrives with a congestion mark if it is ECN-capable.
    Mark,
}

/// One end with what its application has seen.
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    pub(crate) id: Option<ConnectionId>,
    pub(crate) events: Vec<Event>,
    pub(crate) received: Vec<Received>,
    /// Datagrams still to send, of this size; then close, if asked to.
    pub(crate) to_send: u64,
    pub(crate) sent: u64,
    pub(crate) size: usize,
    pub(crate) close_after: bool,
    pub(crate) closing: bool,
    pub(crate) reading: Reading,
}

/// How the application reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// All there is, at once.
    AtOnce,
    /// One datagram every `gap`, the next one at `next`.
    Every { gap: Duration, next: Instant },
}

/// A packet in the network: to whom, with which mark, its bytes.
type InFlight = (Side, Ecn, Vec<u8>);
/// What decides on packets.
type Rule = Box<dyn FnMut(&Flight) -> Fate>;
/// What changes packets on their way.
type Edit = Box<dyn FnMut(&mut [u8])>;

pub(crate) struct Pair {
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) now: Instant,
    /// One way.
    pub(crate) delay: Duration,
    pub(crate) rule: Rule,
    pub(crate) log: Vec<(Flight, Fate)>,
    in_flight: BTreeMap<(Instant, usize), InFlight>,
    sent: usize,
    queued: usize,
    /// Changes the bytes of what is on its way.
    pub(crate) edit: Option<Edit>,
    /// Every packet that crossed, for replays: to whom and its bytes.
    pub(crate) captured: Vec<(Side, Vec<u8>)>,
}

pub(crate) fn address(side: Side) -> SocketAddr {
    let text = match side {
        Side::Client => "192.0.2.1:40000",
        Side::Server => "192.0.2.2:6511",
    };
    text.parse().expect("an address")
}

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

impl End {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            id: None,
            events: Vec::new(),
            received: Vec::new(),
            to_send: 0,
            sent: 0,
            size: 500,
            close_after: false,
            closing: false,
            reading: Reading::AtOnce,
        }
    }

    pub(crate) fn connection(&self) -> &tfrc_dccp::Connection {
        self.id.and_then(|id| self.endpoint.connection(id)).expect("there is a connection")
    }

    pub(crate) fn state(&self) -> Option<State> {
        self.id.and_then(|id| self.endpoint.connection(id)).map(tfrc_dccp::Connection::state)
    }

    pub(crate) fn closed(&self) -> Option<&tfrc_dccp::Closed> {
        self.events.iter().find_map(|event| match event {
            Event::Closed(closed) => Some(closed),
            _ => None,
        })
    }

    pub(crate) fn with<T>(&mut self, use_it: impl FnOnce(&mut tfrc_dccp::Connection) -> T) -> T {
        let id = self.id.expect("there is a connection");
        use_it(self.endpoint.connection_mut(id).expect("there is a connection"))
    }

    /// The application: takes events, reads, and keeps a datagram in the queue while it has one.
    fn run(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            if matches!(event, Event::Incoming { .. })
                && self.state().is_none_or(|state| state == State::Closed)
            {
                self.id = Some(id);
            }
            let over = matches!(event, Event::Closed(_));
            if self.id == Some(id) {
                if matches!(event, Event::CloseReceived) {
                    self.read(now);
                    let text = format!("{} received", self.received.len());
                    self.with(|connection| {
                        connection.set_closing_text(&text);
                        connection.accept_close(now);
                    });
                }
                self.events.push(event);
            } else if over {
                self.endpoint.release(now, id);
            }
        }
        self.read(now);
        let Some(id) = self.id else { return };
        if self.to_send > 0 {
            let Some(connection) = self.endpoint.connection_mut(id) else { return };
            if connection.state().is_established() && connection.queued() == 0 {
                let mut datagram = self.sent.to_be_bytes().to_vec();
                datagram.resize(self.size.max(8), 0x5A);
                if connection.send(now, &datagram).is_ok() {
                    self.to_send -= 1;
                    self.sent += 1;
                }
            }
        } else if self.close_after && !self.closing && self.state().is_some_and(State::is_established) {
            self.closing = true;
            self.with(|connection| connection.close(now));
        }
    }

    fn read(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        match &mut self.reading {
            Reading::AtOnce => self.received.extend(std::iter::from_fn(|| self.endpoint.recv(id))),
            Reading::Every { gap, next } => {
                while *next <= now {
                    *next += *gap;
                    self.received.extend(self.endpoint.recv(id));
                }
            }
        }
    }

    fn next_wake(&mut self) -> Option<Instant> {
        let timer = self.endpoint.poll_timeout().map(|wake| wake.at);
        let read = match self.reading {
            Reading::AtOnce => None,
            Reading::Every { next, .. } => self.id.map(|_| next),
        };
        timer.into_iter().chain(read).min()
    }

    /// The numbers of the datagrams received, in the order of arrival.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.received
            .iter()
            .map(|received| {
                received.bytes.first_chunk::<8>().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes))
            })
            .collect()
    }
}

impl Pair {
    /// A client that is connecting to a listening server, 25 ms apart.
    pub(crate) fn new(rule: impl FnMut(&Flight) -> Fate + 'static) -> Self {
        Self::with(ConnectionConfig::default(), ConnectionConfig::default(), rule)
    }

    pub(crate) fn with(
        client: ConnectionConfig,
        server: ConnectionConfig,
        rule: impl FnMut(&Flight) -> Fate + 'static,
    ) -> Self {
        let serving = EndpointConfig {
            listen: Listen::One,
            port: PORT,
            connection: server,
            ..EndpointConfig::default()
        };
        let mut pair = Self {
            client: End::new(Endpoint::new(EndpointConfig::default(), [1; 32])),
            server: End::new(Endpoint::new(serving, [2; 32])),
            now: Instant::ZERO + ms(1),
            delay: ms(25),
            rule: Box::new(rule),
            log: Vec::new(),
            in_flight: BTreeMap::new(),
            sent: 0,
            queued: 0,
            edit: None,
            captured: Vec::new(),
        };
        let config = ConnectConfig { port: PORT, connection: client };
        let id = pair.client.endpoint.connect(pair.now, address(Side::Server), config);
        pair.client.id = Some(id.expect("there is a free port"));
        pair
    }

    /// The client sends so many datagrams and closes.
    pub(crate) fn transfer(count: u64, rule: impl FnMut(&Flight) -> Fate + 'static) -> Self {
        let mut pair = Self::new(rule);
        pair.client.to_send = count;
        pair.client.close_after = true;
        pair
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Does all there is to do now.
    pub(crate) fn drain(&mut self) {
        loop {
            let before = self.sent;
            for side in [Side::Client, Side::Server] {
                let now = self.now;
                self.end(side).run(now);
                self.collect(side);
            }
            if self.sent == before {
                break;
            }
        }
    }

    fn collect(&mut self, side: Side) {
        let now = self.now;
        let mut bytes = Vec::new();
        while let Some(sent) = self.end(side).endpoint.poll_transmit(now, &mut bytes) {
            let to = match side {
                Side::Client => Side::Server,
                Side::Server => Side::Client,
            };
            assert_eq!(sent.remote, address(to));
            let kind = Packet::parse(&bytes, Integrity::Udp).expect("what is sent parses").header.kind();
            assert_eq!(kind, sent.kind);
            let flight = Flight { from: side, kind, index: self.sent, at: now, length: bytes.len() };
            self.sent += 1;
            let fate = (self.rule)(&flight);
            self.log.push((flight, fate));
            self.captured.push((to, bytes.clone()));
            let ecn = if fate == Fate::Mark && sent.ecn.is_capable() { Ecn::Ce } else { sent.ecn };
            let arrival = now + self.delay;
            match fate {
                Fate::Drop => {}
                Fate::Deliver | Fate::Mark => self.launch(arrival, to, ecn, &bytes),
                Fate::Late(by) => self.launch(arrival + by, to, ecn, &bytes),
                Fate::Twice(by) => {
                    self.launch(arrival, to, ecn, &bytes);
                    self.launch(arrival + by, to, ecn, &bytes);
                }
            }
        }
    }

    pub(crate) fn launch(&mut self, arrival: Instant, to: Side, ecn: Ecn, bytes: &[u8]) {
        self.queued += 1;
        let mut bytes = bytes.to_vec();
        if let Some(edit) = &mut self.edit {
            edit(&mut bytes);
        }
        self.in_flight.insert((arrival, self.queued), (to, ecn, bytes));
    }

    /// Goes on to the next thing that happens; `None` if nothing will by `end`.
    pub(crate) fn step(&mut self, end: Instant) -> Option<()> {
        self.drain();
        let now = self.now;
        for side in [Side::Client, Side::Server] {
            let wake = self.end(side).endpoint.poll_timeout();
            assert!(wake.is_none_or(|wake| wake.at > now), "at {now:?} the {side:?} waits for {wake:?}");
        }
        let flight = self.in_flight.keys().next().map(|(at, _)| *at);
        let wakes = [flight, self.client.next_wake(), self.server.next_wake()];
        let next = wakes.into_iter().flatten().min()?.max(now);
        if next > end {
            self.now = end;
            return None;
        }
        self.now = next;
        while let Some(entry) = self.in_flight.first_entry() {
            if entry.key().0 > next {
                break;
            }
            let (to, ecn, bytes) = entry.remove();
            let from = match to {
                Side::Client => address(Side::Server),
                Side::Server => address(Side::Client),
            };
            self.end(to).endpoint.handle_datagram(next, from, ecn, &bytes);
        }
        self.client.endpoint.handle_timeout(next);
        self.server.endpoint.handle_timeout(next);
        Some(())
    }

    /// Runs for a time.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        let mut steps = 0;
        while self.step(end).is_some() {
            steps += 1;
            assert!(steps < 2_000_000, "time does not pass at {:?}", self.now);
        }
    }

    /// Runs until the client has nothing left to send.
    pub(crate) fn run_until_sent(&mut self, time: Duration) {
        let end = self.now + time;
        while self.client.to_send > 0 && self.step(end).is_some() {}
        assert_eq!(self.client.to_send, 0, "at {:?}", self.now);
    }

    /// Runs until both ends are over, for at most this time.
    pub(crate) fn run_to_end(&mut self, time: Duration) {
        let end = self.now + time;
        let mut steps = 0;
        while self.client.closed().is_none() || self.server.closed().is_none() {
            if self.step(end).is_none() {
                return;
            }
            steps += 1;
            assert!(steps < 2_000_000, "time does not pass at {:?}", self.now);
        }
    }

    pub(crate) fn kinds(&self, from: Side) -> Vec<PacketType> {
        self.log.iter().filter(|(flight, _)| flight.from == from).map(|(flight, _)| flight.kind).collect()
    }

    /// Datagrams of the client that the rule dropped.
    pub(crate) fn dropped_data(&self) -> u64 {
        let lost = |(flight, fate): &&(Flight, Fate)| {
            flight.from == Side::Client && *fate == Fate::Drop && flight.kind.carries_datagram()
        };
        self.log.iter().filter(lost).count().try_into().expect("small")
    }
}
