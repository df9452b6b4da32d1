//! Datagrams that found the receive queue full, and their reports to the peer: Data Dropped with
//! Drop Code 2 (RFC 4340 §11.7), and congestion marks if that does not help (RFC 4340 §11.6).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tfrc_units::{Duration, Instant, saturating};

/// Refused datagrams, oldest first, in runs of consecutive packet numbers (extended: they do not
/// wrap).
#[derive(Debug, Clone, Default)]
pub(super) struct Refused {
    runs: VecDeque<NumberRange>,
    /// Start of the present series of refusals, or the last mark.
    since: Option<Instant>,
    /// The time of the last refusal.
    last: Instant,
    /// Datagrams refused since `since`.
    count: u32,
}

/// Packets `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumberRange {
    start: u64,
    end: u64,
    /// The upper bits of Drop Blocks, with the Drop Code.
    block: u8,
    /// Reports that have included it.
    told: u8,
}

/// Reports that include each run. A CCID 3 receiver does not learn which of its acknowledgements
/// arrived (RFC 4342 §6), so it repeats itself: at 50 % loss one run in 256 stays unknown. The
/// sender counts each packet once.
const TELLINGS: u8 = 8;
/// Runs kept; the oldest are forgotten first, and stay unreported.
const MAX_RUNS: usize = 128;
/// Without a refusal for this long the reader keeps up again.
const CALM: Duration = Duration::from_secs(1);
/// Fewer refusals than this lead to no mark.
const FEW: u32 = 8;
/// Packets in a Normal Block and in a Drop Block at most (RFC 4340 §11.7).
const NORMAL_BLOCK: u64 = 128;
const DROP_BLOCK: u64 = 16;
/// A Drop Block with Drop Code 0.
pub(super) const PROTOCOL_CONSTRAINTS: u8 = 0x80;
/// A Drop Block with Drop Code 2.
pub(super) const RECEIVE_BUFFER: u8 = 0xA0;

impl Refused {
    /// The datagram of this packet is refused, with a Drop Block of this code.
    pub(super) fn record(&mut self, now: Instant, number: u64, block: u8) {
        if self.since.is_none() || now.saturating_since(self.last) > CALM {
            (self.since, self.count) = (Some(now), 0);
        }
        self.count = self.count.saturating_add(1);
        self.last = now;
        let at = self.runs.partition_point(|run| run.end < number);
        match self.runs.get_mut(at) {
            Some(run) if run.end == number && run.block == block => {
                (run.end, run.told) = (number.saturating_add(1), 0);
                return;
            }
            Some(run) if run.start <= number => return,
            _ => {}
        }
        let at = self.runs.partition_point(|run| run.end <= number);
        self.runs.insert(at, NumberRange { start: number, end: number.saturating_add(1), block, told: 0 });
        if self.runs.len() > MAX_RUNS {
            self.runs.pop_front();
        }
    }

    /// Returns true if the datagram that is about to be refused is to count as marked by
    /// congestion: `patience` has passed since the first refusal or the last mark, and the reports
    /// have not helped. They cannot while p is zero: then the sender does not go below W_init in a
    /// round-trip time (RFC 5348 §4.3), which over a local network is more than many readers take.
    /// A few refusals do not count: a sender that waits for a reader to go on causes them.
    pub(super) fn insists(&mut self, now: Instant, patience: Duration) -> bool {
        let persists = now.saturating_since(self.last) <= CALM
            && self.count >= FEW
            && self.since.is_some_and(|since| now.saturating_since(since) >= patience);
        if persists {
            (self.since, self.count) = (Some(now), 0);
        }
        persists
    }

    /// Writes the blocks of a Data Dropped option for a packet that acknowledges `newest` into
    /// `blocks`, at most `limit` of them, and counts that as a report. Leaves it empty if there is
    /// nothing to report.
    pub(super) fn report(&mut self, newest: u64, limit: usize, blocks: &mut Vec<u8>) {
        blocks.clear();
        // Everything after `next` is reported.
        let mut next = newest;
        let mut told = 0;
        for run in self.runs.iter_mut().rev().filter(|run| run.end <= newest.saturating_add(1)) {
            told = blocks.len();
            // Missing packets and those without data belong into Normal Blocks.
            let normal = next.saturating_add(1).saturating_sub(run.end);
            let complete = push_blocks(blocks, normal, NORMAL_BLOCK, 0, limit)
                && push_blocks(blocks, run.end.saturating_sub(run.start), DROP_BLOCK, run.block, limit);
            if !complete {
                break;
            }
            run.told += 1;
            told = blocks.len();
            next = run.start.saturating_sub(1);
        }
        // A run that did not fit whole is left for another report; by then the newer ones have been
        // reported often enough.
        blocks.truncate(told);
        self.runs.retain(|run| run.told < TELLINGS);
    }

    /// Bytes that an option with all of this takes at most.
    pub(super) fn option_length(&self) -> usize {
        const HEAD_AND_BLOCKS: usize = 2 + MAX_BLOCKS;
        if self.runs.is_empty() { 0 } else { HEAD_AND_BLOCKS }
    }
}

/// Blocks that fit into one option.
pub(super) const MAX_BLOCKS: usize = 253;

/// Appends blocks of one code for this many packets; false if they do not fit.
fn push_blocks(blocks: &mut Vec<u8>, mut packets: u64, longest: u64, code: u8, limit: usize) -> bool {
    while packets > 0 {
        if blocks.len() >= limit {
            return false;
        }
        let length = packets.min(longest);
        blocks.push(code | saturating::<u8>(length - 1));
        packets -= length;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{DataDropped, DropCode};
    use std::collections::BTreeSet;

    fn decode(newest: u64, blocks: &[u8]) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut next = newest;
        for block in (DataDropped { blocks }).iter() {
            for _ in 0..block.packets {
                assert!(matches!(block.code, None | Some(DropCode::ReceiveBuffer)));
                if block.code.is_some() {
                    found.insert(next);
                }
                next -= 1;
            }
        }
        found
    }

    #[test]
    fn the_example_of_the_text() {
        // RFC 4340 §11.7 with 92 to 94 and 99 dropped, 100 acknowledged.
        let mut refused = Refused::default();
        for number in [92, 93, 94, 99] {
            refused.record(Instant::ZERO, number, RECEIVE_BUFFER);
        }
        let mut blocks = Vec::new();
        refused.report(100, MAX_BLOCKS, &mut blocks);
        assert_eq!(blocks, [0, 160, 3, 162]);
    }

    /// Compares with the set of refused numbers, recorded in and out of order.
    #[test]
    fn reports_name_what_was_refused() {
        let mut refused = Refused::default();
        let mut expected = BTreeSet::new();
        let mut random = tfrc_testkit::Random::new(7);
        for number in 1000..1300 {
            let late = number - random.below(3);
            if random.below(4) != 0 && expected.insert(late) {
                refused.record(Instant::ZERO, late, RECEIVE_BUFFER);
            }
        }
        let mut blocks = Vec::new();
        for _ in 0..TELLINGS {
            refused.report(1310, MAX_BLOCKS, &mut blocks);
            assert_eq!(decode(1310, &blocks), expected);
        }
        refused.report(1311, MAX_BLOCKS, &mut blocks);
        assert!(blocks.is_empty() && refused.runs.is_empty(), "said often enough");
    }

    #[test]
    fn what_does_not_fit_waits() {
        let mut refused = Refused::default();
        for number in (1000..1200).step_by(2) {
            refused.record(Instant::ZERO, number, RECEIVE_BUFFER);
        }
        let mut blocks = Vec::new();
        let mut told = BTreeSet::new();
        for _ in 0..=2 * TELLINGS {
            refused.report(1200, 100, &mut blocks);
            assert!(blocks.len() <= 100);
            told.extend(decode(1200, &blocks));
        }
        assert_eq!(told.len(), 100);
        for number in 0..100_000 {
            refused.record(Instant::ZERO, number * 2, RECEIVE_BUFFER);
        }
        assert_eq!(refused.runs.len(), MAX_RUNS);
        refused.report(1 << 50, MAX_BLOCKS, &mut blocks);
        assert!(blocks.is_empty(), "too far back");
    }
}
