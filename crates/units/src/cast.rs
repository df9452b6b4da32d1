//! The two float conversions of the core, in one place, with their edges said.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_saturate() {
        assert_eq!(u64_from_f64(f64::NAN), 0);
        assert_eq!(u64_from_f64(-3.0), 0);
        assert_eq!(u64_from_f64(f64::INFINITY), u64::MAX);
        assert_eq!(u64_from_f64(2.9), 2);
        assert_eq!(f64_from_u64(1 << 53), 9_007_199_254_740_992.0);
    }
}
