//! When each packet was sent that may still be acknowledged.

use alloc::collections::VecDeque;

use tfrc_units::{Instant, SeqNo48};

/// A packet that has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// When.
    pub(crate) at: Instant,
    /// What it was.
    pub(crate) kind: SentKind,
}

impl Sent {
    const fn is_data(self) -> bool {
        matches!(self.kind, SentKind::Data(_))
    }
}

/// What a packet was for congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentKind {
    /// It carried data and this CCVal.
    Data(u8),
    /// It carried none.
    NonData,
}

/// The packets sent last, one entry per sequence number, at most 2^16, or 64 while none of them carried data.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentLog {
    /// The number of the first entry.
    first: SeqNo48,
    entries: VecDeque<Sent>,
    /// How many of the entries carried data.
    data: usize,
}

/// Older packets are forgotten: an acknowledgement of one is no use any more.
const MAX_ENTRIES: usize = 1 << 16;
/// An end that only acknowledges need not remember more than a handshake.
const MAX_WITHOUT_DATA: usize = 64;

impl SentLog {
    /// The packet with the next number has gone.
    pub(crate) fn push(&mut self, seq: SeqNo48, sent: Sent) {
        if self.entries.is_empty() {
            self.first = seq;
        }
        self.entries.push_back(sent);
        self.data += usize::from(sent.is_data());
        let limit = if self.data == 0 { MAX_WITHOUT_DATA } else { MAX_ENTRIES };
        if self.entries.len() > limit {
            self.drop_oldest(1);
        }
    }

    /// What is known of a packet.
    pub(crate) fn get(&self, seq: SeqNo48) -> Option<Sent> {
        let at = usize::try_from(seq.distance_from(self.first)).ok()?;
        self.entries.get(at).copied()
    }

    /// Forgets what was sent before `seq`.
    pub(crate) fn forget_before(&mut self, seq: SeqNo48) {
        let passed = usize::try_from(seq.distance_from(self.first)).unwrap_or(usize::MAX);
        if passed <= self.entries.len() {
            self.drop_oldest(passed);
        }
    }

    fn drop_oldest(&mut self, count: usize) {
        for sent in self.entries.drain(..count.min(self.entries.len())) {
            self.data -= usize::from(sent.is_data());
            self.first = self.first.add(1);
        }
    }

    /// Entries kept.
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
