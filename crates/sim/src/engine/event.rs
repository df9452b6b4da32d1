//! Events of the engine and their total order.

use tfrc_units::Instant;

use crate::{AgentId, LinkId, TimerKey};

/// The place of an event in the total order: by time, then by serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    at: Instant,
    serial: u64,
}

impl Key {
    /// Later than every event: stands for none.
    pub(crate) const NEVER: Self = Self { at: Instant::from_nanos(u64::MAX), serial: u64::MAX };

    #[inline]
    pub(crate) const fn new(at: Instant, serial: u64) -> Self {
        Self { at, serial }
    }

    #[inline]
    pub(crate) const fn at(self) -> Instant {
        self.at
    }
}

/// Kind of an event, and its subject. It may be stale: the link or timer knows the key it really
/// waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EngineEvent {
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
    pub(crate) event: EngineEvent,
}
