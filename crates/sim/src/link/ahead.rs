//! Packets that go on from the far end of a link without an event there.
//!
//! The time at which a packet reaches the far end of a certain link is known when it joins the
//! queue, and with it the time at which it crosses a private line behind. Such a packet is put on
//! both at once: it has a place in the ring of the private line, and here the times that the first
//! link's queue and counters need. Packets of the link that have an event at its far end are here
//! as well, so that the queue is in one place.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant, saturating};

use super::line::Transmission;
use super::ring::{LinkTimes, OnLink, Ring};
use super::{Link, OnLinks, PacketCount, cost, nanos};
use crate::LinkId;
use crate::engine::arena::Slot;
use crate::engine::event::NEVER;
use crate::queue::{Limit, Policy};
use crate::trace::DropCause;

/// The packets on a link, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Those that are not known to have crossed the link.
    all: VecDeque<Passing>,
    /// Number of them, from the front, that are known to have left the line.
    departed: usize,
    /// Number of packets forgotten that had no event at the far end.
    crossed: u64,
}

/// A packet on its way over a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passing {
    pub(super) on_line: Transmission,
    /// The part of a nanosecond by which it leaves later: what is left of it goes at a new rate.
    pub(super) rest: f64,
    pub(super) size: u32,
    pub(super) slot: Slot,
    /// The private line that it is on as well; [`LinkId::NONE`] if it has an event at the far end.
    pub(super) then: LinkId,
}

impl Ahead {
    /// Adds a packet behind the others.
    #[inline(always)]
    pub(super) fn push(&mut self, packet: Passing) {
        self.all.push_back(packet);
    }

    /// Returns true if there is no room for one more.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.all.len() == self.all.capacity()
    }

    /// Forgets the packets that crossed the link of this delay before `now`. Gives the bytes that
    /// those of them that were not known to have left the line took in a queue of such granules.
    #[cold]
    pub(super) fn make_room(&mut self, now: Instant, delay: Duration, granule: u32) -> u64 {
        let over = self.all.partition_point(|packet| packet.on_line.end + delay < now);
        let left =
            self.all.range(self.departed.min(over)..over).map(|packet| cost(granule, packet.size)).sum();
        self.departed -= self.departed.min(over);
        let unseen = self.all.drain(..over).filter(|packet| packet.then != LinkId::NONE).count();
        self.crossed += saturating::<u64>(unseen);
        // Not again for few: each costs a search.
        if self.all.len() > self.all.capacity() / 4 * 3 {
            self.all.reserve(self.all.capacity());
        }
        left
    }

    /// The first that is not known to have left the line.
    #[inline]
    pub(super) fn sending(&self) -> Option<&Passing> {
        self.all.get(self.departed)
    }

    /// Records that packets have left the line by `now`. Gives the bytes that they took in a queue
    /// of such granules.
    #[inline]
    pub(super) fn depart_until(&mut self, now: Instant, granule: u32) -> u64 {
        let mut gone = 0;
        while let Some(sending) = self.all.get(self.departed)
            && sending.on_line.end <= now
        {
            self.departed += 1;
            gone += cost(granule, sending.size);
        }
        gone
    }

    /// Number of packets that are not known to have left the line.
    #[inline]
    pub(super) fn on_line(&self) -> usize {
        self.all.len() - self.departed
    }

    /// Number of packets without an event that have crossed the link of this delay by `now`.
    pub(super) fn crossed(&self, now: Instant, delay: Duration) -> u64 {
        let arrived = self.all.iter().take_while(|packet| packet.on_line.end + delay <= now);
        self.crossed + arrived.map(|packet| u64::from(packet.then != LinkId::NONE)).sum::<u64>()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Passing> {
        self.all.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Passing> {
        self.all.iter_mut()
    }
}

/// Source of the packets that are put on a line before they reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feeder {
    /// Nothing was put on it so far.
    Nothing,
    /// This link alone.
    One(LinkId),
    /// Nothing may be put on it: packets come from several links, or its rate has changed.
    Barred,
}

impl Link {
    /// [`Self::offer`] for a packet that goes on to a private line without an event at the far end,
    /// on a link that is certain: when it arrives there.
    #[inline(always)]
    pub(crate) fn offer_through(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        packet: Slot,
        size: u32,
        then: LinkId,
    ) -> Result<Instant, DropCause> {
        self.arrivals.add(size);
        self.admit(all, now, packet, size)?;
        let on_line = self.put_on_line(now, now, packet, size, then);
        self.accepted(all, now, on_line, packet);
        Ok(on_line.end + self.delay)
    }

    /// Puts a packet on this private line that reaches it at a time to come, after all before it.
    /// Gives the time at which it reaches the far end.
    #[inline(always)]
    pub(crate) fn plan(&mut self, all: &mut OnLinks, arrives: Instant, packet: Slot, size: u32) -> Instant {
        self.arrivals.add(size);
        self.transmit(all, arrives, arrives, packet, size).end + self.delay
    }

    /// Returns true if a packet that is put on the line arrives when it is said to, whatever comes:
    /// packets may go on from the far end without an event there. A link that is not certain never
    /// becomes so: the packets on it would come after those that are put ahead of them.
    pub(crate) fn is_certain(&self) -> bool {
        self.certain
    }

    /// Returns true if packets may be put on the line before they reach it.
    pub(crate) fn is_private(&self) -> bool {
        self.is_certain() && matches!(self.queue, Policy::Passive(Limit::Unlimited))
    }

    /// Returns true if packets may go on from the far end without an event there.
    pub(crate) fn looks_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// From now on packets may go on from the far end without an event there.
    pub(crate) fn look_ahead(&mut self, all: &OnLinks) {
        let mut ahead = Ahead::default();
        for (slot, held) in self.ring.iter_slots(all) {
            let (on_line, rest, size) = (held.on_line, held.rest, held.size());
            ahead.push(Passing { on_line, rest, size, slot, then: LinkId::NONE });
        }
        ahead.departed = self.ring.departed(all);
        self.ahead = Some(Box::new(ahead));
    }

    /// The lines on which packets were put that reach them at `from` or later.
    pub(crate) fn planned(&self, from: Instant) -> impl Iterator<Item = LinkId> {
        let packets = self.ahead.iter().flat_map(|ahead| ahead.iter());
        packets
            .filter(move |packet| packet.then != LinkId::NONE && packet.on_line.end + self.delay >= from)
            .map(|packet| packet.then)
    }

    /// Takes the packets off this line that reach it at `from` or later.
    pub(crate) fn unplan(&mut self, all: &mut OnLinks, from: Instant) {
        let (out, before) = self.ring.cut(all, from);
        for OnLink { on_line, arrives, header, .. } in out {
            let size = header.size;
            self.arrivals = self.arrivals.minus(PacketCount { packets: 1, bytes: u64::from(size) });
            let time = on_line.end.saturating_since(on_line.start);
            self.busy_ns = self.busy_ns.wrapping_sub(time.as_nanos());
            self.waited_ns -= nanos(arrives, on_line.start);
            if self.counts_bytes {
                self.unqueue(size);
            }
        }
        match before {
            Some(OnLink { on_line, rest, .. }) => self.line.go_back(on_line.end, rest),
            // What was before has reached the far end, so that the line is idle.
            None => {
                self.line.go_back(Instant::ZERO, 0.0);
                self.pending = NEVER;
            }
        }
    }

    /// Gives an event at the far end to the packets that arrive there at `from` or later and were
    /// on
    /// `then` too, or on any line if that is none. They have been taken off it.
    pub(crate) fn stop_ahead(&mut self, all: &mut OnLinks, from: Instant, then: LinkId) {
        let Some(ahead) = &mut self.ahead else { return };
        let delay = self.delay;
        self.ring = Ring::new();
        for packet in ahead.iter_mut().filter(|packet| packet.on_line.end + delay >= from) {
            if packet.then == then || then == LinkId::NONE {
                packet.then = LinkId::NONE;
            }
            if packet.then == LinkId::NONE {
                let Passing { on_line, rest, slot, .. } = *packet;
                // It has come.
                self.ring.push_back(all, slot, LinkTimes { on_line, arrives: Instant::ZERO, rest });
            }
        }
    }

    /// Every packet has an event at the far end from now on.
    pub(crate) fn see_all(&mut self, all: &OnLinks) -> u64 {
        self.queued_bytes = self.ring.iter(all).map(|held| self.cost(held.size())).sum();
        self.ahead.take().map_or(0, |ahead| ahead.crossed(NEVER, Duration::ZERO))
    }

    /// Number of packets that have crossed the link by `now` without an event at its far end.
    pub(crate) fn crossed_unseen(&self, now: Instant) -> u64 {
        self.ahead.as_ref().map_or(0, |ahead| ahead.crossed(now, self.delay))
    }
}
