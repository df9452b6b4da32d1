//! Timers of all agents, with lazy entries in the event queue.

use tfrc_units::{Instant, saturating};

use super::calendar::Events;
use super::event::{EngineEvent, Entry, NEVER, Turn};
use crate::{AgentId, TimerKey};

/// The timers of all agents.
///
/// A timer that is put off, as retransmission and no-feedback timers are with every packet, leaves
/// its entry in the event queue where it is; when that comes up, the timer moves on to its real
/// deadline.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    slots: Vec<AgentTimers>,
    /// By agent, as they are needed less often.
    turns: Vec<Turn>,
}

/// One cache line.
#[derive(Debug)]
#[repr(align(64))]
struct AgentTimers([ArmedTimer; 4]);

#[derive(Debug, Clone, Copy)]
struct ArmedTimer {
    /// When it is due, or [`NEVER`].
    deadline: Instant,
    /// The time of the entry in the event queue that stands for it, never later than the deadline,
    /// or [`NEVER`]; others are stale.
    queued: Instant,
}

const UNSET: ArmedTimer = ArmedTimer { deadline: NEVER, queued: NEVER };

impl Timers {
    pub(crate) fn add_agent(&mut self, turn: Turn) {
        self.slots.push(AgentTimers([UNSET; 4]));
        self.turns.push(turn);
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, agent: AgentId, key: TimerKey, at: Instant, events: &mut Events) {
        let Some(slot) = self.slot(agent, key) else { return };
        slot.deadline = at;
        if slot.queued > at {
            slot.queued = at;
            self.push(agent, key, at, events);
        }
    }

    #[inline]
    pub(crate) fn cancel(&mut self, agent: AgentId, key: TimerKey) {
        if let Some(slot) = self.slot(agent, key) {
            slot.deadline = NEVER;
        }
    }

    #[inline]
    pub(crate) fn deadline(&self, agent: AgentId, key: TimerKey) -> Option<Instant> {
        let AgentTimers(armed) = self.slots.get(agent.index())?;
        let deadline = armed.get(key.index())?.deadline;
        (deadline != NEVER).then_some(deadline)
    }

    /// The entry at this time of this timer came up: whether the timer is due.
    #[inline]
    pub(crate) fn came_up(
        &mut self,
        agent: AgentId,
        timer: TimerKey,
        at: Instant,
        events: &mut Events,
    ) -> bool {
        let Some(slot) = self.slot(agent, timer) else { return false };
        if slot.queued != at {
            return false;
        }
        let deadline = core::mem::replace(&mut slot.deadline, NEVER);
        slot.queued = NEVER;
        if deadline == NEVER || deadline <= at {
            return deadline != NEVER;
        }
        (slot.deadline, slot.queued) = (deadline, deadline);
        self.push(agent, timer, deadline, events);
        false
    }

    /// Reads what is kept of an agent's timers, to have it near.
    #[inline(always)]
    pub(crate) fn touch(&self, agent: AgentId) -> u64 {
        let first =
            self.slots.get(agent.index()).map_or(0, |AgentTimers([first, ..])| first.deadline.as_nanos());
        first ^ self.turns.get(agent.index()).map_or(0, |turn| u64::from(turn.bits()))
    }

    #[inline(always)]
    fn slot(&mut self, agent: AgentId, key: TimerKey) -> Option<&mut ArmedTimer> {
        let AgentTimers(armed) = self.slots.get_mut(agent.index())?;
        armed.get_mut(key.index())
    }

    /// One copy for all agents.
    #[inline(never)]
    fn push(&self, agent: AgentId, key: TimerKey, at: Instant, events: &mut Events) {
        let Some(turn) = self.turns.get(agent.index()) else { return };
        events.push(Entry::new(at, turn.numbered(key.number()), EngineEvent::Timer(agent, key)));
    }
}

impl TimerKey {
    #[inline(always)]
    fn index(self) -> usize {
        saturating::<usize>(self.number())
    }
}

impl AgentId {
    #[inline]
    pub(crate) fn index(self) -> usize {
        saturating::<usize>(self.0)
    }
}
