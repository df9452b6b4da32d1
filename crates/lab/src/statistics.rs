//! Statistics of samples: means, deviations, quantiles, confidence intervals and Welch's comparison
//! of two means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean; `None` if no run has the value.
    pub mean: Option<f64>,
    /// Half the width of its 95 % interval, by Student's t; `None` for fewer than two runs, and for
    /// runs that are copies because nothing is random.
    pub ci95: Option<f64>,
}

/// Two means of runs, compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Mean of the second sample over that of the first.
    pub ratio: f64,
    /// Half the width of the interval of the difference, as a share of the first mean.
    pub half_width: f64,
    /// The probability of so large a difference between samples of one mean.
    pub p: f64,
}

/// The arithmetic mean; `None` for an empty sample.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of the values themselves (divided by n); `None` for an empty sample.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    Some((squares(values)? / values.len() as f64).sqrt())
}

/// The coefficient of variation: [`deviation`] over [`mean`]. `None` for fewer than two values or a
/// mean that is not positive.
#[must_use]
pub fn variation(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|middle| *middle > 0.0 && values.len() > 1)?;
    Some(deviation(values)? / middle)
}

/// The mean of the smaller value over the larger, over the pairs in which one is above zero; `None`
/// without such a pair. The equivalence ratio of two flows, if the values are their rates. (Floyd,
/// Handley, Padhye, Widmer 2000, §4.1.1.)
pub fn equivalence(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let sent = pairs.into_iter().filter(|(a, b)| *a > 0.0 || *b > 0.0);
    mean(&sent.map(|(a, b)| a.min(b) / a.max(b)).collect::<Vec<f64>>())
}

/// The middle value, or the mean of the two in the middle; `None` for an empty sample.
#[must_use]
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| f64::midpoint(values[(n - 1) / 2], values[n / 2]))
}

/// The value that a share (0 to 1) of the sample lies below, by linear interpolation between its
/// neighbours; `None` for an empty sample.
#[must_use]
pub fn quantile(mut values: Vec<f64>, share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let at = share.clamp(0.0, 1.0) * values.len().checked_sub(1)? as f64;
    let low = values[at.floor() as usize];
    Some(low + at.fract() * (values[at.ceil() as usize] - low))
}

/// The mean of a sample and half the width of its 95 % interval.
#[must_use]
pub fn estimate(values: &[f64]) -> Estimate {
    let n = values.len();
    let ci95 = variance(values).map(|variance| student_95(n - 1) * (variance / n as f64).sqrt());
    Estimate { mean: mean(values), ci95 }
}

/// The standard deviation of `n` values whose mean has a 95 % interval of this half width; `None`
/// for fewer than two.
#[must_use]
pub fn deviation_of(half_width: f64, n: u32) -> Option<f64> {
    let freedom = usize::try_from(n).ok()?.checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(half_width * f64::from(n).sqrt() / student_95(freedom))
}

/// Half the width of the interval of the mean that leaves out the share `alpha`, by Student's t;
/// `None` for fewer than two values.
#[must_use]
pub fn half_width(values: &[f64], alpha: f64) -> Option<f64> {
    let n = values.len() as f64;
    Some(student(alpha, n - 1.0) * (variance(values)? / n).sqrt())
}

impl Welch {
    /// Compares two samples of unequal variances; the interval leaves out the share `alpha`. `None`
    /// for fewer than two values in a sample, or a first mean of zero.
    #[must_use]
    pub fn compare(first: &[f64], second: &[f64], alpha: f64) -> Option<Self> {
        let (m1, m2) = (mean(first).filter(|mean| *mean != 0.0)?, mean(second)?);
        let (n1, n2) = (first.len() as f64, second.len() as f64);
        let (e1, e2) = (variance(first)? / n1, variance(second)? / n2);
        let error = (e1 + e2).sqrt();
        let ratio = m2 / m1;
        if error == 0.0 {
            // Samples without scatter: any difference is real.
            return Some(Self { ratio, half_width: 0.0, p: if m1 == m2 { 1.0 } else { 0.0 } });
        }
        // The degrees of freedom of Welch and Satterthwaite.
        let freedom = (e1 + e2).powi(2) / (e1 * e1 / (n1 - 1.0) + e2 * e2 / (n2 - 1.0));
        Some(Self {
            ratio,
            half_width: student(alpha, freedom) * error / m1.abs(),
            p: two_sided((m2 - m1).abs() / error, freedom),
        })
    }
}

/// Marks the comparisons whose means differ by Holm's procedure: together they err with a
/// probability of at most `alpha`.
#[must_use]
pub fn told_apart(comparisons: &[Welch], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..comparisons.len()).collect();
    order.sort_by(|&a, &b| comparisons[a].p.total_cmp(&comparisons[b].p));
    let mut apart = vec![false; comparisons.len()];
    for (rank, &place) in order.iter().enumerate() {
        if comparisons[place].p > alpha / (comparisons.len() - rank) as f64 {
            break;
        }
        apart[place] = true;
    }
    apart
}

/// The sum of the squared distances from the mean; `None` for an empty sample.
fn squares(values: &[f64]) -> Option<f64> {
    let middle = mean(values)?;
    Some(values.iter().map(|x| (x - middle) * (x - middle)).sum())
}

/// The unbiased variance of the distribution that a sample is drawn from (divided by n - 1).
fn variance(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(squares(values)? / freedom as f64)
}

/// The 97.5 % point of Student's distribution, as tables print it: to three decimals, and within
/// 0.15 % beyond thirty degrees of freedom. The intervals of experiments are made with these
/// points; exact ones would move every `ci95` in its fifth digit.
fn student_95(freedom: usize) -> f64 {
    const POINTS: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    freedom
        .checked_sub(1)
        .and_then(|i| POINTS.get(i))
        .copied()
        .unwrap_or_else(|| 1.96 + 2.4 / freedom.max(1) as f64)
}

/// The value that Student's t exceeds on either side with probability `alpha`.
fn student(alpha: f64, freedom: f64) -> f64 {
    distribution(freedom).map_or(f64::NAN, |t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// The probability that Student's t is further from zero than `t` on either side.
fn two_sided(t: f64, freedom: f64) -> f64 {
    distribution(freedom).map_or(f64::NAN, |student| 2.0 * student.sf(t))
}

/// Student's distribution; `None` unless `freedom` is positive.
fn distribution(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: Option<f64>, wanted: f64) {
        assert!(value.is_some_and(|x| (x - wanted).abs() < 1e-9), "{value:?} is not {wanted}");
    }

    #[test]
    fn samples_by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(
            (mean(&values), deviation(&values), variation(&values)),
            (Some(5.0), Some(2.0), Some(0.4))
        );
        assert_eq!(
            (mean(&[]), deviation(&[]), variation(&[3.0]), variation(&[0.0, 0.0])),
            (None, None, None, None)
        );
        assert_eq!(equivalence([(1.0, 2.0), (0.0, 0.0), (3.0, 0.0), (1.0, 1.0)]), Some(0.5));
        assert_eq!(equivalence([(0.0, 0.0)]), None);
        let eleven: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let of = |share| quantile(eleven.clone(), share);
        assert_eq!((of(0.1), of(0.5), of(0.95), of(1.0)), (Some(2.0), Some(6.0), Some(10.5), Some(11.0)));
        assert_eq!((median(vec![3.0, 1.0]), median(vec![]), quantile(vec![], 0.5)), (Some(2.0), None, None));
    }

    #[test]
    fn intervals_of_a_mean() {
        // Sample deviation 1, n = 3: 4.303/√3.
        let three = estimate(&[1.0, 2.0, 3.0]);
        assert_eq!(three.mean, Some(2.0));
        assert!(three.ci95.is_some_and(|half| (half - 4.303 / 3f64.sqrt()).abs() < 1e-12));
        assert!(
            half_width(&[1.0, 2.0, 3.0], 0.05)
                .is_some_and(|half| (half - 4.302_653 / 3f64.sqrt()).abs() < 1e-6)
        );
        assert_eq!(estimate(&[5.0]), Estimate { mean: Some(5.0), ci95: None });
        assert_eq!(estimate(&[]).mean, None);
        // The printed points against the distribution.
        for freedom in 1..=200 {
            let (printed, exact) = (student_95(freedom), student(0.05, freedom as f64));
            let most = if freedom <= 30 { 0.000_51 } else { 0.003 };
            assert!((printed - exact).abs() < most, "{freedom}: {printed} {exact}");
        }
    }

    /// Student's table: 1 % on both sides.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in
            [(1.0, 63.657), (2.0, 9.925), (5.0, 4.032), (10.0, 3.169), (18.0, 2.878), (1e6, 2.576)]
        {
            let t = student(0.01, freedom);
            assert!((t / expected - 1.0).abs() < 2e-4, "{freedom}: {t}");
            assert!((two_sided(t, freedom) - 0.01).abs() < 1e-9);
        }
        // With one degree of freedom the distribution is Cauchy's, with two it has a closed form.
        assert!((two_sided(1.0, 1.0) - 0.5).abs() < 1e-9);
        assert!((two_sided(2.0, 2.0) - (1.0 - 2.0 / 6f64.sqrt())).abs() < 1e-9);
    }

    /// Two samples worked by hand: means 3 and 5, variances 2.5 and 10, so t = 2/√2.5 and 5.88
    /// degrees of freedom.
    #[test]
    fn welch_on_a_made_up_sample() {
        let compare = |first: &[f64], second: &[f64]| Welch::compare(first, second, 0.01);
        let seen = compare(&[1.0, 2.0, 3.0, 4.0, 5.0], &[1.0, 3.0, 5.0, 7.0, 9.0]).expect("two samples");
        let freedom = 2.5f64.powi(2) / (0.25 / 4.0 + 4.0 / 4.0);
        near(Some(seen.p), two_sided(2.0 / 2.5f64.sqrt(), freedom));
        assert!((0.25..0.26).contains(&seen.p), "{}", seen.p);
        near(Some(seen.half_width * 3.0 / 2.5f64.sqrt()), student(0.01, freedom));
        near(Some(seen.ratio), 5.0 / 3.0);
        assert_eq!((compare(&[1.0], &[1.0, 2.0]), compare(&[0.0, 0.0], &[1.0, 2.0])), (None, None));
        // Without scatter.
        assert_eq!(compare(&[4.0, 4.0], &[4.0, 4.0]).map(|one| one.p), Some(1.0));
        assert_eq!(compare(&[4.0, 4.0], &[5.0, 5.0]).map(|one| one.p), Some(0.0));
    }

    /// Two alike p of 0.006: alone each separates the means, together the smaller must be below
    /// 0.005.
    #[test]
    fn holm_goes_down_the_table() {
        let of = |list: &[f64]| {
            let list: Vec<Welch> = list.iter().map(|&p| Welch { ratio: 1.0, half_width: 0.0, p }).collect();
            told_apart(&list, 0.01)
        };
        assert_eq!(of(&[0.006]), [true]);
        assert_eq!(of(&[0.006, 0.006]), [false, false]);
        assert_eq!(of(&[0.006, 0.004]), [true, true], "the second is judged against 0.01");
        assert_eq!(of(&[0.004, 0.5, 0.001]), [true, false, true]);
        assert!(of(&[]).is_empty());
    }
}
