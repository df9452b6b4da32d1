//! Links that follow a delivery trace: times, limits and counters worked out by hand.

use std::sync::Arc;

use tfrc_sim::link::{DeliveryTrace, LinkStats};
use tfrc_sim::network::{LinkChange, NetworkError};
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{CoDel, Limit, Queue};
use tfrc_sim::{Address, Engine, LinkId, LinkSpec, Network, NoAgent, Seed};
use tfrc_units::{Duration, Ecn, Instant, Rate};

fn at_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn trace(text: &str) -> Arc<DeliveryTrace> {
    Arc::new(DeliveryTrace::parse(text).unwrap())
}

/// A link of 10 ms of propagation, and its ends.
struct Line {
    engine: Engine<NoAgent<u32>>,
    link: LinkId,
    near: Address,
    far: Address,
}

impl Line {
    fn new(opportunities: &str, queue: Queue) -> Self {
        let mut network = Network::new();
        let (a, b) = (network.node("a").unwrap(), network.node("b").unwrap());
        let spec = LinkSpec::traced("a-b", a, b, trace(opportunities), Duration::from_millis(10));
        let link = network.link(LinkSpec { queue, ..spec }).unwrap();
        let mut engine = network.build(Seed(1));
        let (near, far) = (engine.gateway(a).unwrap(), engine.gateway(b).unwrap());
        Self { engine, link, near, far }
    }

    fn send(&mut self, us: u64, size: u32, payload: u32) {
        let (to, flow) = (self.far, FlowId(0));
        let packet = Outgoing { to, flow, size, ecn: Ecn::NotEct, precedence: Precedence::Low, payload };
        self.engine.inject(at_us(us), self.near, packet);
    }

    /// Times in microseconds and payloads.
    fn arrivals(&mut self, until_us: u64) -> Vec<(u64, u32)> {
        self.engine.run_until(at_us(until_us));
        std::iter::from_fn(|| self.engine.poll_delivery(self.far))
            .map(|delivery| (delivery.at.as_nanos() / 1000, delivery.packet.payload))
            .collect()
    }

    fn stats(&self) -> LinkStats {
        self.engine.link_stats(self.link).unwrap()
    }
}

/// Queues that drop nothing here: one that times packets as they come, and one that takes them as
/// they leave.
fn queues() -> [Queue; 2] {
    [Queue::DropTail(Limit::Unlimited), Queue::CoDel(CoDel::new(Limit::Unlimited))]
}

#[test]
fn bytes_left_over_go_to_the_next_packet() {
    for queue in queues() {
        // 1504 bytes at 5, 10, 10 and 20 ms, and again from there.
        let mut line = Line::new("5\n10\n10\n20\n", queue);
        for (payload, size) in [(1, 1000), (2, 1000), (3, 1000), (4, 1508), (5, 5), (6, 1504)] {
            line.send(0, size, payload);
        }
        // 2 has 504 bytes at 5 ms and the rest at 10 ms, and 5 the last 4 bytes there. Its fifth
        // goes at 20 ms and leaves 1503 of them to 6, whose last byte goes at 25 ms, in the next
        // period.
        let expected = [(15_000, 1), (20_000, 2), (20_000, 3), (20_000, 4), (30_000, 5), (35_000, 6)];
        assert_eq!(line.arrivals(100_000), expected);
        assert_eq!(line.stats().departures.bytes, 4508 + 5 + 1504);
    }
}

#[test]
fn bytes_that_find_no_packet_are_lost() {
    for queue in queues() {
        let mut line = Line::new("5\n10\n", queue);
        line.send(0, 100, 1);
        // At the very moment of an opportunity its rest is there still, a moment later it is not.
        line.send(5_000, 1404, 2);
        line.send(5_000, 1, 3);
        line.send(10_001, 1504, 4);
        line.send(10_001, 1, 5);
        let expected = [(15_000, 1), (15_000, 2), (20_000, 3), (25_000, 4), (30_000, 5)];
        assert_eq!(line.arrivals(100_000), expected);
    }
}

#[test]
fn a_limit_counts_the_packets_that_wait() {
    for queue in [Queue::DropTail(Limit::Packets(2)), Queue::CoDel(CoDel::new(Limit::Packets(2)))] {
        let mut line = Line::new("10\n", queue);
        for payload in 1..=3 {
            line.send(0, 1500, payload);
        }
        // At 15 ms the second has 4 bytes behind it and is in transmission; the queue is empty. It
        // leaves 8 bytes at 20 ms, too few for the fourth.
        for payload in 4..=6 {
            line.send(15_000, 100, payload);
        }
        assert_eq!(line.arrivals(100_000), [(20_000, 1), (30_000, 2), (40_000, 4), (40_000, 5)]);
        assert_eq!(line.stats().overflowed.packets, 2);
    }
}

#[test]
fn a_queue_without_place_takes_a_packet_on_an_idle_line() {
    for queue in [Queue::DropTail(Limit::Packets(0)), Queue::CoDel(CoDel::new(Limit::Packets(0)))] {
        let mut line = Line::new("10\n", queue);
        for (us, payload) in [(1_000, 1), (2_000, 2), (10_001, 3)] {
            line.send(us, 1000, payload);
        }
        assert_eq!(line.arrivals(100_000), [(20_000, 1), (30_000, 3)]);
    }
}

/// A link that always has a packet uses every byte; the counters of an interval are of its own
/// opportunities.
#[test]
fn utilization_is_the_share_of_the_bytes_allowed() {
    let mut line = Line::new("1\n2\n2\n3\n8\n", Queue::DropTail(Limit::Unlimited));
    for payload in 0..100 {
        line.send(0, 1504, payload);
    }
    line.engine.run_until(at_us(80_000));
    let full = line.stats();
    assert_eq!(full.capacity, Some(50 * 1504));
    assert!((full.utilization() - 1.0).abs() < 1e-12);
    // From 160 ms on nothing is left of the packets, and from 200 ms on a fifth of the bytes is
    // used.
    line.engine.run_until(at_us(200_000));
    let before = line.stats();
    for period in 25..50 {
        line.send(period * 8_000 + 2_500, 1504, 0);
    }
    line.engine.run_until(at_us(400_000));
    let since = line.stats().since(&before);
    assert_eq!(since.capacity, Some(125 * 1504));
    assert!((since.utilization() - 0.2).abs() < 1e-12, "{}", since.utilization());
    assert!(line.stats().mean_queue_packets() > 0.0);
}

#[test]
fn a_trace_and_rate_changes_exclude_each_other() {
    let mut network = Network::new();
    let (a, b) = (network.node("a").unwrap(), network.node("b").unwrap());
    let changes = vec![LinkChange::of_rate(at_us(1), Rate::ZERO)];
    let spec = LinkSpec { changes, ..LinkSpec::traced("a-b", a, b, trace("1\n"), Duration::ZERO) };
    assert_eq!(network.link(spec), Err(NetworkError::TraceAndChanges("a-b".to_owned())));
}
