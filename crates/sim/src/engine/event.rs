//! Events of the engine and their total order.
//!
//! Events are ordered by time. Of those at one time, changes of rates come first, and the others
//! take turns that a hash of the time and of the subject decides: the link or the agent that an
//! event is about, by its *name*. The order is therefore a property of the network. It depends
//! neither on the order in which events were made, nor on the numbers of links and agents, so that
//! no flow comes first for having been added first. An event that is made at its own time comes
//! after all that were made before.

use core::cmp::Ordering;

use tfrc_units::hash::{finalise, fnv1a};
use tfrc_units::{Instant, saturating};

use crate::{AgentId, LinkId, TimerKey};

/// Later than every event: stands for none.
pub(crate) const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Kind of an event, and its subject. It may be stale: the link or timer knows the time that it
/// really waits for.
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

/// A part of the hash of a name, which stands for a link or an agent in the order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn(u32);

impl Turn {
    pub(crate) fn of(name: &str) -> Self {
        let hash = finalise(fnv1a(name.as_bytes()));
        Self(u32::try_from(hash >> 32).unwrap_or_default())
    }

    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The turn of one of several subjects under one name.
    #[inline]
    pub(crate) const fn numbered(self, number: u32) -> Self {
        Self(self.0 ^ number.wrapping_mul(ODD))
    }
}

/// Spreads small numbers over all bits: 2^32 over the golden ratio, odd.
const ODD: u32 = 0x9e37_79b9;

/// An event to come: two numbers of 64 bits, which stay in registers on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    /// Kind and number of the subject in the upper half, see [`Self::event`]; its turn in the
    /// lower.
    what: u64,
}

const TIMER: u32 = 1 << 31;
const CHANGE: u32 = 1 << 30;
const LOOPBACK: u32 = CHANGE - 1;
/// Number of links that have a number of their own in an entry.
pub(crate) const MOST_LINKS: u32 = LOOPBACK;
/// Number of agents that have a number of their own in an entry.
pub(crate) const MOST_AGENTS: u32 = TIMER >> 2;

impl Entry {
    #[inline(always)]
    pub(crate) fn new(at: Instant, turn: Turn, event: EngineEvent) -> Self {
        let subject = match event {
            EngineEvent::Arrival(LinkId(id)) => id,
            EngineEvent::Change(LinkId(id)) => CHANGE | id,
            EngineEvent::Loopback => LOOPBACK,
            EngineEvent::Timer(AgentId(id), key) => TIMER | (id << 2) | key.number(),
        };
        Self { at, what: u64::from(subject) << 32 | u64::from(turn.0) }
    }

    /// Kind and number of the subject in one.
    #[inline(always)]
    fn subject(self) -> u32 {
        saturating::<u32>(self.what >> 32)
    }

    #[inline(always)]
    pub(crate) fn event(self) -> EngineEvent {
        let subject = self.subject();
        if subject & TIMER != 0 {
            EngineEvent::Timer(AgentId((subject & !TIMER) >> 2), TimerKey::numbered(subject))
        } else if subject < LOOPBACK {
            EngineEvent::Arrival(LinkId(subject))
        } else if subject == LOOPBACK {
            EngineEvent::Loopback
        } else {
            EngineEvent::Change(LinkId(subject & !CHANGE))
        }
    }

    /// After all others at one time.
    pub(crate) const fn last(at: Instant) -> Self {
        Self { at, what: u64::MAX << 32 }
    }

    /// The place among events at one time.
    #[cold]
    fn place(self) -> (u64, u32) {
        let Self { at, what } = self;
        let subject = self.subject();
        match self.event() {
            EngineEvent::Change(_) => (0, subject),
            _ if subject == u32::MAX => (u64::MAX, subject),
            // The turn in the upper half.
            _ => (finalise(at.as_nanos() ^ (what << 32)), subject),
        }
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at).then_with(|| self.place().cmp(&other.place()))
    }
}

impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl TimerKey {
    #[inline(always)]
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::First => 0,
            Self::Second => 1,
            Self::Third => 2,
            Self::Fourth => 3,
        }
    }

    /// The timer of the last two bits of a number.
    #[inline(always)]
    const fn numbered(number: u32) -> Self {
        match number & 3 {
            0 => Self::First,
            1 => Self::Second,
            2 => Self::Third,
            _ => Self::Fourth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_subject() {
        assert_eq!(size_of::<Entry>(), 16);
        let (turn, at) = (Turn::of("a"), Instant::from_nanos(7));
        let keys = [TimerKey::First, TimerKey::Second, TimerKey::Third, TimerKey::Fourth];
        let timers = [0, 1, MOST_AGENTS - 1].map(|id| keys.map(|key| EngineEvent::Timer(AgentId(id), key)));
        let links = [0, 1, MOST_LINKS - 1].map(LinkId);
        let others = links.iter().flat_map(|id| [EngineEvent::Arrival(*id), EngineEvent::Change(*id)]);
        for event in others.chain([EngineEvent::Loopback]).chain(timers.into_iter().flatten()) {
            assert_eq!(Entry::new(at, turn, event).event(), event);
        }
    }

    #[test]
    fn no_subject_comes_first_at_all_times() {
        let link = |name, id| {
            move |at| Entry::new(Instant::from_nanos(at), Turn::of(name), EngineEvent::Arrival(LinkId(id)))
        };
        let (a, b) = (link("a", 0), link("b", 1));
        // A thousand ties, a multiple of a millisecond apart: half each, within five standard
        // deviations (15.8).
        let wins = (1..=1000).map(|ms| ms * 1_000_000).filter(|at| a(*at) < b(*at)).count();
        assert!((421..=579).contains(&wins), "{wins}");
        // The numbers decide nothing.
        let (first, last) = (link("a", 9), link("b", 3));
        assert!((1..=1000).all(|at| (a(at) < b(at)) == (first(at) < last(at))));
        // Rates change before anything else.
        let change = |at| Entry::new(Instant::from_nanos(at), Turn::of("c"), EngineEvent::Change(LinkId(8)));
        assert!((1..=1000).all(|at| change(at) < a(at) && change(at) < b(at)));
    }
}
