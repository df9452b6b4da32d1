//! Big-endian numbers of one to eight bytes.

use alloc::vec::Vec;

/// The number in `bytes`, most significant byte first; only the last eight bytes count.
#[inline]
pub(crate) fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, byte| (n << 8) | u64::from(*byte))
}

/// The 16-bit number at `at`.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

/// The 32-bit number at `at`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// The 64-bit number at `at`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_be_bytes(*word))
}

/// The 32-bit number that `bytes` holds, if they are four.
#[inline]
pub(crate) fn u32_exact(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// Appends the low `length` (at most eight) bytes of `n`.
#[inline]
pub(crate) fn push_be(out: &mut Vec<u8>, n: u64, length: usize) {
    let all = n.to_be_bytes();
    // With the length known where this is inlined, an array of that length: no loop, one check of
    // the room.
    out.extend_from_slice(all.get(8usize.saturating_sub(length)..).unwrap_or(&all));
}

/// The fewest bytes, at least one, that hold `n`.
pub(crate) fn bytes_needed(n: u64) -> usize {
    let mut needed = 1;
    let mut rest = n >> 8;
    while rest > 0 {
        needed += 1;
        rest >>= 8;
    }
    needed
}
