//! The loss event rate as Linux 6.1's CCID 3 receiver reports it, to explain what it says.
//!
//! It differs from RFC 5348 §5 in four ways, each found by measurement:
//!
//! * The mean is that of [`tfrc::history::linux`], over one interval too few until nine loss events
//!   are there.
//! * A new event needs CCVal to have grown by more than four modulo 16, so that one may be missed.
//!   Once the current interval is the longest so far, any later packet with such a CCVal suffices.
//! * CCVal is read on acknowledgements too, where the kernel sends zero.
//! * Lengths are in sequence numbers, so that acknowledgements count.

use std::collections::VecDeque;

use tfrc::history::linux;

/// Loss events kept: one more than there are intervals in the mean.
const KEPT: usize = 9;
/// Steps of CCVal in a round-trip time (RFC 4342 §8.1).
const ROUND_TRIP: u8 = 4;
/// Packets after a hole that make it a loss (RFC 5348 §5.1).
const LATER: u8 = 3;
/// Holes that wait for those packets.
const PENDING: usize = 32;

/// The state of such a receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Linux {
    /// First packets of the newest nine loss events, the oldest first.
    starts: VecDeque<u64>,
    pending: VecDeque<Hole>,
    /// CCVal before the current event, and the length that its interval has grown to.
    ccval: u8,
    length: u64,
    state: Interval,
    /// 1/p of the first report that had one: the synthetic interval.
    first: Option<f64>,
    /// CCVal of the packet with the highest number.
    newest_ccval: u8,
}

/// State of the current interval: once closed, the next loss begins an event whatever its CCVal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Interval {
    #[default]
    Open,
    Closed,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    first: u64,
    ccval_before: u8,
    later: u8,
}

/// `later − earlier` modulo 16.
const fn steps(later: u8, earlier: u8) -> u8 {
    later.wrapping_sub(earlier) & 15
}

impl Linux {
    /// A packet with a number above all before it has come, with data or without; `lost` is the
    /// first data packet that is missing directly before it.
    pub(crate) fn on_packet(&mut self, number: u64, ccval: u8, is_data: bool, lost: Option<u64>) {
        if let Some(first) = lost {
            if self.pending.len() == PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(Hole { first, ccval_before: self.newest_ccval, later: 0 });
        }
        self.newest_ccval = ccval;
        self.pending.iter_mut().for_each(|hole| hole.later += 1);
        while let Some(hole) = self.pending.front().copied().filter(|hole| hole.later >= LATER) {
            self.pending.pop_front();
            self.declare(hole, number);
        }
        if is_data {
            self.grow(number, ccval);
        }
    }

    /// A missing packet has come after all.
    pub(crate) fn on_late(&mut self, number: u64) {
        self.pending.retain(|hole| hole.first != number);
    }

    fn declare(&mut self, hole: Hole, newest: u64) {
        let is_new = self.starts.back().is_none_or(|_| {
            self.state == Interval::Closed || steps(hole.ccval_before, self.ccval) > ROUND_TRIP
        });
        if !is_new {
            return;
        }
        if self.starts.len() == KEPT {
            self.starts.pop_front();
        }
        self.length = match self.starts.is_empty() {
            true => u64::MAX,
            false => newest.saturating_sub(hole.first) + 1,
        };
        self.starts.push_back(hole.first);
        self.ccval = hole.ccval_before;
        self.state = Interval::Open;
    }

    fn grow(&mut self, newest: u64, ccval: u8) {
        let Some(start) = self.starts.back() else { return };
        let length = newest.saturating_sub(*start) + 1;
        if length <= self.length {
            return;
        }
        if steps(ccval, self.ccval) > ROUND_TRIP {
            self.state = Interval::Closed;
        }
        if self.starts.len() > 1 {
            self.length = length;
        }
    }

    /// The peer has reported 1/p; its first value is the synthetic interval.
    pub(crate) fn on_report(&mut self, inverse_p: f64) {
        if self.first.is_none() {
            self.first = Some(inverse_p);
            self.length = inverse_p as u64;
        }
    }

    /// The first value reported.
    pub(crate) const fn first(&self) -> Option<f64> {
        self.first
    }

    /// 1/p by this rule in a report that acknowledges `ack`.
    pub(crate) fn inverse_p(&self, ack: u64) -> Option<f64> {
        let newest = *self.starts.back()?;
        let open = ack.saturating_sub(newest) as f64 + 1.0;
        let closed = self.starts.iter().zip(self.starts.iter().skip(1)).map(|(a, b)| (b - a) as f64);
        // Only the interval before the first event is that of the first report.
        let first = if self.starts.len() == 1 { self.first? } else { 0.0 };
        Some(linux::mean_interval(first, open, closed.rev()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 1 to `to`, CCVal a step each four packets, without those in `lost`; 40 packets are
    /// the first interval.
    fn after(to: u64, lost: &[u64]) -> Linux {
        after_first(40.0, to, lost)
    }

    fn after_first(first: f64, to: u64, lost: &[u64]) -> Linux {
        let mut linux = Linux::default();
        let mut missing = None;
        for number in 1..=to {
            if lost.contains(&number) {
                missing = missing.or(Some(number));
                continue;
            }
            linux.on_packet(number, (number / 4 % 16) as u8, true, missing.take());
            if linux.starts.len() == 1 {
                linux.on_report(first);
            }
        }
        linux
    }

    #[test]
    fn the_first_interval_stays_and_then_is_gone() {
        assert_eq!(after(90, &[]).inverse_p(90), None);
        assert_eq!(after(90, &[20]).inverse_p(90), Some(40.0));
        let two = after(90, &[20, 80]);
        assert_eq!(two.inverse_p(90), Some(60.0), "the interval of 60 alone");
        assert_eq!(two.inverse_p(180), Some(101.0), "and then the open one");
    }

    /// 64 packets are 16 steps: CCVal is the same again.
    #[test]
    fn an_event_is_missed_where_ccval_has_come_round() {
        assert_eq!(after_first(400.0, 90, &[20, 84]).starts.len(), 1);
        assert_eq!(after(90, &[20, 84]).starts.len(), 2, "the interval is longer than the first by then");
        assert_eq!(after(58, &[20, 36]).starts.len(), 1, "four steps are one round trip");
        assert_eq!(after(64, &[20, 44]).starts.len(), 2);
    }
}
