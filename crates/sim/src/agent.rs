//! The interface between the engine and the protocol machines on its nodes.

use core::convert::Infallible;
use core::marker::PhantomData;

use tfrc_units::Instant;

use crate::{Context, Depth, Packet};

/// A protocol machine on a node. The engine calls it for what reaches it; it answers through the
/// [`Context`].
pub trait Agent {
    /// Content of the agent's packets besides the [`crate::packet::Header`]. Links that duplicate
    /// packets copy it.
    type Payload: Clone;

    /// A packet arrived for this agent.
    fn on_packet(
        &mut self,
        now: Instant,
        packet: Packet<Self::Payload>,
        context: &mut Context<'_, Self::Payload>,
    );

    /// A timer that this agent (or the host, to start it) has set is due.
    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Self::Payload>);

    /// Reads from each part of the agent's memory that the next call will need, so that the
    /// processor has it near by then: with thousands of agents the engine asks for this ahead of
    /// their events. Gives anything that depends on what was read, which is not used. An agent that
    /// has nothing to read is a little slower among thousands.
    #[inline]
    fn touch(&self, depth: Depth) -> u64 {
        let _ = depth;
        0
    }
}

/// An agent of one engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(pub(crate) u32);

/// One of an agent's timers; what each is for is the agent's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerKey {
    /// The first timer.
    First,
    /// The second timer.
    Second,
    /// The third timer.
    Third,
    /// The fourth timer.
    Fourth,
}

/// The agent type of an engine without agents, whose packets carry `P`: all its traffic is
/// injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoAgent<P> {
    never: Infallible,
    payload: PhantomData<P>,
}

impl<P: Clone> Agent for NoAgent<P> {
    type Payload = P;

    fn on_packet(&mut self, _: Instant, _: Packet<P>, _: &mut Context<'_, P>) {
        match self.never {}
    }

    fn on_timer(&mut self, _: Instant, _: TimerKey, _: &mut Context<'_, P>) {
        match self.never {}
    }
}
