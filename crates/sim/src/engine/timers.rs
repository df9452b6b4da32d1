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
}

#[derive(Debug)]
struct AgentTimers {
    armed: [ArmedTimer; 4],
    turn: Turn,
}

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
        self.slots.push(AgentTimers { armed: [UNSET; 4], turn });
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, agent: AgentId, key: TimerKey, at: Instant, events: &mut Events) {
        let Some((slot, turn)) = self.slot(agent, key) else { return };
        slot.deadline = at;
        if slot.queued > at {
            slot.queued = at;
            push(events, Entry::new(at, turn, EngineEvent::Timer(agent, key)));
        }
    }

    #[inline]
    pub(crate) fn cancel(&mut self, agent: AgentId, key: TimerKey) {
        if let Some((slot, _)) = self.slot(agent, key) {
            slot.deadline = NEVER;
        }
    }

    pub(crate) fn deadline(&self, agent: AgentId, key: TimerKey) -> Option<Instant> {
        let slots = self.slots.get(agent.index())?;
        let deadline = slots.armed.get(key.index())?.deadline;
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
        let Some((slot, turn)) = self.slot(agent, timer) else { return false };
        if slot.queued != at {
            return false;
        }
        let deadline = core::mem::replace(&mut slot.deadline, NEVER);
        slot.queued = NEVER;
        if deadline == NEVER || deadline <= at {
            return deadline != NEVER;
        }
        (slot.deadline, slot.queued) = (deadline, deadline);
        events.push(Entry::new(deadline, turn, EngineEvent::Timer(agent, timer)));
        false
    }

    /// Reads what is kept of an agent's timers, to have it near.
    #[inline(always)]
    pub(crate) fn touch(&self, agent: AgentId) -> u64 {
        let Some(AgentTimers { armed: [first, ..], turn }) = self.slots.get(agent.index()) else { return 0 };
        first.deadline.as_nanos() ^ u64::from(turn.bits())
    }

    #[inline(always)]
    fn slot(&mut self, agent: AgentId, key: TimerKey) -> Option<(&mut ArmedTimer, Turn)> {
        let AgentTimers { armed, turn } = self.slots.get_mut(agent.index())?;
        Some((armed.get_mut(key.index())?, turn.numbered(key.number())))
    }
}

/// One copy for all agents.
#[inline(never)]
fn push(events: &mut Events, entry: Entry) {
    events.push(entry);
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
