//! Samples and counters kept while a run goes on.

use serde::{Deserialize, Serialize};
use tfrc_sim::Engine;
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_units::{Duration, Instant, saturating};

use super::{FlowCounts, FlowRecord, LOOK, LinkRecord, Recording, Samples};
use crate::Outcome;
use crate::agent::Any;
use crate::metric::Series;
use crate::progress::{Ends, progress};
use tfrc_scenario::Scenario;

/// Choice of what to keep of a run besides the bytes of each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Keep {
    /// Samples of states.
    pub looks: Looks,
    /// Counts by flow at links.
    pub link_flows: LinkFlows,
}

/// Samples of the state of flows and queues, every [`LOOK`]: taken or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Looks {
    /// Taken.
    Taken,
    /// Not taken.
    #[default]
    None,
}

/// Counts of packets by flow at links: kept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkFlows {
    /// Kept.
    Counted,
    /// Not kept.
    #[default]
    None,
}

/// Samples and counters kept so far.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
    keep: Keep,
    records: Vec<FlowRecord>,
    /// Bytes each flow had received at the end of its latest bin.
    sampled: Vec<u64>,
    /// The measured part, of each flow and each link.
    pub(crate) flows: Vec<FlowCounts>,
    pub(crate) links: Vec<LinkStats>,
    queues: Vec<Samples>,
    /// Of each link, at the beginning of the measured part, and from then to the end.
    link_flows: Vec<Vec<(FlowId, FlowStats)>>,
}

impl Keeping {
    pub(crate) fn new(keep: Keep, engine: &mut Engine<Any>, flows: &[Ends]) -> Self {
        for ends in flows {
            engine.with_agent(ends.receiver, |agent| {
                if let Any::TfrcReceiver(receiver) = agent {
                    receiver.start_log();
                }
            });
        }
        let links = engine.link_ids().count();
        Self {
            keep,
            records: vec![FlowRecord::default(); flows.len()],
            sampled: vec![0; flows.len()],
            queues: vec![Samples::default(); links],
            ..Self::default()
        }
    }

    /// The time between looks; zero if there are none.
    pub(crate) fn step(&self) -> Duration {
        match self.keep.looks {
            Looks::Taken => LOOK,
            Looks::None => Duration::ZERO,
        }
    }

    /// At the end of each bin.
    pub(crate) fn sample(&mut self, engine: &Engine<Any>, flows: &[Ends]) {
        for ((ends, record), sampled) in flows.iter().zip(&mut self.records).zip(&mut self.sampled) {
            let received = progress(engine, *ends).received_bytes;
            record.received.push(received.saturating_sub(*sampled));
            *sampled = received;
        }
    }

    /// At each look.
    pub(crate) fn look(&mut self, engine: &Engine<Any>, flows: &[Ends]) {
        for (ends, record) in flows.iter().zip(&mut self.records) {
            let state = progress(engine, *ends);
            record.allowed.push(state.allowed_bps);
            record.p.push(state.p);
            record.rtt.push(state.smoothed_rtt.map(Duration::as_secs_f64));
        }
        for (link, samples) in engine.link_ids().zip(&mut self.queues) {
            samples.push(engine.queue_state(link).map(|state| state.waiting.packets as f64));
        }
    }

    /// When the measured part begins.
    pub(crate) fn begin(&mut self, engine: &Engine<Any>) {
        self.link_flows = engine.link_ids().map(|link| engine.flow_stats(link)).collect();
    }

    /// At the end of the run.
    pub(crate) fn end(&mut self, engine: &Engine<Any>, flows: &[Ends]) {
        for (ends, record) in flows.iter().zip(&mut self.records) {
            if let Some(Any::TfrcReceiver(receiver)) = engine.agent(ends.receiver) {
                record.loss_events = receiver.log().to_vec();
            }
        }
        for (link, before) in engine.link_ids().zip(&mut self.link_flows) {
            let after = engine.flow_stats(link).into_iter();
            let during = after.map(|(flow, stats)| {
                let earlier = before.iter().find(|(one, _)| *one == flow).map(|(_, stats)| *stats);
                (flow, stats.since(&earlier.unwrap_or_default()))
            });
            *before = during.collect();
        }
    }

    /// The recording, of the run's outcome and of the bytes that each flow has sent.
    pub(crate) fn recording(self, scenario: &Scenario, outcome: Outcome, sent: Vec<Series>) -> Recording {
        let index = |n: u32| saturating::<usize>(n);
        let of = |flow: &tfrc_scenario::Flow| {
            let group = &flow.group;
            (group.name.clone(), index(group.first), index(group.count))
        };
        let flows = self.records.into_iter().zip(sent).zip(self.flows);
        let count = outcome.flows.len();
        let of_link = |link: usize| {
            let found = self.link_flows.get(link).map(Vec::as_slice).unwrap_or_default();
            let mut all = vec![FlowStats::default(); if found.is_empty() { 0 } else { count }];
            for (flow, stats) in found {
                if let Some(place) = all.get_mut(index(flow.0)) {
                    *place = *stats;
                }
            }
            all
        };
        // The links of the file come before the flows' own.
        let links = self.links.iter().enumerate().map(|(link, stats)| LinkRecord {
            stats: *stats,
            flows: of_link(link),
            queue: self.queues.get(link).cloned().unwrap_or_default(),
        });
        Recording {
            groups: scenario.flows.iter().map(of).collect(),
            links: links.collect(),
            flows: flows.map(|((record, sent), counts)| FlowRecord { sent, counts, ..record }).collect(),
            outcome,
            from: Instant::ZERO + scenario.warmup,
            to: Instant::ZERO + scenario.duration,
        }
    }
}
