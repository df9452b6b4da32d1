//! One run of a scenario, and its outcome.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tfrc::config::PacketSize;
use tfrc_sim::Engine;
use tfrc_sim::link::LinkStats;
use tfrc_units::{Duration, Instant, Rate};

use crate::agent::{Any, DccpHost};
use crate::capture::Captured;
use crate::metric::{BIN, Series};
use crate::progress::{Ends, Progress, attach, progress, sent_bytes};
use crate::record::{FlowSummary, Interval};
use crate::recording::{FlowCounts, Keep, Keeping, LinkFlows, Recording};
use crate::scenario::{FlowKind, LossIntervals, Member, Scenario};
use crate::watch::{Scene, Watch, Watchers};

/// The time scale of a flow's coefficient of variation in an [`Outcome`].
pub const COV_SCALE: Duration = Duration::from_secs(1);

/// The time scale of `cov_200ms` in a [`FlowSummary`].
pub const FINE_COV_SCALE: Duration = Duration::from_millis(200);

/// Outcome of one run of a scenario. Rates are of payload, in bits per second, over the measured
/// time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Simulation")]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// Virtual time of the run.
    pub duration_s: f64,
    /// The part of it that was measured: all but the warm-up.
    pub measured_s: f64,
    /// Packets that crossed a link, over all links, in the whole run.
    pub packet_hops: u64,
    /// The flows, in the order of the scenario. The loss event rate leaves slow start out where it
    /// is known: it counts from the first loss event, or from the end of the warm-up if that is
    /// later; of a TCP it is the reductions of the window per segment. `cov` is that of the sending
    /// rate at 1 s ([`COV_SCALE`]), `cov_200ms` at 0.2 s.
    pub flows: Vec<FlowSummary>,
    /// The links of the file, in its order, each direction on its own.
    pub links: Vec<LinkOutcome>,
}

/// Figures of one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// No flow of the scenario can be captured: only DCCP is bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDccpFlow;

impl fmt::Display for NoDccpFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no flow of the scenario is DCCP, and no other has bytes to capture: give one kind = \"dccp\"",
        )
    }
}

impl std::error::Error for NoDccpFlow {}

/// Runs a scenario in virtual time. The same scenario, its seed included, always gives the same
/// outcome.
///
/// # Panics
/// Never for a [`Scenario`] that was read for [`World::Simulated`](crate::scenario::World): its
/// flows join nodes of its own network, and each has agents.
#[must_use]
pub fn run(scenario: &Scenario) -> Outcome {
    run_with(scenario, scenario.duration, |_| {})
}

/// Runs a scenario as [`run`] does, and reports what each flow did in every stretch of `every` from
/// the start. Watching does not change the run.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_with(scenario: &Scenario, every: Duration, watch: impl FnMut(Interval)) -> Outcome {
    run_watched(scenario, &mut [Watch::flows(every, watch)])
}

/// Runs a scenario as [`run`] does, seen by several observers.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_watched(scenario: &Scenario, watches: &mut [Watch<'_>]) -> Outcome {
    ScenarioRun::new(scenario).execute(watches)
}

/// Runs a scenario as [`run_watched`] does, unless `stop` says true, which is asked after every
/// stretch of at most 100 ms of virtual time; `None` then.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_until(scenario: &Scenario, watches: &mut [Watch<'_>], stop: &dyn Fn() -> bool) -> Option<Outcome> {
    ScenarioRun::new(scenario).execute_until(watches, stop)
}

/// Runs a scenario as [`run_watched`] does, and gives the packets that the first DCCP flow's
/// sender sent and received, as IPv4 packets with their times.
///
/// # Errors
/// [`NoDccpFlow`] if there is none.
///
/// # Panics
/// As [`run`].
pub fn run_captured(
    scenario: &Scenario,
    watches: &mut [Watch<'_>],
) -> Result<(Outcome, Vec<Captured>), NoDccpFlow> {
    let mut run = ScenarioRun::new(scenario);
    let captured = run.flows.iter().map(|ends| ends.sender).find(|id| host(&run.engine, *id).is_some());
    let captured = captured.ok_or(NoDccpFlow)?;
    run.engine.with_agent(captured, |agent| {
        if let Any::Dccp(host) = agent {
            host.start_capture();
        }
    });
    let outcome = run.execute(watches);
    let packets = host(&run.engine, captured).map(|host| host.captured().to_vec()).unwrap_or_default();
    Ok((outcome, packets))
}

/// Runs a scenario as [`run_until`] does and keeps its time series.
pub(crate) fn record_until(scenario: &Scenario, keep: Keep, stop: &dyn Fn() -> bool) -> Option<Recording> {
    let mut run = ScenarioRun::keeping(scenario, keep);
    let outcome = run.execute_until(&mut [], stop)?;
    let keeping = run.keeping.take().unwrap_or_default();
    Some(keeping.recording(scenario, outcome, std::mem::take(&mut run.series)))
}

/// Returns the counters of a flow between two states.
pub(crate) fn counts(before: &Progress, after: &Progress) -> FlowCounts {
    let during = Passed::between(before, after);
    FlowCounts {
        sent_packets: during.sent,
        sent_bytes: during.sent_bytes,
        received_packets: during.received,
        received_bytes: during.received_bytes,
        acknowledged_packets: before
            .acknowledged_packets
            .zip(after.acknowledged_packets)
            .map(|(a, b)| b.saturating_sub(a)),
        loss_events: before.losses.zip(after.losses).map(|(a, b)| b.events.saturating_sub(a.events)),
    }
}

fn host(engine: &Engine<Any>, id: tfrc_sim::AgentId) -> Option<&DccpHost> {
    match engine.agent(id) {
        Some(Any::Dccp(host)) => Some(host),
        _ => None,
    }
}

/// A scenario in motion.
struct ScenarioRun<'a> {
    scenario: &'a Scenario,
    engine: Engine<Any>,
    members: Vec<Member<'a>>,
    flows: Vec<Ends>,
    series: Vec<Series>,
    /// Bytes each flow had sent at the end of its latest bin.
    sampled: Vec<u64>,
    /// Further samples and counters, if any are kept.
    keeping: Option<Keeping>,
}

impl<'a> ScenarioRun<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        Self::of(scenario, None)
    }

    fn keeping(scenario: &'a Scenario, keep: Keep) -> Self {
        let mut run = Self::of(scenario, Some(keep));
        run.keeping = Some(Keeping::new(keep, &mut run.engine, &run.flows));
        run
    }

    fn of(scenario: &'a Scenario, keep: Option<Keep>) -> Self {
        let (mut network, members) = scenario.lay_out(scenario.seed);
        if keep.is_some_and(|keep| keep.link_flows == LinkFlows::Counted) {
            network.keep_flow_counts();
        }
        let mut engine = network.build::<Any>(scenario.seed);
        let flows: Vec<Ends> =
            members.iter().map(|member| attach(&mut engine, member, scenario.seed)).collect();
        let (series, sampled) = (vec![Series::default(); flows.len()], vec![0; flows.len()]);
        Self { scenario, engine, members, flows, series, sampled, keeping: None }
    }

    fn execute(&mut self, watches: &mut [Watch<'_>]) -> Outcome {
        self.execute_until(watches, &|| false).expect("nothing stops it")
    }

    fn execute_until(&mut self, watches: &mut [Watch<'_>], stopped: &dyn Fn() -> bool) -> Option<Outcome> {
        let from = Instant::ZERO + self.scenario.warmup;
        let to = Instant::ZERO + self.scenario.duration;
        let mut watchers = Watchers::new(watches, &self.scene());
        // Without a warm-up, what happens at time zero is measured as well.
        let mut warm = self.scenario.warmup.is_zero().then(|| self.begin_measuring());
        let fine = self.keeping.as_ref().map_or(Duration::ZERO, Keeping::step);
        let mut next_fine = (!fine.is_zero()).then(|| Instant::ZERO + fine);
        let mut bin = Instant::ZERO + BIN;
        loop {
            let stop = bin.min(watchers.next(to)).min(next_fine.unwrap_or(to));
            if warm.is_none() && from <= stop {
                self.engine.run_until(from);
                warm = Some(self.begin_measuring());
            }
            self.engine.run_until(stop);
            if stop == bin {
                self.sample();
                bin += BIN;
            }
            if next_fine == Some(stop) {
                if let Some(keeping) = &mut self.keeping {
                    keeping.look(&self.engine, &self.flows);
                }
                next_fine = Some(stop + fine);
            }
            watchers.see(stop, to, &self.scene());
            if stop == to {
                break;
            }
            if stopped() {
                return None;
            }
        }
        let (flows_before, links_before) = warm.expect("the warm-up is shorter than the run");
        let measured = self.scenario.measured();
        let (flows_after, links_after) = (self.progress(), self.link_stats());
        if let Some(keeping) = &mut self.keeping {
            keeping.flows =
                flows_before.iter().zip(&flows_after).map(|(before, after)| counts(before, after)).collect();
            keeping.links = links_before.iter().zip(&links_after).map(|(a, b)| b.since(a)).collect();
            keeping.end(&self.engine, &self.flows);
        }
        let intervals = self.flows.iter().zip(&self.members);
        let intervals: Vec<_> =
            intervals.map(|(ends, member)| self.loss_intervals(*ends, member, from)).collect();
        let flows = self.members.iter().zip(&flows_before).zip(flows_after.iter().zip(&self.series));
        let links = self.scenario.network.links().zip(links_before).zip(links_after);
        Some(Outcome {
            seed: self.scenario.seed.0,
            duration_s: self.scenario.duration.as_secs_f64(),
            measured_s: measured.as_secs_f64(),
            packet_hops: self.engine.packet_hops(),
            flows: flows
                .zip(intervals)
                .map(|(((member, before), (after, series)), loss_intervals)| FlowSummary {
                    cov: series.cov(from, to, COV_SCALE),
                    cov_200ms: series.cov(from, to, FINE_COV_SCALE),
                    loss_intervals,
                    ..summary(member, before, after, measured)
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
        })
    }

    /// The loss intervals of a flow that are to be in the results. The first of all is made up
    /// (RFC 5348 §6.3.1).
    fn loss_intervals(&self, ends: Ends, member: &Member<'_>, from: Instant) -> Option<Vec<f64>> {
        match (&member.flow.kind, self.engine.agent(ends.receiver)) {
            (FlowKind::Tfrc(flow), Some(Any::TfrcReceiver(receiver)))
                if flow.loss_intervals == LossIntervals::Kept =>
            {
                let real = receiver.log().iter().skip(1).filter(|event| event.at >= from);
                Some(real.map(|event| event.interval).collect())
            }
            _ => None,
        }
    }

    fn scene(&self) -> Scene<'_> {
        let Self { scenario, engine, members, flows, .. } = self;
        Scene { scenario, engine, members, flows }
    }

    fn progress(&self) -> Vec<Progress> {
        self.flows.iter().map(|ends| progress(&self.engine, *ends)).collect()
    }

    fn sample(&mut self) {
        for ((ends, series), sampled) in self.flows.iter().zip(&mut self.series).zip(&mut self.sampled) {
            let sent = sent_bytes(&self.engine, *ends);
            series.push(sent.saturating_sub(*sampled));
            *sampled = sent;
        }
        if let Some(keeping) = &mut self.keeping {
            keeping.sample(&self.engine, &self.flows);
        }
    }

    /// The state at the beginning of the measured part.
    fn begin_measuring(&mut self) -> (Vec<Progress>, Vec<LinkStats>) {
        if let Some(keeping) = &mut self.keeping {
            keeping.begin(&self.engine);
        }
        (self.progress(), self.link_stats())
    }

    /// Those of the links of the file.
    fn link_stats(&self) -> Vec<LinkStats> {
        self.scenario.network.links().filter_map(|(id, _)| self.engine.link_stats(id)).collect()
    }
}

/// Returns the figures of a flow between two states, but for its coefficient of variation.
pub(crate) fn summary(
    member: &Member<'_>,
    before: &Progress,
    after: &Progress,
    time: Duration,
) -> FlowSummary {
    let during = Passed::between(before, after);
    FlowSummary {
        id: member.name.clone(),
        kind: kind(&member.flow.kind).to_owned(),
        send_rate_bps: Some(bits_per_sec(during.sent_bytes, time)),
        goodput_bps: Some(bits_per_sec(during.received_bytes, time)),
        packet_loss_rate: during.loss_rate(),
        loss_event_rate: loss_event_rate(before, after),
        rtt_s: after.rtt.since(before.rtt).get(),
        stopped: after.last_stop,
        ..FlowSummary::default()
    }
}

/// The kind of a flow in results.
fn kind(kind: &FlowKind) -> &'static str {
    match kind {
        FlowKind::Tfrc(tfrc) => match tfrc.config.settings().packet_size {
            PacketSize::TfrcSp(_) => "tfrc-sp",
            _ => "tfrc",
        },
        FlowKind::Dccp(dccp) => match dccp.ccid {
            tfrc_dccp::Ccid::Four => "dccp-sp",
            _ => "dccp",
        },
        FlowKind::Tcp(tcp) => tcp.tcp.name(),
        FlowKind::Datagrams(datagrams) => match datagrams.pattern {
            tfrc_sim::traffic::Pattern::OnOff { .. } => "onoff",
            _ => "cbr",
        },
        FlowKind::Ping(_) => "ping",
        FlowKind::Web(_) => "web",
    }
}

/// The record of a flow between two states.
pub(crate) fn interval(
    from: Instant,
    to: Instant,
    flow: String,
    before: &Progress,
    after: &Progress,
) -> Interval {
    let time = to.saturating_since(from);
    let during = Passed::between(before, after);
    Interval {
        t_s: to.as_secs_f64(),
        interval_s: time.as_secs_f64(),
        flow: Some(flow),
        sent_packets: Some(during.sent),
        received_packets: Some(during.received),
        lost_packets: during.lost,
        send_rate_bps: Some(bits_per_sec(during.sent_bytes, time)),
        goodput_bps: Some(bits_per_sec(during.received_bytes, time)),
        allowed_rate_bps: after.allowed_bps,
        loss_event_rate: after.p,
        packet_loss_rate: during.loss_rate(),
        rtt_s: after.smoothed_rtt.map(Duration::as_secs_f64).or_else(|| after.rtt.since(before.rtt).get()),
        loss_events: before.losses.zip(after.losses).map(|(a, b)| b.events.saturating_sub(a.events)),
        cwnd_packets: after.cwnd,
        stopped: after.stopped,
        ..Interval::default()
    }
}

/// Packets and bytes of a flow between two states.
struct Passed {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    /// Packets that links dropped.
    lost: Option<u64>,
}

impl Passed {
    fn between(before: &Progress, after: &Progress) -> Self {
        let received = after.received_packets - before.received_packets;
        Self {
            sent: after.sent_packets - before.sent_packets,
            sent_bytes: after.sent_bytes - before.sent_bytes,
            received,
            received_bytes: after.received_bytes - before.received_bytes,
            lost: after.dropped.map(|dropped| dropped - before.dropped.unwrap_or(0)),
        }
    }

    /// The share of the packets dropped among those dropped or received.
    fn loss_rate(&self) -> Option<f64> {
        self.lost.map(|lost| share(lost, lost + self.received))
    }
}

fn loss_event_rate(before: &Progress, after: &Progress) -> Option<f64> {
    let (start, end) = (before.losses?, after.losses?);
    let base = match (before.first_event, after.first_event) {
        (None, Some(first)) => first,
        _ => start,
    };
    // Loss events may be taken back when late packets fill their holes.
    Some(share(end.events.saturating_sub(base.events), end.packets - base.packets))
}

fn bits_per_sec(bytes: u64, time: Duration) -> f64 {
    Rate::of(bytes as f64, time).bits_per_sec()
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
