//! CoDel, RFC 8289 §5: decides when the line takes a packet.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant, f64_from_u64};

use super::{Limit, Marking};
use crate::engine::arena::Slot;

/// Controlled delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoDel {
    /// How much fits at all.
    pub limit: Limit,
    /// Delay to aim at: TARGET, 5 ms.
    pub target: Duration,
    /// How long the delay must stay above it: INTERVAL, 100 ms.
    pub interval: Duration,
    /// While no more than this many bytes wait, the delay is never too long: the largest packet.
    pub mtu: u32,
    /// Treatment of ECN-capable packets. `Below` counts as `On`: CoDel has no probability.
    pub marking: Marking,
}

impl CoDel {
    /// The values of RFC 8289 §5.3 with packets up to 1500 bytes, without ECN.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self {
            limit,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: 1500,
            marking: Marking::Off,
        }
    }

    pub(crate) fn fault(&self) -> Option<&'static str> {
        self.interval.is_zero().then_some("CoDel's interval must be above zero")
    }
}

/// A packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) packet: Slot,
    pub(crate) serial: u64,
    pub(crate) size: u32,
    /// Bytes it takes in the queue.
    pub(crate) cost: u64,
    pub(crate) arrived: Instant,
    /// True if the packet may be marked.
    pub(crate) capable: bool,
}

/// The packets that wait, and the controller that takes them.
#[derive(Debug)]
pub(crate) struct Hold {
    control: Control,
    pub(crate) packets: VecDeque<Held>,
    pub(crate) bytes: u64,
    /// Dropped by the controller and not yet out of the network.
    pub(crate) dropped: VecDeque<Held>,
}

/// The packet that goes next, and whether it is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Marked(Held),
    Unmarked(Held),
}

/// The controller's state (RFC 8289 §5.2).
#[derive(Debug)]
struct Control {
    codel: CoDel,
    /// When the delay will have been too long for too long; `None` while it is short.
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u64,
    last_count: u64,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Dropping,
    Waiting,
}

impl Hold {
    pub(crate) fn new(codel: CoDel) -> Self {
        let control = Control {
            codel,
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            phase: Phase::Waiting,
        };
        Self { control, packets: VecDeque::new(), bytes: 0, dropped: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, held: Held) {
        self.bytes = self.bytes.saturating_add(held.cost);
        self.packets.push_back(held);
    }

    /// The line is free: the packet it takes, `None` if none is left (RFC 8289 §5.5).
    pub(crate) fn next(&mut self, now: Instant) -> Option<Next> {
        let (mut head, mut ok_to_drop) = self.take(now);
        match self.control.phase {
            Phase::Dropping => {
                if !ok_to_drop {
                    self.control.phase = Phase::Waiting;
                }
                while self.control.phase == Phase::Dropping && now >= self.control.drop_next {
                    let packet = head?;
                    self.control.count = self.control.count.saturating_add(1);
                    if self.marks(packet) {
                        self.control.schedule(self.control.drop_next);
                        return Some(Next::Marked(packet));
                    }
                    self.dropped.push_back(packet);
                    (head, ok_to_drop) = self.take(now);
                    if ok_to_drop {
                        self.control.schedule(self.control.drop_next);
                    } else {
                        self.control.phase = Phase::Waiting;
                    }
                }
            }
            Phase::Waiting if ok_to_drop => {
                let packet = head?;
                let marked = self.marks(packet);
                if !marked {
                    self.dropped.push_back(packet);
                    (head, _) = self.take(now);
                }
                self.control.enter(now);
                if marked {
                    return Some(Next::Marked(packet));
                }
            }
            Phase::Waiting => {}
        }
        head.map(Next::Unmarked)
    }

    /// Takes the head, and says whether it may be dropped (`dodequeue` of RFC 8289 §5.6).
    fn take(&mut self, now: Instant) -> (Option<Held>, bool) {
        let Some(head) = self.packets.pop_front() else {
            self.control.first_above = None;
            return (None, false);
        };
        self.bytes = self.bytes.saturating_sub(head.cost);
        let sojourn = now.saturating_since(head.arrived);
        (Some(head), self.control.is_above(now, sojourn, self.bytes))
    }

    fn marks(&self, packet: Held) -> bool {
        packet.capable && self.control.codel.marking != Marking::Off
    }
}

impl Control {
    /// Returns true if the delay has been above the target for the whole interval.
    fn is_above(&mut self, now: Instant, sojourn: Duration, backlog: u64) -> bool {
        if sojourn < self.codel.target || backlog <= u64::from(self.codel.mtu) {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.codel.interval);
        now >= first_above
    }

    /// Starts dropping: at the old pace if that was found a short while ago.
    fn enter(&mut self, now: Instant) {
        self.phase = Phase::Dropping;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now < self.drop_next + self.codel.interval * 16;
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.schedule(now);
        self.last_count = self.count;
    }

    /// The control law: the next drop comes interval / √count after `from`.
    fn schedule(&mut self, from: Instant) {
        self.drop_next =
            from + self.codel.interval.mul_f64(1.0 / libm::sqrt(f64_from_u64(self.count.max(1))));
    }
}

#[cfg(test)]
mod tests;
