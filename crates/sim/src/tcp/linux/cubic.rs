//! CUBIC as the kernel computes it. It differs from RFC 9438 in that the target is a round trip of
//! the least length ahead, the window is whole and grows by one for a number of segments that is
//! computed 32 times a second, that number is at most 20 before the first loss, and the growth in
//! Reno's region stays 0.53 segments a round trip.

use tfrc_units::{Duration, Instant, u64_from_f64};

use super::hystart::{Heard, HyStart};
use crate::tcp::study::{FastConvergence, RenoRegion};

/// The window after a loss over the window before: 717/1024.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// Segments per cubic second.
const C: f64 = 0.4;
/// How long a computed step stays while the window does not change.
const STEP_HOLDS: Duration = Duration::from_micros(31_250);
/// The most acknowledgements for one segment before the first loss, so that the window grows by a
/// twentieth in a round trip.
const FIRST_STEP: u32 = 20;
/// Round trips within a second after the start of an epoch are not looked at by HyStart.
const QUIET: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct Cubic {
    fast_convergence: FastConvergence,
    reno_region: RenoRegion,
    search: HyStart,
    /// The window before the last loss, 0 before the first.
    last_max: u32,
    epoch: Option<Epoch>,
    /// Segments for one more in the window, with the window and time it was computed for.
    step: u32,
    computed: (u32, Instant),
    least: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Instant,
    k: f64,
    origin: u32,
    /// The window that Reno would have, and segments acknowledged since it last grew.
    reno: u32,
    acked: u32,
}

impl Cubic {
    pub(super) const fn new(fast_convergence: FastConvergence, reno_region: RenoRegion) -> Self {
        Self {
            fast_convergence,
            reno_region,
            search: HyStart::NEW,
            last_max: 0,
            epoch: None,
            step: 0,
            computed: (0, Instant::ZERO),
            least: None,
        }
    }

    /// Returns true if HyStart ends slow start.
    pub(super) fn measured(&mut self, heard: Heard, slow_start: bool) -> bool {
        if self.epoch.is_some_and(|epoch| heard.now.saturating_since(epoch.start) < QUIET) {
            return false;
        }
        let least = self.least.map_or(heard.rtt, |least| least.min(heard.rtt));
        self.least = Some(least);
        slow_start && self.search.ends(Heard { least, ..heard })
    }

    /// Segments acknowledged for which the window grows by one.
    pub(super) fn acks_for_one(&mut self, now: Instant, cwnd: u32, acked: u32, least: Duration) -> u32 {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
            let (window, at) = self.computed;
            if window == cwnd && now.saturating_since(at) <= STEP_HOLDS {
                return self.step;
            }
        }
        self.computed = (cwnd, now);
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: libm::cbrt(f64::from(last_max.saturating_sub(cwnd)) / C),
            origin: last_max.max(cwnd),
            reno: cwnd,
            acked,
        });
        let ahead = self.least.unwrap_or(least);
        let t = (now.saturating_since(epoch.start) + ahead).as_secs_f64() - epoch.k;
        // The kernel cuts the distance to the plateau to whole segments, before its sign.
        let distance = tfrc_units::saturating::<u32>(u64_from_f64(C * (t * t * t).abs()));
        let target = if t < 0.0 {
            epoch.origin.saturating_sub(distance)
        } else {
            epoch.origin.saturating_add(distance)
        };
        let mut step = match target.checked_sub(cwnd) {
            None | Some(0) => cwnd.saturating_mul(100),
            Some(more) => cwnd / more,
        };
        if last_max == 0 {
            step = step.min(FIRST_STEP);
        }
        if self.reno_region == RenoRegion::On {
            step = step.min(epoch.reno_step(cwnd));
        }
        self.step = step.max(2);
        self.step
    }

    /// A loss or an echo at this window: the threshold it leaves.
    pub(super) fn reduce(&mut self, cwnd: u32) -> u32 {
        self.epoch = None;
        self.last_max = if cwnd < self.last_max && self.fast_convergence == FastConvergence::On {
            part(cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE)
        } else {
            cwnd
        };
        part(cwnd, BETA, BETA_SCALE)
    }

    /// A timeout: all is as at the start.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.fast_convergence, self.reno_region);
    }
}

impl Epoch {
    /// Segments acknowledged for which Reno's window would make up what this one lacks.
    fn reno_step(&mut self, cwnd: u32) -> u32 {
        // 15/8 of a window for one segment: 8·(1024 + 717)/(3·(1024 − 717)) is 15 in whole numbers.
        let each = cwnd.saturating_mul(15) / 8;
        while self.acked > each {
            self.acked -= each.max(1);
            self.reno = self.reno.saturating_add(1);
        }
        match self.reno.checked_sub(cwnd) {
            None | Some(0) => u32::MAX,
            Some(behind) => cwnd / behind,
        }
    }
}

fn part(of: u32, share: u32, whole: u32) -> u32 {
    tfrc_units::saturating::<u32>(u64::from(of) * u64::from(share) / u64::from(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(s)
    }

    fn cubic() -> Cubic {
        Cubic::new(FastConvergence::On, RenoRegion::On)
    }

    #[test]
    fn reductions() {
        let mut c = cubic();
        assert_eq!((c.reduce(100), c.last_max), (70, 100));
        // Fast convergence: 100·1741/2048 = 85.
        let mut c = cubic();
        c.reduce(120);
        assert_eq!((c.reduce(100), c.last_max), (70, 85));
        let mut c = Cubic::new(FastConvergence::Off, RenoRegion::On);
        c.reduce(120);
        assert_eq!((c.reduce(100), c.last_max), (70, 100));
        let mut c = cubic();
        c.reduce(90);
        assert_eq!((c.reduce(100), c.last_max), (70, 100));
    }

    #[test]
    fn steps_of_the_curve() {
        let mut c = cubic();
        c.reduce(1000);
        // K = cbrt(300/0.4) = 9.086 s. At the start with a round trip of 0.1 s: the distance is
        // 0.4·8.986³ = 290 (whole), the target 710: one segment for 70.
        assert_eq!(c.acks_for_one(at(0.0), 700, 1, Duration::from_millis(100)), 70);
        // At 9 s: 0.4·0.014³ = 0, the target is the plateau: 990 grows by one for 99.
        assert_eq!(c.acks_for_one(at(9.0), 990, 1, Duration::from_millis(100)), 99);
        // At the plateau itself it waits, for a hundred windows.
        assert_eq!(c.acks_for_one(at(9.1), 1000, 1, Duration::ZERO), 100_000);
        // Long after, half a window in a window of acknowledgements.
        assert_eq!(c.acks_for_one(at(60.0), 1001, 1, Duration::ZERO), 2);
    }

    #[test]
    fn a_step_holds_for_a_thirty_second_of_a_second() {
        let mut c = cubic();
        c.reduce(1000);
        let first = c.acks_for_one(at(0.0), 700, 1, Duration::from_millis(100));
        assert_eq!(c.acks_for_one(at(0.031), 700, 1, Duration::from_millis(100)), first);
        assert!(c.acks_for_one(at(0.032), 700, 1, Duration::from_millis(100)) < first);
    }

    #[test]
    fn before_the_first_loss_it_grows_by_a_twentieth() {
        assert_eq!(cubic().acks_for_one(at(0.0), 500, 1, Duration::from_millis(10)), 20);
    }

    #[test]
    fn reno_friendly_growth() {
        // At 10 ms the curve is slow. 8/15 of a segment in a round trip of 100 segments.
        let mut c = cubic();
        c.reduce(142);
        let (mut cwnd, mut counted, mut rounds) = (99_u32, 0, 0);
        while cwnd < 107 {
            let window = cwnd;
            for n in 0..window {
                let now = at(f64::from(rounds) * 0.01 + f64::from(n) * 0.0001);
                let each = c.acks_for_one(now, cwnd, 1, Duration::from_millis(10));
                counted += 1;
                if counted >= each {
                    (counted, cwnd) = (0, cwnd + 1);
                }
            }
            rounds += 1;
        }
        assert!((13..=18).contains(&rounds), "{rounds}");
    }
}
