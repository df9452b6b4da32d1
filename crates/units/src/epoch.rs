//! Times of the standard library's clock as times of this crate.

use crate::{Duration, Instant};

/// The time before the epoch's start that can still be represented: packets sent before a machine
/// was made may be reported to it.
const BEFORE: Duration = Duration::from_secs(3600);

/// A moment of the standard library's clock from which a host counts its [`Instant`]s. Nothing here
/// reads the clock.
///
/// ```
/// use std::time::{Duration, Instant};
/// use tfrc_units::Epoch;
///
/// let start = Instant::now();
/// let epoch = Epoch::new(start);
/// let later = start + Duration::from_millis(20);
/// assert_eq!(epoch.at(later).saturating_since(epoch.at(start)).as_nanos(), 20_000_000);
/// assert_eq!(epoch.time(epoch.at(later)), later);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    start: std::time::Instant,
}

impl Epoch {
    /// An epoch an hour before `start`.
    #[must_use]
    pub const fn new(start: std::time::Instant) -> Self {
        Self { start }
    }

    /// The time of `time`; [`Instant::ZERO`] for one more than an hour before the start.
    #[must_use]
    pub fn at(&self, time: std::time::Instant) -> Instant {
        let start = Instant::ZERO + BEFORE;
        match time.checked_duration_since(self.start) {
            Some(after) => start + after.into(),
            None => start - self.start.saturating_duration_since(time).into(),
        }
    }

    /// The time on the standard library's clock; the start for one too far from it for that clock.
    #[must_use]
    pub fn time(&self, at: Instant) -> std::time::Instant {
        let start = Instant::ZERO + BEFORE;
        let time = match at.checked_since(start) {
            Some(after) => self.start.checked_add(after.into()),
            None => self.start.checked_sub(start.saturating_since(at).into()),
        };
        time.unwrap_or(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the clock offers no other time to begin with")]
    fn times_go_there_and_back() {
        let start = std::time::Instant::now();
        let epoch = Epoch::new(start);
        let ms = std::time::Duration::from_millis;
        let before = start.checked_sub(ms(5)).expect("a machine that has run for 5 ms");
        for (time, nanos) in
            [(start, 3_600_000_000_000), (start + ms(20), 3_600_020_000_000), (before, 3_599_995_000_000)]
        {
            assert_eq!(epoch.at(time), Instant::from_nanos(nanos));
            assert_eq!(epoch.time(epoch.at(time)), time);
        }
        if let Some(old) = start.checked_sub(ms(7_200_000)) {
            assert_eq!(epoch.at(old), Instant::ZERO);
        }
    }
}
