//! Time series: bytes in bins, and states looked at now and then.

use serde::{Deserialize, Serialize};
use tfrc_units::{Duration, Instant, saturating};

use super::LOOK;
use crate::metric::{BIN, Series};
use crate::statistics;

/// A state at every look; a look without a value holds none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Samples(Vec<Option<f64>>);

impl Samples {
    /// Adds the value at the next look.
    pub fn push(&mut self, value: Option<f64>) {
        self.0.push(value);
    }

    /// The value of each look.
    #[must_use]
    pub fn values(&self) -> &[Option<f64>] {
        &self.0
    }

    /// The latest value at a time.
    pub(crate) fn at(&self, time: Instant) -> Option<f64> {
        let looks = saturating::<usize>(time.as_nanos() / LOOK.as_nanos());
        self.0.get(looks.checked_sub(1)?).copied().flatten()
    }

    /// Those after `from`, up to `to`, with their times in seconds.
    pub(crate) fn between(&self, from: Instant, to: Instant) -> impl Iterator<Item = (f64, f64)> + '_ {
        let looks = |time: Instant| saturating::<usize>(time.as_nanos() / LOOK.as_nanos());
        let (first, end) = (looks(from), looks(to).min(self.0.len()));
        let some = self.0.get(first..end).unwrap_or_default().iter().enumerate();
        some.filter_map(move |(i, value)| {
            let nth = saturating::<u64>(first + i + 1);
            Some(((LOOK * nth).as_secs_f64(), (*value)?))
        })
    }
}

/// The equivalence ratio of two flows at a time scale; `None` if neither ever sent.
pub(crate) fn equivalence(
    a: &Series,
    b: &Series,
    from: Instant,
    to: Instant,
    scale: Duration,
) -> Option<f64> {
    let (a, b) = (a.stretches(from, to, scale), b.stretches(from, to, scale));
    statistics::equivalence(a.iter().zip(&b).map(|(a, b)| (*a as f64, *b as f64)))
}

/// The mean rate in bit/s between two times of the run, to the tenth of a second. `None` over no
/// time.
pub(crate) fn rate(series: &Series, from: Instant, to: Instant) -> Option<f64> {
    let bins = to.saturating_since(from).as_nanos() / BIN.as_nanos();
    let bytes = series.sum(from, to);
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
        // 60 bytes in 10^10 s: a time of a formula costs no memory.
        assert_eq!(rate(&a, at(0), at(10_000_000_000_000)), Some(4.8e-8));
    }

    #[test]
    fn states_by_hand() {
        let mut samples = Samples::default();
        for value in [None, Some(1.0), Some(2.0), Some(3.0)] {
            samples.push(value);
        }
        assert_eq!((samples.at(at(9)), samples.at(at(10)), samples.at(at(25))), (None, None, Some(1.0)));
        let list: Vec<(f64, f64)> = samples.between(at(10), at(30)).collect();
        assert_eq!(list, [(0.02, 1.0), (0.03, 2.0)]);
        assert_eq!(samples.between(at(40), at(90)).count(), 0);
    }
}
