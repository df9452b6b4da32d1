//! Half-open connections (RESPOND, RFC 4340 §8.1.3), remembered with the content of an Init Cookie:
//! a stranger's Request costs about two hundred bytes, not a connection. The connection is created
//! when the handshake is complete.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use tfrc_units::{Duration, Instant, SeqNo48};

use super::Key;

/// A Request that has been answered with a Response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HalfOpen {
    /// The time of the first Request; our ISS follows from it.
    pub(super) since: Instant,
    /// The time of the newest Request.
    pub(super) came: Instant,
    /// The time of the answer; `None` while the Response is due.
    pub(super) answered: Option<Instant>,
    /// The number of that Request.
    pub(super) request: SeqNo48,
    /// The greatest number sent, usually that of the Response, sent or due.
    pub(super) sent: SeqNo48,
    /// The options of the Request.
    pub(super) options: Box<[u8]>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct HalfOpenTable {
    by_key: BTreeMap<Key, HalfOpen>,
    by_age: BTreeSet<(Instant, Key)>,
}

impl HalfOpenTable {
    pub(super) fn insert(&mut self, key: Key, record: HalfOpen) {
        self.remove(&key);
        self.by_age.insert((record.since, key));
        self.by_key.insert(key, record);
    }

    pub(super) fn get(&self, key: &Key) -> Option<&HalfOpen> {
        self.by_key.get(key)
    }

    /// The entry, to change anything except its age.
    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut HalfOpen> {
        self.by_key.get_mut(key)
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<HalfOpen> {
        let record = self.by_key.remove(key)?;
        self.by_age.remove(&(record.since, *key));
        Some(record)
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The one that has waited longest, if at least this long.
    pub(super) fn older_than(&self, now: Instant, patience: Duration) -> Option<Key> {
        let (since, key) = self.by_age.first()?;
        (now.saturating_since(*since) >= patience).then_some(*key)
    }

    /// The time since which the oldest has waited.
    pub(super) fn oldest(&self) -> Option<Instant> {
        self.by_age.first().map(|(since, _)| *since)
    }
}
