//! Everything of an engine but its agents: what a running agent may act on.

use std::collections::VecDeque;
use std::collections::binary_heap::PeekMut;

use tfrc_units::{Duration, Instant, Rate};

use super::arena::{Arena, Slot};
use super::event::{Entry, Event, Events, Key};
use super::timers::Timers;
use super::{Delivery, UnknownNode};
use crate::link::{Copies, Due as LinkDue, FarEnd, Fate, Link};
use crate::loss::Hit;
use crate::routing::Routes;
use crate::{
    Address, AgentId, DropCause, Ecn, Happening, Header, LinkId, LinkSpec, NodeId, Outgoing, Packet, Record,
    Seed, TimerKey, Tracing,
};

#[derive(Debug)]
pub(crate) struct Core<P> {
    pub(crate) now: Instant,
    pub(crate) hops: u64,
    pub(crate) stranded: u64,
    pub(crate) timers: Timers,
    pub(crate) tracing: Tracing,
    pub(crate) records: Vec<Record>,
    pub(crate) events: Events,
    packets: Arena<P>,
    links: Vec<Link>,
    /// Packets from a node to itself.
    loopback: Link,
    routes: Routes,
    /// By node and port.
    ports: Vec<Vec<Port<P>>>,
    next_event: u64,
    next_packet: u64,
}

#[derive(Debug)]
enum Port<P> {
    Agent(AgentId),
    Gateway(VecDeque<Delivery<P>>),
}

/// What an agent must be told.
pub(crate) enum Due<P> {
    Packet(AgentId, Packet<P>),
    Timer(AgentId, TimerKey),
}

impl<P> Core<P> {
    pub(crate) fn new(nodes: usize, links: &[LinkSpec], routes: Routes, seed: Seed) -> Self {
        let nowhere = NodeId(u32::MAX);
        let loopback = LinkSpec::new("loopback", nowhere, nowhere, Rate::INFINITY, Duration::ZERO);
        let mut core = Self {
            now: Instant::ZERO,
            hops: 0,
            stranded: 0,
            timers: Timers::default(),
            tracing: Tracing::Off,
            records: Vec::new(),
            events: Events::new(),
            packets: Arena::new(),
            links: links.iter().map(|spec| Link::new(spec, seed)).collect(),
            loopback: Link::new(&loopback, seed),
            routes,
            ports: (0..nodes).map(|_| Vec::new()).collect(),
            next_event: 0,
            next_packet: 0,
        };
        for i in (0..).map(LinkId).take(links.len()) {
            core.queue_change(i);
        }
        core
    }

    pub(crate) fn link(&self, id: LinkId) -> Option<&Link> {
        self.links.get(id.index())
    }

    pub(crate) fn link_count(&self) -> u32 {
        u32::try_from(self.links.len()).unwrap_or(u32::MAX)
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
        let address = self.open(node, Port::Agent(agent))?;
        self.timers.add_agent();
        Ok(address)
    }

    pub(crate) fn gateway(&mut self, node: NodeId) -> Result<Address, UnknownNode> {
        self.open(node, Port::Gateway(VecDeque::new()))
    }

    fn open(&mut self, node: NodeId, port: Port<P>) -> Result<Address, UnknownNode> {
        let ports = self.ports.get_mut(node.index()).ok_or(UnknownNode(node))?;
        let number = u16::try_from(ports.len()).map_err(|_| UnknownNode(node))?;
        ports.push(port);
        Ok(Address { node, port: number })
    }

    pub(crate) fn outbox(&mut self, gateway: Address) -> Option<&mut VecDeque<Delivery<P>>> {
        match self.ports.get_mut(gateway.node.index())?.get_mut(usize::from(gateway.port))? {
            Port::Gateway(outbox) => Some(outbox),
            Port::Agent(_) => None,
        }
    }

    pub(crate) fn set_timer(&mut self, agent: AgentId, key: TimerKey, at: Instant) {
        let serial = self.serial();
        self.timers.set(agent, key, at.max(self.now), serial, &mut self.events);
    }

    /// Sends a packet from `src`.
    pub(crate) fn send(&mut self, src: Address, out: Outgoing<P>) {
        let serial = self.next_packet;
        self.next_packet = self.next_packet.wrapping_add(1);
        let Outgoing { to: dst, flow, size, ecn, precedence, payload } = out;
        let header = Header { serial, size, flow, src, dst, ecn, precedence };
        let Some(slot) = self.packets.put(Packet { header, payload }) else {
            self.strand(&header);
            return;
        };
        if dst.node == src.node {
            self.loop_back(slot);
        } else {
            self.forward(src.node, slot);
        }
    }

    /// The packet is at its destination node.
    fn receive(&mut self, slot: Slot) -> Option<Due<P>> {
        let packet = self.packets.take(slot)?;
        let header = packet.header;
        let dst = header.dst;
        let port =
            self.ports.get_mut(dst.node.index()).and_then(|ports| ports.get_mut(usize::from(dst.port)));
        match port {
            Some(Port::Agent(agent)) => {
                let agent = *agent;
                self.record(&header, Happening::Received);
                Some(Due::Packet(agent, packet))
            }
            Some(Port::Gateway(outbox)) => {
                outbox.push_back(Delivery { at: self.now, packet });
                self.record(&header, Happening::Received);
                None
            }
            None => {
                self.strand(&header);
                None
            }
        }
    }

    /// Sends a packet on its way from a node that is not its destination.
    fn forward(&mut self, node: NodeId, slot: Slot) {
        let serial = self.serial();
        let Some(Packet { header, .. }) = self.packets.get_mut(slot) else { return };
        let hop = self.routes.next(node, header.dst.node);
        let what = match hop.and_then(|id| Some((id, self.links.get_mut(id.index())?))) {
            None => {
                self.stranded = self.stranded.saturating_add(1);
                Happening::Stranded
            }
            Some((id, link)) => match link.offer(self.now, serial, slot, header) {
                Ok(()) => {
                    if !link.is_plain() || link.pending.is_none() {
                        requeue(link, Event::Arrival(id), &mut self.events);
                    }
                    if self.tracing == Tracing::Keep {
                        let header = *header;
                        self.record(&header, Happening::Joined(id));
                    }
                    return;
                }
                Err(cause) => Happening::Dropped(id, cause),
            },
        };
        if let Some(gone) = self.packets.take(slot) {
            self.record(&gone.header, what);
        }
    }

    fn loop_back(&mut self, slot: Slot) {
        let serial = self.serial();
        let Some(Packet { header, .. }) = self.packets.get_mut(slot) else { return };
        // Its queue has no limit and it loses nothing.
        if self.loopback.offer(self.now, serial, slot, header).is_ok() && self.loopback.pending.is_none() {
            requeue(&mut self.loopback, Event::Loopback, &mut self.events);
        }
    }

    pub(crate) fn in_flight(&self) -> u64 {
        u64::try_from(self.packets.len()).unwrap_or(u64::MAX)
    }

    fn strand(&mut self, header: &Header) {
        self.stranded = self.stranded.saturating_add(1);
        self.record(header, Happening::Stranded);
    }

    fn queue_change(&mut self, id: LinkId) {
        let next = self.links.get(id.index()).and_then(Link::next_change);
        if let Some(at) = next {
            let key = Key::new(at, self.serial());
            self.events.push(Entry { key, event: Event::Change(id) });
        }
    }

    fn serial(&mut self) -> u64 {
        let serial = self.next_event;
        self.next_event = self.next_event.wrapping_add(1);
        serial
    }

    fn record(&mut self, header: &Header, what: Happening) {
        if self.tracing == Tracing::Keep {
            self.records.push(Record { at: self.now, header: *header, what });
        }
    }
}

impl<P: Clone> Core<P> {
    /// Handles events up to `until`; stops early with what an agent must be told.
    pub(crate) fn advance(&mut self, until: Instant) -> Option<Due<P>> {
        loop {
            let top = self.events.peek_mut()?;
            let Entry { key, event } = *top;
            if key.at() > until {
                return None;
            }
            self.now = key.at();
            match event {
                Event::Arrival(id) => {
                    let Some(link) = self.links.get_mut(id.index()) else {
                        PeekMut::pop(top);
                        continue;
                    };
                    let node = link.to;
                    let packet = if link.is_plain() {
                        take_due(link, key, top)
                    } else {
                        let stale = link.pending != Some(key);
                        PeekMut::pop(top);
                        if stale { None } else { self.step(id, key) }
                    };
                    let Some(packet) = packet else { continue };
                    self.hops = self.hops.wrapping_add(1);
                    let Some(header) = self.packets.get(packet).map(|p| &p.header) else { continue };
                    let arrived = header.dst.node == node;
                    if self.tracing == Tracing::Keep {
                        let header = *header;
                        self.record(&header, Happening::Crossed(id));
                    }
                    if !arrived {
                        self.forward(node, packet);
                    } else if let Some(due) = self.receive(packet) {
                        return Some(due);
                    }
                }
                Event::Change(id) => {
                    PeekMut::pop(top);
                    if let Some(link) = self.links.get_mut(id.index()) {
                        link.change_rate(self.now);
                        requeue(link, Event::Arrival(id), &mut self.events);
                    }
                    self.queue_change(id);
                }
                Event::Loopback => {
                    let Some(packet) = take_due(&mut self.loopback, key, top) else { continue };
                    if let Some(due) = self.receive(packet) {
                        return Some(due);
                    }
                }
                Event::Timer(agent, timer) => {
                    PeekMut::pop(top);
                    if self.timers.came_up(agent, timer, key, &mut self.events) {
                        return Some(Due::Timer(agent, timer));
                    }
                }
            }
        }
    }

    /// Lets happen what stands at `key` on a link that is not plain; gives the packet that goes on from its far end.
    #[cold]
    fn step(&mut self, id: LinkId, key: Key) -> Option<Slot> {
        let (now, serial) = (self.now, self.serial());
        let link = self.links.get_mut(id.index())?;
        let arrived = match link.due(now, key)? {
            LinkDue::Late(slot) => Some(slot),
            LinkDue::Reached(slot) => self.reach(id, slot, serial),
            LinkDue::Taken(marked) => {
                self.taken(id, marked);
                None
            }
        };
        let link = self.links.get_mut(id.index())?;
        link.pending = None;
        requeue(link, Event::Arrival(id), &mut self.events);
        arrived
    }

    /// A packet has reached the far end of a link that is not plain. `serial` is for one packet more.
    fn reach(&mut self, id: LinkId, slot: Slot, serial: u64) -> Option<Slot> {
        let later = self.serial();
        let link = self.links.get_mut(id.index())?;
        let header = &mut self.packets.get_mut(slot)?.header;
        let size = header.size;
        let FarEnd { copies, fate } = link.far_end(self.now, header);
        if copies == Copies::One
            && let Some(copy) = self.packets.get(slot).cloned().and_then(|copy| self.packets.put(copy))
        {
            link.add_copy(Key::new(self.now, serial), copy, size);
        }
        match fate {
            Fate::Arrives => Some(slot),
            Fate::Late(extra) => {
                link.hold_up(Key::new(self.now + extra, later), slot, size);
                None
            }
            Fate::Lost => {
                let gone = self.packets.take(slot)?;
                self.record(&gone.header, Happening::Dropped(id, DropCause::Loss));
                None
            }
        }
    }

    /// The line has taken a packet from a controller, which may have marked it and dropped others.
    fn taken(&mut self, id: LinkId, marked: Option<Slot>) {
        let Some(link) = self.links.get_mut(id.index()) else { return };
        if let Some(Packet { header, .. }) = marked.and_then(|slot| self.packets.get_mut(slot)) {
            header.ecn = Ecn::Ce;
            link.count_late(header, Hit::Marked);
        }
        while let Some(link) = self.links.get_mut(id.index())
            && let Some(slot) = link.next_dropped(self.now)
        {
            if let Some(Packet { header, .. }) = self.packets.take(slot) {
                link.count_late(&header, Hit::Dropped);
                self.record(&header, Happening::Dropped(id, DropCause::Early));
            }
        }
    }
}

/// The packet of a plain link for which entry `key` at the top of the event queue stands, `None` if the entry is stale. The entry is
/// replaced by the link's next one, or removed.
#[inline]
fn take_due(link: &mut Link, key: Key, mut top: PeekMut<'_, Entry>) -> Option<Slot> {
    if link.pending != Some(key) {
        PeekMut::pop(top);
        return None;
    }
    let packet = link.take();
    link.pending = link.next_arrival();
    match link.pending {
        Some(next) => top.key = next,
        None => {
            PeekMut::pop(top);
        }
    }
    packet
}

/// Puts the link's next arrival into the event queue unless it is there.
fn requeue(link: &mut Link, event: Event, events: &mut Events) {
    let next = link.next_event();
    if next != link.pending {
        link.pending = next;
        if let Some(key) = next {
            events.push(Entry { key, event });
        }
    }
}
