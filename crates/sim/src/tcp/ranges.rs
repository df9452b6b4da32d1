//! Sets of sequence numbers as disjoint ranges.

use super::segment::SackBlock;
/// Disjoint blocks in order, with a gap between any two.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    blocks: Vec<SackBlock>,
    total: u32,
}

impl Ranges {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
        self.total = 0;
    }

    /// Adds a block; says how many sequence numbers are new.
    pub(crate) fn insert(&mut self, new: SackBlock) -> u32 {
        if new.is_empty() {
            return 0;
        }
        // The blocks that overlap or touch the new one.
        let first = self.blocks.partition_point(|b| b.end < new.start);
        let last = self.blocks.partition_point(|b| b.start <= new.end);
        let (mut merged, mut known) = (new, 0_u32);
        for block in self.blocks.iter().take(last).skip(first) {
            merged.start = merged.start.min(block.start);
            merged.end = merged.end.max(block.end);
            known += block.len();
        }
        if first == last {
            self.blocks.insert(first, merged);
        } else if let Some(slot) = self.blocks.get_mut(first) {
            *slot = merged;
            self.blocks.drain(first + 1..last);
        }
        let added = merged.len() - known;
        self.total += added;
        added
    }

    /// Takes out everything below `seq`.
    pub(crate) fn advance(&mut self, seq: u32) {
        let gone = self.blocks.partition_point(|b| b.end <= seq);
        for block in self.blocks.drain(..gone) {
            self.total -= block.len();
        }
        if let Some(block) = self.blocks.first_mut()
            && block.start < seq
        {
            self.total -= seq - block.start;
            block.start = seq;
        }
    }

    /// The block that holds `seq`.
    pub(crate) fn find(&self, seq: u32) -> Option<SackBlock> {
        let i = self.blocks.partition_point(|b| b.end <= seq);
        self.blocks.get(i).copied().filter(|b| b.contains(seq))
    }

    /// The first number at or above `seq` that is not in the set.
    pub(crate) fn next_hole(&self, seq: u32) -> u32 {
        self.find(seq).map_or(seq, |b| b.end)
    }

    /// The last number below `seq` that is not in the set, `None` if 0 to `seq` − 1 are.
    pub(crate) fn last_hole(&self, seq: u32) -> Option<u32> {
        let below = seq.checked_sub(1)?;
        match self.find(below) {
            Some(block) => block.start.checked_sub(1),
            None => Some(below),
        }
    }

    /// Returns the number of members of the set below `seq`.
    pub(crate) fn below(&self, seq: u32) -> u32 {
        match self.blocks.last() {
            Some(last) if last.end <= seq => self.total,
            _ => self.blocks.iter().take_while(|b| b.start < seq).map(|b| b.end.min(seq) - b.start).sum(),
        }
    }

    /// One past the highest number, 0 if there is none.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.blocks.last().map_or(0, |b| b.end)
    }

    /// The number that has `above` − 1 higher ones in the set.
    pub(crate) fn nth_highest(&self, above: u32) -> Option<u32> {
        let mut left = above;
        for block in self.blocks.iter().rev() {
            if left <= block.len() {
                return block.end.checked_sub(left);
            }
            left -= block.len();
        }
        None
    }

    /// The first block, taken out if it begins at or below `seq`.
    pub(crate) fn pop_reached(&mut self, seq: u32) -> Option<SackBlock> {
        let first = self.blocks.first().copied().filter(|b| b.start <= seq)?;
        self.blocks.remove(0);
        self.total -= first.len();
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use tfrc_units::saturating;

    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn as_a_plain_set(steps in prop::collection::vec((0_u32..60, 0_u32..6, 0_u32..8), 1..60)) {
            let mut ranges = Ranges::default();
            let mut plain = BTreeSet::new();
            for (start, len, what) in steps {
                if what == 0 {
                    ranges.advance(start);
                    plain.retain(|x| *x >= start);
                } else {
                    let before = plain.len();
                    plain.extend(start..start + len);
                    let added = ranges.insert(SackBlock { start, end: start + len });
                    prop_assert_eq!(u32::try_from(plain.len() - before).ok(), Some(added));
                }
                prop_assert_eq!(u32::try_from(plain.len()).ok(), Some(ranges.total));
                prop_assert_eq!(plain.last().map_or(0, |x| x + 1), ranges.end());
                prop_assert!(ranges.blocks.windows(2).all(|w| matches!(w, [a, b] if a.end < b.start)));
                for seq in 0..70 {
                    prop_assert_eq!(ranges.find(seq).is_some(), plain.contains(&seq));
                    prop_assert_eq!(Some(ranges.next_hole(seq)), (seq..).find(|x| !plain.contains(x)));
                    prop_assert_eq!(ranges.last_hole(seq), (0..seq).rev().find(|x| !plain.contains(x)));
                    prop_assert_eq!(u32::try_from(plain.range(..seq).count()).ok(), Some(ranges.below(seq)));
                }
                for nth in 1..5_u32 {
                    let plainly = plain.iter().rev().nth(saturating::<usize>(nth - 1)).copied();
                    prop_assert_eq!(ranges.nth_highest(nth), plainly);
                }
            }
        }
    }
}
