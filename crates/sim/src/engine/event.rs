use core::cmp::Ordering;
use std::collections::BinaryHeap;

use tfrc_units::Instant;

use crate::{AgentId, LinkId, TimerKey};

/// The place of an event in the total order: by time, then by serial number. One number, for cheap comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

impl Key {
    #[inline]
    pub(crate) fn new(at: Instant, serial: u64) -> Self {
        Self((u128::from(at.as_nanos()) << 64) | u128::from(serial))
    }

    #[inline]
    pub(crate) fn at(self) -> Instant {
        Instant::from_nanos(u64::try_from(self.0 >> 64).unwrap_or(u64::MAX))
    }
}

/// What an event is about. It may be stale: the link or timer knows the key it really waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The next packet of a link reaches its far end.
    Arrival(LinkId),
    /// The rate of a link changes.
    Change(LinkId),
    /// The next packet from a node to itself arrives.
    Loopback,
    /// A timer of an agent may be due.
    Timer(AgentId, TimerKey),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Key,
    pub(crate) event: Event,
}

/// The earliest is the greatest, as [`BinaryHeap`] wants it.
impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(crate) type Events = BinaryHeap<Entry>;
