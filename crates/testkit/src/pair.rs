//! Two DCCP endpoints over a wire, a rule that decides on every packet, and their applications.

use tfrc_dccp::endpoint::{ConnectConfig, Listen};
use tfrc_dccp::wire::{PacketType, Sequence};
use tfrc_dccp::{ConnectionConfig, Endpoint, EndpointConfig, State};
use tfrc_units::{Duration, Ecn, Instant, SeqNo48};

use crate::{Clock, Delivered, End, Fate, Parcel, Side, Wire, address, ms, parse};

/// DCCP port of the server.
pub const PORT: u16 = 5001;

/// A packet that is about to cross the network.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    /// The end that sent it.
    pub from: Side,
    /// The packet type.
    pub kind: PacketType,
    /// Packets sent before it, by both ends.
    pub index: usize,
    /// The time at which it is sent.
    pub at: Instant,
    /// Its bytes, without those of UDP and IP.
    pub length: usize,
    /// The ECN bits.
    pub ecn: Ecn,
}

/// Decides the fate of each packet.
type Rule = Box<dyn FnMut(&Flight) -> Fate>;
/// Changes packets on their way.
type Edit = Box<dyn FnMut(&mut [u8])>;

/// A client that connects to a listening server, 25 ms away at first.
///
/// [`step`](Self::step) keeps the contract of an endpoint's host; a test that wants to break it
/// calls the endpoints itself.
pub struct Pair {
    /// The end that connects.
    pub client: End,
    /// The end that listens.
    pub server: End,
    /// The current virtual time.
    pub now: Instant,
    /// The clock of both ends; at first it shows every time.
    pub clock: Clock,
    /// Gives each packet its fate.
    pub rule: Rule,
    /// Changes the bytes of packets that are not dropped.
    pub edit: Option<Edit>,
    /// The path clears ECN codepoints.
    pub clear_ecn: bool,
    /// All packets sent, with their fates.
    pub log: Vec<(Flight, Fate)>,
    /// Their receivers and bytes, as they were sent.
    pub captured: Vec<(Side, Vec<u8>)>,
    wire: Wire<Vec<u8>>,
}

impl Pair {
    /// Ends with the defaults.
    pub fn new(rule: impl FnMut(&Flight) -> Fate + 'static) -> Self {
        Self::with(ConnectionConfig::default(), ConnectionConfig::default(), rule)
    }

    /// Ends with the defaults, connected, with a path that delivers everything.
    #[must_use]
    pub fn opened() -> Self {
        let mut pair = Self::new(|_| Fate::Deliver);
        pair.run(ms(200));
        assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
        pair
    }

    /// The client sends `count` datagrams and closes.
    pub fn transfer(count: u64, rule: impl FnMut(&Flight) -> Fate + 'static) -> Self {
        let mut pair = Self::new(rule);
        pair.client.to_send = count;
        pair.client.close_after = true;
        pair
    }

    /// Connections with these settings.
    pub fn with(
        client: ConnectionConfig,
        server: ConnectionConfig,
        rule: impl FnMut(&Flight) -> Fate + 'static,
    ) -> Self {
        let listen = Listen::One;
        let serving = EndpointConfig { listen, port: PORT, connection: server, ..EndpointConfig::default() };
        Self::serving(client, serving, rule)
    }

    /// A server with settings of its own for the endpoint.
    pub fn serving(
        client: ConnectionConfig,
        server: EndpointConfig,
        rule: impl FnMut(&Flight) -> Fate + 'static,
    ) -> Self {
        let mut pair = Self {
            client: End::new(Endpoint::new(EndpointConfig::default(), [1; 32])),
            server: End::new(Endpoint::new(server, [2; 32])),
            now: Instant::ZERO + ms(1),
            clock: Clock::default(),
            rule: Box::new(rule),
            edit: None,
            clear_ecn: false,
            log: Vec::new(),
            captured: Vec::new(),
            wire: Wire::new(ms(25)),
        };
        let config = ConnectConfig { port: PORT, connection: client };
        let id = pair.client.endpoint.connect(pair.now, address(Side::Server), config);
        pair.client.id = Some(id.expect("there is a free port"));
        pair
    }

    /// Takes links of another delay, one way. Packets under way are lost.
    pub fn set_delay(&mut self, delay: Duration) {
        self.wire = Wire::new(delay);
    }

    /// One of the two ends.
    pub const fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Hands a packet to an end now, as if the other one had sent it.
    pub fn hand(&mut self, to: Side, ecn: Ecn, bytes: &[u8]) {
        let now = self.clock.read(self.now);
        self.end(to).endpoint.handle_datagram(now, address(to.other()), ecn, bytes);
    }

    /// Lets a packet arrive at an end later, as if the other one had sent it.
    pub fn forge(&mut self, at: Instant, to: Side, ecn: Ecn, bytes: &[u8]) {
        self.wire.forge(Delivered { at, to, ecn, payload: bytes.to_vec() });
    }

    /// Does all there is to do now.
    pub fn drain(&mut self) {
        loop {
            let before = self.log.len();
            for side in Side::BOTH {
                let now = self.clock.read(self.now);
                self.end(side).run(now);
                self.collect(side);
            }
            if self.log.len() == before {
                break;
            }
        }
    }

    fn collect(&mut self, from: Side) {
        let (now, mut bytes) = (self.now, Vec::new());
        let reading = self.clock.read(now);
        while let Some(sent) = self.end(from).endpoint.poll_transmit(reading, &mut bytes) {
            assert_eq!(sent.remote, address(from.other()));
            let kind = parse(&bytes).header.kind();
            assert_eq!(kind, sent.kind);
            let (index, length, ecn) = (self.log.len(), bytes.len(), sent.ecn);
            let flight = Flight { from, kind, index, at: now, length, ecn };
            let fate = (self.rule)(&flight);
            self.log.push((flight, fate));
            self.captured.push((from.other(), bytes.clone()));
            if fate != Fate::Drop {
                let mut payload = bytes.clone();
                if let Some(edit) = &mut self.edit {
                    edit(&mut payload);
                }
                let size = u32::try_from(length).expect("a datagram");
                let ecn = if self.clear_ecn { Ecn::NotEct } else { ecn };
                self.wire.send(now, from, Parcel { size, ecn, payload }, fate);
            }
        }
    }

    /// Goes on to the next time at which something happens; `None` if nothing does by `end`.
    pub fn step(&mut self, end: Instant) -> Option<()> {
        self.drain();
        let now = self.clock.read(self.now);
        for side in Side::BOTH {
            let wake = self.end(side).endpoint.poll_timeout();
            assert!(wake.is_none_or(|wake| wake.at > now), "at {now:?} the {side:?} waits for {wake:?}");
        }
        let ends = [self.client.next_wake(), self.server.next_wake()];
        let wakes = ends.map(|wake| wake.map(|wake| self.clock.when(wake)));
        let next = wakes.into_iter().chain([self.wire.poll_timeout()]).flatten().min()?.max(self.now);
        if next > end {
            self.now = end;
            return None;
        }
        self.now = next;
        while let Some(Delivered { to, ecn, payload, .. }) = self.wire.receive(next) {
            self.hand(to, ecn, &payload);
        }
        for side in Side::BOTH {
            let reading = self.clock.read(next);
            self.end(side).endpoint.handle_timeout(reading);
        }
        Some(())
    }

    /// Goes on until `over` holds or `time` has passed.
    fn run_until(&mut self, time: Duration, over: impl Fn(&Self) -> bool) {
        let end = self.now + time;
        let mut steps = 0;
        while !over(self) && self.step(end).is_some() {
            steps += 1;
            assert!(steps < 2_000_000, "time does not pass at {:?}", self.now);
        }
    }

    /// Goes on for a time.
    pub fn run(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    /// Goes on until the client has nothing left to send, which must be within `time`.
    pub fn run_until_sent(&mut self, time: Duration) {
        self.run_until(time, |pair| pair.client.to_send == 0);
        assert_eq!(self.client.to_send, 0, "at {:?}", self.now);
    }

    /// Goes on until both ends are over, for at most `time`.
    pub fn run_to_end(&mut self, time: Duration) {
        self.run_until(time, |pair| pair.client.closed().is_some() && pair.server.closed().is_some());
    }

    /// The newest sequence number sent to an end; there must be one, of 48 bits.
    #[must_use]
    pub fn newest(&self, to: Side) -> SeqNo48 {
        let (_, bytes) = self.captured.iter().rfind(|(whom, _)| *whom == to).expect("a packet");
        match parse(bytes).header.sequence() {
            Sequence::Long(seq) => seq,
            Sequence::Short(seq) => panic!("{seq:?}"),
        }
    }

    /// Source and destination port of packets to an end.
    #[must_use]
    pub fn ports(&self, to: Side) -> (u16, u16) {
        let (client, server) = self.client.connection().ports();
        match to {
            Side::Client => (server, client),
            Side::Server => (client, server),
        }
    }

    /// The types of the packets that an end has sent.
    #[must_use]
    pub fn kinds(&self, from: Side) -> Vec<PacketType> {
        self.log.iter().filter(|(flight, _)| flight.from == from).map(|(flight, _)| flight.kind).collect()
    }

    /// Datagrams of the client that the rule has dropped.
    #[must_use]
    pub fn dropped_data(&self) -> u64 {
        let lost = |(flight, fate): &&(Flight, Fate)| {
            flight.from == Side::Client && *fate == Fate::Drop && flight.kind.carries_datagram()
        };
        self.log.iter().filter(lost).count().try_into().expect("few")
    }
}
