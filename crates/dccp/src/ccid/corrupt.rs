//! Packets whose data arrived corrupt, as Data Dropped says: they count as packets with an ECN mark
//! (RFC 4340 §11.7.2). The receiver's loss intervals do not have them, so the sender puts loss
//! events of its own in.

use alloc::collections::VecDeque;

use tfrc_units::{Duration, Instant, SeqNo48};

use super::ccid4::PerInterval;
use crate::wire::LossInterval;

/// Loss events by corrupt packets, in the order of their reports.
#[derive(Debug, Clone, Default)]
pub(crate) struct CorruptEvents(VecDeque<(SeqNo48, Instant)>);

/// Events kept: more than the loss intervals that any estimator looks at.
const KEPT: usize = 16;

impl CorruptEvents {
    /// This packet, sent then, was corrupt. Within a round-trip time of another one it is the same
    /// loss event (RFC 5348 §5.2).
    pub(crate) fn note(&mut self, seq: SeqNo48, sent_at: Instant, rtt: Duration) {
        let apart = |at: Instant| at.saturating_since(sent_at).max(sent_at.saturating_since(at));
        if self.0.iter().any(|(_, at)| apart(*at) < rtt) {
            return;
        }
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        // RFC 4340 §11.7.
        self.0.push_back((seq, sent_at));
    }

    /// The intervals of a report, newest first and up to `end`, with the losses in each, cut where
    /// these events began. One within a round-trip time of the interval's own loss event is part of
    /// that; `sent_at` knows when packets were sent, lately.
    pub(crate) fn cut(
        &self,
        mut end: SeqNo48,
        reported: &[(LossInterval, u32)],
        rtt: Duration,
        sent_at: impl Fn(SeqNo48) -> Option<Instant>,
    ) -> PerInterval<(LossInterval, u32)> {
        let mut cut = PerInterval::new();
        for (interval, lost) in reported {
            let mut rest = *interval;
            let lossy_end = end.sub(u64::from(rest.lossless_length));
            let start = lossy_end.sub(u64::from(rest.loss_length));
            let begun = sent_at(start).filter(|_| rest.loss_length > 0);
            while let Some(at) = self.newest_in(lossy_end, end, begun.map(|begun| begun + rtt)) {
                let length = tfrc_units::saturating::<u32>(end.distance_from(at));
                let piece = LossInterval {
                    lossless_length: length.saturating_sub(1),
                    loss_length: 1,
                    data_length: length.min(rest.data_length),
                    ..rest
                };
                // What does not fit is older than any estimator looks.
                let _ = cut.try_push((piece, 1));
                rest.lossless_length = rest.lossless_length.saturating_sub(length);
                rest.data_length = rest.data_length.saturating_sub(length).max(1);
                end = at;
            }
            let _ = cut.try_push((rest, *lost));
            end = start;
        }
        cut
    }

    /// The newest event from `start` on and before `end`, of a packet sent from `since` on.
    fn newest_in(&self, start: SeqNo48, end: SeqNo48, since: Option<Instant>) -> Option<SeqNo48> {
        let inside = self.0.iter().filter(|(seq, at)| {
            seq.is_at_or_after(start) && end.is_after(*seq) && since.is_none_or(|since| *at >= since)
        });
        inside.max_by_key(|(seq, _)| seq.distance_from(start)).map(|(seq, _)| *seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const RTT: Duration = Duration::from_millis(100);

    fn sent_at(seq: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(10) * seq
    }

    fn interval(lossless_length: u32, loss_length: u32) -> (LossInterval, u32) {
        let data_length = lossless_length + loss_length;
        (LossInterval { lossless_length, loss_length, data_length, ..LossInterval::default() }, loss_length)
    }

    fn cut(corrupt: &[u64], reported: &[(LossInterval, u32)]) -> Vec<(u32, u32, u32, u32)> {
        let mut events = CorruptEvents::default();
        for seq in corrupt {
            events.note(SeqNo48::new(*seq), sent_at(*seq), RTT);
        }
        let cut = events.cut(SeqNo48::new(200), reported, RTT, |seq| Some(sent_at(seq.get())));
        cut.iter().map(|(i, lost)| (i.lossless_length, i.loss_length, i.data_length, *lost)).collect()
    }

    /// Packets 1 to 199, a loss at 100, ten packets in a round-trip time.
    #[test]
    fn corrupt_packets_begin_intervals() {
        let reported = [interval(99, 1), interval(99, 0)];
        assert_eq!(cut(&[], &reported), [(99, 1, 100, 1), (99, 0, 99, 0)]);
        assert_eq!(cut(&[150], &reported), [(49, 1, 50, 1), (49, 1, 50, 1), (99, 0, 99, 0)]);
        assert_eq!(cut(&[50], &reported), [(99, 1, 100, 1), (49, 1, 50, 1), (49, 0, 49, 0)]);
        let two = [(19, 1, 20, 1), (29, 1, 30, 1), (49, 1, 50, 1), (99, 0, 99, 0)];
        assert_eq!(cut(&[180, 150], &reported), two, "in any order");
        assert_eq!(cut(&[150, 180, 155, 189], &reported), two, "one event within a round-trip time");
        assert_eq!(cut(&[105], &reported), [(99, 1, 100, 1), (99, 0, 99, 0)], "part of the reported one");
        assert_eq!(cut(&[300], &reported), [(99, 1, 100, 1), (99, 0, 99, 0)], "later than the report");
    }

    #[test]
    fn memory_is_bounded() {
        let mut events = CorruptEvents::default();
        for seq in 0..10_000 {
            events.note(SeqNo48::new(seq), sent_at(seq), RTT);
        }
        assert_eq!(events.0.len(), KEPT);
    }
}
