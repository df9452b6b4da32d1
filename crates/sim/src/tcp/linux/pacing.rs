//! Spacing of segments at a rate, a few at a time as the kernel hands them to the device.

use tfrc_units::{Duration, Instant};

/// When the next segments may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacer {
    next: Instant,
    /// Segments that may go at once with the last.
    together: u32,
}

/// A pace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Segments a second.
    pub(super) rate: f64,
    /// Segments that go together.
    pub(super) together: u32,
}

impl Pacer {
    pub(super) const fn new() -> Self {
        Self { next: Instant::ZERO, together: 0 }
    }

    /// When the next segment may go, `None` for at once.
    pub(super) fn blocked(&self, now: Instant) -> Option<Instant> {
        (self.together == 0 && self.next > now).then_some(self.next)
    }

    /// The time at which pacing lets the next segment depart, after those sent up to `now`.
    pub(super) fn departure(&self, now: Instant) -> Instant {
        self.next.max(now)
    }

    pub(super) fn on_sent(&mut self, now: Instant, pace: Pace) {
        if self.together == 0 {
            self.together = pace.together.max(1);
        }
        self.together -= 1;
        if pace.rate > 0.0 {
            // What the last ones went late is made up for, up to half of a segment's time.
            let time = Duration::from_secs_f64(1.0 / pace.rate);
            let late = now.saturating_since(self.next).min(time / 2);
            self.next = self.next.max(now) + time.saturating_sub(late);
        }
    }

    /// Nothing more goes now.
    pub(super) const fn pause(&mut self) {
        self.together = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { rate: 1000.0, together: 2 };

    fn us(x: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(x)
    }

    #[test]
    fn two_at_a_time_at_the_rate() {
        let (mut pacer, mut now, mut times) = (Pacer::new(), us(10_000), Vec::new());
        pacer.next = now;
        while times.len() < 8 {
            match pacer.blocked(now) {
                None => {
                    pacer.on_sent(now, PACE);
                    times.push(now.as_nanos() / 1000);
                }
                Some(at) => now = at,
            }
        }
        assert_eq!(times, [10_000, 10_000, 12_000, 12_000, 14_000, 14_000, 16_000, 16_000]);
    }

    #[test]
    fn lateness_is_made_up_for_by_half_a_segment() {
        let one = Pace { together: 1, ..PACE };
        let mut pacer = Pacer::new();
        pacer.next = us(10_000);
        pacer.on_sent(us(10_300), one);
        assert_eq!(pacer.blocked(us(10_300)), Some(us(11_000)));
        pacer.on_sent(us(20_000), one);
        assert_eq!(pacer.blocked(us(20_000)), Some(us(20_500)));
    }

    #[test]
    fn a_pause_ends_what_goes_together() {
        let mut pacer = Pacer::new();
        pacer.on_sent(us(10_000), PACE);
        assert_eq!(pacer.blocked(us(10_000)), None);
        pacer.pause();
        assert!(pacer.blocked(us(10_000)).is_some());
    }
}
