//! One direction of a link: loss model, queue, line, propagation.
//!
//! The line's rate is known, so the time a packet leaves it is known when the packet joins the queue. A link therefore
//! needs one event per packet, its arrival at the far end, and only the next of them stands in the engine's event
//! queue: the others wait in the link's own ring.

mod line;
mod stats;

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant, Rate};

use crate::engine::arena::Slot;
use crate::engine::event::Key;
use crate::loss::LossProcess;
use crate::queue::Waiting;
use crate::{DropCause, LinkSpec, NodeId, Queue, RateChange, Seed};
use line::{Line, Transmission};
pub use stats::{LinkStats, Tally};

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) to: NodeId,
    /// The key under which the engine's event queue holds this link; an entry with any other key is stale.
    pub(crate) pending: Option<Key>,
    delay: Duration,
    line: Line,
    queue: Queue,
    loss: LossProcess,
    /// All packets on the link in the order of arrival at the far end.
    ring: VecDeque<OnLink>,
    /// How many at the front of the ring are known to have left the line.
    departed: usize,
    /// Bytes of those behind them.
    queued_bytes: u64,
    /// Rate changes to come, the next one last.
    changes: Vec<RateChange>,
    arrivals: Tally,
    lost: Tally,
    overflowed: Tally,
    /// Transmission times of all accepted packets, those to come included.
    busy_ns: u128,
    /// Waiting times of all accepted packets, those to come included.
    waited_ns: u128,
}

#[derive(Debug)]
struct OnLink {
    serial: u64,
    on_line: Transmission,
    packet: Slot,
    size: u32,
}

impl Link {
    pub(crate) fn new(spec: &LinkSpec, seed: Seed) -> Self {
        Self {
            to: spec.to,
            pending: None,
            delay: spec.delay,
            line: Line::new(spec.rate),
            queue: spec.queue,
            loss: LossProcess::new(&spec.loss, seed, &spec.name),
            ring: VecDeque::new(),
            departed: 0,
            queued_bytes: 0,
            changes: spec.changes.iter().rev().copied().collect(),
            arrivals: Tally::default(),
            lost: Tally::default(),
            overflowed: Tally::default(),
            busy_ns: 0,
            waited_ns: 0,
        }
    }

    /// A packet comes to the link; `serial` orders its arrival at the far end among simultaneous events.
    #[inline]
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        serial: u64,
        packet: Slot,
        size: u32,
    ) -> Result<(), DropCause> {
        self.arrivals.add(size);
        if self.loss.loses() {
            self.lost.add(size);
            return Err(DropCause::Loss);
        }
        self.forget_departed(now);
        if let Some(sending) = self.ring.get(self.departed) {
            let waiting = Waiting {
                packets: count(self.ring.len() - self.departed - 1),
                bytes: self.queued_bytes.saturating_sub(u64::from(sending.size)),
            };
            if !self.queue.admits(waiting, size) {
                self.overflowed.add(size);
                return Err(DropCause::Queue);
            }
        }
        let on_line = self.line.transmit(now, size);
        self.busy_ns += nanos(on_line.start, on_line.end);
        self.waited_ns += nanos(now, on_line.start);
        self.queued_bytes = self.queued_bytes.saturating_add(u64::from(size));
        self.ring.push_back(OnLink { serial, on_line, packet, size });
        Ok(())
    }

    /// When the next packet reaches the far end; `None` if none is on its way, or the line stands still before it.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<Key> {
        let first = self.ring.front()?;
        let at = first.on_line.end + self.delay;
        (at.as_nanos() < u64::MAX).then(|| Key::new(at, first.serial))
    }

    /// The packet that has reached the far end.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Slot> {
        let first = self.ring.pop_front()?;
        if self.departed > 0 {
            self.departed -= 1;
        } else {
            self.unqueue(first.size);
        }
        Some(first.packet)
    }

    /// When the rate changes next.
    pub(crate) fn next_change(&self) -> Option<Instant> {
        self.changes.last().map(|change| change.at)
    }

    /// Makes the next rate change: the packet in transmission ends as it began, those that have not begun by `now`
    /// are timed anew.
    pub(crate) fn change_rate(&mut self, now: Instant) {
        let Some(change) = self.changes.pop() else { return };
        self.retime(now, change.rate);
    }

    fn retime(&mut self, now: Instant, rate: Rate) {
        self.forget_departed(now);
        self.line.restart(rate, now);
        for held in self.ring.iter_mut().skip(self.departed) {
            let old = held.on_line;
            if old.start < now {
                self.line.restart(rate, old.end);
                continue;
            }
            let new = self.line.transmit(now, held.size);
            // Sums of all packets: what was added for the old times is in them.
            self.waited_ns = self.waited_ns + nanos(now, new.start) - nanos(now, old.start);
            self.busy_ns = self.busy_ns + nanos(new.start, new.end) - nanos(old.start, old.end);
            held.on_line = new;
        }
    }

    /// The counters as of `now`.
    pub(crate) fn stats(&self, now: Instant) -> LinkStats {
        let (mut queued, mut propagating) = (Tally::default(), Tally::default());
        let (mut busy_ns, mut waited_ns) = (self.busy_ns, self.waited_ns);
        for held in &self.ring {
            let Transmission { start, end } = held.on_line;
            if end <= now {
                propagating.add(held.size);
            } else {
                queued.add(held.size);
                busy_ns -= nanos(start.max(now), end);
                waited_ns -= nanos(now, start);
            }
        }
        let departures = self.arrivals.minus(self.lost).minus(self.overflowed).minus(queued);
        LinkStats {
            elapsed: now.saturating_since(Instant::ZERO),
            arrivals: self.arrivals,
            lost: self.lost,
            overflowed: self.overflowed,
            departures,
            crossed: departures.minus(propagating),
            queued,
            busy: Duration::from_nanos(u64::try_from(busy_ns).unwrap_or(u64::MAX)),
            waited_ns,
        }
    }

    fn forget_departed(&mut self, now: Instant) {
        while let Some(held) = self.ring.get(self.departed)
            && held.on_line.end <= now
        {
            let size = held.size;
            self.departed += 1;
            self.unqueue(size);
        }
    }

    #[inline]
    fn unqueue(&mut self, size: u32) {
        self.queued_bytes = self.queued_bytes.saturating_sub(u64::from(size));
    }
}

/// Nanoseconds from `a` to `b`, zero if `b` is earlier.
#[inline]
fn nanos(a: Instant, b: Instant) -> u128 {
    u128::from(b.saturating_since(a).as_nanos())
}

#[inline]
fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
