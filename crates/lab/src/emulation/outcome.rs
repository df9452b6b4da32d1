//! From what an observer has seen to the recording of a run.

use tfrc_sim::link::FlowStats;
use tfrc_units::{Duration, Instant, saturating};

use super::EmulationError;
use super::watcher::{Moment, Watcher};
use crate::emulated::{EmulatedRun, Fidelity, KernelNotes};
use crate::record::FlowSummary;
use crate::recording::{FlowRecord, LinkRecord, Recording};
use crate::run::{self, COV_SCALE, FINE_COV_SCALE, LinkOutcome, Outcome};
use tfrc_scenario::{Member, Scenario};

/// Puts the run together. `latest` is the end where the run was ended early, after `end`.
pub(super) fn run(
    scenario: &Scenario,
    members: &[Member<'_>],
    watcher: Watcher,
    latest: Option<Moment>,
    end: Duration,
    fidelity: Fidelity,
    kernel: KernelNotes,
) -> Result<EmulatedRun, EmulationError> {
    let Watcher { sent, received, allowed, p, rtt, queues, before, after, .. } = watcher;
    let before = before.ok_or(EmulationError::TooShort)?;
    let after = after.or(latest).filter(|after| after.at > before.at).ok_or(EmulationError::TooShort)?;
    let measured = after.at.saturating_since(before.at);
    let (from, to) = (before.at, after.at);
    let figures = before.flows.iter().zip(&after.flows);
    let series = sent.into_iter().zip(received).zip(allowed.into_iter().zip(p).zip(rtt));
    let (mut flows, mut records) = (Vec::new(), Vec::new());
    for ((member, (earlier, later)), ((sent, received), ((allowed, p), rtt))) in
        members.iter().zip(figures).zip(series)
    {
        flows.push(FlowSummary {
            cov: sent.cov(from, to, COV_SCALE),
            cov_200ms: sent.cov(from, to, FINE_COV_SCALE),
            srtt_s: later.srtt.since(earlier.srtt).get(),
            rttvar_s: later.rttvar.since(earlier.rttvar).get(),
            rto_s: later.rto.since(earlier.rto).get(),
            ..run::summary(member, &earlier.progress, &later.progress, measured)
        });
        let counts = run::counts(&earlier.progress, &later.progress);
        let record = FlowRecord { sent, received, counts, allowed, p, rtt, ..FlowRecord::default() };
        records.push(record);
    }
    let names = scenario.network.links().map(|(_, spec)| spec.name.clone());
    // The links of the flows' own come behind those of the file.
    let during = before.links.iter().zip(&after.links).map(|(earlier, later)| later.since(earlier));
    let during: Vec<_> = during.collect();
    let links = names.zip(&during).map(|(id, stats)| LinkOutcome {
        id,
        utilization: stats.utilization(),
        drop_rate: stats.drop_rate(),
        mean_queue_packets: stats.mean_queue_packets(),
    });
    let outcome = Outcome {
        seed: scenario.seed.0,
        duration_s: end.as_secs_f64(),
        measured_s: measured.as_secs_f64(),
        packet_hops: after.links.iter().map(|stats| stats.crossed.packets).sum(),
        flows,
        links: links.collect(),
    };
    let of_link = |link: usize| {
        let found = |moment: &Moment| moment.link_flows.get(link).cloned().unwrap_or_default();
        let earlier = found(&before);
        let mut all =
            vec![FlowStats::default(); if before.link_flows.is_empty() { 0 } else { members.len() }];
        for (flow, stats) in found(&after) {
            let start = earlier.iter().find(|(one, _)| *one == flow).map(|(_, stats)| *stats);
            if let Some(place) = all.get_mut(saturating::<usize>(flow.0)) {
                *place = stats.since(&start.unwrap_or_default());
            }
        }
        all
    };
    let link_records = during.iter().enumerate().map(|(link, stats)| LinkRecord {
        stats: *stats,
        flows: of_link(link),
        queue: queues.get(link).cloned().unwrap_or_default(),
    });
    let group = |flow: &tfrc_scenario::Flow| {
        let group = &flow.group;
        (group.name.clone(), saturating::<usize>(group.first), saturating::<usize>(group.count))
    };
    let recording = Recording {
        groups: scenario.flows.iter().map(group).collect(),
        links: link_records.collect(),
        flows: records,
        outcome,
        from,
        to: Instant::ZERO + end.min(scenario.duration),
    };
    Ok(EmulatedRun { recording, fidelity, kernel })
}

impl From<tfrc_emu::Fidelity> for Fidelity {
    fn from(fidelity: tfrc_emu::Fidelity) -> Self {
        Self {
            rate_error: fidelity.rate_error,
            delay_error_p50_s: fidelity.delay_error_p50.as_secs_f64(),
            delay_error_p99_s: fidelity.delay_error_p99.as_secs_f64(),
            wakeup_p50_s: fidelity.wakeup_p50.as_secs_f64(),
            wakeup_p99_s: fidelity.wakeup_p99.as_secs_f64(),
            own_drops: fidelity.own_drops,
            overruns: fidelity.overruns,
            shortest_round_trip_s: fidelity.shortest_round_trip.map(Duration::as_secs_f64),
            source_behind_s: 0.0,
        }
    }
}
