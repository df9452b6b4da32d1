use serde::Serialize;
use tfrc::{SegmentSize, Settings};
use tfrc_sim::{AgentId, Engine, FlowId, LinkStats, NodeId};
use tfrc_units::{Duration, Instant};

use crate::agent::{Any, Losses, SEND, SenderSetup, TfrcReceiver, TfrcSender};
use crate::metric::Mean;
use crate::scenario::{Flow, FlowKind, Scenario, TfrcFlow};

/// The time scale of [`FlowOutcome::cov`].
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
    /// The flows, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// The links, in the order of the scenario, each direction on its own.
    pub links: Vec<LinkOutcome>,
}

/// What one flow got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowOutcome {
    /// Its name in the scenario.
    pub id: String,
    /// Its kind in the scenario.
    pub kind: &'static str,
    /// Payload sent.
    pub send_rate_bps: f64,
    /// Payload received.
    pub goodput_bps: f64,
    /// Packets that did not arrive, of those sent before the newest that did.
    pub packet_loss_rate: f64,
    /// Loss events per packet, slow start excluded: from the first loss event, or the end of the warm-up if that is later.
    /// Zero without loss events.
    pub loss_event_rate: f64,
    /// Mean of the round-trip times measured; `None` if there were none.
    pub rtt_s: Option<f64>,
    /// Coefficient of variation of the sending rate at a time scale of 1 s ([`COV_SCALE`]).
    pub cov: Option<f64>,
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
    let mut engine = scenario.network.build::<Any>(scenario.seed);
    let flows: Vec<Ends> = (0..)
        .map(FlowId)
        .zip(&scenario.flows)
        .map(|(id, flow)| match &flow.kind {
            FlowKind::Tfrc(tfrc) => attach_tfrc(&mut engine, id, flow, tfrc),
        })
        .collect();
    let from = Instant::ZERO + scenario.warmup;
    let to = Instant::ZERO + scenario.duration;
    engine.run_until(from);
    let flows_before: Vec<Progress> = flows.iter().map(|ends| progress(&engine, *ends)).collect();
    let links_before = link_stats(&engine);
    engine.run_until(to);
    let measured = scenario.measured().as_secs_f64();
    let flow_outcomes = scenario.flows.iter().zip(&flows).zip(flows_before).map(|((flow, ends), before)| {
        let after = progress(&engine, *ends);
        let lost = share(
            (after.losses.packets - before.losses.packets)
                .saturating_sub(after.received_packets - before.received_packets),
            after.losses.packets - before.losses.packets,
        );
        let FlowKind::Tfrc(_) = flow.kind;
        FlowOutcome {
            id: flow.name.clone(),
            kind: "tfrc",
            send_rate_bps: (after.sent_bytes - before.sent_bytes) as f64 * 8.0 / measured,
            goodput_bps: (after.received_bytes - before.received_bytes) as f64 * 8.0 / measured,
            packet_loss_rate: lost,
            loss_event_rate: loss_event_rate(before, after),
            rtt_s: after.rtt.since(before.rtt).get(),
            cov: sender(&engine, *ends).and_then(|s| s.series().cov(from, to, COV_SCALE)),
        }
    });
    let links = scenario.network.links().zip(links_before).zip(link_stats(&engine));
    Outcome {
        seed: scenario.seed.0,
        duration_s: scenario.duration.as_secs_f64(),
        measured_s: measured,
        packet_hops: engine.packet_hops(),
        flows: flow_outcomes.collect(),
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

/// The agents of a flow.
#[derive(Debug, Clone, Copy)]
struct Ends {
    sender: AgentId,
    receiver: AgentId,
}

fn attach_tfrc(engine: &mut Engine<Any>, id: FlowId, flow: &Flow, tfrc: &TfrcFlow) -> Ends {
    let settings = Settings { segment: SegmentSize::Mean { initial: tfrc.segment }, ..Settings::default() };
    let config = settings.validate().expect("a scenario's segment size is at least one byte");
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
    sent_bytes: u64,
    received_bytes: u64,
    received_packets: u64,
    losses: Losses,
    first_event: Option<Losses>,
    rtt: Mean,
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
        sent_bytes: sender.sent_bytes(),
        received_bytes: receiver.bytes(),
        received_packets: receiver.packets(),
        losses: receiver.losses(),
        first_event: receiver.first_event(),
        rtt: sender.rtt(),
    }
}

fn loss_event_rate(before: Progress, after: Progress) -> f64 {
    let Some(first) = after.first_event else { return 0.0 };
    let base = if before.first_event.is_some() { before.losses } else { first };
    // Loss events may be taken back when late packets fill their holes.
    share(after.losses.events.saturating_sub(base.events), after.losses.packets - base.packets)
}

fn link_stats(engine: &Engine<Any>) -> Vec<LinkStats> {
    engine.link_ids().filter_map(|id| engine.link_stats(id)).collect()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
