//! Packets that are put on two lines at once, and events whose state is read ahead among many
//! agents: nothing that can be read depends on it, on any network and at any time.

use proptest::prelude::*;
use tfrc_sim::network::LinkChange;
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{CoDel, Limit, Marking, Queue, Red};
use tfrc_sim::trace::Tracing;
use tfrc_sim::{
    Address, Agent, AgentId, Context, Engine, LinkId, LinkSpec, Network, NodeId, Packet, Seed, TimerKey,
};
use tfrc_units::{Duration, Ecn, Instant, Rate};

/// Sends packets to its peers in turn, at uneven times, and answers every second that it gets.
#[derive(Debug, Clone)]
struct Talker {
    peers: Vec<Address>,
    gap: Duration,
    sent: u32,
    got: Vec<(u64, u32, bool)>,
}

fn outgoing(to: Address, size: u32, payload: u32) -> Outgoing<u32> {
    let ecn = if payload.is_multiple_of(3) { Ecn::Ect0 } else { Ecn::NotEct };
    Outgoing { to, flow: FlowId(payload % 5), size, ecn, precedence: Precedence::Low, payload }
}

impl Agent for Talker {
    type Payload = u32;

    fn on_packet(&mut self, now: Instant, packet: Packet<u32>, context: &mut Context<'_, u32>) {
        let Packet { header, payload } = packet;
        self.got.push((now.as_nanos(), payload, header.ecn == Ecn::Ce));
        if payload.is_multiple_of(2) {
            context.send(outgoing(header.src, 40, payload + 1));
        }
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, u32>) {
        if let Some(to) = self.peers.get(self.sent as usize % self.peers.len().max(1)).copied() {
            // Bursts of up to three.
            for _ in 0..=self.sent % 3 {
                context.send(outgoing(to, 300 + self.sent % 7 * 100, self.sent * 2));
            }
            self.sent += 1;
            context.set_timer(key, now + self.gap * u64::from(1 + self.sent % 4));
        }
    }
}

/// One line of a random network, both ways.
#[derive(Debug, Clone)]
struct Wire {
    rate: usize,
    delay: usize,
    queue: usize,
    changes: bool,
}

#[derive(Debug, Clone)]
struct Plan {
    /// Lines between the routers, each to an earlier one.
    routers: Vec<(usize, Wire)>,
    /// A host each, with the router that it is at.
    hosts: Vec<(usize, Wire)>,
    /// Senders: node, peers (hosts and routers), gap in tenths of a millisecond.
    senders: Vec<(usize, Vec<usize>, u64)>,
    /// Acts of the engine's host: time (ms), link, kind.
    acts: Vec<(u64, usize, usize)>,
    /// Times between readings, in microseconds.
    reads: Vec<u64>,
}

fn wire() -> impl Strategy<Value = Wire> {
    (0_usize..6, 0_usize..5, 0_usize..8, prop::bool::weighted(0.05))
        .prop_map(|(rate, delay, queue, changes)| Wire { rate, delay, queue, changes })
}

fn plan() -> impl Strategy<Value = Plan> {
    let routers = prop::collection::vec((0_usize..9, wire()), 1..4);
    let hosts = prop::collection::vec((0_usize..9, wire()), 2..8);
    let senders =
        prop::collection::vec((0_usize..20, prop::collection::vec(0_usize..20, 1..4), 1_u64..60), 1..9);
    let acts = prop::collection::vec((0_u64..150, 0_usize..40, 0_usize..12), 0..3);
    let reads = prop::collection::vec(1_u64..30_000, 1..12);
    (routers, hosts, senders, acts, reads).prop_map(|(routers, hosts, senders, acts, reads)| Plan {
        routers,
        hosts,
        senders,
        acts,
        reads,
    })
}

fn spec(name: &str, from: NodeId, to: NodeId, wire: &Wire) -> LinkSpec {
    let rate = [1e6, 3e6, 10e6, 100e6, f64::INFINITY, 7.3e6][wire.rate];
    let delay = [0, 1, 500_000, 2_000_000, 5_000_001][wire.delay];
    let queue = match wire.queue {
        2 if rate == f64::INFINITY => Queue::DropTail(Limit::Unlimited),
        0 => Queue::DropTail(Limit::Packets(3)),
        1 => Queue::DropTail(Limit::Bytes(2500)),
        2 => Queue::Red(Red { marking: Marking::On, ..Red::new(Limit::Packets(20)) }),
        3 => Queue::CoDel(CoDel::new(Limit::Packets(20))),
        _ => Queue::DropTail(Limit::Unlimited),
    };
    let changes = if wire.changes {
        vec![LinkChange::of_rate(Instant::from_nanos(40_000_000), Rate::from_bits_per_sec(2e6))]
    } else {
        Vec::new()
    };
    let spec = LinkSpec::new(name, from, to, Rate::from_bits_per_sec(rate), Duration::from_nanos(delay));
    LinkSpec { queue, changes, ..spec }
}

fn build(plan: &Plan) -> (Engine<Talker>, Vec<AgentId>) {
    let mut network = Network::new();
    let mut nodes = vec![network.node("router 0").unwrap()];
    let routers = plan.routers.len() + 1;
    let lines = plan.routers.iter().chain(&plan.hosts);
    for (number, (at, wire)) in lines.enumerate() {
        let node = network.node(&format!("node {number}")).unwrap();
        let other = nodes[at % nodes.len().min(routers)];
        network.link(spec(&format!("{number} down"), other, node, wire)).unwrap();
        network.link(spec(&format!("{number} up"), node, other, wire)).unwrap();
        nodes.push(node);
    }
    let mut engine = network.build(Seed(7));
    let talker = || Talker { peers: Vec::new(), gap: Duration::ZERO, sent: 0, got: Vec::new() };
    let mut agents: Vec<AgentId> = nodes.iter().map(|node| engine.attach(*node, talker()).unwrap()).collect();
    let places: Vec<Address> = agents.iter().map(|id| engine.address(*id).unwrap()).collect();
    for (at, peers, gap) in &plan.senders {
        let peers = peers.iter().map(|peer| places[peer % places.len()]).collect();
        let gap = Duration::from_micros(100 * gap);
        let id = engine.attach(nodes[at % nodes.len()], Talker { peers, gap, ..talker() }).unwrap();
        engine.set_timer(id, TimerKey::First, Instant::ZERO + gap);
        agents.push(id);
    }
    (engine, agents)
}

/// All that can be read of an engine.
fn reading(engine: &Engine<Talker>, agents: &[AgentId]) -> String {
    let links: Vec<LinkId> = engine.link_ids().collect();
    let stats: Vec<_> = links.iter().map(|id| (engine.link_stats(*id), engine.queue_state(*id))).collect();
    let dropped: Vec<_> = agents.iter().map(|id| engine.dropped_from(engine.address(*id).unwrap())).collect();
    let talk: Vec<_> = agents.iter().map(|id| engine.agent(*id)).collect();
    let hops = (engine.packet_hops(), engine.in_flight(), engine.stranded());
    format!("{:?}\n{hops:?}\n{stats:#?}\n{dropped:?}\n{:?}\n{talk:#?}", engine.now(), engine.drops())
}

fn delay(ns: u64) -> LinkChange {
    LinkChange { delay: Some(Duration::from_nanos(ns)), ..LinkChange::default() }
}

/// How the engine goes about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    Usual,
    /// With an event for each hop.
    EveryHop,
    /// With 1,100 idle agents beside the others: the next events are read ahead.
    Crowded,
}

/// The readings of a run.
fn readings(plan: &Plan, course: Course) -> Vec<String> {
    let (mut engine, agents) = build(plan);
    engine.keep_drops();
    match course {
        Course::Usual => {}
        Course::EveryHop => engine.see_all_hops(),
        Course::Crowded => {
            let node = engine.address(agents[0]).unwrap().node();
            for _ in 0..1100 {
                let idle = Talker { peers: Vec::new(), gap: Duration::ZERO, sent: 0, got: Vec::new() };
                engine.attach(node, idle).unwrap();
            }
        }
    }
    let links: Vec<LinkId> = engine.link_ids().collect();
    let mut acts = plan.acts.clone();
    acts.sort_unstable();
    let mut acts = acts.into_iter().peekable();
    let mut readings = Vec::new();
    for us in plan.reads.iter().scan(0, |at, us| {
        *at += us;
        Some(*at)
    }) {
        let at = Instant::ZERO + Duration::from_micros(us);
        while let Some((_, link, act)) = acts.next_if(|(ms, ..)| ms * 1000 <= us) {
            let link = links[link % links.len()];
            match act {
                0 => engine.set_tracing(Tracing::Keep),
                1 => engine.set_tracing(Tracing::Off),
                2 => engine.change(link, delay(20_000_000)),
                3 => engine.change(link, LinkChange { limit: Some(Limit::Packets(2)), ..delay(300) }),
                _ => engine
                    .set_rate(link, Rate::from_bits_per_sec(f64::from(u32::try_from(act).unwrap()) * 5e5)),
            }
            // The host may send at the moment of a change.
            let agent = agents[act % agents.len()];
            engine.set_timer(agent, TimerKey::Second, engine.now());
        }
        engine.run_until(at);
        readings.push(reading(&engine, &agents));
    }
    readings
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn nothing_depends_on_the_course_of_the_engine(plan in plan()) {
        let some = readings(&plan, Course::Usual);
        for course in [Course::EveryHop, Course::Crowded] {
            for (some, other) in some.iter().zip(&readings(&plan, course)) {
                prop_assert!(some == other, "{course:?}: {}", difference(some, other));
            }
        }
        // Looking in between changes nothing.
        let end = plan.reads.iter().sum();
        if plan.acts.is_empty() {
            let once = Plan { reads: vec![end], ..plan.clone() };
            let once = readings(&once, Course::Usual);
            prop_assert_eq!(once.last(), some.last());
        }
    }
}

/// The first lines that differ.
fn difference(some: &str, every: &str) -> String {
    let lines = some.lines().zip(every.lines()).enumerate().filter(|(_, (a, b))| a != b);
    lines.take(6).map(|(n, (a, b))| format!("{n}: {a} | {b}\n")).collect()
}

/// The network of the property in its plainest form, with fewer events than hops: the saving
/// itself.
#[test]
fn a_packet_for_a_private_line_costs_one_event_less() {
    let wire = Wire { rate: 2, delay: 3, queue: 4, changes: false };
    let plan = Plan {
        routers: vec![(0, wire.clone())],
        hosts: vec![(0, wire.clone()), (1, wire)],
        senders: vec![(2, vec![3], 10)],
        acts: Vec::new(),
        reads: vec![200_000],
    };
    let events = |every_hop| {
        let (mut engine, agents) = build(&plan);
        if every_hop {
            engine.see_all_hops();
        }
        let (mut events, end) = (0_u64, Instant::from_nanos(200_000_000));
        while let Some(next) = engine.poll_timeout().filter(|next| *next <= end) {
            engine.run_until(next);
            events += 1;
        }
        engine.run_until(end);
        (events, engine.packet_hops(), agents.len())
    };
    let ((some, hops, agents), (every, all_hops, _)) = (events(false), events(true));
    assert_eq!((hops, agents), (all_hops, 5));
    // Of three hops of a packet the last two share an event, both ways.
    assert!(hops > 300 && some + hops / 3 - 20 < every, "{some} {every} {hops}");
}
