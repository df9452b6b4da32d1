//! Everything of an engine but its agents: what a running agent may act on.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant, Probability, Rate, saturating};

use super::ahead::{Came, HopsSeen, Leg, NO_LEG};
use super::arena::{Arena, Slot};
use super::calendar::Events;
use super::event::{EngineEvent, Entry, MOST_AGENTS, NEVER, Turn};
use super::timers::Timers;
use super::{Delivery, UnknownNode};
use crate::link::{
    Copies, DelayedEvent, FarEnd, Feeder, Impairment, Link, LinkStats, OnLinks, PacketCount, Popped,
};
use crate::loss::Hit;
use crate::network::{LinkChange, MakeQueue};
use crate::packet::{Header, Outgoing};
use crate::queue::{Discipline, Queue, QueueState};
use crate::routing::Routes;
use crate::trace::{
    DropCause, DropLog, DroppedPacket, Happening, PacketCopy, PacketEnd, TraceRecord, Tracing,
};
use crate::{Address, AgentId, LinkId, LinkSpec, NodeId, Packet, Seed, TimerKey};
use tfrc_units::Ecn;

#[derive(Debug)]
pub(crate) struct Core<P> {
    pub(crate) now: Instant,
    pub(super) hops: u64,
    pub(crate) stranded: u64,
    pub(crate) timers: Timers,
    tracing: Tracing,
    pub(crate) records: Vec<TraceRecord>,
    pub(crate) copies: Vec<PacketCopy<P>>,
    pub(crate) events: Events,
    pub(crate) packets: Arena<P>,
    pub(super) links: Vec<Link>,
    pub(crate) on_links: OnLinks,
    /// Packets from a node to itself.
    loopback: Link,
    pub(super) routes: Routes,
    /// By node and port.
    ports: Vec<Vec<Port<P>>>,
    /// The agent at the first port of each node, or [`NOBODY`]: most nodes have no other.
    pub(super) first_agents: Vec<AgentId>,
    /// Packets that links have dropped, by the node and port of their sender.
    dropped: Vec<Vec<PacketCount>>,
    pub(crate) drop_log: DropLog,
    /// The turn of the first port of each node, in the order of events.
    turns: Vec<Turn>,
    next_packet: u64,
    /// By the sending node, then by the receiving one: see [`Self::leg`].
    pub(super) legs: [Vec<Leg>; 2],
    /// Links from whose far ends packets may go on without an event there.
    pub(super) ahead: Vec<LinkId>,
    pub(super) hops_seen: HopsSeen,
}

#[derive(Debug)]
#[expect(clippy::box_collection, reason = "a port takes half the room")]
enum Port<P> {
    Agent(AgentId),
    /// Apart, as most ports are agents'.
    Gateway(Box<VecDeque<Delivery<P>>>),
}

/// The number of no agent.
pub(super) const NOBODY: AgentId = AgentId(u32::MAX);

/// A due event for an agent.
pub(crate) enum DueNotice {
    /// A packet, to be taken out of the arena.
    Packet(AgentId, Slot),
    Timer(AgentId, TimerKey),
}

impl<P> Core<P> {
    pub(crate) fn new(
        nodes: &[String],
        links: &[LinkSpec],
        routes: Routes,
        seed: Seed,
        queues: &mut MakeQueue<'_>,
    ) -> Self {
        let nowhere = NodeId(u32::MAX);
        let loopback = LinkSpec::new("loopback", nowhere, nowhere, Rate::INFINITY, Duration::ZERO);
        let room = room(links);
        let mut core = Self {
            now: Instant::ZERO,
            hops: 0,
            stranded: 0,
            timers: Timers::default(),
            tracing: Tracing::Off,
            records: Vec::new(),
            copies: Vec::new(),
            events: Events::new(),
            packets: Arena::with_room(room),
            links: links.iter().map(|spec| Link::new(spec, seed, custom_queue(spec, queues))).collect(),
            on_links: OnLinks::with_room(room),
            loopback: Link::new(&loopback, seed, None),
            routes,
            ports: nodes.iter().map(|_| Vec::new()).collect(),
            first_agents: vec![NOBODY; nodes.len()],
            dropped: nodes.iter().map(|_| Vec::new()).collect(),
            drop_log: DropLog::default(),
            turns: nodes.iter().map(|name| Turn::of(name)).collect(),
            next_packet: 0,
            legs: [vec![NO_LEG; nodes.len()], vec![NO_LEG; nodes.len()]],
            ahead: Vec::new(),
            hops_seen: HopsSeen::Needed,
        };
        for i in (0..).map(LinkId).take(links.len()) {
            core.queue_change(i);
        }
        core
    }

    pub(crate) fn link(&self, id: LinkId) -> Option<&Link> {
        self.links.get(id.index())
    }

    pub(crate) fn link_stats(&self, id: LinkId) -> Option<LinkStats> {
        self.link(id).map(|link| link.stats(&self.on_links, self.now))
    }

    pub(crate) fn queue_state(&self, id: LinkId) -> Option<QueueState> {
        self.link(id).map(|link| link.queue_state(&self.on_links, self.now))
    }

    /// Everything due by `until` has been handled.
    pub(crate) fn reach_time(&mut self, until: Instant) {
        self.now = self.now.max(until);
        self.events.settle(self.now);
    }

    /// Forgets packets on their way, timers and events to come.
    pub(crate) fn end(&mut self) {
        self.events = Events::new();
        self.packets = Arena::with_room(0);
        self.on_links = OnLinks::default();
        self.timers = Timers::default();
    }

    pub(crate) fn set_tracing(&mut self, tracing: Tracing) {
        if tracing.keeps_records() {
            self.see_all_hops();
        }
        self.tracing = tracing;
    }

    pub(crate) fn set_rate(&mut self, id: LinkId, rate: Rate) {
        self.bar(id);
        self.see_all(id);
        if let Some(link) = self.links.get_mut(id.index()) {
            link.set_rate(&mut self.on_links, self.now, rate);
            requeue(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
        }
    }

    pub(crate) fn change(&mut self, id: LinkId, change: LinkChange) {
        self.bar(id);
        self.see_all(id);
        if let Some(link) = self.links.get_mut(id.index()) {
            link.change(&mut self.on_links, self.now, change);
            requeue(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
        }
    }

    pub(crate) fn set_loss(&mut self, id: LinkId, p: Probability) {
        if let Some(link) = self.links.get_mut(id.index()) {
            link.set_loss(p);
        }
    }

    pub(crate) fn link_count(&self) -> u32 {
        saturating::<u32>(self.links.len())
    }

    pub(crate) fn route(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut links = Vec::new();
        let mut node = from;
        while node != to
            && let Some(id) = self.routes.next(node, to)
            && let Some(link) = self.link(id)
        {
            links.push(id);
            node = link.to;
        }
        links
    }

    pub(crate) fn attach(&mut self, node: NodeId, agent: AgentId) -> Result<Address, UnknownNode> {
        if agent.0 >= MOST_AGENTS {
            return Err(UnknownNode(node));
        }
        let address = self.open(node, Port::Agent(agent))?;
        let turn = self.turns.get(node.index()).ok_or(UnknownNode(node))?;
        self.timers.add_agent(turn.numbered(address.port.wrapping_mul(TIMERS)));
        Ok(address)
    }

    pub(crate) fn gateway(&mut self, node: NodeId) -> Result<Address, UnknownNode> {
        self.open(node, Port::Gateway(Box::default()))
    }

    fn open(&mut self, node: NodeId, port: Port<P>) -> Result<Address, UnknownNode> {
        let ports = self.ports.get_mut(node.index()).ok_or(UnknownNode(node))?;
        let number = u32::try_from(ports.len()).map_err(|_| UnknownNode(node))?;
        if let (0, Port::Agent(agent), Some(first)) = (number, &port, self.first_agents.get_mut(node.index()))
        {
            *first = *agent;
        }
        ports.push(port);
        if let Some(dropped) = self.dropped.get_mut(node.index()) {
            dropped.push(PacketCount::default());
        }
        Ok(Address { node, port: number })
    }

    pub(crate) fn outbox(&mut self, gateway: Address) -> Option<&mut VecDeque<Delivery<P>>> {
        match self.ports.get_mut(gateway.node.index())?.get_mut(index(gateway.port))? {
            Port::Gateway(outbox) => Some(outbox),
            Port::Agent(_) => None,
        }
    }

    #[inline(always)]
    pub(crate) fn set_timer(&mut self, agent: AgentId, key: TimerKey, at: Instant) {
        self.timers.set(agent, key, at.max(self.now), &mut self.events);
    }

    /// The packet is at its destination node, and not for an agent.
    #[cold]
    fn receive_outside(&mut self, slot: Slot) {
        let Some(header) = self.on_links.header(slot).copied() else { return };
        let Some(payload) = self.packets.take(slot) else { return };
        let at = self.now;
        match self.outbox(header.dst) {
            Some(outbox) => {
                outbox.push_back(Delivery { at, packet: Packet { header, payload } });
                self.record(&header, Happening::Received);
            }
            None => self.strand(&header),
        }
    }

    /// Sends a packet of `size` bytes on its way from a node to another, its destination.
    #[inline(always)]
    fn forward(&mut self, node: NodeId, to: NodeId, slot: Slot, size: u32, came: Came) {
        let (first, then) = self.leg(node, to, came);
        if then != LinkId::NONE {
            return self.carry(first, then, slot, size);
        }
        self.offer(first, slot, size);
    }

    /// Puts a packet on a link and on no other.
    #[inline(always)]
    fn offer(&mut self, first: LinkId, slot: Slot, size: u32) {
        let Some(link) = self.links.get_mut(first.index()) else { return self.strand_on_the_way(slot) };
        if let Feeder::One(_) = link.feeder {
            return self.offer_barred(first, slot, size);
        }
        let simple = link.is_simple();
        match link.offer(&mut self.on_links, self.now, slot, size) {
            Ok(arrives) => {
                if !simple && !link.is_plain() {
                    return self.joined(first, slot);
                }
                queue_first(link, arrives, EngineEvent::Arrival(first), &mut self.events);
                self.record_of(slot, Happening::Joined(first));
            }
            Err(cause) => self.drop_packet(slot, first, cause),
        }
    }

    /// Puts a packet on a line on which packets were put ahead of their time so far.
    #[cold]
    fn offer_barred(&mut self, first: LinkId, slot: Slot, size: u32) {
        self.bar(first);
        self.offer(first, slot, size);
    }

    /// Puts a packet on a link and on the line behind it.
    #[inline(always)]
    fn carry(&mut self, first: LinkId, then: LinkId, slot: Slot, size: u32) {
        let Some(link) = self.links.get_mut(first.index()) else { return };
        match link.offer_through(&mut self.on_links, self.now, slot, size, then) {
            Ok(arrives) => {
                let Some(line) = self.links.get_mut(then.index()) else { return };
                let arrives = line.plan(&mut self.on_links, arrives, slot, size);
                queue_first(line, arrives, EngineEvent::Arrival(then), &mut self.events);
            }
            Err(cause) => self.drop_packet(slot, first, cause),
        }
    }

    /// There is no route for a packet.
    #[cold]
    fn strand_on_the_way(&mut self, slot: Slot) {
        if let Some(header) = self.on_links.header(slot).copied() {
            self.packets.discard(slot);
            self.strand(&header);
        }
    }

    /// A link has not taken a packet.
    fn drop_packet(&mut self, slot: Slot, link: LinkId, cause: DropCause) {
        if let Some(header) = self.on_links.header(slot).copied() {
            self.packets.discard(slot);
            self.count_dropped(&header, link, cause);
        }
    }

    /// A link has dropped a packet.
    fn count_dropped(&mut self, header: &Header, link: LinkId, cause: DropCause) {
        let Address { node, port } = header.src;
        if let Some(count) = self.dropped.get_mut(node.index()).and_then(|all| all.get_mut(index(port))) {
            count.add(header.size);
        }
        self.drop_log.add(DroppedPacket { at: self.now, flow: header.flow, from: node, link });
        self.record(header, Happening::Dropped(link, cause));
    }

    pub(crate) fn dropped_from(&self, source: Address) -> PacketCount {
        let count = self.dropped.get(source.node.index()).and_then(|all| all.get(index(source.port)));
        count.copied().unwrap_or_default()
    }

    fn loop_back(&mut self, slot: Slot, size: u32) {
        // Its queue has no limit and it loses nothing.
        if let Ok(arrives) = self.loopback.offer(&mut self.on_links, self.now, slot, size) {
            queue_first(&mut self.loopback, arrives, EngineEvent::Loopback, &mut self.events);
        }
    }

    pub(crate) fn in_flight(&self) -> u64 {
        saturating::<u64>(self.packets.len())
    }

    fn strand(&mut self, header: &Header) {
        self.stranded = self.stranded.saturating_add(1);
        self.record(header, Happening::Stranded);
    }

    fn queue_change(&mut self, id: LinkId) {
        if let Some(link) = self.links.get(id.index())
            && let Some(at) = link.next_change()
        {
            self.events.push(Entry::new(at, link.turn, EngineEvent::Change(id)));
        }
    }

    /// A packet has joined a link that is not plain, which may have dropped others for it.
    #[cold]
    fn joined(&mut self, id: LinkId, slot: Slot) {
        self.record_of(slot, Happening::Joined(id));
        self.take_out_dropped(id);
        if let Some(link) = self.links.get_mut(id.index()) {
            requeue(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
        }
    }

    /// Packets that a controller has dropped leave the network.
    fn take_out_dropped(&mut self, id: LinkId) {
        while let Some(link) = self.links.get_mut(id.index())
            && let Some(slot) = link.next_dropped(self.now)
        {
            if let Some(header) = self.on_links.header(slot).copied() {
                self.packets.discard(slot);
                link.count_late(&header, Hit::Dropped);
                self.count_dropped(&header, id, DropCause::Early);
            }
        }
    }

    #[inline]
    fn record_of(&mut self, slot: Slot, what: Happening) {
        if self.tracing.keeps_records()
            && let Some(header) = self.on_links.header(slot).copied()
        {
            self.record(&header, what);
        }
    }

    fn record(&mut self, header: &Header, what: Happening) {
        if self.tracing.keeps_records() {
            self.records.push(TraceRecord { at: self.now, header: *header, what });
        }
    }
}

impl<P: Clone> Core<P> {
    /// Sends a packet from `src`.
    #[inline(always)]
    pub(crate) fn send(&mut self, src: Address, out: Outgoing<P>) {
        let serial = self.next_packet;
        self.next_packet = self.next_packet.wrapping_add(1);
        let Outgoing { to: dst, flow, size, ecn, precedence, payload } = out;
        let header = Header { serial, sent: self.now, size, flow, src, dst, ecn, precedence };
        let Some(slot) = self.packets.put(payload) else { return self.strand_unsent(header) };
        self.on_links.put(slot, header);
        self.set_out(src.node, dst.node, slot, size);
    }

    /// Lets a packet that has its place begin its way.
    #[inline(never)]
    fn set_out(&mut self, from: NodeId, to: NodeId, slot: Slot, size: u32) {
        if self.tracing != Tracing::Off {
            self.copy_of(slot, PacketEnd::Sender);
        }
        if to == from {
            self.loop_back(slot, size);
        } else {
            self.forward(from, to, slot, size, Came::Sent);
        }
    }

    /// There is no place for a packet.
    #[cold]
    fn strand_unsent(&mut self, header: Header) {
        self.strand(&header);
    }

    /// The packet is at its destination node.
    #[inline(always)]
    fn receive(&mut self, slot: Slot, dst: Address) -> Option<DueNotice> {
        let agent = match self.first_agents.get(dst.node.index()) {
            Some(agent) if dst.port == 0 => *agent,
            _ => self.agent_at(dst),
        };
        if agent != NOBODY {
            if self.tracing != Tracing::Off {
                self.record_of(slot, Happening::Received);
                self.copy_of(slot, PacketEnd::Receiver);
            }
            return Some(DueNotice::Packet(agent, slot));
        }
        self.receive_outside(slot);
        None
    }

    /// The agent at a port, or [`NOBODY`].
    #[inline(never)]
    fn agent_at(&self, place: Address) -> AgentId {
        match self.ports.get(place.node.index()).and_then(|ports| ports.get(index(place.port))) {
            Some(Port::Agent(agent)) => *agent,
            _ => NOBODY,
        }
    }

    /// Keeps a copy of a packet, if copies are kept.
    #[cold]
    fn copy_of(&mut self, slot: Slot, end: PacketEnd) {
        if self.tracing.keeps_copies()
            && let (Some(header), Some(payload)) = (self.on_links.header(slot), self.packets.get(slot))
        {
            let packet = Packet { header: *header, payload: payload.clone() };
            self.copies.push(PacketCopy { at: self.now, end, packet });
        }
    }

    /// Handles events up to `until`; stops early with an event for an agent.
    #[inline]
    pub(crate) fn advance(&mut self, until: Instant) -> Option<DueNotice> {
        loop {
            let entry = self.events.pop(until)?;
            let (at, event) = (entry.at, entry.event());
            self.now = at;
            match event {
                EngineEvent::Arrival(id) => {
                    let Some(link) = self.links.get_mut(id.index()) else { continue };
                    if link.pending != at {
                        continue;
                    }
                    let node = link.to;
                    let packet = if link.is_simple() {
                        take_due(link, &self.on_links, event, &mut self.events)
                    } else {
                        self.step(id)
                    };
                    let Some(Arrived { slot, size, to }) = packet else { continue };
                    self.hops = self.hops.wrapping_add(1);
                    self.record_of(slot, Happening::Crossed(id));
                    if to.node != node {
                        self.forward(node, to.node, slot, size, Came::Brought);
                    } else if let Some(due) = self.receive(slot, to) {
                        return Some(due);
                    }
                }
                EngineEvent::Change(id) => {
                    if let Some(link) = self.links.get_mut(id.index()) {
                        link.make_change(&mut self.on_links, self.now);
                        requeue(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
                    }
                    self.queue_change(id);
                }
                EngineEvent::Loopback => {
                    if self.loopback.pending != at {
                        continue;
                    }
                    let Some(packet) = take_due(&mut self.loopback, &self.on_links, event, &mut self.events)
                    else {
                        continue;
                    };
                    if let Some(due) = self.receive(packet.slot, packet.to) {
                        return Some(due);
                    }
                }
                EngineEvent::Timer(agent, timer) => {
                    if self.timers.came_up(agent, timer, at, &mut self.events) {
                        return Some(DueNotice::Timer(agent, timer));
                    }
                }
            }
        }
    }

    /// Lets happen the next event that is due on a link that is not simple; gives the packet that
    /// goes on from its far end.
    #[cold]
    fn step(&mut self, id: LinkId) -> Option<Arrived> {
        let link = self.links.get_mut(id.index())?;
        if link.is_plain() {
            return take_due(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
        }
        let arrived = match link.due(&mut self.on_links, self.now) {
            Some(DelayedEvent::Late(slot)) => Some(slot),
            Some(DelayedEvent::Reached(slot)) => self.reach(id, slot),
            Some(DelayedEvent::Taken(marked)) => {
                self.taken(id, marked);
                None
            }
            None => None,
        };
        let link = self.links.get_mut(id.index())?;
        link.pending = NEVER;
        requeue(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
        let slot = arrived?;
        let header = self.on_links.header(slot)?;
        Some(Arrived { slot, size: header.size, to: header.dst })
    }

    /// A packet has reached the far end of a link that is not plain.
    fn reach(&mut self, id: LinkId, slot: Slot) -> Option<Slot> {
        let link = self.links.get_mut(id.index())?;
        let header = self.on_links.header_mut(slot)?;
        let size = header.size;
        let FarEnd { copies, fate } = link.far_end(self.now, header);
        if copies == Copies::One
            && let Some(payload) = self.packets.get(slot).cloned()
            && let Some(header) = self.on_links.header(slot).copied()
            && let Some(copy) = self.packets.put(payload)
        {
            self.on_links.put(copy, header);
            link.add_copy(self.now, copy, size);
        }
        match fate {
            Impairment::Arrives => Some(slot),
            Impairment::Late(extra) => {
                link.hold_up(self.now + extra, slot, size);
                None
            }
            Impairment::Lost => {
                let header = self.on_links.header(slot).copied()?;
                self.packets.discard(slot);
                self.count_dropped(&header, id, DropCause::Loss);
                None
            }
        }
    }

    /// The line has taken a packet from a controller, which may have marked it and dropped others.
    fn taken(&mut self, id: LinkId, marked: Option<Slot>) {
        let Some(link) = self.links.get_mut(id.index()) else { return };
        if let Some(header) = marked.and_then(|slot| self.on_links.header_mut(slot)) {
            header.ecn = Ecn::Ce;
            link.count_late(header, Hit::Marked);
        }
        self.take_out_dropped(id);
    }
}

/// A packet that has reached the far end of a link.
struct Arrived {
    slot: Slot,
    size: u32,
    to: Address,
}

/// The packet of a plain link whose entry has come up. The link's next one goes into the event
/// queue.
#[inline(always)]
fn take_due(link: &mut Link, all: &OnLinks, event: EngineEvent, events: &mut Events) -> Option<Arrived> {
    let Some(Popped { slot, size, to, .. }) = link.take(all) else {
        link.pending = NEVER;
        return None;
    };
    let at = link.next_arrival(all);
    link.pending = at;
    if at != NEVER {
        events.follow(Entry::new(at, link.turn, event));
    }
    Some(Arrived { slot, size, to })
}

/// Puts the arrival of a packet that has joined a plain link into the event queue, if it is the
/// first on the link.
#[inline(always)]
fn queue_first(link: &mut Link, arrives: Instant, event: EngineEvent, events: &mut Events) {
    if link.pending == NEVER && arrives != NEVER {
        link.pending = arrives;
        events.push(Entry::new(arrives, link.turn, event));
    }
}

/// Puts the link's next event into the event queue unless it is there.
#[inline]
pub(super) fn requeue(link: &mut Link, all: &OnLinks, event: EngineEvent, events: &mut Events) {
    let next = link.next_event(all);
    if next != link.pending {
        link.pending = next;
        if next != NEVER {
            events.push(Entry::new(next, link.turn, event));
        }
    }
}

/// Packets for which there is room from the beginning: those of full queues.
/// Lists that grow are copied.
fn room(links: &[LinkSpec]) -> usize {
    let limits = links.iter().filter_map(|link| match link.queue {
        Queue::DropTail(limit) => limit.packets().filter(|packets| *packets <= MOST_ROOM),
        _ => None,
    });
    saturating(limits.sum::<u64>().min(MOST_ROOM))
}

/// A queue of more packets is there not to be filled.
const MOST_ROOM: u64 = 1 << 17;

/// The discipline of a link whose queue is the host's own.
fn custom_queue(spec: &LinkSpec, queues: &mut MakeQueue<'_>) -> Option<Box<dyn Discipline>> {
    match &spec.queue {
        Queue::Custom(name) => queues(name.as_str(), spec),
        _ => None,
    }
}

/// Timers of an agent: agents on one node have turns this many apart.
const TIMERS: u32 = 4;

#[inline]
fn index(port: u32) -> usize {
    saturating::<usize>(port)
}
