//! Delayed acknowledgements of Linux: a connection begins with acknowledgements at once, so it goes
//! on while the receive window grows, and the delay follows the distance of the segments.

use tfrc_units::{Duration, Ecn, Instant};

use super::reassembly::SegmentArrival;
use super::receive_window::Growth;

/// The least delay and the first.
const LEAST: Duration = Duration::from_millis(40);
/// The greatest.
const MOST: Duration = Duration::from_millis(200);
/// Acknowledgements at once at the start, after a duplicate, and after a pause.
const QUICK: u32 = 16;
/// Acknowledgements at once after a mark.
const QUICK_AT_MARK: u32 = 2;

#[derive(Debug, Clone, Copy)]
pub(super) struct DelayedAcks {
    /// Acknowledgements that are still sent at once.
    quick: u32,
    delay: Duration,
    last: Option<Instant>,
}

impl Default for DelayedAcks {
    fn default() -> Self {
        Self { quick: QUICK, delay: LEAST, last: None }
    }
}

impl DelayedAcks {
    /// A segment has arrived: how long its acknowledgement may wait, `None` for not at all.
    pub(super) fn arrived(
        &mut self,
        now: Instant,
        arrival: SegmentArrival,
        ecn: Ecn,
        growth: Growth,
    ) -> Option<Duration> {
        if let Some(last) = self.last.replace(now) {
            let since = now.saturating_since(last);
            if since <= LEAST / 2 {
                self.delay = self.delay / 2 + LEAST / 2;
            } else if since < self.delay {
                self.delay = (self.delay / 2 + since).min(MOST);
            } else if since > MOST {
                // Longer than the timeout of the other end, of which the sink knows the floor.
                self.quick = QUICK;
            }
        }
        if ecn == Ecn::Ce {
            self.quick = self.quick.max(QUICK_AT_MARK);
        }
        if arrival == SegmentArrival::Duplicate {
            (self.quick, self.delay) = (QUICK, LEAST);
        }
        if growth == Growth::Some {
            // One at least. The kernel sets the lowest bit, so that an even number stays.
            self.quick |= 1;
        }
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = LEAST;
            }
            return None;
        }
        (arrival == SegmentArrival::InOrder).then_some(self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    fn after_quick() -> DelayedAcks {
        let mut acks = DelayedAcks::default();
        for n in 0..16 {
            assert_eq!(acks.arrived(ms(n), SegmentArrival::InOrder, Ecn::NotEct, Growth::None), None, "{n}");
        }
        acks
    }

    #[test]
    fn sixteen_at_once_then_delays() {
        let mut acks = after_quick();
        assert_eq!(acks.arrived(ms(16), SegmentArrival::InOrder, Ecn::NotEct, Growth::None), Some(LEAST));
        assert_eq!(acks.arrived(ms(17), SegmentArrival::OutOfOrder, Ecn::NotEct, Growth::None), None);
        assert_eq!(acks.arrived(ms(18), SegmentArrival::Filling, Ecn::NotEct, Growth::None), None);
        assert_eq!(acks.arrived(ms(19), SegmentArrival::InOrder, Ecn::NotEct, Growth::None), Some(LEAST));
    }

    #[test]
    fn while_the_window_grows_each_is_acknowledged() {
        // The sixteen of the start are left, and used up after it.
        let mut acks = DelayedAcks::default();
        let mut at_once =
            |n, growth| acks.arrived(ms(n), SegmentArrival::InOrder, Ecn::NotEct, growth).is_none();
        assert!((0..100).all(|n| at_once(n, Growth::Some)));
        assert_eq!((100..200).filter(|n| at_once(*n, Growth::None)).count(), 16);
        assert!((200..300).all(|n| at_once(n, Growth::Some)));
        assert!(!at_once(300, Growth::None));
    }

    #[test]
    fn the_delay_follows_the_distance_of_segments() {
        let mut acks = after_quick();
        // 40/2 + 30 = 50, then 50/2 + 30 = 55, towards 60; close ones bring it back to 40.
        let at = |now: u64| ms(15 + now);
        for (now, delay) in [(30, 50), (60, 55), (61, 47), (62, 43)] {
            let seen = acks.arrived(at(now), SegmentArrival::InOrder, Ecn::NotEct, Growth::None);
            assert_eq!(seen.map(|x| x.as_nanos() / 1_000_000), Some(delay), "{now}");
        }
    }

    #[test]
    fn duplicates_marks_and_pauses_are_answered_at_once() {
        let quick = |arrival, ecn, pause: u64| {
            let mut acks = after_quick();
            acks.arrived(ms(15 + pause), arrival, ecn, Growth::None);
            let mut next = |n: &u64| {
                acks.arrived(ms(15 + pause + n), SegmentArrival::InOrder, Ecn::NotEct, Growth::None).is_none()
            };
            (1..40).take_while(|n| next(n)).count()
        };
        assert_eq!(quick(SegmentArrival::Duplicate, Ecn::NotEct, 1), 15);
        assert_eq!(quick(SegmentArrival::InOrder, Ecn::Ce, 1), 1);
        assert_eq!(quick(SegmentArrival::InOrder, Ecn::NotEct, 201), 15);
        assert_eq!(quick(SegmentArrival::InOrder, Ecn::NotEct, 199), 0);
    }
}
