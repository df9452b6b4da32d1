//! A host's clock that moves in steps.

use tfrc_units::{Duration, Instant};

/// A clock with this grain; zero shows every time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock(pub Duration);

impl Clock {
    /// The reading at a time.
    #[must_use]
    pub fn read(self, now: Instant) -> Instant {
        let past = now.as_nanos().checked_rem(self.0.as_nanos()).unwrap_or(0);
        Instant::from_nanos(now.as_nanos() - past)
    }

    /// When the clock first reads at least `reading`.
    #[must_use]
    pub fn when(self, reading: Instant) -> Instant {
        let before = self.read(reading);
        if before == reading { reading } else { before + self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{at, ms};

    #[test]
    fn readings_are_whole_grains() {
        let clock = Clock(ms(10));
        assert_eq!([0, 9, 10, 19].map(|t| clock.read(at(t))), [0, 0, 10, 10].map(at));
        assert_eq!([0, 9, 10, 11].map(|t| clock.when(at(t))), [0, 10, 10, 20].map(at));
        assert_eq!((Clock::default().read(at(7)), Clock::default().when(at(7))), (at(7), at(7)));
    }
}
