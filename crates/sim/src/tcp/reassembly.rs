//! Segments that a sink has received, and its reports of them.

use super::ranges::Ranges;
use super::segment::SackBlock;

/// Blocks remembered in the order of arrival; more than an acknowledgement has room for, since they
/// grow together.
const REMEMBERED: usize = 8;

/// The segments received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reassembly {
    next: u32,
    beyond: Ranges,
    /// A segment of each block that grew, the newest first.
    recent: [Option<u32>; REMEMBERED],
}

/// Kind of an arriving segment, by its place among those received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentArrival {
    /// Received before.
    Duplicate,
    /// The next one, and it filled a hole: later ones were waiting.
    Filling,
    /// The next one, nothing was waiting.
    InOrder,
    /// Beyond a hole.
    OutOfOrder,
}

impl Reassembly {
    /// The first segment that is missing.
    #[inline]
    pub(crate) const fn next(&self) -> u32 {
        self.next
    }

    /// Segments from the first that is missing to the last received, 0 if none is missing.
    pub(crate) fn span(&self) -> u32 {
        self.beyond.end().saturating_sub(self.next)
    }

    #[inline]
    pub(crate) fn receive(&mut self, seq: u32) -> SegmentArrival {
        if seq < self.next {
            return SegmentArrival::Duplicate;
        }
        if seq == self.next {
            self.next = self.next.saturating_add(1);
            if self.beyond.is_empty() {
                return SegmentArrival::InOrder;
            }
            if let Some(block) = self.beyond.pop_reached(self.next) {
                self.next = block.end;
            }
            return SegmentArrival::Filling;
        }
        let new = self.beyond.insert(SackBlock::one(seq));
        self.remember(seq);
        if new == 0 { SegmentArrival::Duplicate } else { SegmentArrival::OutOfOrder }
    }

    /// The blocks of the next acknowledgement (RFC 2018 §4): the block with the newest segment
    /// first, then the blocks that grew before it.
    #[inline]
    pub(crate) fn blocks(&self) -> [SackBlock; 3] {
        if self.beyond.is_empty() { Default::default() } else { self.newest_blocks() }
    }

    fn newest_blocks(&self) -> [SackBlock; 3] {
        let mut blocks = [SackBlock::default(); 3];
        let mut used = 0;
        for seq in self.recent.iter().flatten() {
            if let Some(block) = self.beyond.find(*seq)
                && !blocks.contains(&block)
                && let Some(slot) = blocks.get_mut(used)
            {
                *slot = block;
                used += 1;
            }
        }
        blocks
    }

    /// Puts `seq` in front; of what it displaces, an entry of the same block goes first, else the
    /// oldest.
    fn remember(&mut self, seq: u32) {
        let block = self.beyond.find(seq).unwrap_or_default();
        let mut carried = Some(seq);
        for slot in &mut self.recent {
            core::mem::swap(slot, &mut carried);
            if carried.is_none_or(|old| block.contains(old)) {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(set: &mut Reassembly, seqs: &[u32]) -> Vec<(u32, u32)> {
        for seq in seqs {
            set.receive(*seq);
        }
        set.blocks().iter().filter(|b| !b.is_empty()).map(|b| (b.start, b.end)).collect()
    }

    #[test]
    fn what_arrives() {
        let mut set = Reassembly::default();
        let seen: Vec<SegmentArrival> = [0, 2, 2, 4, 1, 0, 3].iter().map(|seq| set.receive(*seq)).collect();
        use SegmentArrival::{Duplicate, Filling, InOrder, OutOfOrder};
        assert_eq!(seen, [InOrder, OutOfOrder, Duplicate, OutOfOrder, Filling, Duplicate, Filling]);
        assert_eq!(set.next(), 5);
    }

    #[test]
    fn the_newest_block_comes_first_and_others_are_repeated() {
        // RFC 2018 §4 (a), (c): the block of the segment that caused it, then the latest reported.
        let mut set = Reassembly::default();
        assert_eq!(receive(&mut set, &[5]), [(5, 6)]);
        assert_eq!(receive(&mut set, &[6]), [(5, 7)]);
        assert_eq!(receive(&mut set, &[9]), [(9, 10), (5, 7)]);
        assert_eq!(receive(&mut set, &[2]), [(2, 3), (9, 10), (5, 7)]);
        assert_eq!(receive(&mut set, &[12]), [(12, 13), (2, 3), (9, 10)]);
        assert_eq!(receive(&mut set, &[7]), [(5, 8), (12, 13), (2, 3)]);
        // 8 joins two blocks; the fourth block has its place again.
        assert_eq!(receive(&mut set, &[8]), [(5, 10), (12, 13), (2, 3)]);
        assert_eq!(receive(&mut set, &[0, 1]), [(5, 10), (12, 13)]);
        assert_eq!(receive(&mut set, &[3, 4]), [(12, 13)]);
    }
}
