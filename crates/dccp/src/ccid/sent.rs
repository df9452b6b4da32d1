//! When each packet was sent that may still be acknowledged.

use alloc::collections::VecDeque;

use tfrc_units::{Instant, SeqNo48, saturating};

/// A packet that has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) kind: SentKind,
}

/// Kind of a packet for congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentKind {
    /// It carried data and this CCVal.
    Data(u8),
    /// Without a datagram.
    NonData,
    /// It was left out on purpose.
    Skipped,
}

/// The packets sent last, one entry per sequence number, at most 2^16, or 16 while none of them
/// carried data.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentLog {
    /// The number of the first entry.
    first: SeqNo48,
    entries: VecDeque<SentEntry>,
    /// Entries that carried data.
    data: usize,
}

/// A [`Sent`] in eight bytes: nanoseconds (4 years of them), then seven bits of kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SentEntry(u64);

impl SentEntry {
    const KIND_BITS: u32 = 7;
    const NON_DATA: u64 = 16;
    const SKIPPED: u64 = 17;
    /// Set together with the counter of a packet with data: the peer has reported it as dropped.
    const DROPPED: u64 = 32;
    /// It may have left later than its time says.
    const HELD_UP: u64 = 64;
    const LONGEST: u64 = u64::MAX >> Self::KIND_BITS;

    fn new(sent: Sent) -> Self {
        let kind = match sent.kind {
            SentKind::Data(counter) => u64::from(counter % 16),
            SentKind::NonData => Self::NON_DATA,
            SentKind::Skipped => Self::SKIPPED,
        };
        Self(sent.at.as_nanos().min(Self::LONGEST) << Self::KIND_BITS | kind)
    }

    const fn is_data(self) -> bool {
        self.0 & Self::NON_DATA == 0
    }

    fn sent(self) -> Sent {
        let kind = match u8::try_from(self.0 & 15) {
            Ok(counter) if self.is_data() => SentKind::Data(counter),
            _ if self.0 & 31 == Self::SKIPPED => SentKind::Skipped,
            _ => SentKind::NonData,
        };
        Sent { at: Instant::from_nanos(self.0 >> Self::KIND_BITS), kind }
    }
}

/// The record grows by an eighth, and by at least this many entries: doubling would waste up to
/// half.
const GROWTH: usize = 17;
/// Older packets are forgotten: an acknowledgement of one is no use any more.
const MAX_ENTRIES: usize = 1 << 16;
/// An end that only acknowledges need not remember more than a handshake.
const MAX_WITHOUT_DATA: usize = 16;

impl SentLog {
    /// The packet with the next number has gone.
    pub(crate) fn push(&mut self, seq: SeqNo48, sent: Sent) {
        if self.entries.is_empty() {
            self.first = seq;
        }
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(GROWTH.max(self.entries.len() / 8));
        }
        let entry = SentEntry::new(sent);
        self.entries.push_back(entry);
        self.data += usize::from(entry.is_data());
        let limit = if self.data == 0 { MAX_WITHOUT_DATA } else { MAX_ENTRIES };
        if self.entries.len() > limit {
            self.drop_oldest(1);
        }
    }

    /// The entry of a packet, if the log still has it.
    pub(crate) fn get(&self, seq: SeqNo48) -> Option<Sent> {
        let at = usize::try_from(seq.distance_from(self.first)).ok()?;
        self.entries.get(at).map(|entry| entry.sent())
    }

    /// When a packet left, if it did so at once: its round-trip time can be measured.
    pub(crate) fn departure(&self, seq: SeqNo48) -> Option<Instant> {
        let at = usize::try_from(seq.distance_from(self.first)).ok()?;
        self.entries.get(at).filter(|entry| entry.0 & SentEntry::HELD_UP == 0).map(|entry| entry.sent().at)
    }

    /// The host was held up: packets pushed since then left at a time that nobody knows.
    pub(crate) fn note_held_up(&mut self, since: Instant) {
        for entry in self.entries.iter_mut().rev().take_while(|entry| entry.sent().at >= since) {
            entry.0 |= SentEntry::HELD_UP;
        }
    }

    /// The peer reports that it received this packet and dropped its data. Says whether that is
    /// news: the packet is remembered, had data, and was not reported before.
    pub(crate) fn note_dropped(&mut self, seq: SeqNo48) -> bool {
        let at = usize::try_from(seq.distance_from(self.first)).ok();
        let entry = at.and_then(|at| self.entries.get_mut(at));
        match entry.filter(|entry| entry.is_data() && entry.0 & SentEntry::DROPPED == 0) {
            Some(entry) => {
                entry.0 |= SentEntry::DROPPED;
                true
            }
            None => false,
        }
    }

    /// Forgets what was sent before `seq`.
    pub(crate) fn forget_before(&mut self, seq: SeqNo48) {
        let passed = saturating::<usize>(seq.distance_from(self.first));
        if passed <= self.entries.len() {
            self.drop_oldest(passed);
        }
    }

    fn drop_oldest(&mut self, count: usize) {
        for entry in self.entries.drain(..count.min(self.entries.len())) {
            self.data -= usize::from(entry.is_data());
            self.first = self.first.add(1);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    fn sent(ms: u64) -> Sent {
        Sent { at: Instant::ZERO + Duration::from_millis(ms), kind: SentKind::NonData }
    }

    #[test]
    fn finds_across_the_wrap_and_forgets() {
        let mut log = SentLog::default();
        let start = SeqNo48::MAX.sub(1);
        for i in 0..4 {
            log.push(start.add(i), sent(i));
        }
        assert_eq!(log.get(SeqNo48::new(1)), Some(sent(3)));
        assert_eq!(log.get(SeqNo48::new(2)), None);
        log.forget_before(SeqNo48::new(0));
        assert_eq!((log.get(SeqNo48::MAX), log.get(SeqNo48::new(0))), (None, Some(sent(2))));
        log.forget_before(SeqNo48::MAX);
        assert_eq!(log.len(), 2, "going back forgets nothing");
    }

    #[test]
    fn packets_that_were_held_up_have_no_departure() {
        let mut log = SentLog::default();
        for i in 0..6 {
            log.push(SeqNo48::new(i), Sent { kind: SentKind::Data(15), ..sent(10 * (i / 2)) });
        }
        log.note_held_up(sent(10).at);
        log.push(SeqNo48::new(6), sent(20));
        let departures = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| log.departure(SeqNo48::new(i)));
        let (zero, late) = (Some(sent(0).at), Some(sent(20).at));
        assert_eq!(departures, [zero, zero, None, None, None, None, late, None]);
        assert!(log.note_dropped(SeqNo48::new(2)));
        let entry = log.get(SeqNo48::new(2));
        assert_eq!(entry, Some(Sent { kind: SentKind::Data(15), ..sent(10) }), "the rest is as it was");
    }

    #[test]
    fn memory_is_bounded() {
        let mut log = SentLog::default();
        for i in 0..1000 {
            log.push(SeqNo48::new(i), sent(i));
        }
        assert_eq!(log.len(), MAX_WITHOUT_DATA);
        for i in 1000..100_000 {
            log.push(SeqNo48::new(i), Sent { kind: SentKind::Data(0), ..sent(i) });
        }
        assert_eq!(log.len(), MAX_ENTRIES);
        assert_eq!(log.get(SeqNo48::new(99_999)).map(|sent| sent.at), Some(sent(99_999).at));
        log.forget_before(SeqNo48::new(99_999));
        log.push(SeqNo48::new(100_000), sent(0));
        assert_eq!((log.len(), log.data), (2, 1));
    }
}
