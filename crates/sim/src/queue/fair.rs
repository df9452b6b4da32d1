//! FQ-CoDel, RFC 8290: a queue for each flow by a hash, deficit round robin with precedence for
//! queues that were empty, CoDel in each.

use std::collections::VecDeque;

use tfrc_units::hash::finalise;
use tfrc_units::{Duration, saturating};

use super::codel::{CoDel, Held, Hold, Next};
use super::{Limit, Marking, Waiting};
use crate::packet::Header;
use tfrc_units::Instant;

/// Flow queueing with controlled delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FqCoDel {
    /// How much fits at all; past it the longest queue loses packets at its head.
    pub limit: Limit,
    /// Number of queues that flows are hashed to.
    pub queues: u32,
    /// Bytes that a queue may send in a round.
    pub quantum: u32,
    /// CoDel's target for each queue.
    pub target: Duration,
    /// CoDel's interval for each queue.
    pub interval: Duration,
    /// While no more than this many bytes wait in a queue, its delay is never too long.
    pub mtu: u32,
    /// Treatment of ECN-capable packets. `Below` counts as `On`.
    pub marking: Marking,
}

impl FqCoDel {
    /// The values of RFC 8290 §5.2 with packets up to 1500 bytes: 1024 queues, a quantum of 1514
    /// bytes, marks for ECN-capable packets. The usual limit is 10,240 packets.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        let CoDel { target, interval, mtu, .. } = CoDel::new(limit);
        Self { limit, queues: 1024, quantum: 1514, target, interval, mtu, marking: Marking::On }
    }

    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.quantum == 0 {
            return Some("FQ-CoDel's quantum must be above zero");
        }
        if self.queues == 0 || self.queues > MOST_QUEUES {
            return Some("FQ-CoDel's queues must be 1 to 65536");
        }
        self.codel().fault()
    }

    const fn codel(&self) -> CoDel {
        let Self { limit, target, interval, mtu, marking, .. } = *self;
        CoDel { limit, target, interval, mtu, marking }
    }
}

/// As many as an implementation may have (`tc-fq_codel`).
const MOST_QUEUES: u32 = 65_536;
/// The most packets that are dropped at once at the limit (RFC 8290 §4.1.2).
const BATCH: usize = 64;

/// The packets that wait, and the scheduler that takes them.
#[derive(Debug)]
pub(crate) struct FairHold {
    settings: FqCoDel,
    /// Part of the hash, so that other seeds have other collisions.
    salt: u64,
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    waiting: Waiting,
    dropped: VecDeque<Held>,
}

#[derive(Debug)]
struct FlowQueue {
    hold: Hold,
    /// Bytes that it may still send in this round.
    credit: i64,
    place: Place,
}

/// List that a queue is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Neither,
    New,
    Old,
}

impl FairHold {
    pub(crate) fn new(settings: FqCoDel, salt: u64) -> Self {
        let queue = || FlowQueue { hold: Hold::new(settings.codel()), credit: 0, place: Place::Neither };
        Self {
            settings,
            salt,
            queues: (0..settings.queues).map(|_| queue()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Waiting::default(),
            dropped: VecDeque::new(),
        }
    }

    pub(crate) const fn waiting(&self) -> Waiting {
        self.waiting
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = &Held> {
        self.queues.iter().flat_map(|queue| &queue.hold.packets)
    }

    /// A packet that waits; always the same one while nothing changes.
    pub(crate) fn any(&self) -> Option<&Held> {
        let mut listed = self.new.iter().chain(&self.old);
        listed.find_map(|place| self.queues.get(*place)?.hold.packets.front())
    }

    pub(crate) fn next_dropped(&mut self) -> Option<Held> {
        self.dropped.pop_front()
    }

    /// RFC 8290 §4.1.
    pub(crate) fn push(&mut self, header: &Header, held: Held) {
        let index = self.index(header);
        let Some(queue) = self.queues.get_mut(index) else { return };
        self.waiting.packets += 1;
        self.waiting.bytes = self.waiting.bytes.saturating_add(held.cost);
        queue.hold.push(held);
        if queue.place == Place::Neither {
            queue.place = Place::New;
            queue.credit = i64::from(self.settings.quantum);
            self.new.push_back(index);
        }
    }

    fn index(&self, header: &Header) -> usize {
        let end = |address: crate::Address| (u64::from(address.node().0) << 32) | u64::from(address.port());
        let of_flow = finalise(self.salt ^ u64::from(header.flow.0));
        let hash = finalise(finalise(of_flow ^ end(header.src)) ^ end(header.dst));
        saturating::<usize>(hash % u64::from(self.settings.queues.max(1)))
    }

    /// The limit is exceeded: the queue with the most bytes loses half of its packets, at most 64,
    /// at its head (RFC 8290 §4.1.2).
    pub(crate) fn shorten(&mut self) {
        let longest = self.queues.iter_mut().rev().max_by_key(|queue| queue.hold.bytes);
        let Some(FlowQueue { hold, .. }) = longest else { return };
        let count = hold.packets.len().div_ceil(2).min(BATCH);
        for _ in 0..count {
            let Some(held) = hold.packets.pop_front() else { return };
            hold.bytes = hold.bytes.saturating_sub(held.cost);
            self.waiting.packets = self.waiting.packets.saturating_sub(1);
            self.waiting.bytes = self.waiting.bytes.saturating_sub(held.cost);
            self.dropped.push_back(held);
        }
    }

    /// The line is free: the packet it takes, `None` if none is left (RFC 8290 §4.2).
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        loop {
            let (list, place) = match (self.new.front(), self.old.front()) {
                (Some(_), _) => (&mut self.new, Place::New),
                (None, Some(_)) => (&mut self.old, Place::Old),
                (None, None) => return None,
            };
            let index = *list.front()?;
            let queue = self.queues.get_mut(index)?;
            if queue.credit <= 0 {
                queue.credit += i64::from(self.settings.quantum);
                queue.place = Place::Old;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let next = queue.hold.next(now);
            let dropped = queue.hold.dropped.drain(..);
            let taken = next.map(|next| match next {
                Next::Marked(held) | Next::Unmarked(held) => held,
            });
            for held in dropped.chain(taken) {
                self.waiting.packets = self.waiting.packets.saturating_sub(1);
                self.waiting.bytes = self.waiting.bytes.saturating_sub(held.cost);
                if taken.is_none_or(|taken| taken.serial != held.serial) {
                    self.dropped.push_back(held);
                }
            }
            let Some(held) = taken else {
                list.pop_front();
                // A new queue that is empty waits for its turn among the old ones, so that it does
                // not overtake them again with its next packet.
                queue.place = match place {
                    Place::New => {
                        self.old.push_back(index);
                        Place::Old
                    }
                    Place::Neither | Place::Old => Place::Neither,
                };
                continue;
            };
            queue.credit -= i64::from(held.size);
            return next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::engine::arena::Arena;
    use crate::packet::{FlowId, test_packet};
    use std::collections::BTreeMap;

    struct Bench {
        hold: FairHold,
        arena: Arena<()>,
        serial: u64,
        flows: BTreeMap<u64, u32>,
    }

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    impl Bench {
        fn new(settings: FqCoDel) -> Self {
            Self {
                hold: FairHold::new(settings, 1),
                arena: Arena::with_room(0),
                serial: 0,
                flows: BTreeMap::new(),
            }
        }

        fn push(&mut self, now: Instant, flow: u32, size: u32, count: u64) {
            for _ in 0..count {
                let mut packet = test_packet();
                packet.header.flow = FlowId(flow);
                self.serial += 1;
                let slot = self.arena.put(()).expect("an empty arena has room");
                let capable = false;
                let held = Held {
                    packet: slot,
                    serial: self.serial,
                    size,
                    cost: u64::from(size),
                    arrived: now,
                    capable,
                };
                self.flows.insert(self.serial, flow);
                self.hold.push(&packet.header, held);
            }
        }

        /// Flows of the packets that the line takes, by this many services.
        fn take(&mut self, now: Instant, count: usize) -> Vec<u32> {
            let taken = (0..count).filter_map(|_| match self.hold.next(now)? {
                Next::Marked(held) | Next::Unmarked(held) => self.flows.get(&held.serial).copied(),
            });
            taken.collect()
        }
    }

    fn settings() -> FqCoDel {
        FqCoDel { quantum: 1000, ..FqCoDel::new(Limit::Packets(1000)) }
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let mut bench = Bench::new(settings());
        bench.push(ms(0), 1, 1000, 10);
        bench.push(ms(0), 2, 500, 10);
        // A quantum of 1000 bytes: one large packet, or two small ones.
        assert_eq!(bench.take(ms(1), 9), [1, 2, 2, 1, 2, 2, 1, 2, 2]);
    }

    #[test]
    fn a_packet_larger_than_the_quantum_is_paid_for_in_later_rounds() {
        let mut bench = Bench::new(settings());
        bench.push(ms(0), 1, 1500, 4);
        bench.push(ms(0), 2, 500, 12);
        let taken = bench.take(ms(1), 12);
        // A quantum and a packet apart at most, at any time.
        let mut bytes = [0_u32; 2];
        for flow in taken {
            match flow {
                1 => bytes[0] += 1500,
                _ => bytes[1] += 500,
            }
            assert!(bytes[0].abs_diff(bytes[1]) <= 1000 + 1500, "{bytes:?}");
        }
        assert_eq!(bytes, [6000, 4000]);
    }

    #[test]
    fn a_sparse_flow_goes_before_full_queues() {
        let mut bench = Bench::new(settings());
        for flow in [1, 2, 4] {
            bench.push(ms(0), flow, 1000, 50);
        }
        assert_eq!(bench.take(ms(1), 3), [1, 2, 4]);
        bench.push(ms(2), 3, 200, 1);
        assert_eq!(bench.take(ms(2), 2), [3, 1]);
        // Its queue, now empty, is among the old ones: back at once it takes its turn there.
        bench.push(ms(3), 3, 200, 1);
        assert_eq!(bench.take(ms(3), 4), [2, 4, 3, 1]);
        // A round later it is new again.
        assert_eq!(bench.take(ms(4), 3), [2, 4, 1]);
        bench.push(ms(5), 3, 200, 1);
        assert_eq!(bench.take(ms(5), 1), [3]);
    }

    #[test]
    fn the_longest_queue_loses_at_its_head() {
        let mut bench = Bench::new(settings());
        bench.push(ms(0), 1, 1000, 10);
        bench.push(ms(0), 2, 200, 20);
        bench.hold.shorten();
        let dropped: Vec<u64> =
            core::iter::from_fn(|| bench.hold.next_dropped()).map(|held| held.serial).collect();
        assert_eq!(dropped, [1, 2, 3, 4, 5]);
        assert_eq!(bench.hold.waiting(), Waiting { packets: 25, bytes: 5000 + 4000 });
        bench.push(ms(0), 3, 1000, 300);
        bench.hold.shorten();
        assert_eq!(core::iter::from_fn(|| bench.hold.next_dropped()).count(), 64);
    }

    #[test]
    fn each_queue_has_its_own_control() {
        // Flow 1 has waited for long, flow 2 has not: only 1 is dropped.
        let mut bench = Bench::new(settings());
        bench.push(ms(0), 1, 1000, 400);
        for now in 0..300 {
            bench.push(ms(now), 2, 1000, 1);
            bench.take(ms(now), 2);
        }
        let dropped: Vec<u32> = core::iter::from_fn(|| bench.hold.next_dropped())
            .filter_map(|held| bench.flows.get(&held.serial).copied())
            .collect();
        assert!(dropped.len() > 2 && dropped.iter().all(|flow| *flow == 1), "{dropped:?}");
    }

    #[test]
    fn ends_of_a_flow_are_part_of_the_hash() {
        let bench = Bench::new(settings());
        let mut header = test_packet().header;
        let first = bench.hold.index(&header);
        header.src.node = NodeId(7);
        assert_ne!(bench.hold.index(&header), first);
        let other = FairHold::new(settings(), 2);
        assert_ne!(other.index(&test_packet().header), first);
    }

    #[test]
    fn an_empty_hold_has_nothing() {
        let mut bench = Bench::new(settings());
        assert_eq!(bench.hold.next(ms(0)), None);
        bench.push(ms(0), 1, 1000, 3);
        assert_eq!(bench.take(ms(0), 5), [1, 1, 1]);
        assert!(bench.hold.any().is_none() && bench.hold.waiting() == Waiting::default());
    }
}
