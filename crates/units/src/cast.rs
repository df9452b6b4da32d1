//! Conversions of numbers that can lose something, in one place, with their edges said.

/// `x` as the nearest `f64`; exact up to 2^53.
#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "rounding to nearest is the documented meaning"
)]
#[must_use]
pub const fn f64_from_u64(x: u64) -> f64 {
    x as f64
}

/// `x` cut to a whole number; negative and NaN become 0, anything too large `u64::MAX`.
#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturation is the documented meaning, and what `as` does"
)]
#[must_use]
pub const fn u64_from_f64(x: f64) -> u64 {
    x as u64
}

/// An integer type with its least and its greatest value, for [`saturating`].
pub trait Integer: Copy + PartialOrd {
    /// The least value.
    const MIN: Self;
    /// The greatest value.
    const MAX: Self;
    /// Zero.
    const ZERO: Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl Integer for $integer {
            const MIN: Self = <$integer>::MIN;
            const MAX: Self = <$integer>::MAX;
            const ZERO: Self = 0;
        })*
    };
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// `x` in another integer type; beyond the ends of that type, the nearer end.
#[must_use]
#[inline]
pub fn saturating<T: Integer>(x: impl TryInto<T> + Integer) -> T {
    match x.try_into() {
        Ok(same) => same,
        Err(_) if x < Integer::ZERO => T::MIN,
        Err(_) => T::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_saturate_at_the_nearer_end() {
        assert_eq!(saturating::<u8>(200_u64), 200);
        assert_eq!(saturating::<u8>(256_u64), u8::MAX);
        assert_eq!(saturating::<u64>(-1_i64), 0);
        assert_eq!(saturating::<i64>(i128::MIN), i64::MIN);
        assert_eq!(saturating::<i64>(u64::MAX), i64::MAX);
    }

    #[test]
    fn edges_saturate() {
        assert_eq!(u64_from_f64(f64::NAN), 0);
        assert_eq!(u64_from_f64(-3.0), 0);
        assert_eq!(u64_from_f64(f64::INFINITY), u64::MAX);
        assert_eq!(u64_from_f64(2.9), 2);
        assert_eq!(f64_from_u64(1 << 53), 9_007_199_254_740_992.0);
    }
}
