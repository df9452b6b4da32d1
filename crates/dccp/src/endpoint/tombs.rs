//! Connections that are over, remembered for a while (RFC 4340 §8.3: TIMEWAIT; and the Reset that
//! may have been lost).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use tfrc_units::{Instant, SeqNo48};

use super::Key;
use crate::wire::{Reset, ResetCode};

/// Record of a connection that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tomb {
    expires: Instant,
    /// When the connection was begun.
    began: Instant,
    next_seq: SeqNo48,
    /// GSR at the end.
    last_received: SeqNo48,
    /// The Reset we ended it with and its text; `None` if the peer ended it.
    last_word: Option<(Reset, String)>,
    /// How often its text has been repeated.
    told: u8,
}

/// A Reset to answer a straggler with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) seq: SeqNo48,
    pub(super) reset: Reset,
    pub(super) text: String,
}

/// The closing text is repeated so often for a peer that has not got it; then whoever asks gets a
/// short answer.
const TELLINGS: u8 = 8;
/// Numbers up to the last one received that are taken for the old connection's.
const OLD_NUMBERS: u64 = 1 << 24;

/// All of them, bounded in number.
#[derive(Debug, Clone, Default)]
pub(super) struct Tombs {
    by_key: BTreeMap<Key, Tomb>,
    by_time: BTreeSet<(Instant, Key)>,
    /// When the youngest connection was begun that was forgotten before its time, for want of room.
    forgotten: Option<Instant>,
}

impl Tombs {
    pub(super) fn add(
        &mut self,
        key: Key,
        (began, expires): (Instant, Instant),
        (next_seq, last_received): (SeqNo48, SeqNo48),
        last_word: Option<(Reset, String)>,
        limit: usize,
    ) {
        self.remove(&key);
        self.by_time.insert((expires, key));
        self.by_key.insert(key, Tomb { expires, began, next_seq, last_received, last_word, told: 0 });
        while self.by_key.len() > limit {
            let Some((_, oldest)) = self.by_time.first().copied() else { break };
            let began = self.by_key.get(&oldest).map(|tomb| tomb.began);
            self.forgotten = self.forgotten.max(began);
            self.remove(&oldest);
        }
    }

    /// When the youngest connection was begun that was forgotten for want of room: a cookie issued
    /// until then may be one that has had its connection.
    pub(super) const fn forgotten(&self) -> Option<Instant> {
        self.forgotten
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.by_key.contains_key(key)
    }

    /// Returns true if a Request with number `seq` may begin a new connection: only if it was we
    /// who ended the old one (§8.5 step 2), and if it is not an old Request come late.
    pub(super) fn yields(&self, key: &Key, seq: SeqNo48) -> bool {
        self.by_key.get(key).is_none_or(|tomb| {
            tomb.last_word.is_some() && tomb.last_received.distance_from(seq) > OLD_NUMBERS
        })
    }

    /// Returns the Reset that answers a packet that came late.
    pub(super) fn answer(&mut self, key: &Key) -> Option<Answer> {
        let tomb = self.by_key.get_mut(key)?;
        let seq = tomb.next_seq;
        tomb.next_seq = seq.add(1);
        let (reset, text) = match &tomb.last_word {
            Some((reset, text)) if tomb.told < TELLINGS => {
                tomb.told += 1;
                (*reset, text.clone())
            }
            Some((reset, _)) => (*reset, String::new()),
            None => (Reset::new(ResetCode::NoConnection), String::new()),
        };
        Some(Answer { seq, reset, text })
    }

    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(tomb) = self.by_key.remove(key) {
            self.by_time.remove(&(tomb.expires, *key));
        }
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.by_time.first().map(|(expires, _)| *expires)
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((expires, key)) = self.by_time.first().copied()
            && expires <= now
        {
            self.remove(&key);
        }
    }
}
