//! Measures of flows together, and of their transfers: fairness, convergence, completion.

use tfrc_scenario::{Flow, FlowKind, Member};
use tfrc_units::{Duration, Instant, saturating};

use super::FlowRecord;
use crate::agent::SHARES;
use crate::results::{Completion, FlowSummary, GroupOutcome};
use crate::state::Completions;
use crate::statistics::quantile;

/// Jain's index of the goodputs of the flows with a congestion control.
pub(super) fn fairness(members: &[Member<'_>], flows: &[FlowSummary]) -> Option<f64> {
    let of_members = members.iter().zip(flows);
    jain_index(of_members.filter(|(member, _)| is_controlled(&member.flow.kind)).map(|(_, flow)| flow))
}

/// Returns true for a flow with a congestion control.
fn is_controlled(kind: &FlowKind) -> bool {
    match kind {
        FlowKind::Tfrc(_) | FlowKind::Dccp(_) | FlowKind::Custom(_) | FlowKind::Tcp(_) => true,
        FlowKind::Datagrams(_) | FlowKind::Ping(_) | FlowKind::Web(_) => false,
    }
}

/// Jain's index of the goodputs of flows.
fn jain_index<'f>(flows: impl IntoIterator<Item = &'f FlowSummary>) -> Option<f64> {
    let goodputs: Vec<f64> = flows.into_iter().filter_map(|flow| flow.goodput_bps).collect();
    let (sum, squares) = goodputs.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    (goodputs.len() > 1 && squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

/// The entries with several flows. `ended` has the times of each flow's transfers.
pub(super) fn groups(
    entries: &[Flow],
    flows: &[FlowSummary],
    ended: &[Option<Vec<f64>>],
) -> Vec<GroupOutcome> {
    let several = entries.iter().map(|entry| &entry.group).filter(|group| group.count > 1);
    let outcome = |group: &tfrc_scenario::Group| {
        let first = saturating::<usize>(group.first);
        let range = first..first + saturating::<usize>(group.count);
        let times = ended.get(range.clone()).unwrap_or_default();
        let finite = times.iter().any(Option::is_some);
        let times: Vec<f64> = times.iter().flatten().flatten().copied().collect();
        GroupOutcome {
            id: group.name.clone(),
            jain_index: flows.get(range).and_then(jain_index),
            completion: completion(finite.then_some(&times)),
        }
    };
    several.map(outcome).collect()
}

/// The times of the transfers of a flow, seconds; `None` if none of them has an end, or if they are
/// not measured.
pub(super) fn times(member: &Member<'_>, completions: Completions) -> Option<Vec<f64>> {
    match &member.flow.kind {
        FlowKind::Custom(_) | FlowKind::Tcp(_) if member.flow.timetable.total().is_some() => {
            let time = completions.transfer.map(|at| at.saturating_since(member.start).as_secs_f64());
            Some(time.into_iter().collect())
        }
        FlowKind::Web(_) => completions.objects,
        _ => None,
    }
}

/// The number of times and their percentiles.
pub(super) fn completion(times: Option<&Vec<f64>>) -> Completion {
    let Some(times) = times else { return Completion::default() };
    let [p50, p95, p99] = SHARES.map(|share| quantile(times.clone(), share));
    Completion {
        completed: Some(saturating(times.len())),
        completion_p50_s: p50,
        completion_p95_s: p95,
        completion_p99_s: p99,
    }
}

/// Time over which rates are compared.
const SECOND: Duration = Duration::from_secs(1);
/// Seconds for which a flow that has converged stays near the mean.
const STAYS: usize = 5;
/// Distance from the mean that is near, as a share of it.
const NEAR: f64 = 0.25;

/// The time that each flow took to converge: from its start to the first of five seconds in each of
/// which its goodput was within a quarter of the mean over the flows then active (the forward view
/// of Dong et al., PCC, NSDI 2015, §4.2.2, with the mean in place of an ideal rate). `None` for
/// flows without a congestion control, for those that did not, and where there is one flow alone.
pub(super) fn convergence(members: &[Member<'_>], records: &[FlowRecord], to: Instant) -> Vec<Option<f64>> {
    let controlled = |member: &Member<'_>| is_controlled(&member.flow.kind);
    if members.iter().filter(|member| controlled(member)).count() < 2 {
        return vec![None; members.len()];
    }
    let second = |at: Instant| saturating::<usize>(at.as_nanos().div_ceil(SECOND.as_nanos()));
    // Bytes of each flow in each second from its first whole one on, while it is active.
    let courses: Vec<Option<(usize, Vec<u64>)>> = members
        .iter()
        .zip(records)
        .map(|(member, record)| {
            let first = second(member.start);
            let from = Instant::ZERO + SECOND * saturating::<u64>(first);
            let to = member.flow.stop.map_or(to, |stop| stop.min(to));
            controlled(member).then(|| (first, record.received.stretches(from, to, SECOND)))
        })
        .collect();
    let end = courses.iter().flatten().map(|(first, bytes)| first + bytes.len()).max().unwrap_or(0);
    let at = |course: &Option<(usize, Vec<u64>)>, second: usize| {
        let (first, bytes) = course.as_ref()?;
        bytes.get(second.checked_sub(*first)?).map(|bytes| *bytes as f64)
    };
    let mean = |second| {
        let active: Vec<f64> = courses.iter().filter_map(|course| at(course, second)).collect();
        crate::statistics::mean(&active).filter(|_| active.len() > 1)
    };
    let means: Vec<Option<f64>> = (0..end).map(mean).collect();
    let near = |course: &Option<(usize, Vec<u64>)>, second: usize| {
        let mean = means.get(second).copied().flatten().filter(|mean| *mean > 0.0);
        at(course, second).zip(mean).is_some_and(|(own, mean)| (own - mean).abs() <= NEAR * mean)
    };
    let of_flow = |(member, course): (&Member<'_>, &Option<(usize, Vec<u64>)>)| {
        let (first, _) = course.as_ref()?;
        let begin = (*first..end).find(|begin| (*begin..begin + STAYS).all(|second| near(course, second)))?;
        Some(begin as f64 - member.start.saturating_since(Instant::ZERO).as_secs_f64())
    };
    members.iter().zip(&courses).map(of_flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_scenario::Scenario;

    fn flow(goodput: f64) -> FlowSummary {
        FlowSummary { goodput_bps: Some(goodput), ..FlowSummary::default() }
    }

    #[test]
    fn jain_s_index_by_hand() {
        assert_eq!(jain_index(&[flow(2.0), flow(2.0), flow(2.0)]), Some(1.0));
        // One of four has all.
        assert_eq!(jain_index(&[flow(8.0), flow(0.0), flow(0.0), flow(0.0)]), Some(0.25));
        // (1 + 3)² / (2 · (1 + 9)).
        assert_eq!(jain_index(&[flow(1.0), flow(3.0)]), Some(0.8));
        assert_eq!((jain_index(&[flow(1.0)]), jain_index(&[flow(0.0), flow(0.0)])), (None, None));
    }

    #[test]
    fn percentiles_of_times() {
        let times: Vec<f64> = (0..=100).map(f64::from).collect();
        let found = completion(Some(&times));
        assert_eq!((found.completed, found.completion_p50_s), (Some(101), Some(50.0)));
        assert_eq!((found.completion_p95_s, found.completion_p99_s), (Some(95.0), Some(99.0)));
        assert_eq!(completion(Some(&Vec::new())).completed, Some(0));
        assert_eq!(completion(None), Completion::default());
    }

    /// Two flows, the second from 2.5 s on, with these bytes in each second.
    fn converged(first: &[u64], second: &[u64]) -> Vec<Option<f64>> {
        let scenario = Scenario::parse(
            "t",
            "duration = '12s'\nnodes = ['a', 'b']\n\
             [[link]]\nname = 'l'\nfrom = 'a'\nto = 'b'\nrate = '8Mbit/s'\ndelay = '1ms'\n\
             [[flow]]\nname = 'x'\nkind = 'tcp'\nfrom = 'a'\nto = 'b'\n\
             [[flow]]\nname = 'y'\nkind = 'tfrc'\nfrom = 'a'\nto = 'b'\nstart = '2.5s'\n",
        )
        .expect("right");
        let (_, members) = scenario.lay_out(scenario.seed);
        let record = |bytes: &[u64]| {
            let mut record = FlowRecord::default();
            for bytes in bytes {
                (0..10).for_each(|_| record.received.push(bytes / 10));
            }
            record
        };
        convergence(&members, &[record(first), record(second)], Instant::ZERO + Duration::from_secs(12))
    }

    #[test]
    fn convergence_by_hand() {
        // From second 6 on 800 and 1200, each within a quarter of 1000; before it 1800 and 200.
        let found = converged(
            &[2000, 2000, 2000, 1800, 1800, 1800, 800, 800, 800, 800, 800, 800],
            &[0, 0, 0, 200, 200, 200, 1200, 1200, 1200, 1200, 1200, 1200],
        );
        assert_eq!(found, [Some(6.0), Some(3.5)]);
        // Near for four seconds only.
        let found = converged(
            &[2000, 2000, 2000, 1800, 1800, 1800, 1800, 1800, 1000, 1000, 1000, 1000],
            &[0, 0, 0, 200, 200, 200, 200, 200, 1000, 1000, 1000, 1000],
        );
        assert_eq!(found, [None, None]);
    }
}
