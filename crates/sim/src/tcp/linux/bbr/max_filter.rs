//! The greatest value of a window of rounds, from its three best candidates (the estimator of
//! Kathleen Nichols that the kernel has).

#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    round: u64,
    value: f64,
}

/// A running maximum.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MaxFilter {
    /// The best, the best after it, and the best after that.
    best: [Candidate; 3],
}

impl MaxFilter {
    pub(super) const fn get(&self) -> f64 {
        let [first, ..] = &self.best;
        first.value
    }

    /// Takes a value of this round in; values of more than `window` rounds ago are forgotten.
    pub(super) fn update(&mut self, window: u64, round: u64, value: f64) {
        let new = Candidate { round, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || round - third.round > window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        let age = round - first.round;
        if age > window {
            (*first, *second, *third) = (*second, *third, new);
            if round - first.round > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.round == first.round && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.round == second.round && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never less than the latest value, never more than the true maximum of the window.
        #[test]
        fn between_the_latest_and_the_maximum(values in prop::collection::vec(0.0_f64..100.0, 1..60)) {
            let mut filter = MaxFilter::default();
            for (round, value) in (0_u64..).zip(&values) {
                filter.update(10, round, *value);
                let now = usize::try_from(round).unwrap();
                let window = &values[now.saturating_sub(10)..=now];
                let most = window.iter().copied().fold(0.0, f64::max);
                prop_assert!(filter.get() >= *value && filter.get() <= most, "{} {}", filter.get(), most);
            }
        }
    }

    #[test]
    fn a_peak_is_forgotten_after_the_window() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 9.0);
        for round in 1..=10 {
            filter.update(10, round, 5.0);
            assert!((filter.get() - 9.0).abs() < 1e-12, "{round}");
        }
        filter.update(10, 11, 5.0);
        assert!((filter.get() - 5.0).abs() < 1e-12);
    }
}
