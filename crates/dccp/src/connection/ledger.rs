//! Which packets the peer has sent, and which of them carried data (RFC 4340 §7.7).
//!
//! Numbers are extended: they do not wrap. Everything up to the base belongs to the handshake and
//! carries no datagram.

use alloc::vec::Vec;

/// The peer's packets after the handshake, as far as known. Only packets other than received data
/// take space, in runs. The newest few hundred runs are kept, and few that are thousands of packets
/// back.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    base: u64,
    highest: u64,
    /// Everything after `base` that is not received data, in order, neighbours of one fate merged.
    spans: Vec<Span>,
    /// Below this, fates are counted but forgotten.
    frozen: u64,
    /// Non-data packets among everything after `base`.
    non_data: u64,
    received_data: u64,
    /// The first packet after the handshake, taken for non-data without having been seen.
    presumed: Option<u64>,
}

/// Packets `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: u64,
    end: u64,
    fate: LedgerEntry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LedgerEntry {
    /// Missing; it may have carried data.
    Missing,
    /// Missing; it carried no data.
    MissingNonData,
    /// Received; it carried no data.
    NonData,
}

/// Content of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Carried a datagram.
    Data,
    /// Carried no datagram.
    NonData,
}

/// Spans kept, and how many are forgotten at once beyond that.
const MAX_SPANS: usize = 512;
const FORGOTTEN_AT_ONCE: usize = 128;
/// Packets so far back are forgotten once there are a few spans: by then their numbers have long
/// left the window (§7.5.1).
const HORIZON: u64 = 4096;
const FEW_SPANS: usize = 32;

impl Ledger {
    /// A ledger after a handshake that ended with `base`.
    pub(crate) const fn new(base: u64) -> Self {
        Self {
            base,
            highest: base,
            spans: Vec::new(),
            frozen: base + 1,
            non_data: 0,
            received_data: 0,
            presumed: None,
        }
    }

    /// A Request or Response: what lies before it belongs to the handshake too, unless data has
    /// come already.
    pub(crate) fn record_handshake(&mut self, number: u64) {
        if number > self.highest && self.highest == self.base {
            *self = Self::new(number);
        } else {
            self.record(number, Content::NonData, 0);
        }
    }

    /// The peer's first packet after the handshake is known to carry no data (a client acknowledges
    /// the Response first).
    pub(crate) fn presume_first_non_data(&mut self) {
        self.presumed = Some(self.base + 1);
    }

    /// Returns true if this packet was received before, or is too old to know.
    pub(crate) fn is_duplicate(&self, number: u64) -> bool {
        if number <= self.base || number > self.highest {
            return number <= self.base;
        }
        self.span_at(number).is_none_or(|span| span.fate == LedgerEntry::NonData)
    }

    /// Takes in a packet that is not a duplicate, before which `non_data_before` packets are known
    /// to have carried no data.
    pub(crate) fn record(&mut self, number: u64, content: Content, non_data_before: u64) {
        if self.is_duplicate(number) {
            return;
        }
        if number > self.highest {
            self.append(self.highest + 1, number, LedgerEntry::Missing);
            self.highest = number;
            if content == Content::NonData {
                self.append(number, number + 1, LedgerEntry::NonData);
            }
        } else {
            let fate = (content == Content::NonData).then_some(LedgerEntry::NonData);
            self.rewrite(number, number + 1, fate);
        }
        if content == Content::Data {
            self.received_data += 1;
        }
        if self.presumed == Some(number) {
            self.presumed = None;
        }
        self.rewrite(number.saturating_sub(non_data_before), number, Some(LedgerEntry::MissingNonData));
        if let Some(first) = self.presumed.filter(|first| *first < number) {
            self.rewrite(first, first + 1, Some(LedgerEntry::MissingNonData));
            self.presumed = None;
        }
        self.forget();
    }

    /// Packets with a datagram that the peer has sent up to the highest number seen; lost ones that
    /// may have carried one count (RFC 4342 §6.1 takes the same side).
    pub(crate) const fn data_sent(&self) -> u64 {
        (self.highest - self.base).saturating_sub(self.non_data)
    }

    /// Packets with a datagram that have arrived, duplicates not counted.
    pub(crate) const fn data_received(&self) -> u64 {
        self.received_data
    }

    /// Number of packets before this one that carried data, as far as is known now; `None` if it is
    /// forgotten or missing.
    pub(crate) fn data_before(&self, number: u64) -> Option<u64> {
        if number < self.frozen || number > self.highest {
            return None;
        }
        let later = self.spans.iter().rev().take_while(|span| span.end > number);
        let non_data_from_here: u64 = later
            .filter(|span| span.fate != LedgerEntry::Missing)
            .map(|span| span.end - span.start.max(number))
            .sum();
        let non_data_before = self.non_data.saturating_sub(non_data_from_here);
        Some((number - self.base - 1).saturating_sub(non_data_before))
    }

    /// The oldest packet that is missing and may have carried data.
    pub(crate) fn oldest_missing(&self) -> Option<u64> {
        self.spans.iter().find(|span| span.fate == LedgerEntry::Missing).map(|span| span.start)
    }

    fn span_at(&self, number: u64) -> Option<&Span> {
        let at = self.spans.partition_point(|span| span.end <= number);
        self.spans.get(at).filter(|span| span.start <= number)
    }

    fn append(&mut self, start: u64, end: u64, fate: LedgerEntry) {
        if start >= end {
            return;
        }
        if fate != LedgerEntry::Missing {
            self.non_data += end - start;
        }
        match self.spans.last_mut() {
            Some(last) if last.end == start && last.fate == fate => last.end = end,
            _ => self.spans.push(Span { start, end, fate }),
        }
    }

    /// Gives the missing packets of `from..to` a new fate; `None` is received data.
    fn rewrite(&mut self, from: u64, to: u64, fate: Option<LedgerEntry>) {
        let first = self.spans.partition_point(|span| span.end <= from);
        let after = self.spans.partition_point(|span| span.start < to);
        if first >= after {
            return;
        }
        // The pieces are put after all spans and then moved to their place: no other room is
        // needed.
        let spans = self.spans.len();
        let (mut gained, mut given) = (0, 0);
        for i in first..after {
            let Some(span) = self.spans.get(i).copied() else { break };
            let mut push = |start: u64, end: u64, fate: LedgerEntry| {
                if start >= end {
                    return;
                }
                match self.spans.get_mut(spans..).and_then(<[Span]>::last_mut) {
                    Some(last) if last.end == start && last.fate == fate => last.end = end,
                    _ => self.spans.push(Span { start, end, fate }),
                }
            };
            let (start, end) = (span.start.max(from), span.end.min(to));
            if span.fate == LedgerEntry::NonData {
                push(span.start, span.end, span.fate);
                continue;
            }
            push(span.start, start, span.fate);
            if let Some(fate) = fate {
                push(start, end, fate);
            }
            push(end, span.end, span.fate);
            let count = |fate: Option<LedgerEntry>| match fate {
                None | Some(LedgerEntry::Missing) => 0,
                Some(LedgerEntry::MissingNonData | LedgerEntry::NonData) => end - start,
            };
            gained += count(fate);
            given += count(Some(span.fate));
        }
        let pieces = self.spans.len() - spans;
        if let Some(rest) = self.spans.get_mut(first..) {
            rest.rotate_right(pieces);
        }
        self.spans.drain(first + pieces..after + pieces);
        self.non_data = (self.non_data + gained).saturating_sub(given);
    }

    fn forget(&mut self) {
        let many = if self.spans.len() > MAX_SPANS { FORGOTTEN_AT_ONCE } else { 0 };
        let horizon = self.highest.saturating_sub(HORIZON);
        let old = self.spans.get(FEW_SPANS - 1).is_some_and(|span| span.end < horizon);
        let forgotten = if old { FEW_SPANS } else { 0 }.max(many);
        if let Some(last) = self.spans.drain(..forgotten).next_back() {
            self.frozen = last.end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_text() {
        // RFC 4340 §7.7.1: N0 N1 D2 N3 D4 D5 N6 D7 D8 D9 D10 N11 N12 D13, here from number 101 on,
        // nothing lost.
        let data = [2, 4, 5, 7, 8, 9, 10, 13];
        let mut ledger = Ledger::new(100);
        for n in 0..14 {
            let content = if data.contains(&n) { Content::Data } else { Content::NonData };
            ledger.record(101 + n, content, 0);
        }
        assert_eq!((ledger.data_sent(), ledger.data_received()), (8, 8));
        assert_eq!(ledger.data_before(114), Some(7));
    }

    #[test]
    fn ndp_count_tells_what_a_hole_held() {
        let mut ledger = Ledger::new(0);
        ledger.record(1, Content::Data, 0);
        // 2 carried data, 3 and 4 did not, all three are lost.
        ledger.record(5, Content::Data, 2);
        assert_eq!(ledger.data_sent(), 3);
        assert_eq!(ledger.data_before(5), Some(2));
        assert_eq!(ledger.oldest_missing(), Some(2));
        // A late one without data still counts as new, once.
        assert!(!ledger.is_duplicate(4));
        ledger.record(4, Content::NonData, 1);
        assert!(ledger.is_duplicate(4));
        assert_eq!(ledger.data_sent(), 3);
        ledger.record(2, Content::Data, 0);
        assert_eq!((ledger.data_sent(), ledger.data_received(), ledger.oldest_missing()), (3, 3, None));
    }

    #[test]
    fn lost_handshake_packets_are_no_data() {
        let mut ledger = Ledger::new(10);
        ledger.record_handshake(13);
        ledger.presume_first_non_data();
        // The acknowledgement of the Response is lost.
        ledger.record(15, Content::Data, 0);
        assert_eq!(ledger.data_sent(), 1);
        // It was late, and carried data after all.
        ledger.record(14, Content::Data, 0);
        assert_eq!(ledger.data_sent(), 2);
        // A Request that comes last.
        assert!(ledger.is_duplicate(11));
    }

    #[test]
    fn memory_is_bounded() {
        let mut ledger = Ledger::new(0);
        for n in 1..=100_000 {
            ledger.record(2 * n, Content::Data, n % 2);
        }
        assert!(ledger.spans.len() <= MAX_SPANS);
        assert_eq!(ledger.data_sent(), 150_000);
        assert!(ledger.is_duplicate(3), "too old to tell");
        assert_eq!(ledger.data_before(10), None);
        assert_eq!(ledger.data_before(200_000), Some(149_999));
    }

    fn n64(n: usize) -> u64 {
        u64::try_from(n).expect("small")
    }

    proptest! {
        /// Compares with a record of every single packet.
        #[test]
        fn agrees_with_a_plain_list(
            kinds in prop::collection::vec(any::<bool>(), 1..60),
            order in prop::collection::vec((0..60usize, any::<bool>()), 1..120),
        ) {
            let content = |n: usize| if kinds.get(n) == Some(&true) { Content::Data } else { Content::NonData };
            let mut ledger = Ledger::new(1000);
            let mut here = BTreeSet::new();
            let mut known_non_data = BTreeMap::new();
            for (n, tells) in order {
                let n = n % kinds.len();
                let run = kinds.iter().take(n).rev().take_while(|data| !**data).count();
                let told = if tells { run } else { 0 };
                prop_assert_eq!(ledger.is_duplicate(1001 + n64(n)), here.contains(&n));
                if here.insert(n) {
                    for m in n - told..n {
                        known_non_data.insert(m, ());
                    }
                    if content(n) == Content::NonData {
                        known_non_data.insert(n, ());
                    }
                }
                ledger.record(1001 + n64(n), content(n), n64(told));
                let highest = here.last().copied().expect("one is here");
                let sent = (0..=highest).filter(|m| !known_non_data.contains_key(m)).count();
                prop_assert_eq!(ledger.data_sent(), n64(sent));
                prop_assert_eq!(ledger.data_received(), n64(here.iter().filter(|m| content(**m) == Content::Data).count()));
                for m in 0..=highest {
                    let before = (0..m).filter(|k| !known_non_data.contains_key(k)).count();
                    prop_assert_eq!(ledger.data_before(1001 + n64(m)), Some(n64(before)));
                }
                let missing = (0..highest).find(|m| !here.contains(m) && !known_non_data.contains_key(m));
                prop_assert_eq!(ledger.oldest_missing(), missing.map(|m| 1001 + n64(m)));
            }
        }
    }
}
