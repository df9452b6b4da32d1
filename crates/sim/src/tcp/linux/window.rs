//! The kernel's windows: whole segments, in slow start one more for each segment acknowledged, and
//! the laws of Reno and CUBIC.

use tfrc_units::{Duration, Instant};

use super::cubic::Cubic;
use super::hystart::Heard;
use crate::tcp::settings::{Settings, Variant};

/// A slow start threshold before the first loss.
pub(super) const INFINITE: u32 = u32::MAX >> 1;
/// The least threshold.
const LEAST: u32 = 2;

#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
    /// Segments acknowledged since the last step of congestion avoidance; none after a reduction or
    /// a timeout.
    counted: u32,
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Cubic(Cubic),
    Reno,
}

impl Window {
    pub(super) fn new(settings: &Settings) -> Self {
        let law = match settings.variant {
            Variant::Cubic => {
                let choices = settings.algorithm.choices();
                Law::Cubic(Cubic::new(choices.fast_convergence, choices.reno_region))
            }
            _ => Law::Reno,
        };
        let cwnd = settings.algorithm.choices().initial_window.segments(settings.segment);
        Self { cwnd, ssthresh: INFINITE, counted: 0, law }
    }

    pub(super) const fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// A round trip was measured: it may end slow start.
    pub(super) fn measured(&mut self, heard: Heard) {
        let slow_start = self.is_in_slow_start();
        if let Law::Cubic(cubic) = &mut self.law
            && cubic.measured(heard, slow_start)
        {
            self.ssthresh = self.cwnd;
        }
    }

    /// `acked` segments were delivered while the window was in use, in no reduction.
    pub(super) fn grow(&mut self, now: Instant, acked: u32, least: Duration) {
        let mut acked = acked;
        if self.is_in_slow_start() {
            let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown;
            if acked == 0 {
                return;
            }
        }
        let each = match &mut self.law {
            Law::Cubic(cubic) => cubic.acks_for_one(now, self.cwnd, acked, least),
            Law::Reno => self.cwnd,
        };
        self.step(each.max(1), acked);
    }

    /// One segment more for each `each` acknowledged.
    fn step(&mut self, each: u32, acked: u32) {
        if self.counted >= each {
            self.counted = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.counted += acked;
        self.cwnd = self.cwnd.saturating_add(self.counted / each);
        self.counted %= each;
    }

    /// After `idle` without data the threshold keeps three quarters of the window, which is halved
    /// for each `timeout` down to `initial`.
    pub(super) fn restart(&mut self, idle: Duration, timeout: Duration, initial: u32) {
        let least = initial.min(self.cwnd);
        self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
        let mut rest = idle.saturating_sub(timeout);
        while !rest.is_zero() && self.cwnd > least {
            self.cwnd /= 2;
            rest = rest.saturating_sub(timeout);
        }
        self.cwnd = self.cwnd.max(least);
    }

    /// A congestion event: makes the threshold, not the window.
    pub(super) fn reduce(&mut self) {
        self.counted = 0;
        self.ssthresh = match &mut self.law {
            Law::Cubic(cubic) => cubic.reduce(self.cwnd),
            Law::Reno => self.cwnd / 2,
        }
        .max(LEAST);
    }

    /// A timeout forgets what CUBIC knew.
    pub(super) fn timed_out(&mut self) {
        self.counted = 0;
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    #[test]
    fn slow_start_counts_every_segment_and_hands_the_rest_over() {
        let mut window = Window::new(&Settings::linux(Variant::Sack));
        window.grow(NOW, 7, Duration::ZERO);
        assert_eq!((window.cwnd, window.ssthresh), (17, INFINITE));
        window.ssthresh = 20;
        // Three to the threshold, the other 25 make one of 20.
        window.grow(NOW, 28, Duration::ZERO);
        assert_eq!((window.cwnd, window.counted), (21, 5));
    }

    #[test]
    fn reno_adds_one_in_a_round_trip_and_halves() {
        let mut window = Window::new(&Settings::linux(Variant::Reno));
        window.ssthresh = 10;
        (0..9).for_each(|_| window.grow(NOW, 1, Duration::ZERO));
        assert_eq!(window.cwnd, 10);
        window.grow(NOW, 1, Duration::ZERO);
        assert_eq!(window.cwnd, 11);
        window.grow(NOW, 10, Duration::ZERO);
        window.reduce();
        assert_eq!((window.cwnd, window.ssthresh, window.counted), (11, 5, 0));
        window.cwnd = 3;
        window.reduce();
        assert_eq!(window.ssthresh, 2);
    }
}
