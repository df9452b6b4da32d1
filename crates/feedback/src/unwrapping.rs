//! From numbers that wrap to numbers that do not.

use tfrc_units::saturating;
/// The number nearest to `reference` whose low 16 bits are `low`; at most 2^15 away, upwards if in
/// doubt. `None` if it would lie below zero or beyond the range.
pub(crate) fn nearest_u16(low: u16, reference: u64) -> Option<u64> {
    let ahead = low.wrapping_sub(low_16(reference));
    if ahead <= 1 << 15 {
        reference.checked_add(u64::from(ahead))
    } else {
        reference.checked_sub(u64::from(low_16(reference).wrapping_sub(low)))
    }
}

fn low_16(x: u64) -> u16 {
    saturating::<u16>(x & 0xFFFF)
}

/// A clock of `BITS` bits counted on: each reading is the one nearest to the reading before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock<const BITS: u32> {
    last: Option<i64>,
}

impl<const BITS: u32> Clock<BITS> {
    /// The clock shows `low`. The first reading becomes that plus 2^BITS, so that earlier ones are
    /// not negative.
    pub(crate) fn read(&mut self, low: u32) -> i64 {
        let modulus = 1i64 << BITS;
        let low = i64::from(low);
        let reading = match self.last {
            None => low + modulus,
            Some(last) => {
                let ahead = (low - last).rem_euclid(modulus);
                if ahead <= modulus / 2 { last + ahead } else { last + ahead - modulus }
            }
        };
        self.last = Some(reading);
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_go_round() {
        assert_eq!(nearest_u16(0xFFFF, 0x1_0003), Some(0xFFFF));
        assert_eq!(nearest_u16(2, 0x1_FFF0), Some(0x2_0002));
        assert_eq!(nearest_u16(5, 5), Some(5));
        assert_eq!(nearest_u16(0xFFFF, 3), None, "before the first");
        assert_eq!(nearest_u16(0x8000, 0), Some(0x8000));
        assert_eq!(nearest_u16(0, u64::MAX), None);
    }

    #[test]
    fn clocks_go_round() {
        let mut clock = Clock::<24>::default();
        assert_eq!(clock.read(0xFF_FFFE), 0x1FF_FFFE);
        assert_eq!(clock.read(3), 0x200_0003);
        assert_eq!(clock.read(0xFF_FFFF), 0x1FF_FFFF);
        let mut clock = Clock::<32>::default();
        assert_eq!(clock.read(u32::MAX), 0x1_FFFF_FFFF);
        assert_eq!(clock.read(0), 0x2_0000_0000);
    }
}
