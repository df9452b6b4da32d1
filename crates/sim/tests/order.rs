//! The order of events at one time: no flow comes first for its number, and what happens does not
//! depend on the order in which the parts of a network were added.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::tcp::{Settings, Variant};
use tfrc_sim::traffic::{Peer, TcpSetup, TcpSink, TcpSource, Timetable, Traffic};
use tfrc_sim::{Address, Agent, AgentId, Context, Engine, LinkSpec, Network, NodeId, Packet, Seed, TimerKey};
use tfrc_units::{Duration, Ecn, Instant, Rate};

fn ms(x: u64) -> Duration {
    Duration::from_millis(x)
}

/// A network in which each flow has a line of its own to a queue of few packets that all share. The
/// flows are added in the order of `names`, before or behind the shared link.
fn hosts(names: &[String], queue: u64, shared: Shared) -> (Network, Vec<(NodeId, NodeId)>) {
    let mut network = Network::new();
    let (left, right) = (network.node("left").unwrap(), network.node("right").unwrap());
    let share = |network: &mut Network| {
        let line = LinkSpec::new("shared", left, right, Rate::from_bits_per_sec(4e6), ms(10));
        network.link(LinkSpec { queue: Queue::DropTail(Limit::Packets(queue)), ..line }).unwrap();
        network.link(LinkSpec::new("back", right, left, Rate::from_bits_per_sec(4e6), ms(10))).unwrap();
    };
    if shared == Shared::First {
        share(&mut network);
    }
    let mut ends = Vec::new();
    for name in names {
        let [from, to] = ["from", "to"].map(|end| network.node(&format!("{name}/{end}")).unwrap());
        for (a, b, what) in
            [(from, left, "up"), (left, from, "up back"), (right, to, "down"), (to, right, "down back")]
        {
            let rate = Rate::from_bits_per_sec(40e6);
            network.link(LinkSpec::new(&format!("{name}/{what}"), a, b, rate, ms(1))).unwrap();
        }
        ends.push((from, to));
    }
    if shared == Shared::Last {
        share(&mut network);
    }
    (network, ends)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shared {
    First,
    Last,
}

/// Sends a packet each period to its peer, if it has one, and counts what it gets.
struct Metronome {
    peer: Option<Address>,
    got: u32,
}

impl Agent for Metronome {
    type Payload = ();

    fn on_packet(&mut self, _: Instant, _: Packet<()>, _: &mut Context<'_, ()>) {
        self.got += 1;
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, ()>) {
        let Some(to) = self.peer else { return };
        let (flow, ecn, precedence) = (FlowId(0), Ecn::NotEct, Precedence::Low);
        context.send(Outgoing { to, flow, size: 1000, ecn, precedence, payload: () });
        context.set_timer(key, now + ms(16));
    }
}

/// Packets of each flow that arrive in `rounds` rounds, in each of which all flows send at once and
/// half of the packets find room.
fn tied(names: &[String], shared: Shared, rounds: u64) -> BTreeMap<String, u32> {
    let queue = u64::try_from(names.len()).unwrap() / 2 - 1;
    let (network, ends) = hosts(names, queue, shared);
    let mut engine: Engine<Metronome> = network.build(Seed(1));
    let mut sinks = Vec::new();
    for (from, to) in ends {
        let sink = engine.attach(to, Metronome { peer: None, got: 0 }).unwrap();
        let source = engine.attach(from, Metronome { peer: engine.address(sink), got: 0 }).unwrap();
        engine.set_timer(source, TimerKey::First, Instant::ZERO);
        sinks.push(sink);
    }
    engine.run_until(Instant::ZERO + ms(16) * rounds);
    let got = |id: AgentId| engine.agent(id).unwrap().got;
    names.iter().cloned().zip(sinks.into_iter().map(got)).collect()
}

/// Puts its first timer off to the present until another one has come.
struct Waiting {
    woken: bool,
    asked: u32,
}

impl Agent for Waiting {
    type Payload = ();

    fn on_packet(&mut self, _: Instant, _: Packet<()>, _: &mut Context<'_, ()>) {}

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, ()>) {
        if key == TimerKey::Second {
            self.woken = true;
        } else if !self.woken {
            self.asked += 1;
            assert!(self.asked < 3, "what is made now comes after what was there");
            context.set_timer(key, now);
        }
    }
}

#[test]
fn an_answer_at_once_keeps_nobody_waiting() {
    let mut network = Network::new();
    let node = network.node("only").unwrap();
    let mut engine = network.build(Seed(1));
    let mut ids = Vec::new();
    // Whichever of the two timers comes first at each of these times.
    for ms in 1..40 {
        let id = engine.attach(node, Waiting { woken: false, asked: 0 }).unwrap();
        let at = Instant::ZERO + Duration::from_millis(ms);
        engine.set_timer(id, TimerKey::First, at);
        engine.set_timer(id, TimerKey::Second, at);
        ids.push(id);
    }
    engine.run_until(Instant::ZERO + ms(100));
    let first = ids.iter().filter(|id| engine.agent(**id).unwrap().asked > 0).count();
    assert!((5..35).contains(&first), "both orders occur: {first}");
}

fn names(count: usize) -> Vec<String> {
    (1..=count).map(|i| format!("flow-{i}")).collect()
}

#[test]
fn each_flow_wins_half_of_its_ties() {
    let rounds = 2000;
    let got = tied(&names(8), Shared::First, rounds);
    assert_eq!(got.values().sum::<u32>(), 8000 - 3, "half of all; three of the last round are on their way");
    for (name, packets) in got {
        // Half of 2000, within five standard deviations of independent draws (22.4).
        assert!((888..=1112).contains(&packets), "{name} {packets}");
    }
}

/// Bytes that each of six TCPs delivers in 20 s through a queue of five packets, named by their
/// place in `order`, and all that can be read of them. They send all they can at once: ties in the
/// queue are common.
fn shares(order: &[usize], names: &[String], seed: u64) -> (Vec<f64>, String) {
    let added: Vec<String> = order.iter().map(|i| names[*i].clone()).collect();
    let (network, ends) = hosts(&added, 5, Shared::First);
    let mut engine: Engine<Traffic> = network.build(Seed(seed));
    let settings = Settings::rfc(Variant::Sack);
    let mut sinks = vec![None; names.len()];
    for ((place, name), (from, to)) in order.iter().zip(&added).zip(ends) {
        let sink = engine.attach(to, Traffic::TcpSink(Box::new(TcpSink::new(&settings)))).unwrap();
        let setup = TcpSetup {
            settings,
            timetable: Timetable::default(),
            peer: Peer { to: engine.address(sink).unwrap(), flow: FlowId(u32::try_from(*place).unwrap()) },
            stop: None,
            overhead: Duration::from_micros(100),
            stream: Seed(seed).stream(name),
        };
        let source = engine.attach(from, Traffic::TcpSource(Box::new(TcpSource::new(setup)))).unwrap();
        engine.set_timer(source, TimerKey::First, Instant::ZERO);
        sinks[*place] = Some(sink);
    }
    engine.run_until(Instant::ZERO + Duration::from_secs(20));
    let mut text = String::new();
    let mut bytes = Vec::new();
    for sink in sinks.into_iter().flatten() {
        let Some(Traffic::TcpSink(agent)) = engine.agent(sink) else { panic!("a sink") };
        bytes.push(f64::from(u32::try_from(agent.sink().stats().delivered_bytes).unwrap()));
        writeln!(text, "{:?}", agent.sink().stats()).unwrap();
    }
    writeln!(text, "{:?}", engine.link_stats(engine.link_ids().next().unwrap())).unwrap();
    let all: f64 = bytes.iter().sum();
    (bytes.into_iter().map(|one| one / all).collect(), text)
}

/// Mean over the runs of the largest deviation of a share from the mean share of its place.
fn spread(runs: &[Vec<f64>]) -> f64 {
    let count = runs.len() as f64;
    let mean = |place: usize| runs.iter().map(|run| run[place]).sum::<f64>() / count;
    let most = |run: &Vec<f64>| (0..run.len()).map(|i| (run[i] - mean(i)).abs()).fold(0.0, f64::max);
    runs.iter().map(most).sum::<f64>() / count
}

#[test]
fn other_names_change_shares_no_more_than_other_seeds() {
    let (all, places) = (names(6), [0, 1, 2, 3, 4, 5]);
    let seeds: Vec<Vec<f64>> = (1..=16).map(|seed| shares(&places, &all, seed).0).collect();
    // Each flow under the name of another one, with the draws that go with the name left at one
    // seed: only the names differ.
    let renamed: Vec<Vec<f64>> = (0..16)
        .map(|i| {
            let names: Vec<String> = (0..6).map(|flow| format!("run {i} flow {flow}")).collect();
            shares(&places, &names, 1).0
        })
        .collect();
    let (by_seed, by_name) = (spread(&seeds), spread(&renamed));
    // Of sixteen runs each; the ratio of two such means of one population is within 0.65..1.54 in
    // 99 % of draws if a deviation varies by half of itself.
    assert!((0.6..1.6).contains(&(by_name / by_seed)), "{by_name} {by_seed}");
    // No place wins: a share's mean over the runs is a sixth within three standard errors, about
    // the mean largest deviation times 3 / sqrt(16).
    for runs in [&seeds, &renamed] {
        for place in places {
            let mean = runs.iter().map(|run| run[place]).sum::<f64>() / 16.0;
            assert!((mean - 1.0 / 6.0).abs() < 0.75 * by_seed, "{place}: {mean}, {by_seed}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Numbers of nodes, links and agents decide nothing: a flow has the same share, to the byte,
    /// wherever it is added.
    #[test]
    fn numbering_anew_changes_nothing(order in Just(vec![0_usize, 1, 2, 3, 4, 5]).prop_shuffle(), seed: u64) {
        let all = names(6);
        prop_assert_eq!(shares(&order, &all, seed), shares(&[0, 1, 2, 3, 4, 5], &all, seed));
        let added: Vec<String> = order.iter().map(|i| all[*i].clone()).collect();
        prop_assert_eq!(tied(&added, Shared::Last, 50), tied(&all, Shared::First, 50));
    }
}
