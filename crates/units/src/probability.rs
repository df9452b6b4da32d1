//! Probabilities, such as loss event rates.

use core::fmt;

/// A number in 0..=1: a loss event rate, a drop rate, a share.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

/// Error of [`Probability::new`]: the number is outside 0..=1, or NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotAProbability(
    /// The rejected number.
    pub f64,
);

impl fmt::Display for NotAProbability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a probability: it must be from 0 to 1", self.0)
    }
}

impl core::error::Error for NotAProbability {}

impl Probability {
    /// Zero: never.
    pub const ZERO: Self = Self(0.0);
    /// One: always.
    pub const ONE: Self = Self(1.0);

    /// Checks that `p` lies in 0..=1.
    ///
    /// # Errors
    /// [`NotAProbability`] for any other number, NaN included.
    pub const fn new(p: f64) -> Result<Self, NotAProbability> {
        if p >= 0.0 && p <= 1.0 { Ok(Self(p)) } else { Err(NotAProbability(p)) }
    }

    /// `p` pulled into 0..=1; NaN becomes 0.
    #[must_use]
    pub const fn saturating(p: f64) -> Self {
        if p >= 1.0 {
            Self::ONE
        } else if p > 0.0 {
            Self(p)
        } else {
            Self::ZERO
        }
    }

    /// The probability as a number from 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns true if this is exactly 0, which TFRC reads as "no loss event yet" (RFC 5348 §4.3).
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 <= 0.0
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_unit_interval() {
        assert_eq!(Probability::new(0.25).map(Probability::get), Ok(0.25));
        assert_eq!(Probability::new(1.5), Err(NotAProbability(1.5)));
        assert!(Probability::new(f64::NAN).is_err());
        assert!(Probability::new(-0.1).is_err());
        assert_eq!(Probability::saturating(7.0), Probability::ONE);
        assert!(Probability::saturating(f64::NAN).is_zero());
    }
}
