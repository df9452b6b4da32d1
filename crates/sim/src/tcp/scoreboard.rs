//! Knowledge of a SACK sender about its segments (RFC 6675 §4).

use super::ranges::Ranges;
use super::segment::SackBlock;

/// Which segments the sink has reported beyond the cumulative acknowledgement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    sacked: Ranges,
}

impl Scoreboard {
    /// Update(): takes in the blocks of an acknowledgement, as far as they lie in what is
    /// outstanding, `una` to `high` − 1. Says how many segments are newly reported.
    #[inline]
    pub(crate) fn update(&mut self, blocks: &[SackBlock; 3], una: u32, high: u32) -> u32 {
        // The used ones come first.
        let used = blocks.iter().take_while(|block| !block.is_empty());
        used.map(|block| {
            self.sacked.insert(SackBlock { start: block.start.max(una), end: block.end.min(high) })
        })
        .sum()
    }

    /// Everything below `una` is acknowledged.
    #[inline]
    pub(crate) fn advance(&mut self, una: u32) {
        if !self.sacked.is_empty() {
            self.sacked.advance(una);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.sacked.clear();
    }

    /// `IsLost()` is true of what is not reported and lies below this: above it are as many
    /// reported segments as make a loss. Segments are full-sized, so counting blocks and counting
    /// bytes come to the same.
    pub(crate) fn lost_below(&self, threshold: u32) -> Option<u32> {
        self.sacked.nth_highest(threshold)
    }

    /// `SetPipe()`: segments thought to be in the network. `retransmitted` is one past `HighRxt`.
    pub(crate) fn pipe(&self, una: u32, high: u32, retransmitted: u32, threshold: u32) -> u32 {
        let unreported = |from: u32, to: u32| {
            let to = to.clamp(from, high);
            (to - from) - (self.sacked.below(to) - self.sacked.below(from))
        };
        let not_lost = unreported(self.lost_below(threshold).unwrap_or(una).max(una), high);
        not_lost + unreported(una, retransmitted)
    }

    /// The first segment at or after `seq` that is not reported.
    pub(crate) fn next_hole(&self, seq: u32) -> u32 {
        self.sacked.next_hole(seq)
    }

    /// The last segment below `seq` that is not reported.
    pub(crate) fn last_hole(&self, seq: u32) -> Option<u32> {
        self.sacked.last_hole(seq)
    }

    /// One past the highest reported segment, 0 if none is.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.sacked.end()
    }

    /// Reported segments below `seq`.
    #[inline]
    pub(crate) fn below(&self, seq: u32) -> u32 {
        if self.sacked.is_empty() { 0 } else { self.sacked.below(seq) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: SackBlock = SackBlock { start: 0, end: 0 };

    #[test]
    fn a_segment_is_lost_when_three_above_it_have_arrived() {
        let mut board = Scoreboard::default();
        board.update(&[SackBlock { start: 1, end: 3 }, NONE, NONE], 0, 10);
        assert_eq!(board.lost_below(3), None);
        board.update(&[SackBlock { start: 5, end: 6 }, NONE, NONE], 0, 10);
        // 1, 2, 5 reported: 0 is lost, 3 and 4 are not.
        assert_eq!(board.lost_below(3), Some(1));
        board.update(&[SackBlock { start: 5, end: 8 }, NONE, NONE], 0, 10);
        assert_eq!(board.lost_below(3), Some(5));
        // In the network: 8 and 9; with 0 and 3 sent again also those.
        assert_eq!(board.pipe(0, 10, 0, 3), 2);
        assert_eq!(board.pipe(0, 10, 4, 3), 4);
    }

    proptest! {
        /// RFC 6675 §4 word by word: segment after segment.
        #[test]
        fn pipe_as_defined(
            reported in prop::collection::vec((0_u32..40, 1_u32..4), 0..12),
            una in 0_u32..20, rest in 0_u32..40, again in 0_u32..50,
        ) {
            let high = una + rest;
            let mut board = Scoreboard::default();
            for (start, len) in reported {
                board.update(&[SackBlock { start, end: start + len }, NONE, NONE], una, high);
            }
            let sacked = |seq: u32| board.next_hole(seq) != seq;
            let lost = |seq: u32| (seq + 1..high).filter(|x| sacked(*x)).count() >= 3;
            let mut pipe = 0;
            for seq in (una..high).filter(|x| !sacked(*x)) {
                pipe += u32::from(!lost(seq)) + u32::from(seq < again);
            }
            prop_assert_eq!(board.pipe(una, high, again, 3), pipe);
        }
    }
}
