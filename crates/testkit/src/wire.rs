//! Two ends, and a link of the simulator between them in each direction.

use std::collections::BTreeMap;

use tfrc_sim::packet::{FlowId, Precedence};
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::{Address, Engine, LinkSpec, Network, NoAgent, Seed};
use tfrc_units::{Duration, Ecn, Instant, Rate};

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The end that begins: it connects, or sends the data.
    Client,
    /// The end that answers.
    Server,
}

impl Side {
    /// Both, the client first.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The fate of a packet, apart from the effect of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Deliver,
    /// It is lost before the link.
    Drop,
    /// It is held up at the far end for this time, so that others overtake it.
    Late(Duration),
    /// It arrives, and a copy of it after this time.
    Twice(Duration),
    /// It arrives with a congestion mark if it is ECN-capable, and without if it is not.
    Mark,
}

impl Fate {
    /// Loses the packet if `lost`.
    #[must_use]
    pub const fn drop_if(lost: bool) -> Self {
        if lost { Self::Drop } else { Self::Deliver }
    }
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel<T> {
    /// Bytes that the link transmits.
    pub size: u32,
    /// The ECN bits.
    pub ecn: Ecn,
    /// Its content, which the network does not look at.
    pub payload: T,
}

/// A packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// The time of its arrival.
    pub at: Instant,
    /// The end at which it has arrived.
    pub to: Side,
    /// Its ECN bits as they are now.
    pub ecn: Ecn,
    /// The content.
    pub payload: T,
}

/// A payload inside the simulator.
#[derive(Debug, Clone)]
struct Carried<T> {
    number: u64,
    /// The times for which it, and a copy of it if there is one, are held up at the far end.
    held: [Option<Duration>; 2],
    payload: T,
}

/// Two ends, and a link of the simulator between them in each direction.
///
/// Packets that arrive at once come in the order in which they were sent.
#[derive(Debug)]
pub struct Wire<T: Clone> {
    engine: Engine<NoAgent<Carried<T>>>,
    /// Of the client and of the server.
    gateways: [Address; 2],
    /// Packets that have arrived, or are held up at the far end, by their time and number.
    arrived: BTreeMap<(Instant, u64), Delivered<T>>,
    sent: u64,
}

impl<T: Clone> Wire<T> {
    /// Links that take `delay` one way and transmit in no time.
    #[must_use]
    pub fn new(delay: Duration) -> Self {
        Self::with(delay, Rate::INFINITY, Limit::Unlimited)
    }

    /// Links that take `delay` one way. The one to the server transmits at `rate`, and has room for
    /// `packets` packets, at least one: that in transmission and the ones that wait.
    #[must_use]
    pub fn bottleneck(delay: Duration, rate: Rate, packets: u64) -> Self {
        Self::with(delay, rate, Limit::Packets(packets.saturating_sub(1)))
    }

    fn with(delay: Duration, rate: Rate, limit: Limit) -> Self {
        let mut network = Network::new();
        let client = network.node("client").expect("a new name");
        let server = network.node("server").expect("a new name");
        let queue = Queue::DropTail(limit);
        let there = LinkSpec { queue, ..LinkSpec::new("there", client, server, rate, delay) };
        network.link(there).expect("two nodes");
        network.link(LinkSpec::new("back", server, client, Rate::INFINITY, delay)).expect("two nodes");
        let mut engine = network.build(Seed(1));
        let gateways = [client, server].map(|node| engine.gateway(node).expect("a node of this network"));
        Self { engine, gateways, arrived: BTreeMap::new(), sent: 0 }
    }

    fn gateway(&self, side: Side) -> Address {
        let [client, server] = self.gateways;
        match side {
            Side::Client => client,
            Side::Server => server,
        }
    }

    /// Sends a packet from one end to the other, and lets its fate happen to it.
    pub fn send(&mut self, now: Instant, from: Side, packet: Parcel<T>, fate: Fate) {
        let held = match fate {
            Fate::Drop => return,
            Fate::Deliver | Fate::Mark => [Some(Duration::ZERO), None],
            Fate::Late(by) => [Some(by), None],
            Fate::Twice(by) => [Some(Duration::ZERO), Some(by)],
        };
        let marked = fate == Fate::Mark && packet.ecn.is_capable();
        let outgoing = tfrc_sim::packet::Outgoing {
            to: self.gateway(from.other()),
            flow: FlowId(0),
            size: packet.size,
            ecn: if marked { Ecn::Ce } else { packet.ecn },
            precedence: Precedence::default(),
            payload: Carried { number: self.number(), held, payload: packet.payload },
        };
        self.engine.inject(now, self.gateway(from), outgoing);
    }

    /// Lets a packet arrive that nobody of the two has sent, at any time from now on.
    pub fn forge(&mut self, arrival: Delivered<T>) {
        let number = self.number();
        self.arrived.insert((arrival.at, number), arrival);
    }

    /// Two numbers for each packet: its own, and that of its copy.
    const fn number(&mut self) -> u64 {
        self.sent += 2;
        self.sent
    }

    /// The next time at which something may happen on the links; `None` if nothing is on its way.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let arrived = self.arrived.keys().next().map(|(at, _)| *at);
        self.engine.poll_timeout().into_iter().chain(arrived).min()
    }

    /// The next packet that has arrived by `now`, at either end.
    pub fn receive(&mut self, now: Instant) -> Option<Delivered<T>> {
        self.poll_timeout().filter(|at| *at <= now)?;
        self.engine.run_until(now);
        for to in Side::BOTH {
            while let Some(delivery) = self.engine.poll_delivery(self.gateway(to)) {
                let (header, Carried { number, held, payload }) =
                    (delivery.packet.header, delivery.packet.payload);
                for (number, held) in (number..).zip(held).filter_map(|(n, held)| Some((n, held?))) {
                    let at = delivery.at + held;
                    let arrival = Delivered { at, to, ecn: header.ecn, payload: payload.clone() };
                    self.arrived.insert((at, number), arrival);
                }
            }
        }
        let first = self.arrived.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{at, ms};

    fn packet(size: u32, payload: u32) -> Parcel<u32> {
        Parcel { size, ecn: Ecn::Ect0, payload }
    }

    /// Everything that arrives: milliseconds, the end, the mark, the content.
    fn all(wire: &mut Wire<u32>) -> Vec<(u64, Side, Ecn, u32)> {
        let mut all = Vec::new();
        while let Some(time) = wire.poll_timeout() {
            while let Some(Delivered { at, to, ecn, payload }) = wire.receive(time) {
                assert_eq!(at, time);
                all.push((at.as_nanos() / 1_000_000, to, ecn, payload));
            }
        }
        all
    }

    #[test]
    fn each_fate_happens() {
        let mut wire = Wire::new(ms(10));
        let fates = [Fate::Deliver, Fate::Drop, Fate::Late(ms(5)), Fate::Twice(ms(3)), Fate::Mark];
        for (n, fate) in (0..).zip(fates) {
            wire.send(at(1), Side::Client, packet(1000, n), fate);
        }
        wire.send(at(2), Side::Server, Parcel { ecn: Ecn::NotEct, ..packet(40, 9) }, Fate::Mark);
        wire.forge(Delivered { at: at(4), to: Side::Client, ecn: Ecn::NotEct, payload: 7 });
        let (client, server) = (Side::Client, Side::Server);
        let expected = [
            (4, client, Ecn::NotEct, 7),
            (11, server, Ecn::Ect0, 0),
            (11, server, Ecn::Ect0, 3),
            (11, server, Ecn::Ce, 4),
            (12, client, Ecn::NotEct, 9),
            (14, server, Ecn::Ect0, 3),
            (16, server, Ecn::Ect0, 2),
        ];
        assert_eq!(all(&mut wire), expected);
    }

    /// 1000 bytes take 8 ms at 1 Mbit/s. Room for three: one in transmission, two that wait.
    #[test]
    fn a_bottleneck_transmits_and_drops() {
        let mut wire = Wire::bottleneck(ms(10), Rate::from_bits_per_sec(1e6), 3);
        for n in 0..5 {
            wire.send(at(0), Side::Client, packet(1000, n), Fate::Deliver);
        }
        let arrivals: Vec<_> = all(&mut wire).into_iter().map(|(ms, _, _, n)| (ms, n)).collect();
        assert_eq!(arrivals, [(18, 0), (26, 1), (34, 2)]);
    }
}
