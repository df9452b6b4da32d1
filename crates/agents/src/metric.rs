//! Measures of what flows got.

use serde::{Deserialize, Serialize};
use tfrc_units::{Duration, Instant, saturating};

use crate::sample::variation;

/// A mean in the making.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// Of `count` values whose sum is `sum`.
    #[must_use]
    pub const fn of(sum: f64, count: u64) -> Self {
        Self { sum, count }
    }

    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// Of the values added after `earlier` was taken.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { sum: self.sum - earlier.sum, count: self.count.saturating_sub(earlier.count) }
    }

    /// The mean, `None` of no values.
    #[must_use]
    pub fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// Bytes over time, in bins of 100 ms from the start of the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Series {
    bins: Vec<u64>,
}

/// The width of a bin, and the finest time scale of a rate.
pub const BIN: Duration = Duration::from_millis(100);

impl Series {
    /// No bytes yet, with room for this many bins.
    #[must_use]
    pub fn with_room(bins: usize) -> Self {
        Self { bins: Vec::with_capacity(bins) }
    }

    /// Adds `bytes` at `now`.
    pub fn add(&mut self, now: Instant, bytes: u64) {
        let bin = saturating::<usize>(now.as_nanos() / BIN.as_nanos()).min(usize::MAX - 1);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += bytes;
    }

    /// Adds `bytes` as the next bin.
    pub fn push(&mut self, bytes: u64) {
        self.bins.push(bytes);
    }

    /// The bytes of each bin.
    #[must_use]
    pub fn bins(&self) -> &[u64] {
        &self.bins
    }

    /// The coefficient of variation of the rate at a time scale: standard deviation over mean of
    /// the bytes in consecutive stretches of `scale` (a multiple of [`BIN`]) between `from` and
    /// `to`; what is left over at the end is left out. `None` for fewer than two stretches or a
    /// flow that sent nothing. (Floyd, Handley, Padhye, Widmer 2000, §4.1.1.)
    #[must_use]
    pub fn cov(&self, from: Instant, to: Instant, scale: Duration) -> Option<f64> {
        let sums = self.stretches(from, to, scale);
        variation(&sums.iter().map(|bytes| *bytes as f64).collect::<Vec<f64>>())
    }

    /// When the last bin with any bytes ends, in seconds from the start.
    #[must_use]
    pub fn end(&self) -> Option<f64> {
        let last = self.bins.iter().rposition(|bytes| *bytes > 0)?;
        Some((last + 1) as f64 * BIN.as_secs_f64())
    }

    /// The bytes between two times, each taken down to a whole bin.
    #[must_use]
    pub fn sum(&self, from: Instant, to: Instant) -> u64 {
        let bin = |t: Instant| saturating::<usize>(t.as_nanos() / BIN.as_nanos());
        let (first, end) = (bin(from), bin(to));
        self.bins.iter().skip(first).take(end.saturating_sub(first)).sum()
    }

    /// The bytes in consecutive stretches of `scale` (a multiple of [`BIN`]) between `from` and
    /// `to`; what is left over at the end is left out.
    #[must_use]
    pub fn stretches(&self, from: Instant, to: Instant, scale: Duration) -> Vec<u64> {
        let bin = |t: Instant| saturating::<usize>(t.as_nanos() / BIN.as_nanos());
        let width = saturating::<usize>(scale.as_nanos() / BIN.as_nanos()).max(1);
        let (first, end) = (bin(from), bin(to));
        (0..end.saturating_sub(first) / width)
            .map(|i| self.bins.iter().skip(first + i * width).take(width).sum())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn cov_of_a_square_wave() {
        let mut series = Series::default();
        // 300 bytes in each odd second, 100 in each even: mean 200, deviation 100.
        for second in 0..10 {
            series.add(at(second * 1000 + 950), if second % 2 == 0 { 100 } else { 300 });
        }
        let cov = |from, to, scale| series.cov(at(from), at(to), Duration::from_millis(scale));
        assert_eq!(cov(0, 10_000, 1000), Some(0.5));
        assert_eq!(cov(0, 10_000, 2000), Some(0.0));
        // 100, 300 … 100, seven of them: mean 1300/7, variance 48·(100/7)².
        assert!(cov(2000, 9500, 1000).is_some_and(|c| (c - libm::sqrt(48.0) / 13.0).abs() < 1e-12));
        assert_eq!(cov(0, 1500, 1000), None);
        assert_eq!(cov(20_000, 30_000, 1000), None);
    }

    #[test]
    fn means_since() {
        let mut mean = Mean::default();
        assert_eq!(mean.get(), None);
        mean.add(1.0);
        let earlier = mean;
        mean.add(3.0);
        mean.add(5.0);
        assert_eq!((mean.get(), mean.since(earlier).get()), (Some(3.0), Some(4.0)));
    }
}
