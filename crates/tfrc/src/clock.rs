//! The grain of the host's clock, stated or found from the times that it passes.

use tfrc_units::{Duration, Instant};

use crate::config::ClockGrain;

/// Equal steps that make the least one the grain. A clock without a grain repeats its least step
/// rarely: the next shorter one comes first.
const REPEATS: u8 = 8;
/// Equal steps after which the grain is looked at now and then.
const SETTLED: u8 = 64;
/// Readings between two looks at a grain that has settled, or that no rate depends on.
const PAUSE: u8 = 62;
/// A clock with a step shorter than this shows every round trip.
const FINE: Duration = Duration::from_micros(1);
/// Steps are equal if they differ by less than this part: times in floating-point seconds are
/// rounded, and a tick of 15.6 ms may be given in whole milliseconds.
const EQUAL: u64 = 64;
/// A grain is taken for no longer than this until steps have repeated: the coarsest clock in common
/// use, the tick of Windows, has 15.625 ms.
const COARSEST: Duration = Duration::from_millis(16);

/// Steps of fewer than this many times the least one are looked at.
const LOOKED_AT: u64 = 4;
/// A step is a whole number of grains if it differs from one by less than this part.
const WHOLE: u64 = 14;
/// Stands for a grain that is to be measured.
const MEASURED: Duration = Duration::MAX;
/// Stands for a reading that was passed over.
const NOWHERE: Instant = Instant::from_nanos(u64::MAX);

/// The times that a host has passed, as far as they show the grain of its clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostClock {
    stated: Duration,
    /// The reading before, unless that was passed over.
    previous: Instant,
    least: Duration,
    repeats: u8,
    /// Readings that are passed over from now on.
    pause: u8,
    /// Two events that take time between them had the same time.
    stood_still: bool,
}

impl HostClock {
    pub(crate) const fn new(grain: ClockGrain) -> Self {
        Self {
            stated: match grain {
                ClockGrain::Measured => MEASURED,
                ClockGrain::Known(grain) => grain,
            },
            previous: NOWHERE,
            least: Duration::from_nanos(u64::MAX / 8),
            repeats: 0,
            pause: 0,
            stood_still: false,
        }
    }

    /// Reads from the memory of the clock, to have it near.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        u64::from(self.pause)
    }

    /// The host has passed this time. Steps back count as steps.
    #[inline]
    pub(crate) fn read(&mut self, time: Instant) {
        match self.pause.checked_sub(1) {
            Some(pause) => self.pause = pause,
            None => self.look(time),
        }
    }

    #[inline(never)]
    fn look(&mut self, time: Instant) {
        let before = core::mem::replace(&mut self.previous, time);
        if before == NOWHERE || before == time {
            return;
        }
        self.step(Duration::from_nanos(time.as_nanos().abs_diff(before.as_nanos())));
        if self.stated != MEASURED || self.repeats >= SETTLED || self.least < FINE {
            (self.pause, self.previous) = (PAUSE, NOWHERE);
        }
    }

    /// Two readings of the clock differ by this.
    pub(crate) fn step(&mut self, step: Duration) {
        if step < self.least * LOOKED_AT && !step.is_zero() {
            self.take(step);
        }
    }

    fn take(&mut self, step: Duration) {
        let (least, near) = (self.least, self.least / EQUAL);
        if step < least.saturating_sub(near) {
            (self.least, self.repeats) = (step, 1);
        } else if step <= least + near {
            self.least = least.min(step);
            self.repeats = self.repeats.saturating_add(1);
        } else {
            // A clock makes whole grains; other steps are the application's or the network's.
            let grains = (step + least / 2).as_nanos() / least.as_nanos();
            let off = step.as_nanos().abs_diff((least * grains).as_nanos());
            if Duration::from_nanos(off) > step / WHOLE {
                self.repeats = 0;
            }
        }
    }

    /// A packet and the report of it had the same time.
    pub(crate) const fn stand_still(&mut self) {
        self.stood_still = true;
    }

    /// A part of a grain that a reading is short of, where the host waits for its clock: it sends
    /// as soon as the clock moves, and the report comes at any time before the clock moves again.
    /// Half a grain is missing on average, and none where the round trip is a whole number of
    /// grains: a fifth leaves both within a tenth of the rate from two grains on.
    pub(crate) fn shortfall(&self, reading: Duration) -> Duration {
        let grain = self.certain();
        if reading < grain * 4 { grain / 5 } else { Duration::ZERO }
    }

    /// The part of a reading that has passed for certain, where a grain matters to a round trip of
    /// `rtt`: a packet may have come at the end of a grain.
    pub(crate) fn passed(&self, reading: Duration, rtt: Duration) -> Duration {
        let grain = self.certain();
        if rtt < grain * 8 { reading.saturating_sub(grain) } else { reading }
    }

    /// The grain, unless it is so long that regular times of the application may have made it.
    fn certain(&self) -> Duration {
        let grain = self.grain();
        if self.stated != MEASURED || grain <= COARSEST { grain } else { Duration::ZERO }
    }

    /// The grain if the host states it; zero otherwise.
    pub(crate) fn stated(&self) -> Duration {
        if self.stated == MEASURED { Duration::ZERO } else { self.stated }
    }

    /// The grain; zero while nothing shows one.
    pub(crate) fn grain(&self) -> Duration {
        match self.stated {
            MEASURED if self.repeats >= REPEATS => self.least,
            MEASURED if self.stood_still => self.least.min(COARSEST),
            MEASURED => Duration::ZERO,
            grain => grain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn after(times: impl IntoIterator<Item = Instant>) -> HostClock {
        let mut clock = HostClock::new(ClockGrain::Measured);
        times.into_iter().for_each(|time| clock.read(time));
        clock
    }

    /// A clock of this grain, read at irregular times from an epoch that is not a multiple of it.
    fn coarse(grain: u64) -> HostClock {
        after((0..400u64).map(|n| {
            let time = n * grain * 7 / 10 + n * n % 13 * grain / 13;
            Instant::from_nanos(3_000_017 + time / grain * grain)
        }))
    }

    #[test]
    fn a_repeated_least_step_is_the_grain() {
        for grain in [1_000, 1_000_000, 10_000_000, 15_625_000, 100_000_000] {
            assert_eq!(coarse(grain).grain(), Duration::from_nanos(grain));
        }
        let ticks = after((0..100u64).map(|n| at(n * 15_625 / 1000)));
        assert_eq!(ticks.grain(), MS(15), "ticks of 15.625 ms in whole milliseconds");
    }

    /// Seconds since 1970 as floating-point numbers are whole multiples of 238 ns.
    #[test]
    fn rounded_times_have_their_grain() {
        let clock = after((0..100u64).map(|n| {
            let ns = 1_700_000_000_000_000_000 + n * 1_000_000;
            Instant::from_nanos((ns + 119) / 238 * 238)
        }));
        let grain = clock.grain().as_nanos();
        assert!((999_000..=1_000_000).contains(&grain), "{grain}");
    }

    /// One long step, or steps that are all different, show nothing, until a packet and its report
    /// have the same time.
    #[test]
    fn a_few_steps_are_not_a_grain() {
        let mut clock = after([at(5), at(1005)]);
        assert_eq!(clock.grain(), Duration::ZERO);
        clock.stand_still();
        assert_eq!(clock.grain(), COARSEST);
        clock.read(at(1007));
        assert_eq!(clock.grain(), MS(2));
        let regular = after((0..200u64).map(|n| at(n / 3 * 44 + n % 3 * 12)));
        assert_eq!(regular.grain(), Duration::ZERO, "12, 12 and 20 ms are not whole grains");
        let fine = after((1..500u64).map(|n| Instant::from_nanos(n * n * n * 1_003)));
        assert!(fine.grain() < Duration::from_micros(10), "{:?}", fine.grain());
    }

    /// A clock that stands, leaps or is set back still has its grain; equal times are no steps.
    #[test]
    fn leaps_and_pauses() {
        let mut clock = coarse(1_000_000);
        for time in [at(500_000), at(500_000), at(20), at(21), at(3_600_000), at(3_600_000)] {
            clock.read(time);
        }
        assert_eq!(clock.grain(), MS(1));
    }

    /// A reading of less than four grains is taken for a fifth of a grain longer.
    #[test]
    fn readings_are_short() {
        let clock = coarse(10_000_000);
        assert_eq!((clock.shortfall(MS(0)), clock.shortfall(MS(39))), (MS(2), MS(2)));
        assert_eq!((clock.shortfall(MS(40)), coarse(100_000_000).shortfall(MS(100))), (MS(0), MS(0)));
        assert_eq!(HostClock::new(ClockGrain::Known(MS(100))).shortfall(MS(100)), MS(20));
        let passed = |reading, rtt| clock.passed(MS(reading), MS(rtt));
        assert_eq!((passed(0, 20), passed(10, 20), passed(30, 20)), (MS(0), MS(0), MS(20)));
        assert_eq!(passed(30, 80), MS(30), "a grain more or less does not matter");
    }

    #[test]
    fn the_word_of_the_host_counts() {
        for grain in [Duration::ZERO, MS(4)] {
            let mut clock = HostClock::new(ClockGrain::Known(grain));
            (0..100).for_each(|n| clock.read(at(n * 15)));
            clock.stand_still();
            assert_eq!(clock.grain(), grain);
        }
    }
}
