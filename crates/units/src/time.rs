//! Points in time and lengths of time.

use crate::saturating;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

use crate::text::three_figures;
use crate::{f64_from_u64, u64_from_f64};

/// A point in time: nanoseconds since an epoch that the host chooses (start of a run, boot of a
/// machine…).
///
/// Arithmetic saturates at both ends: 584 years are the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of time in whole nanoseconds, never negative. Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "schema", derive(crate::schema::Serialize))]
pub struct Duration(u64);

impl Instant {
    /// The host's epoch.
    pub const ZERO: Self = Self(0);

    /// `ns` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the epoch.
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        f64_from_u64(self.0) / 1e9
    }

    /// Time since `earlier`, zero if `earlier` is in fact later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Time since `earlier`, or `None` if `earlier` is in fact later.
    #[must_use]
    pub fn checked_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest representable time, 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// `s` seconds, cut to a nanosecond; negative and NaN become zero.
    #[must_use]
    pub const fn from_secs_f64(s: f64) -> Self {
        Self(u64_from_f64(s * 1e9))
    }

    /// Whole nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, cut.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds.
    #[must_use]
    pub const fn as_secs_f64(self) -> f64 {
        f64_from_u64(self.0) / 1e9
    }

    /// Returns true if no time passes.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Scaled by a factor, cut to a nanosecond; a negative or NaN factor gives zero.
    #[must_use]
    pub const fn mul_f64(self, factor: f64) -> Self {
        Self(u64_from_f64(f64_from_u64(self.0) * factor))
    }

    /// Time left of this one after `other` has passed, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

/// Earlier by the given time, at the earliest the epoch.
impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0.saturating_sub(d.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, by: u64) -> Self {
        Self(self.0.saturating_mul(by))
    }
}

/// Cut to a nanosecond; dividing by zero gives [`Duration::MAX`].
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, by: u64) -> Self {
        Self(self.0.checked_div(by).unwrap_or(u64::MAX))
    }
}

impl From<core::time::Duration> for Duration {
    fn from(d: core::time::Duration) -> Self {
        Self(saturating::<u64>(d.as_nanos()))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(d: Duration) -> Self {
        Self::from_nanos(d.0)
    }
}

/// With the unit that reads best, e.g. `40.0 ms`, `1.50 s`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = f64_from_u64(self.0);
        let (scaled, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (ns / 1e3, "µs"),
            1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        three_figures(f, scaled, unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn saturates_at_both_ends() {
        let t = Instant::from_nanos(5);
        assert_eq!(t - Duration::from_secs(1), Instant::ZERO);
        assert_eq!((t + Duration::MAX).as_nanos(), u64::MAX);
        assert_eq!(t.saturating_since(Instant::from_nanos(9)), Duration::ZERO);
        assert_eq!(t.checked_since(Instant::from_nanos(9)), None);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs(1) / 0, Duration::MAX);
    }

    #[test]
    fn prints_with_a_fitting_unit() {
        assert_eq!(format!("{}", Duration::from_millis(40)), "40.0 ms");
        assert_eq!(format!("{}", Duration::from_micros(1500)), "1.50 ms");
        assert_eq!(format!("{}", Duration::from_secs(120)), "120 s");
        assert_eq!(format!("{}", Duration::from_nanos(7)), "7 ns");
    }
}
