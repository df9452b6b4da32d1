//! Optional impairments of a link: losses, markers, reordering, copies, disciplines that hold
//! packets, counts of flows. Links without them do not pay for them.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tfrc_units::{Duration, Ecn, Instant, Probability};

use super::{FlowStats, Link, OnLinks, PacketCount, nanos};
use crate::engine::arena::Slot;
use crate::engine::event::NEVER;
use crate::loss::Hit;
use crate::loss::LossProcess;
use crate::loss::{Loss, LossPlace, LossRule};
use crate::marker::Markers;
use crate::packet::{FlowId, Header, Precedence};
use crate::queue::codel::{Held, Next};
use crate::queue::hold::Holding;
use crate::queue::{Admission, Discipline, Policy};
use crate::spec::{FlowCounts, LinkSpec, Reorder};
use crate::trace::DropCause;
use crate::{Seed, Stream};

#[derive(Debug)]
pub(super) struct Extras {
    head: Vec<LossProcess>,
    markers: Markers,
    hold: Option<Holding>,
    tail: Vec<LossProcess>,
    reorder: Option<LatePackets>,
    duplicate: Option<(Probability, Stream)>,
    /// Names for the losses of changes.
    names: LossNames,
    /// Packets that reached the far end and are held up there, and copies, the next to go on first.
    late: BinaryHeap<Reverse<LatePacket>>,
    /// Number of packets that were put before the controller or were late.
    numbered: u64,
    late_now: PacketCount,
    flows: Option<BTreeMap<FlowId, FlowStats>>,
    lost: PacketCount,
    corrupted: PacketCount,
    reordered: PacketCount,
    duplicated: PacketCount,
}

/// A packet that goes on from the far end at a time to come; those of one time in the order of
/// their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LatePacket {
    at: Instant,
    number: u64,
    packet: Slot,
    kind: CopyKind,
    size: u32,
}

/// Packets that are late at the far end.
#[derive(Debug)]
struct LatePackets {
    share: Probability,
    extra: Duration,
    /// Numbers of packets still to come, the next one last; and the packets seen.
    scripted: Vec<u64>,
    seen: u64,
    stream: Stream,
}

impl LatePackets {
    fn new(reorder: &Reorder, stream: Stream) -> Option<Self> {
        let Reorder { share, extra, scripted } = reorder;
        let mut scripted = scripted.clone();
        scripted.sort_unstable_by(|a, b| b.cmp(a));
        scripted.dedup();
        let any = !share.is_zero() || !scripted.is_empty();
        any.then_some(Self { share: *share, extra: *extra, scripted, seen: 0, stream })
    }

    fn next_is_late(&mut self) -> bool {
        self.seen = self.seen.saturating_add(1);
        while self.scripted.pop_if(|next| *next < self.seen).is_some() {}
        let drawn = !self.share.is_zero() && self.stream.happens(self.share);
        drawn || self.scripted.last() == Some(&self.seen)
    }
}

/// Names of the random streams of a link's losses.
#[derive(Debug)]
struct LossNames {
    seed: Seed,
    link: String,
    /// Changes of the losses so far.
    change: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CopyKind {
    Copy,
    Original,
}

/// An event of a link that is not plain.
#[derive(Debug)]
pub(crate) enum DelayedEvent {
    /// A packet that was held up at the far end, or a copy, goes on.
    Late(Slot),
    /// A packet has reached the far end.
    Reached(Slot),
    /// The line has taken the next packet, to be marked if it is here; see [`Link::next_dropped`].
    Taken(Option<Slot>),
}

/// Fate of a packet at the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FarEnd {
    /// Number of copies to make of the packet.
    pub(crate) copies: Copies,
    pub(crate) fate: Impairment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    None,
    One,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Impairment {
    Arrives,
    /// Goes on so much later.
    Late(Duration),
    Lost,
}

impl Extras {
    /// `None` for a plain link.
    pub(super) fn new(spec: &LinkSpec, seed: Seed, own: Option<Box<dyn Discipline>>) -> Option<Box<Self>> {
        let hold = Holding::new(spec, seed, own);
        let LinkSpec { name, loss, losses, markers, reorder, duplicate, flow_counts, .. } = spec;
        let plain = hold.is_none()
            && *loss == Loss::None
            && losses.is_empty()
            && markers.is_empty()
            && reorder.share.is_zero()
            && reorder.scripted.is_empty()
            && duplicate.is_zero()
            && *flow_counts == FlowCounts::Off
            && spec.changes.iter().all(|change| change.losses.is_none());
        if plain {
            return None;
        }
        let numbered = |place| {
            (0..losses.len()).zip(losses).filter_map(move |(i, rule)| {
                let name = format!("link/{name}/loss/{i}");
                (rule.place == place).then(|| LossProcess::new(rule, seed, &name))
            })
        };
        let first = LossProcess::new(&loss.clone().into(), seed, &format!("link/{name}/loss"));
        let stream = |what| seed.stream(&format!("link/{name}/{what}"));
        Some(Box::new(Self {
            head: core::iter::once(first).chain(numbered(LossPlace::BeforeQueue)).collect(),
            markers: Markers::new(markers),
            hold,
            tail: numbered(LossPlace::AfterLine).collect(),
            reorder: LatePackets::new(reorder, stream("reorder")),
            duplicate: (!duplicate.is_zero()).then(|| (*duplicate, stream("duplicate"))),
            names: LossNames { seed, link: name.clone(), change: 0 },
            late: BinaryHeap::new(),
            numbered: 0,
            late_now: PacketCount::default(),
            flows: (*flow_counts == FlowCounts::Keep).then(BTreeMap::new),
            lost: PacketCount::default(),
            corrupted: PacketCount::default(),
            reordered: PacketCount::default(),
            duplicated: PacketCount::default(),
        }))
    }

    /// Adds what the controller holds to `queued`, and gives how long that has waited, in
    /// nanoseconds.
    pub(super) fn held(&self, now: Instant, queued: &mut PacketCount) -> u128 {
        let mut waited = 0;
        for held in self.hold.iter().flat_map(Holding::packets) {
            queued.add(held.size);
            waited += nanos(held.arrived, now);
        }
        waited
    }

    pub(super) fn late_now(&self) -> PacketCount {
        self.late_now
    }

    /// Lost, corrupted, reordered, duplicated.
    pub(super) fn tallies(&self) -> (PacketCount, PacketCount, PacketCount, PacketCount) {
        (self.lost, self.corrupted, self.reordered, self.duplicated)
    }

    pub(super) fn flow_stats(&self) -> Vec<(FlowId, FlowStats)> {
        self.flows.iter().flatten().map(|(flow, stats)| (*flow, *stats)).collect()
    }

    /// The next number for a packet.
    fn number(&mut self) -> u64 {
        self.numbered = self.numbered.wrapping_add(1);
        self.numbered
    }

    fn flow(&mut self, flow: FlowId) -> Option<&mut FlowStats> {
        self.flows.as_mut().map(|flows| flows.entry(flow).or_default())
    }
}

impl Link {
    /// [`Link::offer`] where there are losses, markers, CoDel or counts of flows.
    pub(super) fn offer_past_extras(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        packet: Slot,
    ) -> Result<(), DropCause> {
        let Some(header) = all.header_mut(packet) else { return Ok(()) };
        let before = header.ecn;
        let marked = self.marked;
        let passed = self.pass_head(now, header);
        let header = *header;
        let outcome = passed.and_then(|()| {
            if self.extras.as_ref().is_some_and(|extras| extras.hold.is_some()) {
                self.hold_back(all, now, packet, &header)
            } else {
                self.enqueue(all, now, packet, header.size).map(|_| ())
            }
        });
        let Some(header) = all.header(packet) else { return outcome };
        let by_queue = self.marked != marked || header.ecn != before;
        if let Some(stats) = self.extras.as_mut().and_then(|extras| extras.flow(header.flow)) {
            stats.arrivals.add(header.size);
            if header.precedence == Precedence::Low {
                stats.in_profile.add(header.size);
            }
            match outcome {
                Ok(()) if by_queue => stats.marked.add(header.size),
                Ok(()) => {}
                Err(_) => stats.drop(header),
            }
        }
        outcome
    }

    /// Returns true if a controller holds the packets that wait.
    pub(super) fn holds_packets(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.hold.is_some())
    }

    /// Replaces all losses.
    pub(super) fn set_losses(&mut self, rules: &[LossRule]) {
        let Some(extras) = &mut self.extras else { return };
        let LossNames { seed, link, change } = &mut extras.names;
        *change += 1;
        let at = |place| {
            (0..rules.len())
                .zip(rules)
                .filter(move |(_, rule)| rule.place == place)
                .map(|(i, rule)| {
                    LossProcess::new(rule, *seed, &format!("link/{link}/loss/change {change}/{i}"))
                })
                .collect()
        };
        (extras.head, extras.tail) = (at(LossPlace::BeforeQueue), at(LossPlace::AfterLine));
    }

    /// Gives the independent losses of all packets another probability, where the link has such.
    pub(crate) fn set_loss(&mut self, p: Probability) {
        if let Some(first) = self.extras.as_mut().and_then(|extras| extras.head.first_mut()) {
            first.set_probability(p);
        }
    }

    /// Losses before the queue, and markers.
    fn pass_head(&mut self, now: Instant, header: &mut Header) -> Result<(), DropCause> {
        let Some(extras) = &mut self.extras else { return Ok(()) };
        for process in &mut extras.head {
            match process.meet(now, header) {
                Hit::Dropped => {
                    extras.lost.add(header.size);
                    return Err(DropCause::Loss);
                }
                Hit::Marked => self.marked.add(header.size),
                Hit::Missed => {}
            }
        }
        extras.markers.mark(now, header);
        Ok(())
    }

    /// Puts a packet before a controller that decides when the line is free.
    fn hold_back(
        &mut self,
        all: &mut OnLinks,
        now: Instant,
        packet: Slot,
        header: &Header,
    ) -> Result<(), DropCause> {
        let cost = self.cost(header.size);
        let idle = self.line.free() <= now;
        let Some(extras) = &mut self.extras else { return Ok(()) };
        let serial = extras.number();
        let Some(hold) = &mut extras.hold else { return Ok(()) };
        let waiting = hold.waiting();
        let at_once = idle && waiting.packets == 0;
        let full = match &self.queue {
            Policy::Passive(limit) => !at_once && !limit.admits(waiting, cost),
            Policy::Active(_) => false,
        };
        if full && matches!(hold, Holding::CoDel(_)) {
            self.overflowed.add(header.size);
            return Err(DropCause::Queue);
        }
        let capable = header.ecn.is_capable();
        let held = Held { packet, serial, size: header.size, cost, arrived: now, capable };
        if hold.push(now, header, held) == Admission::Drop {
            self.overflowed.add(header.size);
            self.early.add(header.size);
            return Err(DropCause::Early);
        }
        if let Holding::Fair(fair) = hold
            && full
        {
            fair.shorten();
        }
        if at_once && self.line.next_start(now) <= now {
            // It has not waited: only a discipline of the host's own marks it.
            if self.serve(all, now).is_some() {
                if let Some(header) = all.header_mut(packet) {
                    header.ecn = Ecn::Ce;
                }
                self.marked.add(header.size);
            }
        }
        Ok(())
    }

    /// The free line takes the next packet; gives that packet if it must be marked.
    fn serve(&mut self, all: &mut OnLinks, now: Instant) -> Option<Slot> {
        let hold = self.extras.as_mut()?.hold.as_mut()?;
        let next = hold.next(now)?;
        let (held, mark) = match next {
            Next::Marked(held) => (held, Some(held.packet)),
            Next::Unmarked(held) => (held, None),
        };
        self.transmit(all, now, held.arrived, held.packet, held.size);
        mark
    }

    /// A packet that the controller has dropped and that is still in the network.
    pub(crate) fn next_dropped(&mut self, now: Instant) -> Option<Slot> {
        let held = self.extras.as_mut()?.hold.as_mut()?.next_dropped()?;
        self.overflowed.add(held.size);
        self.early.add(held.size);
        self.waited_ns += nanos(held.arrived, now);
        Some(held.packet)
    }

    /// Counts a packet that was marked or dropped after it was accepted.
    pub(crate) fn count_late(&mut self, header: &Header, hit: Hit) {
        if hit == Hit::Marked {
            self.marked.add(header.size);
        }
        let Some(stats) = self.extras.as_mut().and_then(|extras| extras.flow(header.flow)) else { return };
        match hit {
            Hit::Dropped => stats.drop(header),
            Hit::Marked => stats.marked.add(header.size),
            Hit::Missed => {}
        }
    }

    /// The earliest of: the first arrival, the line's next free moment with packets held back, the
    /// end of a delay.
    pub(super) fn next_of_extras(&self, arrival: Instant) -> Instant {
        arrival.min(self.next_service()).min(self.next_late())
    }

    /// When the line takes the next packet from the controller, or [`NEVER`].
    fn next_service(&self) -> Instant {
        let one = self.extras.as_ref().and_then(|extras| extras.hold.as_ref()?.any());
        one.map_or(NEVER, |one| self.line.next_start(one.arrived))
    }

    /// When the next packet that is held up at the far end goes on, or [`NEVER`].
    fn next_late(&self) -> Instant {
        let first = self.extras.as_ref().and_then(|extras| extras.late.peek());
        first.map_or(NEVER, |Reverse(first)| first.at)
    }

    /// Lets happen one of the events that are due at `now`. A packet goes on from the far end
    /// before another reaches it, so that a copy follows its original at once; the line takes a
    /// packet last.
    pub(crate) fn due(&mut self, all: &mut OnLinks, now: Instant) -> Option<DelayedEvent> {
        if self.next_late() <= now {
            let extras = self.extras.as_mut()?;
            let Reverse(LatePacket { packet, kind, size, .. }) = extras.late.pop()?;
            if kind == CopyKind::Original {
                extras.late_now = extras.late_now.minus(PacketCount { packets: 1, bytes: u64::from(size) });
            }
            return Some(DelayedEvent::Late(packet));
        }
        if self.next_arrival(all) <= now {
            return self.take(all).map(|popped| DelayedEvent::Reached(popped.slot));
        }
        (self.next_service() <= now).then(|| DelayedEvent::Taken(self.serve(all, now)))
    }

    /// A packet has reached the far end. A mark is set in its header.
    pub(crate) fn far_end(&mut self, now: Instant, header: &mut Header) -> FarEnd {
        let mut end = FarEnd { copies: Copies::None, fate: Impairment::Arrives };
        let Some(extras) = &mut self.extras else { return end };
        let mut hit = Hit::Missed;
        for process in &mut extras.tail {
            match process.meet(now, header) {
                Hit::Dropped => {
                    extras.corrupted.add(header.size);
                    end.fate = Impairment::Lost;
                    self.count_late(header, Hit::Dropped);
                    return end;
                }
                Hit::Marked => hit = Hit::Marked,
                Hit::Missed => {}
            }
        }
        if let Some(late) = &mut extras.reorder
            && late.next_is_late()
        {
            end.fate = Impairment::Late(late.extra);
        }
        if let Some((share, stream)) = &mut extras.duplicate
            && stream.happens(*share)
        {
            end.copies = Copies::One;
        }
        self.count_late(header, hit);
        end
    }

    /// Holds a packet up until `at`.
    pub(crate) fn hold_up(&mut self, at: Instant, packet: Slot, size: u32) {
        if let Some(extras) = &mut self.extras {
            extras.reordered.add(size);
            extras.late_now.add(size);
            let number = extras.number();
            let kind = CopyKind::Original;
            extras.late.push(Reverse(LatePacket { at, number, packet, kind, size }));
        }
    }

    /// Lets a copy go on at `at`.
    pub(crate) fn add_copy(&mut self, at: Instant, packet: Slot, size: u32) {
        if let Some(extras) = &mut self.extras {
            extras.duplicated.add(size);
            let number = extras.number();
            let kind = CopyKind::Copy;
            extras.late.push(Reverse(LatePacket { at, number, packet, kind, size }));
        }
    }
}
