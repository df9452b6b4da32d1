//! Agents in a dumbbell: conservation, repeatability, independence, timers.

use std::fmt::Write as _;

use proptest::prelude::*;
use tfrc_sim::loss::Loss;
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::trace::Tracing;
use tfrc_sim::{Address, Agent, AgentId, Context, Engine, LinkSpec, Network, Packet, Seed, TimerKey};
use tfrc_units::Ecn;
use tfrc_units::{Duration, Instant, Probability, Rate};

const SEND: TimerKey = TimerKey::First;

/// Sends `left` numbered packets every `gap`; returns what it is sent, counting.
struct Chatter {
    peer: Option<Address>,
    flow: FlowId,
    gap: Duration,
    left: u32,
    sent: u32,
    received: Vec<u32>,
}

impl Agent for Chatter {
    type Payload = u32;

    fn on_packet(&mut self, _: Instant, packet: Packet<u32>, context: &mut Context<'_, u32>) {
        self.received.push(packet.payload);
        if self.peer.is_none() {
            let Packet { header, payload } = packet;
            context.send(Outgoing {
                to: header.src,
                flow: header.flow,
                size: 40,
                ecn: Ecn::NotEct,
                precedence: Precedence::Low,
                payload,
            });
        }
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, u32>) {
        assert_eq!(key, SEND);
        if let Some(to) = self.peer
            && self.left > 0
        {
            self.left -= 1;
            context.send(Outgoing {
                to,
                flow: self.flow,
                size: 1000,
                ecn: Ecn::NotEct,
                precedence: Precedence::Low,
                payload: self.sent,
            });
            self.sent += 1;
            context.set_timer(SEND, now + self.gap);
        }
    }
}

struct Dumbbell {
    engine: Engine<Chatter>,
    sources: Vec<AgentId>,
    sinks: Vec<AgentId>,
}

fn dumbbell(pairs: u32, packets: u32, queue: u64, loss: f64, seed: u64) -> Dumbbell {
    let mut network = Network::new();
    let left = network.node("left").unwrap();
    let right = network.node("right").unwrap();
    let ms = Duration::from_millis;
    let bottleneck = LinkSpec {
        queue: Queue::DropTail(Limit::Packets(queue)),
        loss: Loss::Bernoulli(Probability::saturating(loss)),
        ..LinkSpec::new("bottleneck", left, right, Rate::from_bits_per_sec(2e6), ms(10))
    };
    network.link(bottleneck).unwrap();
    network.link(LinkSpec::new("back", right, left, Rate::from_bits_per_sec(2e6), ms(10))).unwrap();
    let mut ends = Vec::new();
    for i in 0..pairs {
        let a = network.node(&format!("a{i}")).unwrap();
        let b = network.node(&format!("b{i}")).unwrap();
        for (from, to) in [(a, left), (left, a), (b, right), (right, b)] {
            let name = format!("access {}", network.links().count());
            network.link(LinkSpec::new(&name, from, to, Rate::from_bits_per_sec(1e8), ms(1))).unwrap();
        }
        ends.push((a, b));
    }
    let mut engine = network.build(Seed(seed));
    let (mut sources, mut sinks) = (Vec::new(), Vec::new());
    for (i, (a, b)) in (0..).zip(ends) {
        let chatter = |peer| Chatter {
            peer,
            flow: FlowId(i),
            gap: Duration::from_micros(5000 + 700 * u64::from(i)),
            left: packets,
            sent: 0,
            received: Vec::new(),
        };
        let sink = engine.attach(b, chatter(None)).unwrap();
        let source = engine.attach(a, chatter(engine.address(sink))).unwrap();
        engine.set_timer(source, SEND, Instant::from_nanos(u64::from(i) * 1_000_000));
        sources.push(source);
        sinks.push(sink);
    }
    Dumbbell { engine, sources, sinks }
}

fn trace(seed: u64) -> String {
    let mut run = dumbbell(3, 200, 5, 0.1, seed);
    run.engine.set_tracing(Tracing::Keep);
    run.engine.run_until(Instant::ZERO + Duration::from_secs(10));
    let mut text = String::new();
    for record in run.engine.take_records() {
        writeln!(text, "{record}").unwrap();
    }
    text
}

#[test]
fn same_seed_same_trace() {
    let first = trace(1);
    assert!(first.contains("overflow #0") && first.contains("lost #0") && first.contains("received"));
    assert!(first == trace(1));
    assert!(first != trace(2));
}

#[test]
fn engines_side_by_side_do_not_disturb_each_other() {
    let mut one = dumbbell(2, 100, 5, 0.1, 1);
    let mut other = dumbbell(2, 100, 5, 0.1, 1);
    // One in a single stride, the other in small steps between the steps of a third.
    let mut third = dumbbell(2, 100, 5, 0.1, 9);
    let end = Instant::ZERO + Duration::from_secs(5);
    one.engine.run_until(end);
    while other.engine.now() < end {
        let next = other.engine.now() + Duration::from_micros(777);
        other.engine.run_until(next.min(end));
        third.engine.run_until(next);
    }
    for (a, b) in one.sinks.iter().zip(&other.sinks) {
        assert_eq!(one.engine.agent(*a).unwrap().received, other.engine.agent(*b).unwrap().received);
    }
}

#[test]
fn fifo_paths_keep_the_order() {
    let mut run = dumbbell(4, 500, 20, 0.0, 1);
    run.engine.run_until(Instant::ZERO + Duration::from_secs(20));
    for sink in run.sinks {
        let received = &run.engine.agent(sink).unwrap().received;
        assert!(!received.is_empty() && received.is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn a_new_link_moves_nobody_elses_draws() {
    // Three pairs or four: the extra links must not change which of the first packets the
    // bottleneck loses. The fourth pair's source never starts.
    let lost = |pairs| {
        let mut run = dumbbell(pairs, 100, 1000, 0.2, 5);
        for source in run.sources.iter().skip(1) {
            run.engine.set_timer(*source, SEND, Instant::ZERO + Duration::from_secs(1_000_000));
        }
        run.engine.run_until(Instant::ZERO + Duration::from_secs(10));
        run.engine.agent(run.sinks[0]).unwrap().received.clone()
    };
    let alone = lost(1);
    assert!(alone.len() < 100);
    assert_eq!(alone, lost(4));
}

#[test]
fn the_route_across_the_dumbbell() {
    let run = dumbbell(2, 0, 5, 0.0, 1);
    let node = |id: AgentId| run.engine.address(id).unwrap().node();
    let path = |a, b| run.engine.route(node(a), node(b)).iter().map(ToString::to_string).collect::<Vec<_>>();
    // Links 0 and 1 are the bottleneck; then four access links for each pair.
    assert_eq!(path(run.sources[1], run.sinks[1]), ["#6", "#0", "#9"]);
    assert_eq!(path(run.sinks[0], run.sources[0]), ["#4", "#1", "#3"]);
}

/// Sets its timers in the awkward ways.
#[derive(Default)]
struct Clockwork {
    fired: Vec<(u64, TimerKey)>,
}

impl Agent for Clockwork {
    type Payload = ();

    fn on_packet(&mut self, _: Instant, _: Packet<()>, _: &mut Context<'_, ()>) {}

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, ()>) {
        let ns = Instant::from_nanos;
        self.fired.push((now.as_nanos(), key));
        if key == TimerKey::First && self.fired.len() == 1 {
            context.set_timer(TimerKey::Second, ns(100));
            context.set_timer(TimerKey::Second, ns(300)); // put off
            context.set_timer(TimerKey::Third, ns(500));
            context.set_timer(TimerKey::Third, ns(200)); // brought forward
            context.set_timer(TimerKey::Fourth, ns(150));
            context.cancel_timer(TimerKey::Fourth);
            context.set_timer(TimerKey::First, ns(5)); // past: at once
            assert_eq!(context.timer(TimerKey::Second), Some(ns(300)));
            assert_eq!(context.timer(TimerKey::Fourth), None);
        }
    }
}

#[test]
fn timers_put_off_brought_forward_and_cancelled() {
    let mut network = Network::new();
    let node = network.node("only").unwrap();
    let mut engine = network.build(Seed(1));
    let id = engine.attach(node, Clockwork::default()).unwrap();
    engine.set_timer(id, TimerKey::First, Instant::from_nanos(10));
    engine.run_until(Instant::from_nanos(1000));
    use TimerKey::{First, Second, Third};
    assert_eq!(engine.agent(id).unwrap().fired, [(10, First), (10, First), (200, Third), (300, Second)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Every packet is somewhere, at any moment and with any mix of loss and overflow.
    #[test]
    fn packets_are_conserved(
        pairs in 1u32..5,
        packets in 0u32..300,
        queue in 0u64..12,
        loss in 0.0f64..0.4,
        seed: u64,
        stop_ms in 0u64..3000,
    ) {
        let mut run = dumbbell(pairs, packets, queue, loss, seed);
        run.engine.run_until(Instant::ZERO + Duration::from_millis(stop_ms));
        let engine = &run.engine;
        let total = |ids: &[AgentId], f: fn(&Chatter) -> usize| -> u64 {
            ids.iter().map(|id| f(engine.agent(*id).unwrap()) as u64).sum()
        };
        let sent = total(&run.sources, |a| a.sent as usize) + total(&run.sinks, |a| a.received.len());
        let received = total(&run.sources, |a| a.received.len()) + total(&run.sinks, |a| a.received.len());
        let (mut dropped, mut on_links, mut crossed) = (0, 0, 0);
        for id in (0..2 + 4 * pairs).map(|i| network_link(engine, i)) {
            let s = engine.link_stats(id).unwrap();
            prop_assert_eq!(
                s.arrivals.packets,
                s.lost.packets + s.overflowed.packets + s.departures.packets + s.queued.packets
            );
            prop_assert_eq!(
                s.arrivals.bytes,
                s.lost.bytes + s.overflowed.bytes + s.departures.bytes + s.queued.bytes
            );
            prop_assert!(s.queued.packets <= queue + 1 || id != network_link(engine, 0));
            dropped += s.lost.packets + s.overflowed.packets;
            on_links += s.queued.packets + s.departures.packets - s.crossed.packets;
            crossed += s.crossed.packets;
        }
        prop_assert_eq!(sent, received + dropped + on_links);
        prop_assert_eq!(engine.in_flight(), on_links);
        prop_assert_eq!(engine.packet_hops(), crossed);
        prop_assert_eq!(engine.stranded(), 0);
    }
}

/// The id of the i-th link of the dumbbell.
fn network_link(engine: &Engine<Chatter>, i: u32) -> tfrc_sim::LinkId {
    engine.link_ids().nth(i as usize).unwrap()
}
