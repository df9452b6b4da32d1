//! Statistics of samples: means, deviations, quantiles and confidence intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use tfrc_agents::squares;
pub use tfrc_agents::{deviation, mean, variation};

/// A mean over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean; `None` if no run has the value.
    pub mean: Option<f64>,
    /// Half the width of its 95 % interval, by Student's t; `None` for fewer than two runs, and for
    /// runs that are copies because nothing is random.
    pub ci95: Option<f64>,
}

/// The mean of the smaller value over the larger, over the pairs in which one is above zero; `None`
/// without such a pair. The equivalence ratio of two flows, if the values are their rates. (Floyd,
/// Handley, Padhye, Widmer 2000, §4.1.1.)
pub fn equivalence(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let sent = pairs.into_iter().filter(|(a, b)| *a > 0.0 || *b > 0.0);
    mean(&sent.map(|(a, b)| a.min(b) / a.max(b)).collect::<Vec<f64>>())
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
    let ci95 = variance(values).map(|variance| student_95(n as f64 - 1.0) * (variance / n as f64).sqrt());
    Estimate { mean: mean(values), ci95 }
}

/// The unbiased variance of the distribution that a sample is drawn from (divided by n - 1).
fn variance(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(squares(values)? / freedom as f64)
}

/// The 97.5 % point of Student's distribution; not a number unless `freedom` is positive.
fn student_95(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_by_hand() {
        assert_eq!(equivalence([(1.0, 2.0), (0.0, 0.0), (3.0, 0.0), (1.0, 1.0)]), Some(0.5));
        assert_eq!(equivalence([(0.0, 0.0)]), None);
        let eleven: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        let of = |share| quantile(eleven.clone(), share);
        assert_eq!((of(0.1), of(0.5), of(0.95), of(1.0)), (Some(2.0), Some(6.0), Some(10.5), Some(11.0)));
        assert_eq!((quantile(vec![3.0, 1.0], 0.5), quantile(vec![], 0.5)), (Some(2.0), None));
    }

    #[test]
    fn intervals_of_a_mean() {
        // Sample deviation 1, n = 3: 4.303/√3.
        let three = estimate(&[1.0, 2.0, 3.0]);
        assert_eq!(three.mean, Some(2.0));
        assert!(three.ci95.is_some_and(|half| (half - 4.302_653 / 3f64.sqrt()).abs() < 1e-6));
        assert_eq!(estimate(&[5.0]), Estimate { mean: Some(5.0), ci95: None });
        assert_eq!(estimate(&[]).mean, None);
        for (freedom, printed) in [(1.0, 12.706), (10.0, 2.228), (30.0, 2.042), (1e6, 1.960)] {
            assert!((student_95(freedom) - printed).abs() < 5e-4, "{freedom}");
        }
    }
}
