//! A set of ranges of bytes: those of a file that are here.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges held apart, at most. Each hole of a file divides two of them; 3 GB at 1 % of loss have
/// 24,000 holes. What would need more is refused, and comes again later.
const MOST: usize = 1 << 16;

/// Disjoint ranges, which do not touch each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// Ends of the ranges by their beginnings.
    ends: BTreeMap<u64, u64>,
    /// Bytes in all of them.
    bytes: u64,
}

impl Ranges {
    /// Adds a range, and returns how many of its bytes are new; `None` if there would be too many
    /// ranges, and nothing is added.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> Option<u64> {
        let Range { mut start, mut end } = range;
        if start >= end {
            return Some(0);
        }
        let length = end - start;
        // Mostly a datagram goes on where the one before it ended.
        if let Some(mut last) = self.ends.last_entry()
            && *last.get() == start
        {
            last.insert(end);
            self.bytes += length;
            return Some(length);
        }
        let (mut absorbed, mut held) = (Vec::new(), 0);
        // From the last range that begins at or before the end, backwards.
        for (&from, &to) in self.ends.range(..=end).rev() {
            if to < start {
                break;
            }
            held += to.min(end).saturating_sub(from.max(start)).min(length);
            absorbed.push((from, to));
        }
        if absorbed.is_empty() && self.ends.len() >= MOST {
            return None;
        }
        for (from, to) in absorbed {
            self.ends.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.ends.insert(start, end);
        let new = length.saturating_sub(held);
        self.bytes += new;
        Some(new)
    }

    /// Removes everything from this offset on.
    pub(crate) fn clip(&mut self, length: u64) {
        let behind = self.ends.split_off(&length);
        self.bytes -= behind.into_iter().map(|(from, to)| to - from).sum::<u64>();
        if let Some(mut last) = self.ends.last_entry()
            && *last.get() > length
        {
            self.bytes -= *last.get() - length;
            last.insert(length);
        }
    }

    /// Bytes in the ranges.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The ranges, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ends.iter().map(|(start, end)| *start..*end)
    }

    /// The ranges below `length` that are not in, in order.
    pub(crate) fn missing(&self, length: u64) -> impl Iterator<Item = Range<u64>> {
        let starts = self.ends.keys().copied().chain([length]);
        let ends = [0].into_iter().chain(self.ends.values().copied());
        ends.zip(starts).map(move |(from, to)| from..to.min(length)).filter(|hole| !hole.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The set as a plain list of bytes.
    fn plain(held: &[bool]) -> Vec<Range<u64>> {
        let mut holes: Vec<Range<u64>> = Vec::new();
        for (n, held) in (0..).zip(held) {
            match holes.last_mut() {
                _ if *held => {}
                Some(hole) if hole.end == n => hole.end = n + 1,
                _ => holes.push(n..n + 1),
            }
        }
        holes
    }

    #[test]
    fn ranges_are_those_of_a_list_of_bytes() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut ranges, mut held) = (Ranges::default(), [false; 64]);
            for _ in 0..12 {
                let start = random(64);
                let range = start..(start + random(12)).min(64);
                let bytes =
                    &mut held[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
                let new = bytes.iter().filter(|held| !**held).count();
                bytes.fill(true);
                assert_eq!(ranges.insert(range), Some(u64::try_from(new).unwrap()));
                assert_eq!(ranges.missing(64).collect::<Vec<_>>(), plain(&held), "{ranges:?}");
            }
            let length = random(64);
            ranges.clip(length);
            held[usize::try_from(length).unwrap()..].fill(false);
            assert_eq!(ranges.missing(64).collect::<Vec<_>>(), plain(&held), "{ranges:?}");
            assert_eq!(ranges.bytes(), u64::try_from(held.iter().filter(|held| **held).count()).unwrap());
        }
    }

    /// A sender of every other byte gets no more memory than for a bounded number of ranges.
    #[test]
    fn the_number_of_ranges_is_bounded() {
        let mut ranges = Ranges::default();
        let taken =
            (0..u64::try_from(MOST).unwrap() + 10).filter(|n| ranges.insert(2 * n..2 * n + 1).is_some());
        assert_eq!((taken.count(), ranges.ends.len()), (MOST, MOST));
        assert_eq!(ranges.insert(0..1), Some(0), "what is here stays here");
        assert_eq!(ranges.insert(1..2), Some(1), "a filled hole makes room");
        assert_eq!(ranges.insert(u64::MAX - 1..u64::MAX), Some(1));
    }
}
