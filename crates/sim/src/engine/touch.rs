//! Memory of the next events, read before they happen.
//!
//! With thousands of flows most of what an event works on is in no cache, and each look-up waits
//! for the one before: a link knows its packet, the packet its receiver. Where there are many
//! agents, a day of the calendar therefore has several events, and when it begins the state of all
//! of them is read a step at a time. The reads of a step do not depend on each other, so that the
//! processor waits for all of them once. Nothing is changed, and no result depends on it.

use std::hint::black_box;

use super::core::{Core, NOBODY};
use super::event::EngineEvent;
use super::{Attached, Engine};
use crate::{Agent, AgentId, LinkId, NodeId};

/// Agents from which on the next events are read ahead: the state of fewer is in the caches.
pub(super) const MANY_AGENTS: usize = 1024;

/// Events of a day that are read ahead.
const MOST: usize = 32;

/// Part of an agent's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The agent itself.
    Surface,
    /// The places that it points to.
    Below,
}

/// Subjects of an event, as far as they are known.
#[derive(Debug, Clone, Copy)]
struct Subjects {
    event: EngineEvent,
    /// The agent that acts, or [`NOBODY`].
    agent: AgentId,
    /// The link on which a packet goes on, or which leads from the agent.
    link: LinkId,
}

impl<A: Agent> Engine<A> {
    /// Reads the state of the events of the day that has begun.
    #[inline(never)]
    pub(super) fn read_ahead(&self) {
        let start = Subjects { event: EngineEvent::Loopback, agent: NOBODY, link: LinkId::NONE };
        let mut all = [start; MOST];
        // The list of the next day's events, meanwhile. Each of its cells is known from the one
        // before: a new one is read for every fourth event in each of five steps.
        let mut cell = self.core.events.next_days_first();
        let mut list = |event: usize| {
            if !event.is_multiple_of(4) {
                return 0;
            }
            let (next, at) = self.core.events.touch_cell(cell);
            cell = next;
            at
        };
        let mut sum = 0;
        let mut number = 0;
        for (place, entry) in all.iter_mut().zip(self.core.events.today()) {
            place.event = entry.event();
            sum ^= list(number) ^ self.read_first(place);
            number += 1;
        }
        let all = all.get_mut(..number).unwrap_or_default();
        for (n, subjects) in all.iter_mut().enumerate() {
            sum ^= list(n) ^ self.read_second(subjects);
        }
        for (n, subjects) in all.iter_mut().enumerate() {
            sum ^= list(n) ^ self.read_third(subjects);
        }
        for (n, subjects) in all.iter_mut().enumerate() {
            sum ^= list(n) ^ self.read_fourth(subjects);
        }
        for (n, subjects) in all.iter_mut().enumerate() {
            sum ^= list(n) ^ self.read_last(subjects);
        }
        black_box(sum);
    }

    /// The link or the timer.
    #[inline(always)]
    fn read_first(&self, subjects: &mut Subjects) -> u64 {
        match subjects.event {
            EngineEvent::Arrival(id) => self.core.touch_link(id),
            EngineEvent::Timer(agent, _) => {
                subjects.agent = agent;
                self.core.timers.touch(agent) ^ self.address(agent).map_or(0, |at| u64::from(at.port))
            }
            _ => 0,
        }
    }

    /// The packet; of a timer the link from its agent.
    #[inline(always)]
    fn read_second(&self, subjects: &mut Subjects) -> u64 {
        match subjects.event {
            EngineEvent::Arrival(id) => self.core.touch_packet(id),
            EngineEvent::Timer(agent, _) => {
                subjects.link = self.address(agent).map_or(LinkId::NONE, |at| self.core.way_out(at.node));
                self.touch_agent(agent, Depth::Surface)
            }
            _ => 0,
        }
    }

    /// The receiver, or the way that the packet goes.
    #[inline(always)]
    fn read_third(&self, subjects: &mut Subjects) -> u64 {
        match subjects.event {
            EngineEvent::Arrival(id) => {
                let (agent, link) = self.core.subjects_of_arrival(id);
                (subjects.agent, subjects.link) = (agent, link);
                let address = self.address(agent).map_or(0, |at| u64::from(at.port));
                let behind = self.core.touch_second(id);
                address ^ behind ^ self.core.timers.touch(agent) ^ self.core.touch_link(link)
            }
            EngineEvent::Timer(agent, _) => {
                self.touch_agent(agent, Depth::Below) ^ self.core.touch_link(subjects.link)
            }
            _ => 0,
        }
    }

    #[inline(always)]
    fn read_fourth(&self, subjects: &mut Subjects) -> u64 {
        match subjects.event {
            EngineEvent::Arrival(_) => self.touch_agent(subjects.agent, Depth::Surface),
            _ => 0,
        }
    }

    /// The end of the link on which a packet goes on.
    #[inline(always)]
    fn read_last(&self, subjects: &mut Subjects) -> u64 {
        let end = self.core.touch_end(subjects.link);
        match subjects.event {
            EngineEvent::Arrival(_) => end ^ self.touch_agent(subjects.agent, Depth::Below),
            _ => end,
        }
    }

    #[inline(always)]
    fn touch_agent(&self, id: AgentId, depth: Depth) -> u64 {
        let Some(Attached { agent, .. }) = self.agents.get(id.index()) else { return 0 };
        agent.touch(depth)
    }
}

impl<P> Core<P> {
    #[inline(always)]
    fn touch_link(&self, id: LinkId) -> u64 {
        self.links.get(id.index()).map_or(0, |link| link.touch())
    }

    /// The first packet of a link, and what is known of the node at its far end.
    #[inline(always)]
    fn touch_packet(&self, id: LinkId) -> u64 {
        let Some(link) = self.links.get(id.index()) else { return 0 };
        let slot = link.first();
        let agent = self.first_agents.get(link.to.index()).map_or(0, |agent| agent.0);
        let payload = u64::from(self.packets.get(slot).is_some());
        self.on_links.touch(slot) ^ payload ^ u64::from(agent ^ self.way_out(link.to).0)
    }

    /// The second packet of a link.
    #[inline(always)]
    fn touch_second(&self, id: LinkId) -> u64 {
        self.links.get(id.index()).map_or(0, |link| self.on_links.touch_next(link.first()))
    }

    /// The agent that receives the first packet of a link, and the link that leads from it; or the
    /// link on which the packet goes on.
    #[inline(always)]
    fn subjects_of_arrival(&self, id: LinkId) -> (AgentId, LinkId) {
        let Some(link) = self.links.get(id.index()) else { return (NOBODY, LinkId::NONE) };
        let Some(to) = self.on_links.header(link.first()).map(|header| header.dst.node) else {
            return (NOBODY, LinkId::NONE);
        };
        if to == link.to {
            let agent = self.first_agents.get(to.index()).copied().unwrap_or(NOBODY);
            return (agent, self.way_out(to));
        }
        let [_, brought] = &self.legs;
        let line = brought
            .get(to.index())
            .map_or(LinkId::NONE, |leg| if leg.then == LinkId::NONE { leg.first } else { leg.then });
        (NOBODY, line)
    }

    /// The link that packets of a node took last.
    #[inline(always)]
    fn way_out(&self, node: NodeId) -> LinkId {
        let [sent, _] = &self.legs;
        sent.get(node.index()).map_or(LinkId::NONE, |leg| leg.first)
    }

    #[inline(always)]
    fn touch_end(&self, id: LinkId) -> u64 {
        self.links.get(id.index()).map_or(0, |link| link.touch_end(&self.on_links))
    }
}
