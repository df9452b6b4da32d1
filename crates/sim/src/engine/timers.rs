//! Timers of all agents, with lazy entries in the event queue.

use tfrc_units::{Instant, saturating};

use super::calendar::Events;
use super::event::{EngineEvent, Entry, Key};
use crate::{AgentId, TimerKey};

/// The timers of all agents.
///
/// A timer that is put off, as retransmission and no-feedback timers are with every packet, leaves
/// its entry in the event queue where it is; when that comes up, the timer moves on to its real
/// deadline.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    slots: Vec<[ArmedTimer; 4]>,
}

#[derive(Debug, Clone, Copy)]
struct ArmedTimer {
    /// When it is due, or [`Key::NEVER`].
    deadline: Key,
    /// The entry in the event queue that stands for it, never later than the deadline, or
    /// [`Key::NEVER`]; others are stale.
    queued: Key,
}

const UNSET: ArmedTimer = ArmedTimer { deadline: Key::NEVER, queued: Key::NEVER };

impl Timers {
    pub(crate) fn add_agent(&mut self) {
        self.slots.push([UNSET; 4]);
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
        slot.deadline = deadline;
        if slot.queued > deadline {
            slot.queued = deadline;
            events.push(Entry { key: deadline, event: EngineEvent::Timer(agent, key) });
        }
    }

    pub(crate) fn cancel(&mut self, agent: AgentId, key: TimerKey) {
        if let Some(slot) = self.slot(agent, key) {
            slot.deadline = Key::NEVER;
        }
    }

    pub(crate) fn deadline(&self, agent: AgentId, key: TimerKey) -> Option<Instant> {
        let slots = self.slots.get(agent.index())?;
        let deadline = slots.get(key.index())?.deadline;
        (deadline != Key::NEVER).then(|| deadline.at())
    }

    /// The entry `key` of this timer came up: whether the timer is due.
    #[inline]
    pub(crate) fn came_up(&mut self, agent: AgentId, timer: TimerKey, key: Key, events: &mut Events) -> bool {
        let Some(slot) = self.slot(agent, timer) else { return false };
        if slot.queued != key {
            return false;
        }
        let deadline = core::mem::replace(&mut slot.deadline, Key::NEVER);
        slot.queued = Key::NEVER;
        if deadline == Key::NEVER || deadline <= key {
            return deadline != Key::NEVER;
        }
        (slot.deadline, slot.queued) = (deadline, deadline);
        events.push(Entry { key: deadline, event: EngineEvent::Timer(agent, timer) });
        false
    }

    #[inline]
    fn slot(&mut self, agent: AgentId, key: TimerKey) -> Option<&mut ArmedTimer> {
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
        saturating::<usize>(self.0)
    }
}
