//! How the loss intervals of one TFRC flow are distributed: from what ns-2's receiver prints at each report, and from our list.

/// The closed intervals among the lines `TIME: sample 0: A 1: B 2: C …` that a receiver of ns-2 prints with `printLoss_`: A is the
/// open interval, the others are the newest closed ones. What had been closed before the first line is not counted.
pub(super) fn closed(text: &str) -> Vec<f64> {
    let mut intervals = Vec::new();
    let mut before: Option<Vec<f64>> = None;
    for now in text.lines().filter_map(sample) {
        if let Some(before) = &before {
            let new = (0..=now.len()).find(|n| before.starts_with(&now[*n..])).unwrap_or(0);
            intervals.extend(now[..new].iter().rev());
        }
        before = Some(now);
    }
    intervals
}

/// The closed intervals of one line, newest first.
fn sample(line: &str) -> Option<Vec<f64>> {
    let (_, list) = line.split_once(": sample 0:")?;
    // The value of each number stands before the next number's name.
    let values: Option<Vec<f64>> =
        list.split_whitespace().filter(|word| !word.ends_with(':')).map(|word| word.parse().ok()).collect();
    let values = values.filter(|values| values.len() > 2)?;
    Some(values[1..].to_vec())
}

/// Computed from sorted values.
type Statistic = fn(&[f64]) -> f64;

/// What is compared of a distribution: its name in tables' keys, and how it is computed.
pub(super) const STATISTICS: [(&str, Statistic); 5] = [
    ("mean", mean),
    ("cv", |sorted| {
        let m = mean(sorted);
        (sorted.iter().map(|x| (x - m).powi(2)).sum::<f64>() / sorted.len() as f64).sqrt() / m
    }),
    ("p10", |sorted| quantile(sorted, 0.1)),
    ("p50", |sorted| quantile(sorted, 0.5)),
    ("p90", |sorted| quantile(sorted, 0.9)),
];

/// One statistic of some intervals; none for fewer than ten.
pub(super) fn statistic(intervals: &[f64], name: &str) -> Option<f64> {
    let (_, compute) = STATISTICS.iter().find(|(known, _)| *known == name)?;
    let mut sorted = intervals.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted.len() >= 10).then(|| compute(&sorted))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Linear between the values on both sides.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = sorted[(low + 1).min(sorted.len() - 1)];
    sorted[low] + part * (high - sorted[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_counted_once() {
        let text = "40.0: sample 0:     9 1:    10 2:     7 3:     3\n\
                    time: 40.1 sample 0:    9 loss_rate: 0.1\n\
                    40.1: sample 0:    19 1:    10 2:     7 3:     3\n\
                    40.2: sample 0:     2 1:    25 2:    10 3:     7\n\
                    40.3: sample 0:     1 1:     6 2:     4 3:    25\n";
        assert_eq!(closed(text), [25.0, 4.0, 6.0]);
    }

    #[test]
    fn statistics_by_hand() {
        let values: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let of = |name| statistic(&values, name).unwrap_or(f64::NAN);
        assert_eq!((of("mean"), of("p10"), of("p50"), of("p90")), (6.0, 2.0, 6.0, 10.0));
        assert!((of("cv") - 10.0_f64.sqrt() / 6.0).abs() < 1e-12);
        assert_eq!(statistic(&values[..9], "mean"), None);
    }
}
