//! All that is kept of one run for the formulas of experiments: more than an [`Outcome`], in memory only.

use tfrc_sim::LinkStats;
use tfrc_units::{Duration, Instant};

use crate::Outcome;
use crate::metric::{BIN, Series};

/// One run with its time series.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) outcome: Outcome,
    /// The groups of flows: name, first flow, number of flows.
    pub(crate) groups: Vec<(String, usize, usize)>,
    /// In the order of the outcome's flows.
    pub(crate) flows: Vec<FlowRecord>,
    /// In the order of the outcome's links.
    pub(crate) links: Vec<LinkStats>,
    /// The measured time.
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// What is kept of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowRecord {
    /// Bytes of data sent in each tenth of a second of the whole run.
    pub(crate) sent: Series,
    /// Bytes of data received.
    pub(crate) received: Series,
    /// Over the measured time.
    pub(crate) counts: FlowCounts,
}

/// What a flow did in the measured time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowCounts {
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) loss_events: Option<u64>,
}

impl Recording {
    /// The flows of a group, or the one flow of this name.
    pub(crate) fn members(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let group = self.groups.iter().find(|(group, ..)| group == name);
        group.map(|(_, first, count)| *first..first + count).or_else(|| {
            let at = self.outcome.flows.iter().position(|flow| flow.id == name)?;
            Some(at..at + 1)
        })
    }
}

/// The equivalence ratio of two flows at a time scale: the mean, over the stretches in which either sent, of the smaller
/// rate over the larger. `None` if neither ever did. (Floyd, Handley, Padhye, Widmer 2000, §4.1.1.)
pub(crate) fn equivalence(
    a: &Series,
    b: &Series,
    from: Instant,
    to: Instant,
    scale: Duration,
) -> Option<f64> {
    let (a, b) = (a.stretches(from, to, scale), b.stretches(from, to, scale));
    let ratios: Vec<f64> = a
        .iter()
        .zip(&b)
        .filter(|(a, b)| **a > 0 || **b > 0)
        .map(|(a, b)| *a.min(b) as f64 / *a.max(b) as f64)
        .collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

/// The mean rate in bit/s between two times of the run, to the tenth of a second. `None` over no time.
pub(crate) fn rate(series: &Series, from: Instant, to: Instant) -> Option<f64> {
    let bins = to.saturating_since(from).as_nanos() / BIN.as_nanos();
    let bytes: u64 = series.stretches(from, to, BIN).iter().sum();
    (bins > 0).then(|| bytes as f64 * 8.0 / (bins as f64 * BIN.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn series(bins: &[u64]) -> Series {
        let mut series = Series::default();
        bins.iter().for_each(|bytes| series.push(*bytes));
        series
    }

    #[test]
    fn equivalence_by_hand() {
        let (a, b) = (series(&[10, 0, 5, 5, 0, 0]), series(&[5, 5, 10, 0, 0, 0]));
        let at_scale = |ms| equivalence(&a, &b, at(0), at(600), Duration::from_millis(ms));
        // 1/2, 0, 1/2, 0, and two stretches in which nobody sends.
        assert_eq!(at_scale(100), Some(0.25));
        // 10 and 10, 10 and 10, nothing.
        assert_eq!(at_scale(200), Some(1.0));
        assert_eq!(equivalence(&a, &b, at(400), at(600), BIN), None);
    }

    #[test]
    fn rates_by_hand() {
        let a = series(&[10, 20, 30]);
        assert_eq!(rate(&a, at(100), at(300)), Some(2000.0));
        assert_eq!(rate(&a, at(0), at(1000)), Some(480.0));
        assert_eq!(rate(&a, at(200), at(200)), None);
    }
}
