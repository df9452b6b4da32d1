//! One direction of a link: loss model, queue, line, propagation.
//!
//! The line's rate is known, so the time a packet leaves it is known when the packet joins the
//! queue. A link therefore needs one event per packet, its arrival at the far end, and only the
//! next of them stands in the engine's event queue: the others wait in the link's own ring.
//!
//! A line may follow a [`DeliveryTrace`] in place of a rate. A trace is known from the start too,
//! so that it needs no event more.
//!
//! `Extras` holds what few links have: losses, markers, reordering, copies, CoDel, counts of
//! flows. A link without them is *plain*, and pays nothing for them.

mod ahead;
mod changes;
pub(crate) mod delivery;
mod impairments;
mod line;
mod ring;
mod stats;

use std::sync::Arc;

use tfrc_units::{Duration, Ecn, Instant, Rate, saturating};

use crate::Seed;
use crate::engine::arena::Slot;
use crate::engine::event::{NEVER, Turn};
use crate::ids::{LinkId, NodeId};
use crate::packet::FlowId;
pub use crate::packet::PacketCount;
use crate::queue::{Arrival, Discipline, LineState, Policy, QueueState, QueueVerdict, Waiting};
use crate::queue::{Limit, Queue};
use crate::spec::{LinkChange, LinkSpec};
use crate::trace::DropCause;
pub(crate) use ahead::Feeder;
use ahead::{Ahead, Passing};
use changes::FormerDelays;
use delivery::Cursor;
pub use delivery::{DeliveryTrace, OPPORTUNITY_BYTES, TraceError, TraceErrorKind};
use impairments::Extras;
pub(crate) use impairments::{Copies, DelayedEvent, FarEnd, Impairment};
use line::{Transmission, Transmitter};
pub(crate) use ring::OnLinks;
pub(crate) use ring::Popped;
use ring::{LastSeen, LinkTimes, OnLink, Ring};
pub use stats::{FlowStats, LinkStats};

/// In the order of use: an arrival of a plain link touches the first cache line, a packet that
/// joins one without a limit the first three.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Link {
    /// The time at which the engine's event queue holds this link, or [`NEVER`]; an entry with any
    /// other time is stale.
    pub(crate) pending: Instant,
    delay: Duration,
    extras: Option<Box<Extras>>,
    /// Earlier delays, as long as packets are on their way with them.
    former: Option<Box<FormerDelays>>,
    /// All packets on the link in the order of arrival at the far end. Who has left the line is
    /// looked at only where a limit or a controller asks.
    ring: Ring,
    /// The link's place in the order of events at one time.
    pub(crate) turn: Turn,
    pub(crate) to: NodeId,
    /// Something may ask for `queued_bytes`: the queue of a plain link has a limit that is not in
    /// packets or a controller, or was given one.
    counts_bytes: bool,
    /// The link's arrivals are certain, see [`Link::is_certain`].
    certain: bool,
    /// There are neither `extras` nor `former` delays.
    simple: bool,
    /// Waiting times of all accepted packets, those to come included.
    waited_ns: u128,
    /// Transmission times of all accepted packets, those to come included.
    busy_ns: u64,
    arrivals: PacketCount,
    line: Transmitter,
    /// All packets on the link, where some of them go on without an event at its far end.
    ahead: Option<Box<Ahead>>,
    /// Where packets with a time to come are put on this line from.
    pub(crate) feeder: Feeder,
    queue: Policy,
    /// Bytes of the packets not known to have left the line, in whole granules, if they are
    /// counted.
    queued_bytes: u64,
    /// The size of a packet in the queue is rounded up to a multiple of this number of bytes.
    granule: u32,
    pub(crate) from: NodeId,
    overflowed: PacketCount,
    /// Those of `overflowed` that would have fit.
    early: PacketCount,
    marked: PacketCount,
    /// Changes to come, the next one last.
    changes: Vec<LinkChange>,
}

impl Link {
    pub(crate) fn new(spec: &LinkSpec, seed: Seed, own: Option<Box<dyn Discipline>>) -> Self {
        let extras = Extras::new(spec, seed, own);
        let line = match &spec.trace {
            Some(trace) => Transmitter::traced(Cursor::new(Arc::clone(trace))),
            None => Transmitter::new(spec.rate),
        };
        let plain = extras.is_none() && spec.changes.is_empty();
        Self {
            from: spec.from,
            to: spec.to,
            pending: NEVER,
            turn: Turn::of(&spec.name),
            delay: spec.delay,
            certain: plain && line.is_certain() && spec.delay > Duration::ZERO,
            line,
            queue: Policy::new(&spec.queue, spec.rate, spec.delay, seed, &spec.name),
            ring: if plain && spec.queue == Queue::DropTail(Limit::Unlimited) {
                Ring::unseen()
            } else {
                Ring::new()
            },
            queued_bytes: 0,
            counts_bytes: !plain
                || !matches!(spec.queue, Queue::DropTail(Limit::Unlimited | Limit::Packets(_))),
            granule: spec.queue.granule(),
            changes: spec.changes.iter().rev().cloned().collect(),
            former: None,
            arrivals: PacketCount::default(),
            overflowed: PacketCount::default(),
            early: PacketCount::default(),
            marked: PacketCount::default(),
            busy_ns: 0,
            waited_ns: 0,
            simple: extras.is_none(),
            extras,
            ahead: None,
            feeder: Feeder::Nothing,
        }
    }

    /// Returns true if the next event of the link can only be the arrival of the first packet of
    /// the ring.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.extras.is_none()
    }

    /// Returns true if the link is plain and its delay has not changed.
    #[inline]
    pub(crate) fn is_simple(&self) -> bool {
        self.simple
    }

    /// A packet of `size` bytes arrives at the link. Its header may be marked. Gives the time at
    /// which it reaches the far end of a plain link, or [`NEVER`].
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        packet: Slot,
        size: u32,
    ) -> Result<Instant, DropCause> {
        self.arrivals.add(size);
        if self.simple {
            self.enqueue(all, now, packet, size)
        } else {
            self.offer_slowly(all, now, packet, size)
        }
    }

    #[cold]
    fn offer_slowly(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        packet: Slot,
        size: u32,
    ) -> Result<Instant, DropCause> {
        if self.is_plain() {
            return self.enqueue(all, now, packet, size);
        }
        self.offer_past_extras(all, now, packet).map(|()| NEVER)
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        packet: Slot,
        size: u32,
    ) -> Result<Instant, DropCause> {
        self.admit(all, now, packet, size)?;
        let on_line = self.transmit(all, now, now, packet, size);
        self.accepted(all, now, on_line, packet);
        Ok(self.arrives(on_line.end))
    }

    /// The decision of the queue on a packet that arrives.
    #[inline(always)]
    fn admit(&mut self, all: &mut OnLinks, now: Instant, packet: Slot, size: u32) -> Result<(), DropCause> {
        match self.queue {
            Policy::Passive(Limit::Unlimited) => {}
            // Who has left the line is looked at only where it matters.
            Policy::Passive(Limit::Packets(limit)) if self.packets_at_most() < limit => {}
            Policy::Passive(limit) => {
                if !limit.admits(self.waiting_at_most(), self.cost(size))
                    && self.is_full(all, now, limit, size)
                {
                    self.overflowed.add(size);
                    return Err(DropCause::Queue);
                }
            }
            Policy::Active(_) => {
                self.forget_departed(all, now);
                self.ask_controller(all, now, packet)?;
            }
        }
        Ok(())
    }

    /// A packet has joined the queue.
    #[inline(always)]
    fn accepted(&mut self, all: &OnLinks, now: Instant, on_line: Transmission, packet: Slot) {
        if let Policy::Active(active) = &mut self.queue
            && on_line.start > now
            && let Some(header) = all.header(packet)
        {
            active.accepted(header.precedence, on_line.start);
        }
    }

    /// Puts a packet that came at `arrived` behind all on the line.
    #[inline(always)]
    fn transmit(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        arrived: Instant,
        packet: Slot,
        size: u32,
    ) -> Transmission {
        let on_line = self.put_on_line(now, arrived, packet, size, LinkId::NONE);
        let times = LinkTimes { on_line, arrives: arrived, rest: self.line.rest() };
        self.ring.push_back(all, packet, times);
        on_line
    }

    /// Counts a packet on the line, without a place in the ring.
    #[inline(always)]
    fn put_on_line(
        &mut self,
        now: Instant,
        arrived: Instant,
        packet: Slot,
        size: u32,
        then: LinkId,
    ) -> Transmission {
        let on_line = self.line.transmit(now, size);
        // It never ends before it starts.
        let time = on_line.end.as_nanos().wrapping_sub(on_line.start.as_nanos());
        self.busy_ns = self.busy_ns.wrapping_add(time);
        if on_line.start > arrived {
            self.waited_ns += nanos(arrived, on_line.start);
        }
        if self.counts_bytes {
            self.queued_bytes = self.queued_bytes.wrapping_add(self.cost(size));
        }
        if let Some(ahead) = &mut self.ahead {
            if ahead.is_full() {
                let left = ahead.make_room(now, self.delay, self.granule);
                self.queued_bytes = self.queued_bytes.saturating_sub(left);
            }
            ahead.push(Passing { on_line, rest: self.line.rest(), size, slot: packet, then });
        }
        on_line
    }

    #[inline(never)]
    fn ask_controller(&mut self, all: &mut OnLinks, now: Instant, packet: Slot) -> Result<(), DropCause> {
        let Some(header) = all.header(packet) else { return Ok(()) };
        let (size, ecn, precedence) = (header.size, header.ecn, header.precedence);
        let free = self.line.free();
        let (waiting, line) = match self.waiting(all, now) {
            None => (Waiting::default(), LineState::Idle { since: free }),
            Some(waiting) => (waiting, LineState::Busy),
        };
        let arrival = Arrival {
            now,
            size,
            cost: self.cost(size),
            ecn,
            precedence,
            waiting,
            line,
            free,
            ns_per_byte: self.line.ns_per_byte(),
        };
        let Policy::Active(active) = &mut self.queue else { return Ok(()) };
        match active.arrive(&arrival) {
            QueueVerdict::Drop(cause) => {
                self.overflowed.add(size);
                if cause == DropCause::Early {
                    self.early.add(size);
                }
                Err(cause)
            }
            QueueVerdict::Mark => {
                if let Some(header) = all.header_mut(packet) {
                    header.ecn = Ecn::Ce;
                }
                self.marked.add(size);
                Ok(())
            }
            QueueVerdict::Pass => Ok(()),
        }
    }

    /// Returns an upper bound of the packets and bytes that wait: it counts all that are not known
    /// to have left the line.
    #[inline]
    fn waiting_at_most(&self) -> Waiting {
        Waiting { packets: self.packets_at_most(), bytes: self.queued_bytes }
    }

    #[inline]
    fn packets_at_most(&self) -> u64 {
        match &self.ahead {
            Some(ahead) => saturating::<u64>(ahead.on_line()),
            None => self.ring.on_line(),
        }
    }

    /// The times and the size of the first packet that is not known to have left the line.
    #[inline]
    fn sending(&self, all: &OnLinks) -> Option<(Transmission, u32)> {
        match &self.ahead {
            Some(ahead) => ahead.sending().map(|packet| (packet.on_line, packet.size)),
            None => self.ring.sending(all).map(|held| (held.on_line, held.size())),
        }
    }

    /// Returns true if a packet must be dropped because the queue has no room for it.
    fn is_full(&mut self, all: &OnLinks, now: Instant, limit: Limit, size: u32) -> bool {
        self.forget_departed(all, now);
        self.waiting(all, now).is_some_and(|waiting| !limit.admits(waiting, self.cost(size)))
    }

    /// Returns the packets and bytes that wait behind the packet in transmission, as far as packets
    /// are known to have left; `None` on an idle line. On a traced link this may include the first
    /// packet.
    #[inline]
    fn waiting(&self, all: &OnLinks, now: Instant) -> Option<Waiting> {
        let (sending, size) = self.sending(all)?;
        let most = self.waiting_at_most();
        if self.line.is_traced() && sending.start > now {
            return Some(most);
        }
        Some(Waiting {
            packets: most.packets.saturating_sub(1),
            bytes: most.bytes.saturating_sub(self.cost(size)),
        })
    }

    /// Bytes a packet takes in the queue.
    #[inline(always)]
    fn cost(&self, size: u32) -> u64 {
        cost(self.granule, size)
    }

    /// When something happens on the link next: on a plain one, when a packet reaches the far end.
    /// [`NEVER`] if none is on its way, or the line stalls before it.
    #[inline]
    pub(crate) fn next_event(&self, all: &OnLinks) -> Instant {
        let arrival = self.next_arrival(all);
        if self.is_plain() { arrival } else { self.next_of_extras(arrival) }
    }

    /// When the first packet of the ring reaches the far end, or [`NEVER`].
    #[inline]
    pub(crate) fn next_arrival(&self, all: &OnLinks) -> Instant {
        self.ring.front(all).map_or(NEVER, |first| self.arrives(first.on_line.end))
    }

    /// The packet that has reached the far end.
    #[inline]
    pub(crate) fn take(&mut self, all: &OnLinks) -> Option<Popped> {
        if !self.simple {
            self.forget_delays(all);
        }
        let popped = self.ring.pop_front(all)?;
        if self.counts_bytes && popped.place == LastSeen::OnLine && self.ahead.is_none() {
            self.unqueue(popped.size);
        }
        Some(popped)
    }

    /// Reads what each packet of a plain link needs, to have it near.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        let joining = self.waited_ns == 0;
        self.pending.as_nanos() ^ u64::from(joining) ^ u64::from(self.ahead.is_some())
    }

    /// The first packet.
    #[inline(always)]
    pub(crate) fn first(&self) -> Slot {
        self.ring.first()
    }

    /// Reads the place of the last packet, to have it near.
    #[inline(always)]
    pub(crate) fn touch_end(&self, all: &OnLinks) -> u64 {
        all.touch(self.ring.last())
    }

    /// When something changes next.
    pub(crate) fn next_change(&self) -> Option<Instant> {
        self.changes.last().map(|change| change.at)
    }

    /// Makes the next change.
    pub(crate) fn make_change(&mut self, all: &mut OnLinks, now: Instant) {
        let Some(change) = self.changes.pop() else { return };
        self.change(all, now, change);
    }

    /// Gives the link other settings.
    pub(crate) fn change(&mut self, all: &mut OnLinks, now: Instant, change: LinkChange) {
        let LinkChange { at: _, rate, delay, limit, losses } = change;
        self.certain = false;
        self.count_bytes(all);
        if let Some(delay) = delay {
            self.set_delay(all, now, delay);
        }
        if let Some(limit) = limit {
            self.set_limit(all, now, limit);
        }
        if let Some(rules) = losses {
            self.set_losses(&rules);
        }
        if let Some(rate) = rate {
            self.set_rate(all, now, rate);
        }
    }

    /// Times the packets that have not left the line by `now` anew, at another rate. What is left
    /// of the packet in transmission goes at that rate too.
    pub(crate) fn set_rate(&mut self, all: &mut OnLinks, now: Instant, rate: Rate) {
        self.certain = false;
        self.count_bytes(all);
        self.forget_departed(all, now);
        let waiting = self.waiting(all, now).unwrap_or_default();
        self.queue.before_change(now, self.line.free(), waiting);
        let begun = |held: &&OnLink| held.on_line.start < now;
        let sending = self.ring.sending(all).filter(begun).map(|held| (held.on_line.end, held.rest));
        let end = self.line.restart(rate, now, sending);
        let Self { ring, line, waited_ns, busy_ns, .. } = self;
        ring.change_on_line(all, |held| {
            let old = held.on_line;
            let begun = old.start < now;
            let new =
                if begun { Transmission { start: old.start, end } } else { line.transmit(now, held.size()) };
            // Sums of all packets: what was added for the old times is in them.
            *waited_ns = *waited_ns + nanos(now, new.start) - nanos(now, old.start);
            let (new_ns, old_ns) = (new.end.saturating_since(new.start), old.end.saturating_since(old.start));
            *busy_ns = busy_ns.wrapping_add(new_ns.as_nanos()).wrapping_sub(old_ns.as_nanos());
            (held.on_line, held.rest) = (new, line.rest());
        });
        let starts: Vec<Instant> = self.ring.iter(all).map(|held| held.on_line.start).collect();
        self.queue.after_change(starts.into_iter().rev());
    }

    /// The counters as of `now`.
    pub(crate) fn stats(&self, all: &OnLinks, now: Instant) -> LinkStats {
        let (mut queued, mut propagating) = (PacketCount::default(), PacketCount::default());
        let (mut busy_ns, mut waited_ns) = (self.busy_ns, self.waited_ns);
        let mut arrivals = self.arrivals;
        self.for_each(all, |Transmission { start, end }, arrives, size| {
            if arrives > now {
                // On its way to this line.
                arrivals = arrivals.minus(PacketCount { packets: 1, bytes: u64::from(size) });
                busy_ns = busy_ns.wrapping_sub(end.saturating_since(start).as_nanos());
                waited_ns -= nanos(arrives, start);
            } else if end > now {
                queued.add(size);
                busy_ns = busy_ns.wrapping_sub(end.saturating_since(start.max(now)).as_nanos());
                waited_ns -= nanos(now, start);
            } else if self.arrives(end) > now {
                propagating.add(size);
            }
        });
        let (mut lost, mut corrupted, mut reordered, mut duplicated) = Default::default();
        if let Some(extras) = &self.extras {
            waited_ns += extras.held(now, &mut queued);
            propagating = propagating.plus(extras.late_now());
            (lost, corrupted, reordered, duplicated) = extras.tallies();
        }
        let departures = arrivals.minus(lost).minus(self.overflowed).minus(queued);
        LinkStats {
            elapsed: now.saturating_since(Instant::ZERO),
            arrivals,
            lost,
            overflowed: self.overflowed,
            early: self.early,
            marked: self.marked,
            departures,
            crossed: departures.minus(propagating).minus(corrupted),
            corrupted,
            reordered,
            duplicated,
            queued,
            capacity: self.line.capacity(now),
            busy: Duration::from_nanos(busy_ns),
            waited_ns,
        }
    }

    /// The state of the queue as of `now`.
    pub(crate) fn queue_state(&self, all: &OnLinks, now: Instant) -> QueueState {
        let mut waiting = PacketCount::default();
        self.for_each(all, |on_line, arrives, size| {
            if on_line.start > now && arrives <= now {
                waiting.add(size);
            }
        });
        if let Some(extras) = &self.extras {
            extras.held(now, &mut waiting);
        }
        QueueState { waiting, ..self.queue.state() }
    }

    /// The counters of the flows that came to this link, in the order of their numbers.
    pub(crate) fn flow_stats(&self) -> Vec<(FlowId, FlowStats)> {
        self.extras.as_ref().map_or_else(Vec::new, |extras| extras.flow_stats())
    }

    /// Calls for each packet on the link, or on its way to it: its transmission, when it comes to
    /// the link, if that may be a time to come, and its size.
    fn for_each(&self, all: &OnLinks, mut each: impl FnMut(Transmission, Instant, u32)) {
        match &self.ahead {
            Some(ahead) => {
                ahead.iter().for_each(|packet| each(packet.on_line, Instant::ZERO, packet.size));
            }
            None => self.ring.iter(all).for_each(|held| each(held.on_line, held.arrives, held.size())),
        }
    }

    #[inline]
    fn forget_departed(&mut self, all: &OnLinks, now: Instant) {
        let granule = self.granule;
        let gone = match &mut self.ahead {
            Some(ahead) => ahead.depart_until(now, granule),
            None => self.ring.depart_until(all, now, granule),
        };
        self.queued_bytes = self.queued_bytes.saturating_sub(gone);
    }

    /// Counts the bytes in the queue from now on, of a link on which every packet has an event.
    #[cold]
    fn count_bytes(&mut self, all: &OnLinks) {
        if !self.counts_bytes {
            self.counts_bytes = true;
            self.ring.look(all);
            let departed = self.ring.departed(all);
            self.queued_bytes = self.ring.iter(all).skip(departed).map(|held| self.cost(held.size())).sum();
        }
    }

    #[inline]
    fn unqueue(&mut self, size: u32) {
        self.queued_bytes = self.queued_bytes.saturating_sub(self.cost(size));
    }
}

/// Bytes that a packet takes in a queue of such granules.
#[inline(always)]
fn cost(granule: u32, size: u32) -> u64 {
    let (size, granule) = (u64::from(size), u64::from(granule));
    if granule == 1 { size } else { size.div_ceil(granule).saturating_mul(granule) }
}

/// Nanoseconds from `a` to `b`, zero if `b` is earlier.
#[inline]
fn nanos(a: Instant, b: Instant) -> u128 {
    u128::from(b.saturating_since(a).as_nanos())
}
