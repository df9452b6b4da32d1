//! Memory of the numbers that have arrived, so that a packet that comes twice counts once.

use std::collections::VecDeque;

/// Runs of missing numbers that are remembered, at most: what comes later than that counts as
/// having come before.
const RUNS: usize = 4096;

/// Numbers that have arrived, of packets numbered one after the other. In order it is one number;
/// each run of missing ones takes 16 bytes, 64 KiB at most.
#[derive(Debug, Clone, Default)]
pub struct Distinct {
    /// One past the highest number seen.
    expected: u64,
    /// Runs below it that have not arrived, first and last, in order.
    missing: VecDeque<(u64, u64)>,
}

impl Distinct {
    /// Packets are numbered from `first` on.
    #[must_use]
    pub const fn from(first: u64) -> Self {
        Self { expected: first, missing: VecDeque::new() }
    }

    /// One past the highest number seen; the first number before there is one.
    #[must_use]
    pub const fn expected(&self) -> u64 {
        self.expected
    }

    /// The packet with this number has arrived: true if for the first time. A number below the
    /// first one, or older than 4096 runs of losses, has come before.
    #[inline]
    pub fn arrives(&mut self, number: u64) -> bool {
        if number == self.expected {
            self.expected = number.saturating_add(1);
            return true;
        }
        self.arrives_out_of_order(number)
    }

    #[cold]
    fn arrives_out_of_order(&mut self, number: u64) -> bool {
        if number > self.expected {
            if self.missing.len() == RUNS {
                self.missing.pop_front();
            }
            self.missing.push_back((self.expected, number - 1));
            self.expected = number.saturating_add(1);
            return true;
        }
        let after = self.missing.partition_point(|(_, last)| *last < number);
        let Some((first, last)) = self.missing.get(after).copied().filter(|(first, _)| *first <= number)
        else {
            return false;
        };
        self.missing.remove(after);
        if number < last {
            self.missing.insert(after, (number + 1, last));
        }
        if first < number {
            self.missing.insert(after, (first, number - 1));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Against a set, with numbers in any order.
    #[test]
    fn each_number_counts_once() {
        let (mut distinct, mut seen, mut state) = (Distinct::from(5), BTreeSet::new(), 1u64);
        for n in 5..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = n.saturating_sub(state >> 60).max(5);
            assert_eq!(distinct.arrives(number), seen.insert(number), "{number}");
        }
        assert!(!distinct.arrives(4) && distinct.expected() > 19_980);
    }

    /// Of losses without end the newest 4096 runs are remembered.
    #[test]
    fn the_memory_has_a_bound() {
        let mut distinct = Distinct::from(0);
        for n in 0..20_000 {
            assert!(distinct.arrives(2 * n + 1));
        }
        assert_eq!(distinct.missing.len(), RUNS);
        assert!(distinct.missing.capacity() <= 2 * RUNS);
        assert_eq!(
            (distinct.arrives(39_998), distinct.arrives(39_998), distinct.arrives(2)),
            (true, false, false)
        );
    }
}
