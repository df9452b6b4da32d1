//! Loss Intervals (RFC 4342 §8.6): the receiver's loss history in nine bytes per interval, newest first.

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
    /// Data packets in the interval, below 2^24: the length that counts for the loss event rate (§6.1.1).
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
    pub(super) fn parse(data: &'a [u8]) -> Option<Self> {
        let (skip_length, cells) = data.split_first()?;
        let whole = !cells.is_empty() && cells.len().is_multiple_of(CELL);
        whole.then_some(Self { skip_length: *skip_length, cells })
    }

    /// Encodes the option's data into `out`, which then can be read back: fields saturate, and only the newest 28
    /// intervals are taken.
    #[must_use]
    pub fn encode(skip_length: u8, intervals: &[LossInterval], out: &'a mut Vec<u8>) -> Self {
        Self::encode_each(skip_length, intervals.iter().copied(), out)
    }

    /// The same from an iterator.
    #[must_use]
    pub fn encode_each(
        skip_length: u8,
        intervals: impl Iterator<Item = LossInterval>,
        out: &'a mut Vec<u8>,
    ) -> Self {
        out.clear();
        for interval in intervals.take(Self::MAX_INTERVALS) {
            let nonce = if interval.nonce == Nonce::One { MAX23 + 1 } else { 0 };
            let [_, a, b, c] = interval.lossless_length.min(MAX24).to_be_bytes();
            let [_, d, e, f] = (nonce | interval.loss_length.min(MAX23)).to_be_bytes();
            let [_, g, h, i] = interval.data_length.min(MAX24).to_be_bytes();
            out.extend_from_slice(&[a, b, c, d, e, f, g, h, i]);
        }
        Self { skip_length, cells: out }
    }

    /// The intervals, newest first.
    pub fn iter(&self) -> impl Iterator<Item = LossInterval> + 'a {
        self.cells.as_chunks::<CELL>().0.iter().map(|&[a, b, c, d, e, f, g, h, i]| {
            let loss = u32::from_be_bytes([0, d, e, f]);
            LossInterval {
                lossless_length: u32::from_be_bytes([0, a, b, c]),
                nonce: if loss > MAX23 { Nonce::One } else { Nonce::Zero },
                loss_length: loss & MAX23,
                data_length: u32::from_be_bytes([0, g, h, i]),
            }
        })
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.skip_length);
        out.extend_from_slice(self.cells);
    }
}
