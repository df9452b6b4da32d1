//! Changes of a link's delay, of the limit of its queue and of its losses.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant};

use super::{Link, OnLinks};
use crate::queue::{Limit, Policy};

/// Delays that a link had before, for the packets that left the line under them.
#[derive(Debug)]
pub(super) struct FormerDelays {
    /// The oldest first.
    delays: VecDeque<FormerDelay>,
    /// No packet of the present delay arrives before this time: the last packet of an earlier delay
    /// does then.
    floor: Instant,
}

#[derive(Debug)]
struct FormerDelay {
    /// It holds for packets that left the line up to this time.
    until: Instant,
    delay: Duration,
    /// The floor of its packets.
    floor: Instant,
}

impl Link {
    /// When a packet that leaves the line at `end` reaches the far end.
    #[inline]
    pub(super) fn arrives(&self, end: Instant) -> Instant {
        if self.simple { end + self.delay } else { self.arrives_after_changes(end) }
    }

    #[cold]
    fn arrives_after_changes(&self, end: Instant) -> Instant {
        let Some(former) = &self.former else { return end + self.delay };
        let own = former.delays.iter().find(|delay| end <= delay.until);
        let (delay, floor) = own.map_or((self.delay, former.floor), |own| (own.delay, own.floor));
        (end + delay).max(floor)
    }

    /// Packets that leave the line after `now` take another delay.
    pub(super) fn set_delay(&mut self, all: &OnLinks, now: Instant, delay: Duration) {
        let gone = self.ring.iter(all).take_while(|held| held.on_line.end <= now).last();
        let last = gone.map(|held| self.arrives(held.on_line.end));
        match (last, &mut self.former) {
            (None, former) => *former = None,
            (Some(floor), Some(former)) => {
                let old = FormerDelay { until: now, delay: self.delay, floor: former.floor };
                former.delays.push_back(old);
                former.floor = floor;
            }
            (Some(floor), former @ None) => {
                let old = FormerDelay { until: now, delay: self.delay, floor: Instant::ZERO };
                *former = Some(Box::new(FormerDelays { delays: VecDeque::from([old]), floor }));
            }
        }
        self.delay = delay;
        self.simple = self.is_plain() && self.former.is_none();
    }

    /// Forgets delays that no packet has any more, before the first packet of the ring is taken.
    #[cold]
    pub(super) fn forget_delays(&mut self, all: &OnLinks) {
        let (Some(first), Some(former)) = (self.ring.front(all), &mut self.former) else { return };
        let end = first.on_line.end;
        while former.delays.front().is_some_and(|delay| delay.until < end) {
            former.delays.pop_front();
        }
        if former.delays.is_empty() && former.floor <= end + self.delay {
            self.former = None;
            self.simple = self.is_plain();
        }
    }

    /// Gives a drop-tail queue another limit. Packets that wait stay.
    pub(super) fn set_limit(&mut self, all: &OnLinks, now: Instant, limit: Limit) {
        if matches!(self.queue, Policy::Active(_)) || self.holds_packets() {
            return;
        }
        self.forget_departed(all, now);
        self.queue = Policy::Passive(limit);
        self.granule = limit.granule();
        let waiting = self.ring.iter(all).filter(|held| held.on_line.end > now);
        self.queued_bytes = waiting.map(|held| self.cost(held.size())).sum();
    }
}
