//! Loss event rates and loss intervals of one TFRC flow of ns-2, from what its receiver prints at
//! each report (`printLoss_`).

use tfrc_lab::statistics::{mean, quantile, variation};

/// From the lines `time: T loss_rate: P` and, of the same report, `T: sample 0: A 1: B 2: C …` (A
/// is the open interval, the others the newest closed ones) after a time: `p`, one over the mean of
/// the loss intervals that were closed; `p_hat`, the mean of the loss event rate at the reports
/// that a loss event caused; and statistics of the intervals. None for fewer than two loss events.
pub(super) fn of_a_flow(text: &str, from: f64) -> Vec<(&'static str, f64)> {
    let (mut rate, mut before) = (None, None::<Vec<f64>>);
    let (mut intervals, mut rates) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some((_, value)) = line.strip_prefix("time: ").and_then(|rest| rest.split_once(" loss_rate: "))
        {
            rate = value.trim().parse::<f64>().ok().or(rate);
        }
        let Some((time, closed)) = sample(line) else { continue };
        let Some(before) = before.replace(closed.clone()) else { continue };
        let new = (0..=closed.len()).find(|n| before.starts_with(&closed[*n..])).unwrap_or(0);
        if new > 0 && time > from {
            intervals.extend(&closed[..new]);
            rates.extend(rate);
        }
    }
    if intervals.len() < 2 {
        return Vec::new();
    }
    let percentile = |share| quantile(intervals.clone(), share);
    let all = [
        ("p", mean(&intervals).map(|mean| 1.0 / mean)),
        ("p_hat", mean(&rates)),
        ("interval_mean", mean(&intervals)),
        ("interval_cv", variation(&intervals)),
        ("interval_p10", percentile(0.1)),
        ("interval_p50", percentile(0.5)),
        ("interval_p90", percentile(0.9)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The time and the closed intervals of one line, newest first.
fn sample(line: &str) -> Option<(f64, Vec<f64>)> {
    let (time, list) = line.split_once(": sample 0:")?;
    // The value of each number stands before the next number's name.
    let values: Option<Vec<f64>> =
        list.split_whitespace().filter(|word| !word.ends_with(':')).map(|word| word.parse().ok()).collect();
    Some((time.parse().ok()?, values?.split_first()?.1.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_after_the_time_are_counted() {
        let text = "time: 40.0 loss_rate: 0.5 \n40.0: sample 0:     9 1:    10 2:     7 3:     3\n\
                    time: 41.0 loss_rate: 0.25 \n\
                    time: 41.0 sample 0:    1 loss_rate: 0.25 \n41.0: sample 0:     1 1:    30 2:    10 3:     7\n\
                    time: 51.0 loss_rate: 0.125 \n51.0: sample 0:     1 1:    50 2:    30 3:    10\n\
                    time: 52.0 loss_rate: 0.1 \n52.0: sample 0:     9 1:    50 2:    30 3:    10\n\
                    time: 53.0 loss_rate: 0.375 \n53.0: sample 0:     9 1:    30 2:    50 3:    30\n";
        let all = of_a_flow(text, 50.0);
        assert_eq!(all[..2], [("p", 0.025), ("p_hat", 0.25)]);
        assert_eq!(all[2..5], [("interval_mean", 40.0), ("interval_cv", 0.25), ("interval_p10", 32.0)]);
        assert_eq!(of_a_flow(text, 52.5), []);
    }
}
