//! Packets on links, in the order of their arrival at the far end.
//!
//! All links share one store with a place for each packet in the network, found by the packet's
//! number in the arena; a link's ring is a list through it. Rings of their own would each keep room
//! for the most they ever held. The place has the packet's header as well, so that a hop looks in
//! one place.

use tfrc_units::{Instant, saturating};

use super::cost;
use super::line::Transmission;
use crate::Address;
use crate::engine::arena::Slot;
use crate::packet::Header;

/// The places of all packets in the network: their headers, and where they are on links.
#[derive(Debug, Default)]
pub(crate) struct OnLinks {
    places: Vec<OnLink>,
}

/// A packet on a link, in two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct OnLink {
    pub(super) on_line: Transmission,
    /// When it came to the link: later than now on a private line that it has not reached yet.
    pub(super) arrives: Instant,
    /// The part of a nanosecond by which it leaves the line later still.
    pub(super) rest: f64,
    pub(super) header: Header,
    /// The one behind it.
    next: Slot,
}

/// When a packet is on a link: see [`OnLink`].
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkTimes {
    pub(super) on_line: Transmission,
    pub(super) arrives: Instant,
    pub(super) rest: f64,
}

impl OnLink {
    #[inline]
    pub(super) fn size(&self) -> u32 {
        self.header.size
    }
}

/// The packets on one link.
#[derive(Debug)]
pub(super) struct Ring {
    first: Slot,
    last: Slot,
    /// The first that is not known to have left the line; [`UNSEEN`] if nothing asks who has left.
    sending: Slot,
    /// Number of packets from `sending` on.
    on_line: u32,
}

/// The place of a packet that nobody looks for.
const UNSEEN: Slot = Slot::UNUSED;

impl OnLinks {
    /// With room for this number of packets, which costs nothing before they come.
    pub(crate) fn with_room(packets: usize) -> Self {
        Self { places: Vec::with_capacity(packets) }
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&OnLink> {
        self.places.get(slot.index())
    }

    #[inline]
    fn get_mut(&mut self, slot: Slot) -> Option<&mut OnLink> {
        self.places.get_mut(slot.index())
    }

    /// Keeps the header of a packet that begins its way.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: Slot, header: Header) {
        match self.get_mut(slot) {
            Some(place) => place.header = header,
            None => self.grow(slot, header),
        }
    }

    /// A place that is used for the first time is the next one: the arena gives them out in order.
    #[cold]
    fn grow(&mut self, slot: Slot, header: Header) {
        let on_line = Transmission { start: Instant::ZERO, end: Instant::ZERO };
        let place = OnLink { on_line, arrives: Instant::ZERO, rest: 0.0, header, next: Slot::NONE };
        if self.places.len() == slot.index() {
            self.places.push(place);
        }
    }

    /// Reads all of a packet's place, to have it near.
    #[inline(always)]
    pub(crate) fn touch(&self, slot: Slot) -> u64 {
        self.get(slot).map_or(0, |OnLink { on_line, rest, header, next, .. }| {
            let Header { serial, dst, .. } = header;
            on_line.end.as_nanos() ^ rest.to_bits() ^ serial ^ u64::from(dst.node.0 ^ next.number())
        })
    }

    /// [`Self::touch`] of the packet behind this one.
    #[inline(always)]
    pub(crate) fn touch_next(&self, slot: Slot) -> u64 {
        self.get(slot).map_or(0, |place| self.touch(place.next))
    }

    #[inline]
    pub(crate) fn header(&self, slot: Slot) -> Option<&Header> {
        self.get(slot).map(|place| &place.header)
    }

    #[inline]
    pub(crate) fn header_mut(&mut self, slot: Slot) -> Option<&mut Header> {
        self.get_mut(slot).map(|place| &mut place.header)
    }
}

impl Ring {
    pub(super) fn new() -> Self {
        Self { first: Slot::NONE, last: Slot::NONE, sending: Slot::NONE, on_line: 0 }
    }

    /// One of which nothing asks who has left the line, as long as it is not told to look.
    pub(super) fn unseen() -> Self {
        Self { sending: UNSEEN, ..Self::new() }
    }

    /// Looks from now on who has left the line.
    pub(super) fn look(&mut self, all: &OnLinks) {
        if self.sending == UNSEEN {
            self.sending = self.first;
            self.on_line = saturating::<u32>(self.iter(all).count());
        }
    }

    /// Puts a packet behind the others.
    #[inline(always)]
    pub(super) fn push_back(&mut self, all: &mut OnLinks, slot: Slot, times: LinkTimes) {
        let Some(place) = all.get_mut(slot) else { return };
        let LinkTimes { on_line, arrives, rest } = times;
        (place.on_line, place.arrives, place.rest, place.next) = (on_line, arrives, rest, Slot::NONE);
        match all.get_mut(self.last) {
            Some(last) => last.next = slot,
            None => self.first = slot,
        }
        self.last = slot;
        if self.sending != UNSEEN {
            self.on_line += 1;
            if self.sending == Slot::NONE {
                self.sending = slot;
            }
        }
    }

    /// Takes the packets out that arrive at `from` or later, which are the last and have not left
    /// the line. Gives them, and the one before them, if there is one.
    pub(super) fn cut(&mut self, all: &mut OnLinks, from: Instant) -> (Vec<OnLink>, Option<OnLink>) {
        let (mut last, mut at) = (Slot::NONE, self.first);
        while let Some(held) = all.get(at)
            && held.arrives < from
        {
            last = at;
            at = held.next;
        }
        let out: Vec<OnLink> =
            core::iter::successors(all.get(at), |held| all.get(held.next)).copied().collect();
        self.last = last;
        if last == Slot::NONE {
            self.first = Slot::NONE;
        }
        if self.sending != UNSEEN {
            self.on_line = self.on_line.saturating_sub(saturating::<u32>(out.len()));
            if self.on_line == 0 {
                self.sending = Slot::NONE;
            }
        }
        let before = all.get_mut(last).map(|before| {
            before.next = Slot::NONE;
            *before
        });
        (out, before)
    }

    /// The first packet; whether it was known to have left the line.
    #[inline]
    pub(super) fn pop_front(&mut self, all: &OnLinks) -> Option<Popped> {
        let slot = self.first;
        let OnLink { next, header: Header { size, dst, .. }, .. } = all.get(slot)?;
        let (next, size, to) = (*next, *size, *dst);
        self.first = next;
        if next == Slot::NONE {
            self.last = Slot::NONE;
        }
        let place = if self.sending == slot {
            self.sending = next;
            self.on_line -= 1;
            LastSeen::OnLine
        } else {
            LastSeen::Departed
        };
        Some(Popped { slot, size, to, place })
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Slot {
        self.first
    }

    #[inline(always)]
    pub(super) fn last(&self) -> Slot {
        self.last
    }

    #[inline]
    pub(super) fn front<'a>(&self, all: &'a OnLinks) -> Option<&'a OnLink> {
        all.get(self.first)
    }

    /// The first that is not known to have left the line.
    #[inline]
    pub(super) fn sending<'a>(&self, all: &'a OnLinks) -> Option<&'a OnLink> {
        all.get(self.sending)
    }

    /// Records that packets have left the line by `now`. Gives the bytes that they took in a queue
    /// of such granules.
    #[inline]
    pub(super) fn depart_until(&mut self, all: &OnLinks, now: Instant, granule: u32) -> u64 {
        let mut gone = 0;
        while let Some(sending) = all.get(self.sending)
            && sending.on_line.end <= now
        {
            self.sending = sending.next;
            self.on_line -= 1;
            gone += cost(granule, sending.size());
        }
        gone
    }

    /// Returns the number of packets that are not known to have left the line.
    #[inline]
    pub(super) fn on_line(&self) -> u64 {
        u64::from(self.on_line)
    }

    pub(super) fn iter<'a>(&self, all: &'a OnLinks) -> impl Iterator<Item = &'a OnLink> {
        core::iter::successors(all.get(self.first), |held| all.get(held.next))
    }

    /// The packets with their places.
    pub(super) fn iter_slots<'a>(&self, all: &'a OnLinks) -> impl Iterator<Item = (Slot, &'a OnLink)> {
        let at = |slot: Slot| all.get(slot).map(|held| (slot, held));
        core::iter::successors(at(self.first), move |(_, held)| at(held.next))
    }

    /// Number of packets that are known to have left the line.
    pub(super) fn departed(&self, all: &OnLinks) -> usize {
        let at_most = if self.sending == UNSEEN { 0 } else { usize::MAX };
        self.iter_slots(all).take(at_most).take_while(|(slot, _)| *slot != self.sending).count()
    }

    /// Changes the packets not known to have left the line, the first one first.
    pub(super) fn change_on_line(&self, all: &mut OnLinks, mut change: impl FnMut(&mut OnLink)) {
        let mut at = self.sending;
        while let Some(held) = all.get_mut(at) {
            change(held);
            at = held.next;
        }
    }
}

/// A packet taken from the front of a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Popped {
    pub(crate) slot: Slot,
    pub(crate) size: u32,
    /// Where it goes.
    pub(crate) to: Address,
    pub(super) place: LastSeen,
}

/// Where a packet was last known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastSeen {
    Departed,
    OnLine,
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::engine::arena::Arena;
    use crate::packet::test_packet;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Two rings in one store, against queues of their own: what is put in comes out in order,
        /// with what is known of it.
        #[test]
        fn as_queues_of_their_own(steps in prop::collection::vec((0_usize..2, 0_u8..4), 1..200)) {
            let (mut packets, mut all) = (Arena::with_room(0), OnLinks::default());
            let mut rings = [Ring::new(), Ring::new()];
            let mut plain: [(VecDeque<u32>, usize); 2] = Default::default();
            for (size, (which, step)) in (0_u32..).zip(steps) {
                let (Some(ring), Some((queue, departed))) = (rings.get_mut(which), plain.get_mut(which)) else { break };
                match step {
                    0 | 1 => {
                        let Some(slot) = packets.put(()) else { break };
                        all.put(slot, Header { size, ..test_packet().header });
                        let arrives = Instant::from_nanos(u64::from(size));
                        let on_line = Transmission { start: Instant::ZERO, end: arrives };
                        ring.push_back(&mut all, slot, LinkTimes { on_line, arrives, rest: 0.0 });
                        queue.push_back(size);
                    }
                    2 if size % 5 == 0 => {
                        // Up to three of the last that have not left the line.
                        let kept = (*departed).max(queue.len().saturating_sub(3));
                        let from = queue.get(kept).copied().unwrap_or(size);
                        let (out, before) = ring.cut(&mut all, Instant::from_nanos(u64::from(from)));
                        prop_assert!(out.iter().map(|held| held.size()).eq(queue.iter().skip(kept).copied()));
                        queue.truncate(kept);
                        prop_assert_eq!(before.map(|held| held.size()), queue.back().copied());
                    }
                    2 => {
                        let first = queue.get(*departed).map_or(0, |size| u64::from(*size));
                        prop_assert_eq!(ring.depart_until(&all, Instant::from_nanos(first), 1), first);
                        *departed = queue.len().min(*departed + 1);
                    }
                    _ => {
                        let popped = ring.pop_front(&all);
                        let place = if *departed > 0 { LastSeen::Departed } else { LastSeen::OnLine };
                        let wanted = queue.pop_front().map(|size| (size, place));
                        prop_assert_eq!(popped.map(|popped| (popped.size, popped.place)), wanted);
                        *departed = departed.saturating_sub(1);
                        popped.and_then(|popped| packets.take(popped.slot));
                    }
                }
                prop_assert_eq!(ring.sending(&all).map(|held| held.size()), queue.get(*departed).copied());
                prop_assert_eq!(ring.front(&all).map(|held| held.size()), queue.front().copied());
                prop_assert_eq!(ring.on_line(), saturating::<u64>(queue.len() - *departed));
                prop_assert!(ring.iter(&all).map(|held| held.size()).eq(queue.iter().copied()));
                let mut changed = Vec::new();
                ring.change_on_line(&mut all, |held| changed.push(held.size()));
                prop_assert!(changed.iter().eq(queue.iter().skip(*departed)));
            }
        }
    }
}
