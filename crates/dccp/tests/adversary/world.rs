//! A run: two ends, a network, and what must hold.

use std::net::{IpAddr, SocketAddr};

use tfrc_dccp::endpoint::{Carrier, ConnectConfig, Listen};
use tfrc_dccp::{ClosedBy, Endpoint, EndpointConfig};
use tfrc_testkit::{Delivered, PORT, Random, Side};
use tfrc_units::{Duration, Instant};

use super::end::End;
use super::network::{Flight, Network};
use super::plan::{Corruption, Plan};

/// Datagrams that an end may send at one moment: after a pause a round-trip time's worth (RFC 5348
/// §4.6), which is 50,000 of 8 bytes in a second at the cap of 400 kB/s.
const MOST_AT_ONCE: usize = 100_000;

/// Traffic goes on for at most so long.
const TRAFFIC: Duration = Duration::from_secs(300);
/// However bad it was, by then nothing is left: the peer is given up after a minute, and forgotten
/// four minutes later.
const REST: Duration = Duration::from_secs(1200);

pub(crate) struct World {
    random: Random,
    plan: Plan,
    network: Network,
    client: End,
    server: End,
    now: Instant,
    packets: u64,
}

/// Counts of one run or of several.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) packets: u64,
    pub(crate) delivered: u64,
    pub(crate) corrupted: u64,
    /// Connections that ended with the client's Close.
    pub(crate) orderly: u64,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.delivered += other.delivered;
        self.corrupted += other.corrupted;
        self.orderly += other.orderly;
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::new(&mut random);
        let network = Network::new(&plan, Random::new(random.bits()));
        // Protocol 33 has no UDP ports.
        let udp = plan.corruption == Corruption::Unnoticed;
        let host = |n| SocketAddr::from(([192, 0, 2, n], if udp { 6511 } else { 0 }));
        let (near, far) = (host(1), host(2));
        let carrier = |address: SocketAddr| -> Carrier {
            let carrier: fn(IpAddr) -> Carrier = plan.carrier;
            carrier(address.ip())
        };
        let calling = EndpointConfig { carrier: carrier(near), ..EndpointConfig::default() };
        let serving = EndpointConfig {
            carrier: carrier(far),
            listen: Listen::One,
            port: PORT,
            connection: plan.server.clone(),
            half_open: plan.half_open,
            ..EndpointConfig::default()
        };
        let mut seed_of = || {
            let mut bytes = [0; 32];
            bytes.iter_mut().for_each(|byte| *byte = random.bits().to_le_bytes()[0]);
            bytes
        };
        let (ours, theirs) = (seed_of(), seed_of());
        Self {
            client: End::new(Side::Client, Endpoint::new(calling, ours), near, plan.size),
            server: End::new(Side::Server, Endpoint::new(serving, theirs), far, plan.size),
            random,
            plan,
            network,
            now: Instant::ZERO,
            packets: 0,
        }
    }

    pub(crate) fn run(mut self) -> Outcome {
        let config = ConnectConfig { port: PORT, connection: self.plan.client.clone() };
        let clock = self.client.clock(self.now);
        let id = self.client.endpoint.connect(clock, self.server.address, config);
        self.client.id = Some(id.expect("a port"));
        self.client.sends = true;
        self.server.sends = self.plan.both_ways;
        let end = self.now + TRAFFIC;
        while self.packets < self.plan.packets && self.client.closed.is_none() && self.step(end) {
            if self.network.advance(self.now) {
                self.change();
            }
        }
        self.network.heal();
        self.client.close(self.now);
        self.server.sends = false;
        let end = self.now + REST;
        while !self.is_over() && self.step(end) {}
        let delivered = self.delivered();
        self.check_the_end();
        Outcome {
            packets: self.packets,
            delivered,
            corrupted: self.network.corrupted,
            orderly: u64::from(self.client.closed.as_ref().is_some_and(|closed| closed.by == ClosedBy::Us)),
        }
    }

    fn delivered(&self) -> u64 {
        let received =
            |end: &End| end.connection().map_or(0, |connection| connection.stats().received_data_packets);
        received(&self.client) + received(&self.server)
    }

    fn is_over(&self) -> bool {
        let over = |end: &End| end.id.is_none() || end.closed.is_some();
        over(&self.client) && over(&self.server)
    }

    /// Clocks jump and addresses change with the weather.
    fn change(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            if self.random.per_mille(self.plan.clock_steps) {
                let step = Duration::from_millis(self.random.below(3000));
                if self.random.per_mille(500) {
                    end.offset += step;
                } else {
                    end.offset = end.offset.saturating_sub(step / 6);
                }
            }
        }
        if self.plan.corruption == Corruption::Unnoticed && self.random.per_mille(self.plan.rebindings) {
            let port = u16::try_from(self.random.between(1024, 65_000)).expect("a port");
            self.client.address.set_port(port);
        }
    }

    /// Goes on to the next thing that happens; false if nothing does by `end`.
    fn step(&mut self, end: Instant) -> bool {
        self.drain();
        let wakes = [self.network.next(), self.client.next(self.now), self.server.next(self.now)];
        let Some(next) = wakes.into_iter().flatten().min() else { return false };
        let next = next.max(self.now);
        if next > end {
            return false;
        }
        self.now = next;
        while let Some(Delivered { ecn, payload: Flight { from, to, bytes }, .. }) =
            self.network.arrivals(next)
        {
            // What goes to an address that the client no longer has is lost.
            for end in [&mut self.client, &mut self.server] {
                if end.address == to {
                    end.handle(next, from, ecn, &bytes);
                }
            }
        }
        self.client.handle_timeout(next);
        self.server.handle_timeout(next);
        true
    }

    fn drain(&mut self) {
        let strict = self.plan.corruption == Corruption::Noticed;
        for _ in 0..MOST_AT_ONCE {
            let (network, now) = (&mut self.network, self.now);
            let mut sent = 0;
            let mut post = |from, ecn, flight| {
                sent += 1;
                network.send(now, from, ecn, flight);
            };
            let mut busy = self.client.run(now, strict.then_some(&self.server.numbers), &mut post);
            busy |= self.server.run(now, strict.then_some(&self.client.numbers), &mut post);
            self.packets += sent;
            if !busy {
                return;
            }
        }
        panic!("it goes on sending at {:?}", self.now);
    }

    fn check_the_end(&mut self) {
        for end in [&self.client, &self.server] {
            assert!(
                end.id.is_none() || end.closed.is_some(),
                "the {:?} does not end: {:?}",
                end.side,
                end.connection().map(tfrc_dccp::Connection::state)
            );
        }
        if self.plan.corruption == Corruption::Noticed {
            Self::check_counts(&self.client, &self.server);
            Self::check_counts(&self.server, &self.client);
        }
        for end in [&mut self.client, &mut self.server] {
            let clock = end.clock(self.now);
            end.leaving = true;
            if let Some(id) = end.id {
                end.endpoint.release(clock, id);
            }
        }
        let end = self.now + REST;
        while self.step(end) {}
        for end in [&self.client, &self.server] {
            assert_eq!(end.endpoint.connections().count(), 0, "the {:?} keeps a connection", end.side);
        }
        for end in [&mut self.client, &mut self.server] {
            assert_eq!(end.endpoint.poll_timeout(), None, "the {:?} still waits", end.side);
        }
    }

    /// Checks one end's counts of the other's datagrams against what the other sent.
    fn check_counts(end: &End, peer: &End) {
        let (Some(connection), Some(other)) = (end.connection(), peer.connection()) else { return };
        let (here, there) = (connection.stats(), other.stats());
        let received = u64::try_from(end.received.len()).expect("few");
        assert_eq!(here.received_data_packets, received + here.queue_dropped_packets, "{:?}", end.side);
        assert!(received <= there.sent_data_packets);
        assert_eq!(there.sent_data_packets, u64::try_from(peer.numbers.len()).expect("few"));
        let orderly = |end: &End, by| end.closed.as_ref().is_some_and(|closed| closed.by == by);
        if orderly(end, ClosedBy::Peer) && orderly(peer, ClosedBy::Us) {
            let told = end.closed.as_ref().map_or(0, |closed| closed.peer_sent_data_packets);
            // A lost packet without data counts as a datagram without an NDP Count.
            let most = there.sent_data_packets + there.sent_non_data_packets;
            assert!(
                (there.sent_data_packets..=most).contains(&told),
                "the {:?} counts {told} datagrams of {}",
                end.side,
                there.sent_data_packets
            );
        }
    }
}
