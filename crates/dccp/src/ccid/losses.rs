//! The number of packets that reports say were lost: of Loss Intervals (RFC 4342 §8.6), exact with
//! Dropped Packets (RFC 5622 §8.7), summed from report to report.

use tfrc::PacketCount;
use tfrc_units::SeqNo48;

use crate::wire::{DroppedPackets, LossInterval};

/// Count of lost packets so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossCounter {
    total: Bounds,
    /// The newest interval counted: where it begins, and how much of it is in the total. It may
    /// still grow.
    newest: Option<(SeqNo48, Lost)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bounds {
    least: u64,
    most: u64,
}

/// The losses of one interval.
#[derive(Debug, Clone, Copy)]
struct Lost {
    least: u32,
    most: u32,
}

impl LossCounter {
    /// Takes in the intervals of a report that acknowledges `ack` when `packets` data packets had
    /// been sent. Intervals older than the newest one known are counted already; one reported only
    /// after a late packet merged it is passed over.
    pub(crate) fn count(
        &mut self,
        packets: u64,
        ack: SeqNo48,
        skip: u8,
        intervals: &[LossInterval],
        dropped: Option<&DroppedPackets<'_>>,
    ) -> PacketCount {
        let mut counts = dropped.into_iter().flat_map(DroppedPackets::iter);
        let mut end = ack.add(1).sub(u64::from(skip));
        let (known, mut newest) = (self.newest, None);
        for interval in intervals {
            let start = end.sub(u64::from(interval.lossless_length) + u64::from(interval.loss_length));
            end = start;
            let lost = losses(interval, counts.next());
            if interval.loss_length == 0 {
                continue;
            }
            newest = newest.or(Some((start, lost)));
            match known {
                Some((begun, counted)) if begun == start => {
                    self.total.least = self.total.least.saturating_sub(u64::from(counted.least));
                    self.total.most = self.total.most.saturating_sub(u64::from(counted.most));
                }
                Some((begun, _)) if begun.is_after(start) => break,
                _ => {}
            }
            self.total.least = self.total.least.saturating_add(u64::from(lost.least));
            self.total.most = self.total.most.saturating_add(u64::from(lost.most));
        }
        if let Some((start, _)) = newest
            && known.is_none_or(|(begun, _)| start.is_at_or_after(begun))
        {
            self.newest = newest;
        }
        PacketCount::Within { packets, least: self.total.least, most: self.total.most }
    }
}

/// The lossy part of an interval begins and ends with a loss.
fn losses(interval: &LossInterval, dropped: Option<u32>) -> Lost {
    let most = interval.loss_length;
    match dropped {
        Some(count) => Lost { least: most.min(count), most: most.min(count) },
        None => Lost { least: most.min(2), most },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Nonce;
    use alloc::vec::Vec;

    fn interval(lossless_length: u32, loss_length: u32) -> LossInterval {
        let data_length = lossless_length + loss_length;
        LossInterval { lossless_length, nonce: Nonce::Zero, loss_length, data_length }
    }

    fn bounds_of(count: PacketCount) -> (u64, u64) {
        let PacketCount::Within { least, most, .. } = count else { panic!("bounds") };
        (least, most)
    }

    /// Newest first. The first report ends at 100: lossy parts begin at 91 and 60, and 1 to 59 came
    /// before any loss.
    #[test]
    fn each_loss_counts_once() {
        let mut counter = LossCounter::default();
        let mut at = |ack: u64, intervals: &[LossInterval]| {
            bounds_of(counter.count(ack, SeqNo48::new(ack), 0, intervals, None))
        };
        let first = [interval(9, 1), interval(21, 10), interval(59, 0)];
        assert_eq!(at(100, &first), (3, 11));
        assert_eq!(at(100, &first), (3, 11), "the same report again");
        // The newest interval grows to a lossy part of six.
        let grown = [interval(9, 6), interval(21, 10), interval(59, 0)];
        assert_eq!(at(105, &grown), (4, 16));
        // A new one begins at 116.
        let next = [interval(3, 2), interval(19, 6), interval(21, 10), interval(59, 0)];
        assert_eq!(at(120, &next), (6, 18));
        // A late packet takes it back; the losses of old intervals are not counted again.
        assert_eq!(at(121, &[interval(25, 6), interval(21, 10)]), (6, 18));
    }

    #[test]
    fn drop_counts_are_exact() {
        let mut counter = LossCounter::default();
        let mut space = Vec::new();
        let dropped = DroppedPackets::encode(&[1, 4, 0], &mut space);
        let intervals = [interval(9, 1), interval(21, 10), interval(59, 0)];
        let count = counter.count(100, SeqNo48::new(100), 0, &intervals, Some(&dropped));
        assert_eq!(count, PacketCount::Within { packets: 100, least: 5, most: 5 });
    }
}
