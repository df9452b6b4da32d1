//! Dropped Packets (RFC 5622 §8.7): how many packets were lost or marked in each loss interval,
//! newest first.

use alloc::vec::Vec;

use super::bytes::{be, push_be};

/// A Dropped Packets option, its counts still encoded. It covers the intervals of the Loss
/// Intervals option in the same packet, in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DroppedPackets<'a> {
    cells: &'a [u8],
}

/// Bytes of a count.
const CELL: usize = 3;
const MAX24: u32 = 0xFF_FFFF;

impl<'a> DroppedPackets<'a> {
    /// Counts that fit into one option.
    pub const MAX_COUNTS: usize = 84;

    /// From the option's data; needs at least one count and nothing over.
    pub(super) fn parse(cells: &'a [u8]) -> Option<Self> {
        let whole = !cells.is_empty() && cells.len().is_multiple_of(CELL);
        whole.then_some(Self { cells })
    }

    /// Encodes the option's data into `out`, which then can be read back: counts saturate at 2^24 −
    /// 1, and only the newest 84 are taken.
    #[must_use]
    pub fn encode(counts: &[u32], out: &'a mut Vec<u8>) -> Self {
        Self::encode_each(counts.iter().copied(), out)
    }

    /// Encodes as [`Self::encode`], with the counts from an iterator.
    #[must_use]
    pub fn encode_each(counts: impl Iterator<Item = u32>, out: &'a mut Vec<u8>) -> Self {
        out.clear();
        for count in counts.take(Self::MAX_COUNTS) {
            push_be(out, u64::from(count.min(MAX24)), CELL);
        }
        Self { cells: out }
    }

    /// The Drop Counts, newest interval first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + 'a {
        self.cells.chunks_exact(CELL).filter_map(|cell| u32::try_from(be(cell)).ok())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Opt, OptionList, PacketType, Refusal, options};

    #[test]
    fn the_counts_are_those_of_the_example() {
        // RFC 5622 §8.7.1: L3 to L0 of its figure 3.
        let wire: [u8; 14] = [195, 14, 0, 0, 1, 0, 0, 4, 0, 0, 1, 0, 0, 0];
        let item = options(PacketType::Ack, &wire).next().expect("one").expect("fine");
        let Ok(Opt::DroppedPackets(found)) = item.option else { panic!("{item:?}") };
        assert_eq!(found.iter().collect::<Vec<_>>(), [1, 4, 1, 0]);

        let mut space = Vec::new();
        let mut list = OptionList::new(OptionList::MAX);
        list.push(&Opt::DroppedPackets(DroppedPackets::encode(&[1, 4, 1, 0], &mut space))).expect("room");
        assert_eq!(list.padded().get(..14), Some(&wire[..]));
    }

    #[test]
    fn counts_saturate_and_need_whole_cells() {
        let mut space = Vec::new();
        let found: Vec<_> = DroppedPackets::encode(&[u32::MAX; 90], &mut space).iter().collect();
        assert_eq!(found, [0xFF_FFFF; DroppedPackets::MAX_COUNTS]);
        for data in [&[195, 2][..], &[195, 3, 0], &[195, 6, 0, 0, 1, 0]] {
            let item = options(PacketType::Ack, data).next().expect("one").expect("fine");
            assert_eq!(item.option, Err(Refusal::Invalid), "{data:?}");
        }
    }

    /// RFC 5622 table 1: not on Data packets. The Acknowledgement Number says what the counts
    /// belong to, so a Request has no use for them either.
    #[test]
    fn counts_stand_where_loss_intervals_may() {
        let wire = [195, 5, 0, 0, 1, 0, 0, 0];
        assert_eq!(options(PacketType::Data, &wire).count(), 0);
        let item = options(PacketType::Request, &wire).next().expect("one").expect("fine");
        assert_eq!(item.option, Err(Refusal::Misplaced));
    }
}
