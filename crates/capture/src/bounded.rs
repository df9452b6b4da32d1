//! Series and samples of bounded size: a capture of any length is read in the same memory.

/// Items at equal distances: when the limit is reached, every second one is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Series<T> {
    items: Vec<T>,
    limit: usize,
    stride: u64,
    seen: u64,
}

impl<T> Series<T> {
    /// At most `limit` items, at least two.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { items: Vec::new(), limit, stride: 1, seen: 0 }
    }

    pub(crate) fn push(&mut self, item: T) {
        if self.seen.is_multiple_of(self.stride) {
            if self.items.len() >= self.limit {
                let mut keep = false;
                self.items.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.items.push(item);
            }
        }
        self.seen += 1;
    }

    /// Items that were pushed.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }
}

/// Samples of a quantity: their number, the least, and the median of those kept.
#[derive(Debug, Clone)]
pub(crate) struct Samples {
    kept: Series<f64>,
    least: f64,
    most: f64,
}

/// Samples kept for the median.
const KEPT: usize = 512;

impl Default for Samples {
    fn default() -> Self {
        Self::new()
    }
}

impl Samples {
    pub(crate) const fn new() -> Self {
        Self { kept: Series::new(KEPT), least: f64::INFINITY, most: 0.0 }
    }

    pub(crate) fn push(&mut self, sample: f64) {
        self.kept.push(sample);
        self.least = self.least.min(sample);
        self.most = self.most.max(sample);
    }

    pub(crate) const fn count(&self) -> u64 {
        self.kept.seen()
    }

    pub(crate) fn least(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.least)
    }

    pub(crate) fn most(&self) -> Option<f64> {
        (self.count() > 0).then_some(self.most)
    }

    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.kept.items().to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_keeps_items_at_equal_distances() {
        let mut series = Series::new(8);
        (0..1000).for_each(|n| series.push(n));
        assert!((4..=8).contains(&series.items().len()), "{series:?}");
        let steps: Vec<_> = series.items().windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{series:?}");
        assert_eq!((series.seen(), series.items()[0]), (1000, 0));
    }

    #[test]
    fn samples_have_a_median_and_ends() {
        let mut samples = Samples::new();
        assert_eq!((samples.median(), samples.least(), samples.most()), (None, None, None));
        [3.0, 1.0, 2.0].into_iter().for_each(|sample| samples.push(sample));
        assert_eq!(
            (samples.median(), samples.least(), samples.most(), samples.count()),
            (Some(2.0), Some(1.0), Some(3.0), 3)
        );
    }
}
