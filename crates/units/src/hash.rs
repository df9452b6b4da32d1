//! Two hashes that are the same on every platform and in every version. Neither resists an
//! attacker.

/// Step of the counter of SplitMix64: 2⁶⁴ over the golden ratio, odd.
pub const GOLDEN_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Fowler-Noll-Vo 1a of some bytes, 64 bits.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64's output for a state (Steele, Lea, Flood 2014).
#[inline]
#[must_use]
pub const fn splitmix64(state: u64) -> u64 {
    finalise(state.wrapping_add(GOLDEN_STEP))
}

/// The finaliser of SplitMix64: every bit of `x` reaches every bit of the result.
#[inline]
#[must_use]
pub const fn finalise(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors of the reference code of each.
    #[test]
    fn published_vectors() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(GOLDEN_STEP), 0x6e78_9e6a_a1b9_65f4);
    }
}
