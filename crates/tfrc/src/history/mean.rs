//! From loss intervals to the loss event rate: the weighted mean of RFC 5348 §5.4 and §5.5.

use crate::study::{Estimator, OpenInterval, Weights};
/// w_i, the weight of the i-th newest of `n` intervals (RFC 5348 §5.4).
pub(crate) fn weight(weights: Weights, i: u8, n: u8) -> f64 {
    match weights {
        Weights::Constant => 1.0,
        Weights::Decreasing if 2 * u16::from(i) < u16::from(n) => 1.0,
        Weights::Decreasing => 2.0 * (f64::from(n) - f64::from(i)) / (f64::from(n) + 2.0),
    }
}

/// An interval as the mean sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weighed {
    /// Length in packets.
    pub(crate) length: f64,
    /// DF_i, what earlier long intervals have left of its weight; 1 without discounting.
    pub(crate) discount: f64,
}

/// The mean over closed intervals only, newest (I_1) first: I_mean of RFC 5348 §5.5. `None` without
/// any.
pub(crate) fn mean_of_closed(closed: impl Iterator<Item = Weighed>, weights: Weights, n: u8) -> Option<f64> {
    let (mut total, mut total_weight) = (0.0, 0.0);
    for (i, interval) in (0..n).zip(closed) {
        let w = weight(weights, i, n) * interval.discount;
        total += interval.length * w;
        total_weight += w;
    }
    if total_weight > 0.0 { Some(total / total_weight) } else { None }
}

/// The mean with the open interval I_0 in it: the `count` closed ones move down by one weight, the
/// oldest drops out, and the general discount factor `df` applies to them (RFC 5348 §5.5,
/// I_tot0/W_tot0). A study may leave the oldest in.
fn mean_with_open(
    open: f64,
    closed: impl Iterator<Item = Weighed>,
    count: usize,
    df: f64,
    weights: Weights,
    n: u8,
    policy: OpenInterval,
) -> f64 {
    let mut total_weight = weight(weights, 0, n);
    let mut total = open * total_weight;
    let mut i = 1;
    let add = |interval: Weighed| {
        let w = weight(weights, i, n) * interval.discount * df;
        total += interval.length * w;
        total_weight += w;
        i += 1;
    };
    // I_tot0 runs over as many intervals as I_tot1 does: the open one takes the place of the oldest
    // closed one (§5.4).
    let beside = if policy.takes_no_place() { count } else { count.saturating_sub(1) };
    closed.take(beside.min(usize::from(n.saturating_sub(1)))).for_each(add);
    total / total_weight
}

/// The mean loss interval from the open interval, if it may count, and the closed ones, newest
/// first, whose own mean is `without`;
/// `None` with another estimator.
pub(crate) fn mean_interval(
    open: Option<f64>,
    without: f64,
    closed: impl Iterator<Item = Weighed>,
    count: usize,
    df: f64,
    estimator: &Estimator,
) -> Option<f64> {
    let Estimator::AverageLossInterval { intervals: n, weights, open: use_open } = *estimator else {
        return None;
    };
    Some(match (use_open, open) {
        (OpenInterval::Never, _) | (_, None) => without,
        (OpenInterval::Always, Some(open)) => mean_with_open(open, closed, count, df, weights, n, use_open),
        (_, Some(open)) => without.max(mean_with_open(open, closed, count, df, weights, n, use_open)),
    })
}

#[cfg(test)]
mod tests {
    use tfrc_units::saturating;

    use super::*;
    use std::vec::Vec;

    fn loss_event_rate(lengths: &[f64], estimator: &Estimator) -> Option<f64> {
        let (open, closed) = lengths.split_first()?;
        let closed = closed.iter().map(|length| Weighed { length: *length, discount: 1.0 });
        let Estimator::AverageLossInterval { intervals, weights, .. } = *estimator else { return None };
        let without = mean_of_closed(closed.clone(), weights, intervals)?;
        mean_interval(Some(*open), without, closed, lengths.len() - 1, 1.0, estimator).map(|mean| 1.0 / mean)
    }

    const DEFAULT: Estimator = Estimator::AverageLossInterval {
        intervals: 8,
        weights: Weights::Decreasing,
        open: OpenInterval::WhenLonger,
    };

    /// One closed interval of 100 and an open one of 400: only a study's mean has both.
    #[test]
    fn the_oldest_of_a_short_history_may_be_kept() {
        let less_first = Estimator::AverageLossInterval {
            intervals: 8,
            weights: Weights::Decreasing,
            open: OpenInterval::WhenLongerLessFirst,
        };
        assert_eq!(loss_event_rate(&[400.0, 100.0], &DEFAULT), Some(1.0 / 400.0));
        assert_eq!(loss_event_rate(&[400.0, 100.0], &less_first), Some(1.0 / 250.0));
        let full = [400.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        assert_eq!(loss_event_rate(&full, &DEFAULT), loss_event_rate(&full, &less_first));
    }

    #[test]
    fn weights_of_eight() {
        let w: Vec<f64> = (0..8).map(|i| weight(Weights::Decreasing, i, 8)).collect();
        assert_eq!(w, [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2]);
    }

    /// RFC 5348 §5.4 written down plainly, for n = 8.
    fn naive(lengths: &[f64]) -> f64 {
        let w = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
        let k = (lengths.len() - 1).min(8);
        let (mut tot0, mut tot1, mut w_tot) = (0.0, 0.0, 0.0);
        for i in 0..k {
            tot0 += lengths.get(i).unwrap_or(&0.0) * w.get(i).unwrap_or(&0.0);
            tot1 += lengths.get(i + 1).unwrap_or(&0.0) * w.get(i).unwrap_or(&0.0);
            w_tot += w.get(i).unwrap_or(&0.0);
        }
        w_tot / f64::max(tot0, tot1)
    }

    /// RFC 5348 §5.4 with 1, 2, 7, 8 and 20 closed intervals, the open one both short and long.
    #[test]
    fn agrees_with_the_plain_formula() {
        for closed in [1usize, 2, 7, 8, 20] {
            for open in [1.0, 50.0, 5000.0] {
                let mut lengths = std::vec![open];
                lengths.extend((0..closed).map(|i| 10.0 + f64::from(saturating::<u32>(i * i % 37))));
                let got = loss_event_rate(&lengths, &DEFAULT).unwrap_or(0.0);
                let want = naive(&lengths);
                assert!(
                    (got / want - 1.0).abs() < 1e-12,
                    "{closed} closed, open {open}: {got} against {want}"
                );
            }
        }
    }

    #[test]
    fn no_loss_event_no_rate() {
        assert_eq!(loss_event_rate(&[1000.0], &DEFAULT), None);
    }

    #[test]
    fn the_basic_estimator_never_takes_the_open_interval() {
        let basic = Estimator::AverageLossInterval {
            intervals: 4,
            weights: Weights::Constant,
            open: OpenInterval::Never,
        };
        assert_eq!(loss_event_rate(&[1e9, 10.0, 20.0, 30.0, 40.0, 1.0], &basic), Some(1.0 / 25.0));
    }
}
