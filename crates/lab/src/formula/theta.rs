//! Loss event intervals and what the receiver estimates them to be, as Rhee and Xu sample them: at
//! every loss event.

use tfrc_units::Instant;

use crate::quantities::Quantity;
use crate::recording::FlowRecord;
use crate::statistics;

/// Statistics of a flow's loss intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Theta {
    events: f64,
    /// The mean of θ, the intervals themselves; p = 1/E[θ].
    pub(crate) mean: f64,
    cv: f64,
    /// The mean of θ̂, the estimator just after each event.
    mean_hat: f64,
    cv_hat: f64,
    /// The mean of 1/θ̂.
    pub(crate) p_hat: Option<f64>,
    /// The 10th, 50th and 90th percentile of θ.
    percentiles: [f64; 3],
    /// The covariance of each θ with the θ̂ in force while it grew.
    cov: f64,
}

/// The statistics of the events after `from`; `None` for fewer than two.
pub(crate) fn of(record: &FlowRecord, from: Instant) -> Option<Theta> {
    // The first interval of all is made up (RFC 5348 §6.3.1).
    let real = record.loss_events.get(1..)?;
    let first = real.iter().position(|event| event.at >= from)?;
    let counted = &real[first..];
    let n = counted.len() as f64;
    if counted.len() < 2 {
        return None;
    }
    // The estimator while an interval grew is that just after the event before.
    let before = &record.loss_events[first..first + counted.len()];
    let intervals: Vec<f64> = counted.iter().map(|event| event.interval).collect();
    let estimates: Vec<f64> = counted.iter().map(|event| event.mean).collect();
    let mean_of = |value: &dyn Fn(usize) -> f64| (0..counted.len()).map(value).sum::<f64>() / n;
    let mean = statistics::mean(&intervals)?;
    let mean_hat = statistics::mean(&estimates)?;
    let mean_before = mean_of(&|i| before[i].mean);
    let percentile = |share| statistics::quantile(intervals.clone(), share);
    Some(Theta {
        events: n,
        mean,
        cv: statistics::variation(&intervals)?,
        mean_hat,
        cv_hat: statistics::variation(&estimates)?,
        p_hat: Some(mean_of(&|i| 1.0 / counted[i].mean)),
        percentiles: [percentile(0.1)?, percentile(0.5)?, percentile(0.9)?],
        cov: mean_of(&|i| (counted[i].interval - mean) * (before[i].mean - mean_before)),
    })
}

/// The quantities of the loss intervals of a flow.
pub(crate) const QUANTITIES: [Quantity<Theta>; 10] = [
    Quantity { key: "events", meaning: "loss events", of: |theta| Some(theta.events) },
    Quantity { key: "mean", meaning: "mean of θ, packets", of: |theta| Some(theta.mean) },
    Quantity { key: "cv", meaning: "coefficient of variation of θ", of: |theta| Some(theta.cv) },
    Quantity { key: "p10", meaning: "10th percentile of θ", of: |theta| Some(theta.percentiles[0]) },
    Quantity { key: "p50", meaning: "median of θ", of: |theta| Some(theta.percentiles[1]) },
    Quantity { key: "p90", meaning: "90th percentile of θ", of: |theta| Some(theta.percentiles[2]) },
    Quantity { key: "mean_hat", meaning: "mean of θ̂, packets", of: |theta| Some(theta.mean_hat) },
    Quantity { key: "cv_hat", meaning: "coefficient of variation of θ̂", of: |theta| Some(theta.cv_hat) },
    Quantity {
        key: "cov",
        meaning: "covariance of each θ with the θ̂ in force while it grew",
        of: |theta| Some(theta.cov),
    },
    Quantity {
        key: "normalized_cov",
        meaning: "`cov` times p², as Le Boudec and Vojnovic normalise it",
        of: |theta| Some(theta.cov / (theta.mean * theta.mean)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::LossEvent;
    use crate::quantities;

    #[test]
    fn by_hand() {
        let at = Instant::from_nanos;
        let event = |t, interval, mean| LossEvent { at: at(t), interval, mean };
        let record = FlowRecord {
            loss_events: vec![
                event(1, 50.0, 10.0),
                event(2, 10.0, 20.0),
                event(3, 30.0, 20.0),
                event(4, 20.0, 40.0),
            ],
            ..FlowRecord::default()
        };
        let all = of(&record, at(0)).expect("three intervals");
        assert_eq!(
            (all.events, all.mean, quantities::value(&QUANTITIES, "p50", &all)),
            (3.0, 20.0, Some(20.0))
        );
        assert!((all.mean_hat - 80.0 / 3.0).abs() < 1e-12);
        assert!(all.p_hat.is_some_and(|p| (p - (0.05 + 0.05 + 0.025) / 3.0).abs() < 1e-12));
        // θ − 20: −10, 10, 0; θ̂ before: 10, 20, 20, mean 50/3.
        assert!((all.cov - (10.0 * 20.0 / 3.0 + 10.0 * 10.0 / 3.0) / 3.0).abs() < 1e-12);
        assert_eq!(of(&record, at(3)).map(|t| t.mean), Some(25.0));
        assert_eq!(of(&record, at(4)), None);
        assert_eq!(of(&FlowRecord::default(), at(0)), None);
    }
}
