//! The figures of a run (RFC 8868 §3): rates, waits, losses, shares, times to converge.

use tfrc_testkit::path::shared::{Arrival, Record};

use crate::cases::Case;
use crate::run::Run;

/// Time in which a flow must stay near its rate to have found it, seconds.
const STAYS: f64 = 5.0;
/// The mean over this time, seconds, is compared with the goal ...
const WINDOW: f64 = 2.0;
/// ... and may differ by this part of it.
const NEAR: f64 = 0.25;

/// The figures of a run.
pub(crate) struct Figures {
    /// Rate of all media, headers included, Mbit/s.
    pub(crate) rate: f64,
    /// That rate over what the bottleneck carries.
    pub(crate) utilisation: f64,
    /// Median and 95th percentile of the media's waits, ms.
    pub(crate) wait: [f64; 2],
    /// Share of the media packets that the network dropped.
    pub(crate) loss: f64,
    /// Share of the media packets that were dropped at the sender.
    pub(crate) late: f64,
    /// Jain's index of the media flows; with a TCP the media's part of both; none for one flow.
    pub(crate) share: Option<f64>,
    /// The times to new rates, seconds, of those that were found; and how many there were.
    pub(crate) converged: Vec<f64>,
    pub(crate) wanted: usize,
}

/// Bits that arrived between two times, seconds.
pub(crate) fn bits(record: &Record, from: f64, to: f64) -> f64 {
    between(record, from, to).iter().map(|arrival| f64::from(arrival.bytes) * 8.0).sum()
}

/// The arrivals between two times, seconds.
pub(crate) fn between(record: &Record, from: f64, to: f64) -> &[Arrival] {
    let place = |time: f64| record.arrivals.partition_point(|arrival| arrival.at.as_secs_f64() < time);
    &record.arrivals[place(from)..place(to).max(place(from))]
}

/// The value that this share of a sample lies below.
pub(crate) fn quantile(sample: &mut [f64], share: f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let last = sample.len().saturating_sub(1) as f64;
    sample.get((last * share).round() as usize).copied().unwrap_or(0.0)
}

impl Case {
    /// The rate of the bottleneck at a time, bit/s.
    fn rate_at(&self, second: f64) -> f64 {
        let now = self.rates.iter().rev().find(|(from, _)| *from as f64 <= second);
        now.map_or(0.0, |(_, mbit)| mbit * 1e6)
    }
}

impl Figures {
    pub(crate) fn of(case: &Case, run: &Run) -> Self {
        let time = case.time as f64;
        let all: f64 = run.media.iter().map(|record| bits(record, 0.0, time)).sum();
        let capacity: f64 = (0..case.time).map(|second| case.rate_at(second as f64)).sum();
        let waits = run.media.iter().flat_map(|record| &record.arrivals);
        let mut waits: Vec<f64> = waits.map(|arrival| arrival.waited.as_secs_f64() * 1e3).collect();
        let sent: u64 = run.media.iter().map(|record| record.sent).sum();
        let arrived: usize = run.media.iter().map(|record| record.arrivals.len()).sum();
        let (converged, wanted) = convergence(case, run);
        Self {
            rate: all / time / 1e6,
            utilisation: all / capacity,
            wait: [0.5, 0.95].map(|share| quantile(&mut waits, share)),
            loss: 1.0 - arrived as f64 / sent.max(1) as f64,
            late: run.late as f64 / run.made.max(1) as f64,
            share: share(case, run),
            converged,
            wanted,
        }
    }
}

fn share(case: &Case, run: &Run) -> Option<f64> {
    let (from, to) = (case.shared.0 as f64, case.shared.1 as f64);
    let rates: Vec<f64> = run.media.iter().map(|record| bits(record, from, to)).collect();
    let sum: f64 = rates.iter().sum();
    match &run.tcp {
        Some(tcp) => Some(sum / (sum + bits(tcp, from, to))),
        None if rates.len() > 1 => {
            let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
            Some(sum * sum / (rates.len() as f64 * squares))
        }
        None => None,
    }
}

/// The times that flows needed for each new rate, of those that they found; and how many new rates
/// there were.
fn convergence(case: &Case, run: &Run) -> (Vec<f64>, usize) {
    let (mut times, mut wanted) = (Vec::new(), 0);
    for (n, (from, parts)) in case.phases.iter().enumerate() {
        let to = case.phases.get(n + 1).map_or(case.time, |(next, _)| *next) as f64;
        for (record, part) in run.media.iter().zip(*parts).filter(|(_, part)| **part > 0.0) {
            wanted += 1;
            let from = *from as f64;
            let goal = part * case.rate_at(from);
            let mut since = None;
            let mut at = from + WINDOW;
            while at <= to {
                let mean = bits(record, at - WINDOW, at) / WINDOW;
                let is_near = (mean / goal - 1.0).abs() <= NEAR;
                since = if is_near { since.or(Some(at)) } else { None };
                if let Some(since) = since.filter(|since| at - since >= STAYS) {
                    times.push(since - from);
                    break;
                }
                at += 0.1;
            }
        }
    }
    (times, wanted)
}
