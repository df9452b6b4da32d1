//! The engine: what happens next, and to whom.

mod ahead;
pub(crate) mod arena;
mod calendar;
mod core;
pub(crate) mod event;
mod timers;
mod touch;

use ::core::fmt;

use tfrc_units::{Instant, Probability, Rate};

use self::core::{Core, DueNotice};
pub use self::touch::Depth;
use self::touch::MANY_AGENTS;
use crate::link::{FlowStats, LinkStats, PacketCount};
use crate::network::{LinkChange, MakeQueue};
use crate::packet::{FlowId, Outgoing};
use crate::queue::QueueState;
use crate::routing::Routes;
use crate::trace::{DropLog, DroppedPacket, PacketCopy, TraceRecord, Tracing};
use crate::{Address, Agent, AgentId, LinkId, LinkSpec, NodeId, Packet, Seed, TimerKey};

/// A network in motion: nodes, links, the agents on them, and virtual time.
///
/// Time only moves in [`run_until`](Self::run_until) and [`inject`](Self::inject), never back. Same
/// network, agents, inputs and seed give the same events, on every platform.
#[derive(Debug)]
pub struct Engine<A: Agent> {
    agents: Vec<Attached<A>>,
    core: Core<A::Payload>,
}

#[derive(Debug)]
struct Attached<A> {
    address: Address,
    agent: A,
}

/// A packet that has reached a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery<P> {
    /// When it arrived, in the engine's time.
    pub at: Instant,
    /// The packet.
    pub packet: Packet<P>,
}

/// The node is not in this network, or all its 2^32 ports are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownNode(
    /// The node asked for.
    pub NodeId,
);

impl fmt::Display for UnknownNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} is not in this network or has no port left: use the ids of this network", self.0.0)
    }
}

impl ::core::error::Error for UnknownNode {}

/// Access to the engine for an agent while it handles a packet or a timer.
#[derive(Debug)]
pub struct Context<'a, P> {
    id: AgentId,
    address: Address,
    core: &'a mut Core<P>,
}

impl<P: Clone> Context<'_, P> {
    /// Sends a packet, now.
    #[inline(always)]
    pub fn send(&mut self, packet: Outgoing<P>) {
        self.core.send(self.address, packet);
    }
}

impl<P> Context<'_, P> {
    /// The agent's own address.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address
    }

    /// Sets a timer, in place of its old deadline if it had one. A time past means at once, after
    /// this call.
    #[inline]
    pub fn set_timer(&mut self, key: TimerKey, at: Instant) {
        self.core.set_timer(self.id, key, at);
    }

    /// Stops a timer; harmless if it is not set.
    #[inline]
    pub fn cancel_timer(&mut self, key: TimerKey) {
        self.core.timers.cancel(self.id, key);
    }

    /// When a timer is due, `None` if it is not set.
    #[inline]
    #[must_use]
    pub fn timer(&self, key: TimerKey) -> Option<Instant> {
        self.core.timers.deadline(self.id, key)
    }
}

impl<A: Agent> Engine<A> {
    pub(crate) fn new(
        nodes: &[String],
        links: &[LinkSpec],
        routes: Routes,
        seed: Seed,
        queues: &mut MakeQueue<'_>,
    ) -> Self {
        Self { agents: Vec::new(), core: Core::new(nodes, links, routes, seed, queues) }
    }

    /// Puts an agent on a node, at a port of its own. It does nothing until a packet or a timer
    /// reaches it.
    ///
    /// # Errors
    /// [`UnknownNode`].
    pub fn attach(&mut self, node: NodeId, agent: A) -> Result<AgentId, UnknownNode> {
        let id = AgentId(u32::try_from(self.agents.len()).map_err(|_| UnknownNode(node))?);
        let address = self.core.attach(node, id)?;
        self.agents.push(Attached { address, agent });
        if self.agents.len() == MANY_AGENTS {
            self.core.events.fill_days();
        }
        Ok(id)
    }

    /// Opens a port on a node whose packets go to the host: see
    /// [`poll_delivery`](Self::poll_delivery).
    ///
    /// # Errors
    /// [`UnknownNode`].
    pub fn gateway(&mut self, node: NodeId) -> Result<Address, UnknownNode> {
        self.core.gateway(node)
    }

    /// The address of an agent, `None` for the id of another engine.
    #[must_use]
    pub fn address(&self, agent: AgentId) -> Option<Address> {
        self.agents.get(agent.index()).map(|a| a.address)
    }

    /// An agent, to read what it has learned.
    #[must_use]
    pub fn agent(&self, agent: AgentId) -> Option<&A> {
        self.agents.get(agent.index()).map(|a| &a.agent)
    }

    /// Gives an agent to the host to change, before the run: nothing is sent, no timer is set.
    pub fn with_agent<R>(&mut self, agent: AgentId, change: impl FnOnce(&mut A) -> R) -> Option<R> {
        self.agents.get_mut(agent.index()).map(|a| change(&mut a.agent))
    }

    /// Sets a timer of an agent from outside: this is how a host starts and stops one.
    pub fn set_timer(&mut self, agent: AgentId, key: TimerKey, at: Instant) {
        self.core.set_timer(agent, key, at);
    }

    /// The engine's time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.core.now
    }

    /// Gives a link another rate from now on, as a [`LinkChange`](crate::network::LinkChange) does;
    /// a link that follows a trace has this rate in its place. The id of another network changes
    /// nothing.
    pub fn set_rate(&mut self, link: LinkId, rate: Rate) {
        self.core.set_rate(link, rate);
    }

    /// Gives a link other settings from now on, whatever time the change names. Nothing changes by
    /// the id of another network, by a limit for a queue that is not drop-tail, or by losses for a
    /// link whose [`LinkSpec`](crate::LinkSpec) has no impairment at all, not even a later one.
    pub fn change(&mut self, link: LinkId, change: LinkChange) {
        self.core.change(link, change);
    }

    /// Gives the independent losses ([`Loss::Bernoulli`](crate::loss::Loss) in
    /// [`LinkSpec::loss`]) of a link another probability from the next packet on. A link with
    /// another model, or without one, keeps what it has.
    pub fn set_loss(&mut self, link: LinkId, p: Probability) {
        self.core.set_loss(link, p);
    }

    /// When something may happen next without further input, `None` if never. It may turn out that
    /// nothing does: an early [`run_until`](Self::run_until) is harmless.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.core.events.next()
    }

    /// Lets everything happen that is due up to and including `until`; afterwards the time is
    /// `until`, or what it was if that is later.
    pub fn run_until(&mut self, until: Instant) {
        loop {
            while let Some(due) = self.core.advance(until) {
                let now = self.core.now;
                match due {
                    DueNotice::Packet(id, slot) => {
                        if let Some(Attached { address, agent }) = self.agents.get_mut(id.index())
                            && let Some(header) = self.core.on_links.header(slot)
                            && let Some(payload) = self.core.packets.take(slot)
                        {
                            let packet = Packet { header: *header, payload };
                            agent.on_packet(
                                now,
                                packet,
                                &mut Context { id, address: *address, core: &mut self.core },
                            );
                        }
                    }
                    DueNotice::Timer(id, key) => {
                        if let Some(Attached { address, agent }) = self.agents.get_mut(id.index()) {
                            agent.on_timer(
                                now,
                                key,
                                &mut Context { id, address: *address, core: &mut self.core },
                            );
                        }
                    }
                }
            }
            if !self.core.events.has_begun_day() {
                break;
            }
            self.read_ahead();
        }
        self.core.reach_time(until);
    }

    /// Ends the run and gives memory back: of packets on their way, of timers and of other events
    /// to come, of which none happens any more. Agents, what links have dropped and the number of
    /// hops stay to be read; the counters of links are to be read before.
    pub fn end(&mut self) {
        self.core.end();
    }

    /// Sends a packet from `from` at `now`, after everything due by then. An earlier time is raised
    /// to the engine's.
    pub fn inject(&mut self, now: Instant, from: Address, packet: Outgoing<A::Payload>) {
        self.run_until(now);
        self.core.send(from, packet);
    }

    /// The next packet that reached this gateway, in the order of arrival. Packets wait here until
    /// they are taken.
    pub fn poll_delivery(&mut self, gateway: Address) -> Option<Delivery<A::Payload>> {
        self.core.outbox(gateway)?.pop_front()
    }

    /// The links, in the order in which they were added to the network.
    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<A> {
        (0..self.core.link_count()).map(LinkId)
    }

    /// The counters of a link up to now, `None` for the id of another network. Takes time in
    /// proportion to the number of packets on the link.
    #[must_use]
    pub fn link_stats(&self, link: LinkId) -> Option<LinkStats> {
        self.core.link_stats(link)
    }

    /// Returns the counts of a link for the packets of each flow, in the order of the flows'
    /// numbers; empty unless the link keeps [`crate::network::FlowCounts`].
    #[must_use]
    pub fn flow_stats(&self, link: LinkId) -> Vec<(FlowId, FlowStats)> {
        self.core.link(link).map_or_else(Vec::new, crate::link::Link::flow_stats)
    }

    /// The inner state of a link's queue now, `None` for the id of another network. Takes time in
    /// proportion to the number of packets on the link.
    #[must_use]
    pub fn queue_state(&self, link: LinkId) -> Option<QueueState> {
        self.core.queue_state(link)
    }

    /// The links that packets take from one node to another, in order; none if there is no way.
    #[must_use]
    pub fn route(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        self.core.route(from, to)
    }

    /// Gives every hop of a packet an event of its own from now on, in place of the hops alone that
    /// something depends on. It changes no result, only what the run costs: for tests of that.
    pub fn see_all_hops(&mut self) {
        self.core.see_all_hops();
    }

    /// Packets that have crossed a link, over all links.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.core.packet_hops()
    }

    /// Packets now on links: sent, and neither received nor dropped.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.core.in_flight()
    }

    /// Packets sent from this address that links have dropped, on whatever part of their way.
    #[must_use]
    pub fn dropped_from(&self, source: Address) -> PacketCount {
        self.core.dropped_from(source)
    }

    /// Keeps what links drop from now on, for [`Engine::drops`].
    pub fn keep_drops(&mut self) {
        self.core.drop_log = DropLog::Kept(Vec::new());
    }

    /// Each packet that links have dropped, in the order of the times; `None` if they are not kept
    /// ([`Engine::keep_drops`]), or were too many (over a million).
    #[must_use]
    pub fn drops(&self) -> Option<&[DroppedPacket]> {
        self.core.drop_log.get()
    }

    /// Packets that found no route or nobody at their destination.
    #[must_use]
    pub fn stranded(&self) -> u64 {
        self.core.stranded
    }

    /// Starts or stops recording. Memory grows with every record kept.
    pub fn set_tracing(&mut self, tracing: Tracing) {
        self.core.set_tracing(tracing);
    }

    /// The records kept since the last call.
    pub fn take_records(&mut self) -> Vec<TraceRecord> {
        ::core::mem::take(&mut self.core.records)
    }

    /// The copies kept since the last call, in the order of time.
    pub fn take_copies(&mut self) -> Vec<PacketCopy<A::Payload>> {
        ::core::mem::take(&mut self.core.copies)
    }
}
