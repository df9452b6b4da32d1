//! Means of what has been measured so far.

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

#[cfg(test)]
mod tests {
    use super::*;

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
