//! Samples and counters kept while a world runs.

use tfrc_scenario::{FlowKind, LossIntervals, Member};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_units::{Duration, Instant, saturating};

use super::against_tcp;
use super::course::{self, completion, times};
use super::{FlowRecord, LinkRecord, Recording, Samples};
use crate::agent::LossEvent;
use crate::figures::{counts, summary};
use crate::keep::{Keep, LOOK, LinkFlows, Looks};
use crate::metric::{BIN, Series};
use crate::results::{COV_SCALE, FINE_COV_SCALE, FlowDelays, FlowSummary, LinkOutcome, Outcome};
use crate::state::{Progress, Stage, World};

/// Bins for which a flow gets room at once: a run may be cut short.
const MOST_ROOM: usize = 1024;

/// Samples and counters kept so far.
pub(crate) struct Recorder {
    keep: Keep,
    flows: Vec<FlowRecord>,
    /// Bytes that each flow had sent and received at the end of its latest bin.
    counted: Vec<[u64; 2]>,
    queues: Vec<Samples>,
    /// When the measured part began.
    before: Option<Moment>,
}

/// The counters of a world at one moment.
struct Moment {
    at: Instant,
    /// Empty if the world was new.
    flows: Vec<Progress>,
    links: Vec<LinkStats>,
    link_flows: Vec<Vec<(FlowId, FlowStats)>>,
}

impl Recorder {
    pub(crate) fn new(stage: &Stage<'_>) -> Self {
        let flows = stage.members.len();
        let bins = saturating::<usize>(stage.to.as_nanos() / BIN.as_nanos()).min(MOST_ROOM);
        let room = || Series::with_room(bins);
        let record = || FlowRecord { sent: room(), received: room(), ..FlowRecord::default() };
        Self {
            keep: stage.keep,
            flows: (0..flows).map(|_| record()).collect(),
            counted: vec![[0; 2]; flows],
            queues: vec![Samples::default(); stage.link_names().count()],
            before: None,
        }
    }

    /// The time between looks, if there are any.
    pub(crate) fn step(&self) -> Option<Duration> {
        (self.keep.looks == Looks::Taken).then_some(LOOK)
    }

    /// At the end of each bin.
    pub(crate) fn sample(&mut self, world: &impl World) {
        for (number, (record, counted)) in self.flows.iter_mut().zip(&mut self.counted).enumerate() {
            let bytes = world.bytes(number);
            let series = [&mut record.sent, &mut record.received];
            for ((series, now), before) in series.into_iter().zip(bytes).zip(*counted) {
                series.push(now.saturating_sub(before));
            }
            *counted = bytes;
        }
    }

    /// At each look.
    pub(crate) fn look(&mut self, world: &impl World) {
        for (number, record) in self.flows.iter_mut().enumerate() {
            let state = world.flow(number);
            record.allowed.push(state.allowed_bps);
            record.p.push(state.p);
            record.rtt.push(state.smoothed_rtt.map(Duration::as_secs_f64));
        }
        for (samples, waiting) in self.queues.iter_mut().zip(world.waiting()) {
            samples.push(Some(waiting as f64));
        }
    }

    /// Returns true if the measured part has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.before.is_some()
    }

    /// When the measured part begins.
    pub(crate) fn begin(&mut self, world: &impl World, at: Instant) {
        let flows = if world.is_new() { 0 } else { self.flows.len() };
        let flows = (0..flows).map(|number| world.flow(number)).collect();
        self.before = Some(self.moment(world, at, flows));
    }

    fn moment(&self, world: &impl World, at: Instant, flows: Vec<Progress>) -> Moment {
        let link_flows = match self.keep.link_flows {
            LinkFlows::Counted => world.link_flows(),
            LinkFlows::None => Vec::new(),
        };
        Moment { at, flows, links: world.links(), link_flows }
    }

    /// The recording of a run that ends at `to`; `None` if nothing was measured.
    pub(crate) fn recording(
        self,
        world: &mut impl World,
        stage: &Stage<'_>,
        to: Instant,
    ) -> Option<Recording> {
        let after = self.moment(world, to, Vec::new());
        world.end();
        let before = self.before.filter(|before| before.at < to)?;
        let from = before.at;
        let time = to.saturating_since(from);
        let mut records = self.flows;
        let mut flows = Vec::with_capacity(records.len());
        let mut ended = Vec::with_capacity(records.len());
        for (number, (member, record)) in stage.members.iter().zip(&mut records).enumerate() {
            let later = &world.flow(number);
            let earlier = &before.flows.get(number).copied().unwrap_or_else(|| later.before_all());
            record.counts = counts(earlier, later);
            let losses = world.loss_events(number);
            let completions = world.completions(number);
            ended.push(times(member, completions));
            flows.push(FlowSummary {
                delays: world.delays(number).map(FlowDelays::from).unwrap_or_default(),
                completion: completion(ended.last().and_then(Option::as_ref)),
                cov: record.sent.cov(from, to, COV_SCALE),
                cov_200ms: record.sent.cov(from, to, FINE_COV_SCALE),
                loss_intervals: losses.as_deref().and_then(|losses| loss_intervals(member, losses, from)),
                ..summary(member, earlier, later, time)
            });
            record.loss_events = losses.unwrap_or_default();
        }
        for (flow, converged) in flows.iter_mut().zip(course::convergence(stage.members, &records, to)) {
            flow.convergence_s = converged;
        }
        let against = against_tcp::compare(stage.members, &flows, &records, world.drops(), (from, to));
        for (flow, against) in flows.iter_mut().zip(against) {
            flow.against_tcp = against;
        }
        let during: Vec<LinkStats> = before.links.iter().zip(&after.links).map(|(a, b)| b.since(a)).collect();
        let outcome = Outcome {
            seed: stage.scenario.seed.0,
            duration_s: to.saturating_since(Instant::ZERO).as_secs_f64(),
            measured_s: time.as_secs_f64(),
            packet_hops: world.packet_hops(),
            jain_index: course::fairness(stage.members, &flows),
            groups: course::groups(&stage.scenario.flows, &flows, &ended),
            flows,
            links: stage.link_names().zip(&during).map(|(id, stats)| LinkOutcome::of(id, stats)).collect(),
        };
        let link_flows = before.link_flows.iter().zip(&after.link_flows);
        let mut link_flows = link_flows.map(|(before, after)| by_flow(before, after, outcome.flows.len()));
        let links = during.into_iter().zip(self.queues).map(|(stats, queue)| LinkRecord {
            stats,
            flows: link_flows.next().unwrap_or_default(),
            queue,
        });
        Some(Recording {
            groups: stage.scenario.flows.iter().map(group).collect(),
            links: links.collect(),
            flows: records,
            outcome,
            from,
            to: to.min(stage.to),
        })
    }
}

/// The name of a group, its first flow, and how many it has.
fn group(flow: &tfrc_scenario::Flow) -> (String, usize, usize) {
    let group = &flow.group;
    (group.name.clone(), saturating(group.first), saturating(group.count))
}

/// The counts of each flow at a link between two moments; empty if no packet came to the link.
fn by_flow(before: &[(FlowId, FlowStats)], after: &[(FlowId, FlowStats)], flows: usize) -> Vec<FlowStats> {
    let mut all = vec![FlowStats::default(); if after.is_empty() { 0 } else { flows }];
    for (flow, stats) in after {
        let earlier = before.iter().find(|(one, _)| one == flow).map(|(_, stats)| *stats);
        if let Some(place) = all.get_mut(saturating::<usize>(flow.0)) {
            *place = stats.since(&earlier.unwrap_or_default());
        }
    }
    all
}

/// The loss intervals of a flow that are to be in the results. The first of all is made up
/// (RFC 5348 §6.3.1).
fn loss_intervals(member: &Member<'_>, losses: &[LossEvent], from: Instant) -> Option<Vec<f64>> {
    let FlowKind::Tfrc(flow) = &member.flow.kind else { return None };
    let real = losses.iter().skip(1).filter(|event| event.at >= from);
    (flow.loss_intervals == LossIntervals::Kept).then(|| real.map(|event| event.interval).collect())
}
