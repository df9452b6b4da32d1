use tfrc_units::Instant;

use super::event::{Entry, Event, Events, Key};
use crate::{AgentId, TimerKey};

/// The timers of all agents.
///
/// A timer that is put off, as retransmission and no-feedback timers are with every packet, leaves its entry in the
/// event queue where it is; when that comes up, the timer moves on to its real deadline.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    slots: Vec<[Slot; 4]>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Slot {
    /// When it is due.
    deadline: Option<Key>,
    /// The entry in the event queue that stands for it, never later than the deadline; others are stale.
    queued: Option<Key>,
}

impl Timers {
    pub(crate) fn add_agent(&mut self) {
        self.slots.push(<[Slot; 4]>::default());
    }

    #[inline]
    pub(crate) fn set(
        &mut self,
        agent: AgentId,
        key: TimerKey,
        at: Instant,
        serial: u64,
        events: &mut Events,
    ) {
        let Some(slot) = self.slot(agent, key) else { return };
        let deadline = Key::new(at, serial);
        slot.deadline = Some(deadline);
        if slot.queued.is_none_or(|queued| queued > deadline) {
            slot.queued = Some(deadline);
            events.push(Entry { key: deadline, event: Event::Timer(agent, key) });
        }
    }

    pub(crate) fn cancel(&mut self, agent: AgentId, key: TimerKey) {
        if let Some(slot) = self.slot(agent, key) {
            slot.deadline = None;
        }
    }

    pub(crate) fn deadline(&self, agent: AgentId, key: TimerKey) -> Option<Instant> {
        let slots = self.slots.get(agent.index())?;
        slots.get(key.index())?.deadline.map(Key::at)
    }

    /// The entry `key` of this timer came up: whether the timer is due.
    #[inline]
    pub(crate) fn came_up(&mut self, agent: AgentId, timer: TimerKey, key: Key, events: &mut Events) -> bool {
        let Some(slot) = self.slot(agent, timer) else { return false };
        if slot.queued != Some(key) {
            return false;
        }
        slot.queued = None;
        match slot.deadline {
            Some(deadline) if deadline > key => {
                slot.queued = Some(deadline);
                events.push(Entry { key: deadline, event: Event::Timer(agent, timer) });
                false
            }
            Some(_) => {
                slot.deadline = None;
                true
            }
            None => false,
        }
    }

    #[inline]
    fn slot(&mut self, agent: AgentId, key: TimerKey) -> Option<&mut Slot> {
        self.slots.get_mut(agent.index())?.get_mut(key.index())
    }
}

impl TimerKey {
    #[inline]
    const fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
            Self::Third => 2,
            Self::Fourth => 3,
        }
    }
}

impl AgentId {
    #[inline]
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}
