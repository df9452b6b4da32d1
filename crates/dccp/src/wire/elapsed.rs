//! Times in the Elapsed Time and Timestamp Echo options.

use tfrc_units::{Duration, saturating};

/// A time in units of 10 µs, as the Elapsed Time and Timestamp Echo options carry it
/// (RFC 4340 §13.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Elapsed(u32);

/// Nanoseconds in one unit.
/// RFC 4340 §13.3.
const UNIT: u64 = 10_000;

impl Elapsed {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Stands for everything above 42949.67294 s.
    pub const MAX: Self = Self(u32::MAX);

    /// From the number on the wire.
    #[must_use]
    pub const fn from_units(units: u32) -> Self {
        Self(units)
    }

    /// The number on the wire.
    #[must_use]
    pub const fn units(self) -> u32 {
        self.0
    }

    /// `time` cut down to whole units: what is sent never overstates the truth.
    #[must_use]
    #[inline]
    pub fn from_duration(time: Duration) -> Self {
        Self(saturating::<u32>(time.as_nanos() / UNIT))
    }

    /// The time reported.
    #[must_use]
    #[inline]
    pub fn duration(self) -> Duration {
        Duration::from_nanos(u64::from(self.0) * UNIT)
    }

    /// Bytes that the smallest encoding takes: two or four.
    pub(super) fn width(self) -> usize {
        if u16::try_from(self.0).is_ok() { 2 } else { 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_overstates_and_saturates() {
        assert_eq!(Elapsed::from_duration(Duration::from_nanos(9_999)), Elapsed::ZERO);
        assert_eq!(Elapsed::from_duration(Duration::from_millis(1)).units(), 100);
        assert_eq!(Elapsed::from_duration(Duration::from_secs(50_000)), Elapsed::MAX);
        assert_eq!(Elapsed::from_units(65_535).width(), 2);
        assert_eq!(Elapsed::from_units(65_536).width(), 4);
    }
}
