//! Packets that are put on two lines at once: which, and the end of it.
//!
//! A packet on a certain link whose next line is the destination's own needs no event between the
//! two: see `link/ahead.rs`. Nothing that can be read depends on it (`tests/hops.rs`). It ends
//! where something would: packets come to the line from elsewhere too, a rate is changed from
//! outside, or records are kept of each hop. Packets that are on their way get the events that they
//! had not, in the place that the order of events gives them.

use tfrc_units::{Duration, Instant};

use super::core::{Core, requeue};
use super::event::{EngineEvent, Entry, Turn};
use crate::link::{Feeder, Link};
use crate::{LinkId, NodeId};

/// Hops that have an event of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HopsSeen {
    /// All: records are kept, or the host wants it so.
    All,
    /// Those that something depends on.
    Needed,
}

/// The way of packets from one node towards another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leg {
    /// The other node: that of the packets that asked last.
    other: NodeId,
    /// The next link, or [`LinkId::NONE`].
    pub(super) first: LinkId,
    /// The line behind it, if packets are put on both at once, or [`LinkId::NONE`].
    pub(super) then: LinkId,
}

/// The leg of a node for which nothing has asked.
pub(super) const NO_LEG: Leg = Leg { other: NodeId(u32::MAX), first: LinkId::NONE, then: LinkId::NONE };

/// Cause of a packet at a node: the list of legs in which its own is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Came {
    /// An agent there sends it: most send to one node.
    Sent,
    /// A link has brought it: one link brings most of those for one node.
    Brought,
}

impl<P> Core<P> {
    /// Packets that have crossed a link, over all links.
    pub(crate) fn packet_hops(&self) -> u64 {
        let unseen = |id: &LinkId| self.link(*id).map_or(0, |link| link.crossed_unseen(self.now));
        self.ahead.iter().map(unseen).fold(self.hops, u64::wrapping_add)
    }

    /// Gives every hop an event of its own from now on.
    pub(crate) fn see_all_hops(&mut self) {
        self.hops_seen = HopsSeen::All;
        for id in self.ahead.clone() {
            self.see_all(id);
        }
    }

    /// The beginning of the times at which what happens at the far end of a link is still to come.
    fn to_come(&self, id: LinkId) -> Instant {
        let turn = self.link(id).map_or(Turn::of(""), |link| link.turn);
        let here = Entry::new(self.now, turn, EngineEvent::Arrival(id));
        let over = here <= self.events.latest();
        if over { self.now + Duration::from_nanos(1) } else { self.now }
    }

    /// Gives the packets of a link that were put on `then` too, or on any line if that is none, and
    /// have not reached it, an event at the far end.
    #[cold]
    fn stop_ahead(&mut self, id: LinkId, then: LinkId) {
        let from = self.to_come(id);
        let lines: Vec<LinkId> = match then {
            LinkId::NONE => self.link(id).map_or_else(Vec::new, |link| link.planned(from).collect()),
            then => vec![then],
        };
        for line in lines {
            if let Some(line) = self.links.get_mut(line.index()) {
                line.unplan(&mut self.on_links, from);
            }
        }
        if let Some(link) = self.links.get_mut(id.index()) {
            link.stop_ahead(&mut self.on_links, from, then);
            requeue(link, &self.on_links, EngineEvent::Arrival(id), &mut self.events);
        }
    }

    /// Gives every packet of a link an event at its far end, from now on.
    pub(super) fn see_all(&mut self, id: LinkId) {
        if !self.link(id).is_some_and(Link::looks_ahead) {
            return;
        }
        self.stop_ahead(id, LinkId::NONE);
        self.ahead.retain(|one| *one != id);
        for legs in &mut self.legs {
            legs.fill(NO_LEG);
        }
        if let Some(link) = self.links.get_mut(id.index()) {
            self.hops = self.hops.wrapping_add(link.see_all(&self.on_links));
        }
    }

    /// From now on nothing is put on a line before it is there.
    #[cold]
    pub(super) fn bar(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(id.index()) else { return };
        let to = link.to;
        if let Feeder::One(feeder) = ::core::mem::replace(&mut link.feeder, Feeder::Barred) {
            self.stop_ahead(feeder, id);
            let from = self.link(feeder).map(|link| link.from);
            let [sent, brought] = &mut self.legs;
            let sent = from.and_then(|from| sent.get_mut(from.index()));
            for leg in sent.into_iter().chain(brought.get_mut(to.index())) {
                *leg = NO_LEG;
            }
        }
    }

    /// The way of a packet from one node to another: [`Leg::first`] and [`Leg::then`]. It is
    /// remembered: most nodes send to one other node, and get what they get from one.
    #[inline(always)]
    pub(super) fn leg(&mut self, from: NodeId, to: NodeId, came: Came) -> (LinkId, LinkId) {
        let [sent, brought] = &self.legs;
        let (legs, own, other) = match came {
            Came::Sent => (sent, from, to),
            Came::Brought => (brought, to, from),
        };
        match legs.get(own.index()) {
            Some(leg) if leg.other == other => (leg.first, leg.then),
            _ => self.make_leg(from, to, came),
        }
    }

    #[inline(never)]
    fn make_leg(&mut self, from: NodeId, to: NodeId, came: Came) -> (LinkId, LinkId) {
        let first = self.routes.next(from, to);
        let then = first.and_then(|first| self.line_behind(first, to));
        let [sent, brought] = &mut self.legs;
        let (legs, own, other) = match came {
            Came::Sent => (sent, from, to),
            Came::Brought => (brought, to, from),
        };
        let leg = Leg { other, first: first.unwrap_or(LinkId::NONE), then: then.unwrap_or(LinkId::NONE) };
        if let Some(place) = legs.get_mut(own.index()) {
            *place = leg;
        }
        (leg.first, leg.then)
    }

    /// The private line to a node behind a link, if packets for the node can be put on both at
    /// once.
    fn line_behind(&mut self, first: LinkId, to: NodeId) -> Option<LinkId> {
        let link = self.link(first)?;
        let then = self.routes.own_line(link.to, to)?;
        let line = self.link(then)?;
        let fits = self.hops_seen == HopsSeen::Needed
            && link.is_certain()
            && line.is_private()
            && (line.feeder == Feeder::Nothing || line.feeder == Feeder::One(first));
        if !fits {
            return None;
        }
        self.links.get_mut(then.index())?.feeder = Feeder::One(first);
        let link = self.links.get_mut(first.index())?;
        if !link.looks_ahead() {
            link.look_ahead(&self.on_links);
            self.ahead.push(first);
        }
        Some(then)
    }
}
