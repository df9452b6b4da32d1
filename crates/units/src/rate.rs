//! Data rates.

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, Div, Mul};

use crate::text::three_figures;
use crate::{Duration, u64_from_f64};

/// A data rate in bytes per second, from one packet per 64 s up to [`Rate::INFINITY`].
///
/// Never negative, never NaN: constructors and arithmetic turn both into zero, so rates have a
/// total order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rate(f64);

impl Rate {
    /// Nothing is sent.
    pub const ZERO: Self = Self(0.0);
    /// No limit, the first member of X_recv_set (RFC 5348 §4.3).
    pub const INFINITY: Self = Self(f64::INFINITY);

    /// `x` bytes per second; negative and NaN become zero.
    #[must_use]
    pub const fn from_bytes_per_sec(x: f64) -> Self {
        if x > 0.0 { Self(x) } else { Self::ZERO }
    }

    /// `x` bits per second; negative and NaN become zero.
    #[must_use]
    pub const fn from_bits_per_sec(x: f64) -> Self {
        Self::from_bytes_per_sec(x / 8.0)
    }

    /// `bytes` in `time`; a zero time gives zero for no bytes and infinity otherwise.
    #[must_use]
    pub fn of(bytes: f64, time: Duration) -> Self {
        if bytes <= 0.0 { Self::ZERO } else { Self::from_bytes_per_sec(bytes / time.as_secs_f64()) }
    }

    /// Bytes per second.
    #[must_use]
    pub const fn bytes_per_sec(self) -> f64 {
        self.0
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits_per_sec(self) -> f64 {
        self.0 * 8.0
    }

    /// Returns true if there is no limit.
    #[must_use]
    pub const fn is_infinite(self) -> bool {
        self.0.is_infinite()
    }

    /// Returns true if nothing flows.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 <= 0.0
    }

    /// How long `bytes` take at this rate: zero at an infinite rate, [`Duration::MAX`] at zero.
    #[must_use]
    pub fn time_for(self, bytes: f64) -> Duration {
        if bytes <= 0.0 {
            Duration::ZERO
        } else if self.is_zero() {
            Duration::MAX
        } else {
            Duration::from_nanos(u64_from_f64(bytes * 1e9 / self.0))
        }
    }

    /// The smaller of two rates.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }

    /// The larger of two rates.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.0 > self.0 { other } else { self }
    }
}

impl Eq for Rate {}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Add for Rate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Scaled by a factor; a negative or NaN result becomes zero.
impl Mul<f64> for Rate {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::from_bytes_per_sec(self.0 * factor)
    }
}

/// Bytes sent at this rate in the given time.
impl Mul<Duration> for Rate {
    type Output = f64;
    fn mul(self, time: Duration) -> f64 {
        if time == Duration::ZERO { 0.0 } else { self.0 * time.as_secs_f64() }
    }
}

/// Divided by a number; a negative or NaN result becomes zero.
impl Div<f64> for Rate {
    type Output = Self;
    fn div(self, by: f64) -> Self {
        Self::from_bytes_per_sec(self.0 / by)
    }
}

/// Ratio of two rates: how many times `by` fits into this one (NaN for 0/0 and ∞/∞).
impl Div for Rate {
    type Output = f64;
    fn div(self, by: Self) -> f64 {
        self.0 / by.0
    }
}

/// Bits per second with a decimal prefix and three significant figures, e.g. `1.25 Mbit/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_sec();
        if bits.is_infinite() {
            return f.write_str("unlimited");
        }
        let (scaled, unit) = match bits {
            b if b >= 999.5e6 => (b / 1e9, "Gbit/s"),
            b if b >= 999.5e3 => (b / 1e6, "Mbit/s"),
            b if b >= 999.5 => (b / 1e3, "kbit/s"),
            b => (b, "bit/s"),
        };
        three_figures(f, scaled, unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn one_packet_in_64_seconds_is_representable() {
        let slow = Rate::of(1460.0, Duration::from_secs(64));
        assert_eq!(slow.time_for(1460.0), Duration::from_secs(64));
    }

    #[test]
    fn edges() {
        assert_eq!(Rate::from_bytes_per_sec(f64::NAN), Rate::ZERO);
        assert_eq!(Rate::from_bytes_per_sec(-1.0), Rate::ZERO);
        assert_eq!(Rate::INFINITY.time_for(1e9), Duration::ZERO);
        assert_eq!(Rate::ZERO.time_for(1.0), Duration::MAX);
        assert_eq!(Rate::ZERO.time_for(0.0), Duration::ZERO);
        assert_eq!(Rate::INFINITY * Duration::ZERO, 0.0);
        assert_eq!(Rate::of(0.0, Duration::ZERO), Rate::ZERO);
        assert!(Rate::of(1.0, Duration::ZERO).is_infinite());
        assert!(Rate::INFINITY > Rate::from_bits_per_sec(1e18));
        assert_eq!(Rate::INFINITY * 0.0, Rate::ZERO);
    }

    #[test]
    fn prints_three_figures() {
        assert_eq!(format!("{}", Rate::from_bits_per_sec(2e6)), "2.00 Mbit/s");
        assert_eq!(format!("{}", Rate::from_bits_per_sec(999_600.0)), "1.00 Mbit/s");
        assert_eq!(format!("{}", Rate::from_bits_per_sec(12_345.0)), "12.3 kbit/s");
        assert_eq!(format!("{}", Rate::from_bits_per_sec(15.0)), "15.0 bit/s");
    }
}
