//! DCCP sequence numbers and their circular arithmetic.

use core::fmt;

/// A DCCP sequence number: 48 bits, compared and counted modulo 2^48 (RFC 4340 §3.1, §7).
///
/// There is no `Ord`: in a circle "greater" only means "within half the circle ahead"; ask
/// [`SeqNo48::is_after`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNo48(u64);

/// The low 24 bits of a sequence number, as short headers carry it (RFC 4340 §7.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNo24(u32);

impl SeqNo48 {
    /// 2^48, the size of the circle.
    pub const MODULUS: u64 = 1 << 48;
    /// The largest number, 2^48 − 1.
    pub const MAX: Self = Self(Self::MODULUS - 1);

    /// From the low 48 bits of `x`.
    #[must_use]
    pub const fn new(x: u64) -> Self {
        Self(x & (Self::MODULUS - 1))
    }

    /// The number, below 2^48.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number `n` steps ahead.
    #[must_use]
    pub const fn add(self, n: u64) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// The number `n` steps back.
    #[must_use]
    pub const fn sub(self, n: u64) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }

    /// Steps from `earlier` ahead to `self`, in 0..2^48.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0) & (Self::MODULUS - 1)
    }

    /// Returns true if `self` lies less than half the circle ahead of `other`.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        let d = self.distance_from(other);
        d != 0 && d < Self::MODULUS / 2
    }

    /// Returns true if `self` is `other` or after it.
    #[must_use]
    pub const fn is_at_or_after(self, other: Self) -> bool {
        self.distance_from(other) < Self::MODULUS / 2
    }

    /// Returns true if `self` lies in the circular range from `low` to `high`, both included.
    #[must_use]
    pub const fn is_within(self, low: Self, high: Self) -> bool {
        self.distance_from(low) <= high.distance_from(low)
    }

    /// The low 24 bits.
    #[must_use]
    pub const fn short(self) -> SeqNo24 {
        SeqNo24::new(self.low_u32())
    }

    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the low bits are what is asked for"
    )]
    const fn low_u32(self) -> u32 {
        self.0 as u32
    }
}

impl SeqNo24 {
    /// 2^24.
    pub const MODULUS: u32 = 1 << 24;

    /// From the low 24 bits of `x`.
    #[must_use]
    pub const fn new(x: u32) -> Self {
        Self(x & (Self::MODULUS - 1))
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The 48-bit number with these low bits that is nearest to `reference`: at most 2^23 ahead,
    /// less than 2^23 behind (the intent of the procedure in RFC 4340 §7.6).
    #[must_use]
    pub const fn extend(self, reference: SeqNo48) -> SeqNo48 {
        let ahead = self.0.wrapping_sub(reference.short().0) & (Self::MODULUS - 1);
        if ahead <= Self::MODULUS / 2 {
            reference.add(widen(ahead))
        } else {
            reference.sub(widen(Self::MODULUS - ahead))
        }
    }
}

#[expect(clippy::as_conversions, reason = "u32 to u64 is lossless; `From` is not const")]
const fn widen(x: u32) -> u64 {
    x as u64
}

impl fmt::Display for SeqNo48 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SeqNo24 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_goes_round() {
        let last = SeqNo48::MAX;
        let first = last.add(1);
        assert_eq!(first, SeqNo48::new(0));
        assert!(first.is_after(last) && !last.is_after(first));
        assert!(first.is_at_or_after(first) && !first.is_after(first));
        assert!(SeqNo48::new(1).is_within(last, SeqNo48::new(5)));
        assert!(!SeqNo48::new(6).is_within(last, SeqNo48::new(5)));
    }

    #[test]
    fn short_numbers_extend_to_the_nearest() {
        for base in [0, 5, 0xFF_FFFF, 0x100_0000, SeqNo48::MODULUS - 1] {
            for step in [0u64, 1, 1000, 1 << 22] {
                let reference = SeqNo48::new(base);
                assert_eq!(reference.add(step).short().extend(reference), reference.add(step));
                assert_eq!(reference.sub(step).short().extend(reference), reference.sub(step));
            }
        }
    }
}
