//! Pairs of ends that share a bottleneck, and TCPs of the simulator next to them, in virtual time.

use std::collections::VecDeque;
use std::time::Instant;

use tfrc_sim::network::LinkChange;
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::tcp::{self, ConnectionId, Transfer};
use tfrc_sim::{Address, Engine, LinkSpec, Network, NoAgent, Seed};
use tfrc_units::{Duration, Ecn, Epoch, Rate, saturating};

use super::{Datagram, End};
use crate::Random;

/// Bytes of IPv4 and UDP headers.
const HEADERS: usize = 28;

/// A line that all flows pass in one direction; the way back has no limit.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// Rates with the times from which they hold, the first at zero.
    pub rates: Vec<(Duration, Rate)>,
    /// Bytes that wait at most: drop-tail.
    pub queue: u64,
    /// The additional delay of each packet, in both directions.
    pub jitter: Jitter,
}

/// Additional delays that keep the order of a flow's packets: half of `most` in the mean, with a
/// Gaussian distribution cut at three standard deviations, which are 0 and `most`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Jitter {
    /// The longest one; zero for none.
    pub most: Duration,
    /// The seed of their random numbers.
    pub seed: u64,
}

/// A pair of ends.
pub enum Pair {
    /// A transport, the sender first.
    Ends(Box<dyn End>, Box<dyn End>),
    /// A TCP of the simulator that sends without end.
    Tcp(tcp::Settings),
}

/// A flow from its start to its end.
pub struct Flow {
    /// Its ends.
    pub pair: Pair,
    /// Time of a packet from one end to the other if nothing waits.
    pub delay: Duration,
    /// When it begins.
    pub start: Duration,
    /// When a TCP stops sending; other ends know themselves.
    pub stop: Duration,
}

/// A packet of a flow that came out of the bottleneck.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// When it came to the receiver.
    pub at: Duration,
    /// How much longer it took than the flow's delay and jitter: its wait and its transmission.
    pub waited: Duration,
    /// Its bytes, headers included.
    pub bytes: u32,
}

/// The record of a flow.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Packets that arrived, in order.
    pub arrivals: Vec<Arrival>,
    /// Packets that were sent.
    pub sent: u64,
}

#[derive(Debug, Clone)]
enum Content {
    Ack(tcp::Ack),
    Data(tcp::Data),
    Datagram(Vec<u8>),
}

enum Machines {
    Ends(Box<dyn End>, Box<dyn End>),
    Tcp { sender: Box<tcp::Sender>, sink: Box<tcp::Sink>, settings: tcp::Settings, stopped: bool },
}

/// A flow in the network.
struct Running {
    machines: Machines,
    /// The gateways of the sender and of the receiver.
    gateways: [Address; 2],
    delay: Duration,
    /// The beginning of the run.
    origin: tfrc_units::Instant,
    start: tfrc_units::Instant,
    stop: tfrc_units::Instant,
    /// When it is to be served next.
    due: Option<tfrc_units::Instant>,
    begun: bool,
    /// Packets that jitter holds up, on their way to each side.
    held: [Held; 2],
    record: Record,
}

/// The jitter on the way to one side.
struct Held {
    jitter: Jitter,
    random: Random,
    packets: VecDeque<(tfrc_units::Instant, Ecn, Content)>,
}

impl Held {
    fn new(jitter: Jitter, stream: u64) -> Self {
        let random = Random::new(jitter.seed * 1000 + stream);
        Self { jitter, random, packets: VecDeque::new() }
    }

    /// Takes a packet in; says when it goes on.
    fn hold(&mut self, at: tfrc_units::Instant, ecn: Ecn, content: Content) -> tfrc_units::Instant {
        let before = self.packets.back().map_or(at, |(due, ..)| *due);
        let due = (at + self.delay()).max(before);
        self.packets.push_back((due, ecn, content));
        due
    }

    fn delay(&mut self) -> Duration {
        if self.jitter.most.is_zero() {
            return Duration::ZERO;
        }
        loop {
            // Box and Muller.
            let radius = (-2.0 * (1.0 - self.random.uniform()).ln()).sqrt();
            let deviation = radius * (std::f64::consts::TAU * self.random.uniform()).cos();
            if deviation.abs() <= 3.0 {
                return Duration::from_secs_f64(self.jitter.most.as_secs_f64() * (0.5 + deviation / 6.0));
            }
        }
    }
}

/// Flows over a bottleneck.
pub struct Shared {
    engine: Engine<NoAgent<Content>>,
    flows: Vec<Running>,
    epoch: Epoch,
    now: tfrc_units::Instant,
}

impl Shared {
    /// A network at rest, at `start`.
    ///
    /// # Panics
    /// Without a rate, or if the rates are not in the order of time.
    #[must_use]
    pub fn new(start: Instant, bottleneck: &Bottleneck, flows: Vec<Flow>) -> Self {
        let mut network = Network::new();
        let [left, right] = ["left", "right"].map(|name| network.node(name).expect("a new name"));
        let epoch = Epoch::new(start);
        let origin = epoch.at(start);
        let [(_, first), later @ ..] = bottleneck.rates.as_slice() else { panic!("no rate") };
        let changes = later.iter().map(|(at, rate)| LinkChange::of_rate(origin + *at, *rate));
        let queue = Queue::DropTail(Limit::Bytes(bottleneck.queue));
        let line = LinkSpec::new("line", left, right, *first, Duration::ZERO);
        network.link(LinkSpec { queue, changes: changes.collect(), ..line }).expect("rates in order");
        let nodes: Vec<_> = (0..flows.len())
            .map(|n| {
                let [near, far] =
                    ["near", "far"].map(|side| network.node(&format!("{side}{n}")).expect("a new name"));
                let mut join = |name: &str, from, to, delay| {
                    let spec = LinkSpec::new(&format!("{name}{n}"), from, to, Rate::INFINITY, delay);
                    network.link(spec).expect("two nodes");
                };
                join("in", near, left, flows[n].delay);
                join("out", right, far, Duration::ZERO);
                join("back", far, near, flows[n].delay);
                [near, far]
            })
            .collect();
        let mut engine = network.build(Seed(1));
        let mut number = 0;
        let flows = flows.into_iter().zip(nodes).map(|(flow, nodes)| {
            let gateways = nodes.map(|node| engine.gateway(node).expect("a node of this network"));
            number += 2;
            let held = [0, 1].map(|side| Held::new(bottleneck.jitter, number + side));
            Running::new(flow, gateways, origin, held)
        });
        let flows = flows.collect();
        Self { engine, flows, epoch, now: origin }
    }

    /// Lets this time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step(end);
        }
    }

    /// The records of the flows up to now, in their order.
    #[must_use]
    pub fn into_records(self) -> Vec<Record> {
        self.flows.into_iter().map(|flow| flow.record).collect()
    }

    fn step(&mut self, end: tfrc_units::Instant) {
        let now = self.epoch.time(self.now);
        self.engine.run_until(self.now);
        for (n, flow) in self.flows.iter_mut().enumerate() {
            flow.serve(saturating(n), &mut self.engine, self.now, now, &self.epoch);
        }
        let timers = self.flows.iter().filter_map(Running::next);
        let next = timers.chain(self.engine.poll_timeout()).min();
        // Timers of the ends may be due at once again and again: time goes on.
        self.now = next.unwrap_or(end).max(self.now + Duration::from_micros(1)).min(end);
    }
}

impl Running {
    fn new(flow: Flow, gateways: [Address; 2], origin: tfrc_units::Instant, held: [Held; 2]) -> Self {
        let machines = match flow.pair {
            Pair::Ends(near, far) => Machines::Ends(near, far),
            Pair::Tcp(settings) => Machines::Tcp {
                sender: Box::new(tcp::Sender::new(&settings, ConnectionId::default(), Transfer::Unlimited)),
                sink: Box::new(tcp::Sink::new(&settings, ConnectionId::default())),
                settings,
                stopped: false,
            },
        };
        let start = origin + flow.start;
        Self {
            machines,
            gateways,
            delay: flow.delay,
            origin,
            start,
            stop: origin + flow.stop,
            due: Some(start),
            begun: false,
            held,
            record: Record::default(),
        }
    }

    /// When it is to be served next.
    fn next(&self) -> Option<tfrc_units::Instant> {
        let held = self.held.iter().filter_map(|held| Some(held.packets.front()?.0));
        held.chain(self.due).min()
    }

    /// Takes in what has come, and lets the machines act, if there is a reason to.
    fn serve(
        &mut self,
        number: u32,
        engine: &mut Engine<NoAgent<Content>>,
        at: tfrc_units::Instant,
        now: Instant,
        epoch: &Epoch,
    ) {
        let mut active = self.due.is_some_and(|due| due <= at);
        let mut answers = Vec::new();
        for (side, gateway) in self.gateways.into_iter().enumerate() {
            while let Some(delivery) = engine.poll_delivery(gateway) {
                let header = delivery.packet.header;
                let due = self.held[side].hold(delivery.at, header.ecn, delivery.packet.payload);
                if side == 1 {
                    let waited = delivery.at.saturating_since(header.sent).saturating_sub(self.delay);
                    let since = due.saturating_since(self.origin);
                    self.record.arrivals.push(Arrival { at: since, waited, bytes: header.size });
                }
            }
            while let Some((_, ecn, content)) = self.held[side].packets.pop_front_if(|(due, ..)| *due <= at) {
                active = true;
                match (&mut self.machines, content) {
                    (Machines::Ends(near, far), Content::Datagram(bytes)) => {
                        let end = if side == 0 { near } else { far };
                        end.receive(now, Datagram { bytes, ecn });
                    }
                    (Machines::Tcp { sender, .. }, Content::Ack(ack)) => sender.on_ack(at, &ack),
                    (Machines::Tcp { sink, .. }, Content::Data(data)) => {
                        answers.extend(sink.on_data(at, &data, ecn));
                    }
                    _ => {}
                }
            }
        }
        if !active || at < self.start {
            return;
        }
        let mut outgoing: Vec<(usize, u32, Ecn, Content)> = Vec::new();
        match &mut self.machines {
            Machines::Ends(near, far) => {
                for (side, end) in [&mut *near, &mut *far].into_iter().enumerate() {
                    end.wake(now);
                    while let Some(Datagram { bytes, ecn }) = end.transmit(now) {
                        let size = saturating::<u32>(bytes.len() + HEADERS);
                        outgoing.push((side, size, ecn, Content::Datagram(bytes)));
                    }
                }
                let timers = [near.timeout(), far.timeout()].into_iter().flatten();
                self.due = timers.min().map(|due| epoch.at(due));
            }
            Machines::Tcp { sender, sink, settings, stopped } => {
                if !std::mem::replace(&mut self.begun, true) {
                    sender.start(at);
                }
                if at >= self.stop && !std::mem::replace(stopped, true) {
                    sender.close();
                }
                sender.handle_timeout(at);
                answers.extend(sink.handle_timeout(at));
                while let Some((data, ecn)) = sender.poll_transmit(at) {
                    outgoing.push((0, settings.data_size(data.len), ecn, Content::Data(data)));
                }
                outgoing.extend(
                    answers
                        .into_iter()
                        .map(|ack| (1, settings.ack_size(&ack), Ecn::NotEct, Content::Ack(ack))),
                );
                let stop = Some(self.stop).filter(|_| !*stopped);
                self.due = [sender.poll_timeout(), sink.poll_timeout(), stop].into_iter().flatten().min();
            }
        }
        for (side, size, ecn, payload) in outgoing {
            self.record.sent += u64::from(side == 0);
            let [from, to] = [self.gateways[side], self.gateways[1 - side]];
            let flow = FlowId(number);
            engine.inject(
                at,
                from,
                Outgoing { to, flow, size, ecn, precedence: Precedence::default(), payload },
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use tfrc_sim::tcp::{Settings, Variant};

    use super::*;

    /// Two TCPs on 2 Mbit/s that halve after 20 s: the line is full, nothing waits longer than the
    /// queue is, and each has its part.
    #[test]
    fn tcps_share_a_line() {
        let seconds = Duration::from_secs;
        let [wide, narrow] = [2e6, 1e6].map(Rate::from_bits_per_sec);
        let rates = vec![(Duration::ZERO, wide), (seconds(20), narrow)];
        let flow = |_| Flow {
            pair: Pair::Tcp(Settings::linux(Variant::Cubic)),
            delay: Duration::from_millis(25),
            start: Duration::ZERO,
            stop: seconds(60),
        };
        let bottleneck = Bottleneck { rates, queue: 25_000, jitter: Jitter::default() };
        let mut shared = Shared::new(Instant::now(), &bottleneck, (0..2).map(flow).collect());
        shared.run(seconds(60));
        let records = shared.into_records();
        let bits = |record: &Record, from: u64, to: u64| -> f64 {
            let between = |arrival: &&Arrival| (seconds(from)..seconds(to)).contains(&arrival.at);
            record.arrivals.iter().filter(between).map(|arrival| f64::from(arrival.bytes) * 8.0).sum()
        };
        for (from, to, rate) in [(5, 20, 2e6), (25, 60, 1e6)] {
            let all: f64 =
                records.iter().map(|record| bits(record, from, to)).sum::<f64>() / (to - from) as f64;
            assert!((0.93 * rate..=1.001 * rate).contains(&all), "{all} of {rate}");
        }
        for record in &records {
            assert!(bits(record, 25, 60) > 0.2 * 35e6, "a share");
            let longest = record.arrivals.iter().map(|arrival| arrival.waited).max().expect("some");
            // 25 kB and a packet at 1 Mbit/s.
            assert!(longest <= Duration::from_millis(225), "{longest}");
            assert!(record.sent > saturating::<u64>(record.arrivals.len()), "losses");
        }
    }

    /// Delays within their bounds, with the mean and deviation of the distribution, in order.
    #[test]
    fn jitter_keeps_the_order() {
        let most = Duration::from_millis(30);
        let mut held = Held::new(Jitter { most, seed: 1 }, 0);
        let delays: Vec<f64> = (0..10_000).map(|_| held.delay().as_secs_f64() * 1e3).collect();
        let mean = delays.iter().sum::<f64>() / 1e4;
        let deviation = (delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / 1e4).sqrt();
        assert!(delays.iter().all(|delay| (0.0..=30.0).contains(delay)));
        assert!((14.8..=15.2).contains(&mean) && (4.8..=5.1).contains(&deviation), "{mean}, {deviation}");
        let start = tfrc_units::Instant::from_nanos(0);
        let datagram = || Content::Datagram(Vec::new());
        let due: Vec<_> =
            (0..100).map(|n| held.hold(start + Duration::from_millis(n), Ecn::NotEct, datagram())).collect();
        assert!(due.is_sorted(), "{due:?}");
        assert!(due.iter().any(|at| *at > start + most), "held up");
    }
}
