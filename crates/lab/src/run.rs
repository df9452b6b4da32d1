use serde::Serialize;
use tfrc::PacketSize;
use tfrc_sim::{AgentId, Engine, FlowId, LinkStats, NodeId};
use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::agent::{Any, Losses, SEND, SenderSetup, TfrcReceiver, TfrcSender};
use crate::metric::Mean;
use crate::record::{FlowSummary, Interval};
use crate::scenario::{Flow, FlowKind, Scenario, TfrcFlow};

/// The time scale of a flow's coefficient of variation in an [`Outcome`].
pub const COV_SCALE: Duration = Duration::from_secs(1);

/// What came of one run of a scenario. Rates are of payload, in bits per second, over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// Virtual time of the run.
    pub duration_s: f64,
    /// The part of it that was measured: all but the warm-up.
    pub measured_s: f64,
    /// Packets that crossed a link, over all links, in the whole run.
    pub packet_hops: u64,
    /// The flows, in the order of the scenario. The loss event rate leaves slow start out: it counts from the first loss
    /// event, or from the end of the warm-up if that is later. `cov` is that of the sending rate at 1 s ([`COV_SCALE`]).
    pub flows: Vec<FlowSummary>,
    /// The links, in the order of the scenario, each direction on its own.
    pub links: Vec<LinkOutcome>,
}

/// What one direction of a link did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkOutcome {
    /// Its name in the scenario.
    pub id: String,
    /// Share of the time it was transmitting.
    pub utilization: f64,
    /// Share of the arriving packets that its queue or its loss model dropped.
    pub drop_rate: f64,
    /// Mean number of packets that waited behind the one in transmission.
    pub mean_queue_packets: f64,
}

/// Runs a scenario in virtual time. The same scenario, its seed included, always gives the same outcome.
///
/// # Panics
/// Never for a [`Scenario`] that was parsed: its flows join nodes of its own network.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    run_with(scenario, scenario.duration, |_| {})
}

/// Runs a scenario as [`run`] does, and tells what each flow did in every stretch of `every` from the start on. Watching
/// changes nothing of what happens.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_with(scenario: &Scenario, every: Duration, mut watch: impl FnMut(Interval)) -> Outcome {
    let mut engine = scenario.network.build::<Any>(scenario.seed);
    let flows: Vec<Ends> = (0..)
        .map(FlowId)
        .zip(&scenario.flows)
        .map(|(id, flow)| match &flow.kind {
            FlowKind::Tfrc(tfrc) => attach_tfrc(&mut engine, id, flow, tfrc),
        })
        .collect();
    let all = |engine: &Engine<Any>| flows.iter().map(|ends| progress(engine, *ends)).collect::<Vec<_>>();
    let from = Instant::ZERO + scenario.warmup;
    let to = Instant::ZERO + scenario.duration;
    let mut told = (Instant::ZERO, all(&engine));
    let mut tell = |engine: &Engine<Any>, at: Instant| {
        let now = all(engine);
        for ((flow, before), after) in scenario.flows.iter().zip(&told.1).zip(&now) {
            let name = (scenario.flows.len() > 1).then(|| flow.name.clone());
            watch(interval(told.0, at, name, before, after));
        }
        told = (at, now);
    };
    // At the start of the measurement and at each end of a stretch, in the order of time.
    let mut warm = None;
    let mut next = Instant::ZERO + every.max(Duration::from_millis(1));
    loop {
        let stop = next.min(to);
        if warm.is_none() && from <= stop {
            // Without a warm-up, what happens at time zero is measured as well.
            if !scenario.warmup.is_zero() {
                engine.run_until(from);
            }
            warm = Some((all(&engine), link_stats(&engine)));
        }
        engine.run_until(stop);
        tell(&engine, stop);
        if stop == to {
            break;
        }
        next = stop + every.max(Duration::from_millis(1));
    }
    let (flows_before, links_before) = warm.expect("the warm-up is shorter than the run");
    let measured = scenario.measured();
    let summaries = scenario.flows.iter().zip(flows_before.iter().zip(all(&engine)).zip(&flows));
    let links = scenario.network.links().zip(links_before).zip(link_stats(&engine));
    Outcome {
        seed: scenario.seed.0,
        duration_s: scenario.duration.as_secs_f64(),
        measured_s: measured.as_secs_f64(),
        packet_hops: engine.packet_hops(),
        flows: summaries
            .map(|(flow, ((before, after), ends))| FlowSummary {
                cov: sender(&engine, *ends).and_then(|s| s.series().cov(from, to, COV_SCALE)),
                ..summary(flow, before, &after, measured)
            })
            .collect(),
        links: links
            .map(|(((_, spec), before), after)| {
                let during = after.since(&before);
                LinkOutcome {
                    id: spec.name.clone(),
                    utilization: during.utilization(),
                    drop_rate: during.drop_rate(),
                    mean_queue_packets: during.mean_queue_packets(),
                }
            })
            .collect(),
    }
}

/// What a flow did between two states, but for its coefficient of variation.
fn summary(flow: &Flow, before: &Progress, after: &Progress, time: Duration) -> FlowSummary {
    let FlowKind::Tfrc(tfrc) = &flow.kind;
    let kind = match tfrc.config.settings().packet_size {
        PacketSize::TfrcSp(_) => "tfrc-sp",
        _ => "tfrc",
    };
    let during = Passed::between(before, after);
    FlowSummary {
        id: flow.name.clone(),
        kind: kind.to_owned(),
        send_rate_bps: Some(bits_per_sec(during.sent_bytes, time)),
        goodput_bps: Some(bits_per_sec(during.received_bytes, time)),
        packet_loss_rate: Some(share(during.lost, during.passed)),
        loss_event_rate: Some(loss_event_rate(before, after)),
        rtt_s: after.rtt.since(before.rtt).get(),
        cov: None,
    }
}

fn interval(
    from: Instant,
    to: Instant,
    flow: Option<String>,
    before: &Progress,
    after: &Progress,
) -> Interval {
    let time = to.saturating_since(from);
    let during = Passed::between(before, after);
    Interval {
        t_s: to.as_secs_f64(),
        interval_s: time.as_secs_f64(),
        flow,
        sent_packets: Some(during.sent),
        received_packets: Some(during.received),
        lost_packets: Some(during.lost),
        send_rate_bps: Some(bits_per_sec(during.sent_bytes, time)),
        goodput_bps: Some(bits_per_sec(during.received_bytes, time)),
        allowed_rate_bps: Some(after.allowed.bits_per_sec()),
        loss_event_rate: Some(after.p.get()),
        packet_loss_rate: Some(share(during.lost, during.passed)),
        rtt_s: after.smoothed_rtt.map(Duration::as_secs_f64),
        ..Interval::default()
    }
}

/// The agents of a flow.
#[derive(Debug, Clone, Copy)]
struct Ends {
    sender: AgentId,
    receiver: AgentId,
}

fn attach_tfrc(engine: &mut Engine<Any>, id: FlowId, flow: &Flow, tfrc: &TfrcFlow) -> Ends {
    let config = tfrc.config;
    let mut attach = |node: NodeId, agent| {
        let id = engine.attach(node, agent).expect("a scenario's flows join nodes of its network");
        (id, engine.address(id).expect("just attached"))
    };
    let (receiver, peer) =
        attach(flow.to, Any::TfrcReceiver(Box::new(TfrcReceiver::new(&config, flow.start))));
    let setup = SenderSetup {
        config,
        peer,
        flow: id,
        segment: tfrc.segment,
        header: tfrc.header,
        application: tfrc.application,
        start: flow.start,
        stop: flow.stop,
    };
    let (sender, _) = attach(flow.from, Any::TfrcSender(Box::new(TfrcSender::new(setup))));
    engine.set_timer(sender, SEND, flow.start);
    Ends { sender, receiver }
}

/// How far a flow has come.
#[derive(Debug, Clone, Copy)]
struct Progress {
    sent_packets: u64,
    sent_bytes: u64,
    received_packets: u64,
    received_bytes: u64,
    losses: Losses,
    first_event: Option<Losses>,
    rtt: Mean,
    smoothed_rtt: Option<Duration>,
    allowed: Rate,
    p: Probability,
}

/// What passed between two states of a flow.
struct Passed {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    /// Packets of which it is known what became of them: sent before the newest that arrived.
    passed: u64,
    /// How many of these did not arrive.
    lost: u64,
}

impl Passed {
    fn between(before: &Progress, after: &Progress) -> Self {
        let passed = after.losses.packets - before.losses.packets;
        let received = after.received_packets - before.received_packets;
        Self {
            sent: after.sent_packets - before.sent_packets,
            sent_bytes: after.sent_bytes - before.sent_bytes,
            received,
            received_bytes: after.received_bytes - before.received_bytes,
            passed,
            lost: passed.saturating_sub(received),
        }
    }
}

fn sender(engine: &Engine<Any>, ends: Ends) -> Option<&TfrcSender> {
    match engine.agent(ends.sender) {
        Some(Any::TfrcSender(sender)) => Some(sender),
        _ => None,
    }
}

fn progress(engine: &Engine<Any>, ends: Ends) -> Progress {
    let (Some(sender), Some(Any::TfrcReceiver(receiver))) =
        (sender(engine, ends), engine.agent(ends.receiver))
    else {
        unreachable!("both ends were attached as such")
    };
    Progress {
        sent_packets: sender.sent_packets(),
        sent_bytes: sender.sent_bytes(),
        received_packets: receiver.packets(),
        received_bytes: receiver.bytes(),
        losses: receiver.losses(),
        first_event: receiver.first_event(),
        rtt: sender.rtt(),
        smoothed_rtt: sender.machine().rtt(),
        allowed: sender.machine().allowed_rate(),
        p: receiver.machine().loss_event_rate(),
    }
}

fn loss_event_rate(before: &Progress, after: &Progress) -> f64 {
    let Some(first) = after.first_event else { return 0.0 };
    let base = if before.first_event.is_some() { before.losses } else { first };
    // Loss events may be taken back when late packets fill their holes.
    share(after.losses.events.saturating_sub(base.events), after.losses.packets - base.packets)
}

fn link_stats(engine: &Engine<Any>) -> Vec<LinkStats> {
    engine.link_ids().filter_map(|id| engine.link_stats(id)).collect()
}

fn bits_per_sec(bytes: u64, time: Duration) -> f64 {
    Rate::of(bytes as f64, time).bits_per_sec()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
