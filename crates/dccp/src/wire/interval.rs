//! Loss Intervals (RFC 4342 §8.6): the receiver's loss history in nine bytes per interval, newest
//! first.

use alloc::vec::Vec;

use super::Nonce;

/// One loss interval: a lossy part of at most a round-trip time, then a part without loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossInterval {
    /// Packets in the part without loss, below 2^24.
    pub lossless_length: u32,
    /// Parity of the nonces in that part.
    pub nonce: Nonce,
    /// Packets in the lossy part, below 2^23; 0 only in a connection's first interval.
    pub loss_length: u32,
    /// Data packets in the interval, below 2^24: the length that counts for the loss event rate
    /// (§6.1.1).
    pub data_length: u32,
}

/// A Loss Intervals option, its intervals still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossIntervals<'a> {
    /// Packets up to and including the Acknowledgement Number that belong to no interval yet.
    pub skip_length: u8,
    cells: &'a [u8],
}

/// Bytes of an interval.
const CELL: usize = 9;
/// The largest values of the 24- and 23-bit fields.
const MAX24: u32 = 0xFF_FFFF;
const MAX23: u32 = 0x7F_FFFF;

impl<'a> LossIntervals<'a> {
    /// Intervals that fit into one option.
    pub const MAX_INTERVALS: usize = 28;

    /// From the option's data; needs at least one interval and nothing over.
    #[inline]
    pub(super) fn parse(data: &'a [u8]) -> Option<Self> {
        let (skip_length, cells) = data.split_first()?;
        let whole = !cells.is_empty() && cells.len().is_multiple_of(CELL);
        whole.then_some(Self { skip_length: *skip_length, cells })
    }

    /// Encodes the option's data into `out`, which then can be read back: fields saturate, and only
    /// the newest 28 intervals are taken.
    #[must_use]
    #[inline]
    pub fn encode(skip_length: u8, intervals: &[LossInterval], out: &'a mut Vec<u8>) -> Self {
        Self::encode_each(skip_length, intervals.iter().copied(), out)
    }

    /// Encodes as [`Self::encode`], with the intervals from an iterator.
    #[must_use]
    #[inline]
    pub fn encode_each(
        skip_length: u8,
        intervals: impl Iterator<Item = LossInterval>,
        out: &'a mut Vec<u8>,
    ) -> Self {
        out.clear();
        out.reserve(CELL * Self::MAX_INTERVALS);
        intervals.take(Self::MAX_INTERVALS).for_each(|interval| out.extend_from_slice(&cell(interval)));
        Self { skip_length, cells: out }
    }

    /// The intervals, newest first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = LossInterval> + 'a {
        self.cells.as_chunks::<CELL>().0.iter().map(|&[a, b, c, d, e, f, g, h, i]| {
            let loss = u32::from_be_bytes([c, d, e, f]);
            LossInterval {
                lossless_length: u32::from_be_bytes([a, b, c, d]) >> 8,
                nonce: if loss & (MAX23 + 1) != 0 { Nonce::One } else { Nonce::Zero },
                loss_length: loss & MAX23,
                data_length: u32::from_be_bytes([f, g, h, i]) & MAX24,
            }
        })
    }

    /// The intervals as they are encoded.
    pub(super) const fn cells(&self) -> &'a [u8] {
        self.cells
    }
}

/// An interval in nine bytes; fields saturate.
#[inline]
fn cell(interval: LossInterval) -> [u8; CELL] {
    let nonce = if interval.nonce == Nonce::One { MAX23 + 1 } else { 0 };
    // RFC 4342 §8.6.1.
    let loss = nonce | interval.loss_length.min(MAX23);
    let (lossless, data) = (interval.lossless_length.min(MAX24), interval.data_length.min(MAX24));
    // All but the last eight bits in one word.
    let word = (u64::from(lossless) << 40) | (u64::from(loss) << 16) | u64::from(data >> 8);
    let ([a, b, c, d, e, f, g, h], [.., i]) = (word.to_be_bytes(), data.to_be_bytes());
    [a, b, c, d, e, f, g, h, i]
}
