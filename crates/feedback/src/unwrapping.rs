//! From numbers that wrap to numbers that do not.

use tfrc_units::saturating;

/// Consecutive packets of a report, by full numbers instead of 16-bit ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The first one's; below zero if that was never sent.
    first: i128,
}

impl Numbers {
    /// The first packet has the number nearest to `reference` whose low 16 bits are `low`; at most
    /// 2^15 away, upwards if in doubt.
    pub(crate) fn from(low: u16, reference: u64) -> Self {
        let ahead = low.wrapping_sub(low_16(reference));
        let reference = i128::from(reference);
        let first = match ahead {
            0..=0x8000 => reference + i128::from(ahead),
            _ => reference - i128::from(ahead.wrapping_neg()),
        };
        Self { first }
    }

    /// The number of the packet at this place; `None` if it lies below zero or beyond the range.
    pub(crate) fn at(self, place: u64) -> Option<u64> {
        u64::try_from(self.first + i128::from(place)).ok()
    }

    /// The numbers of `count` packets from the first on that may have been sent: not below zero and
    /// at most `newest`. `None` if there are none.
    pub(crate) fn range(self, count: u64, newest: u64) -> Option<(u64, u64)> {
        let first = saturating::<u64>(self.first.max(0));
        let last = u64::try_from(self.first + i128::from(count) - 1).ok()?.min(newest);
        (first <= last).then_some((first, last))
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
    /// The clock shows `low`, of at most `BITS` bits; half a round counts as forward. The first
    /// reading becomes that plus 2^BITS, so that one up to half a round earlier is not negative.
    /// Those of a peer that goes on backwards are.
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
        let nearest = |low, reference| Numbers::from(low, reference).at(0);
        assert_eq!(nearest(0xFFFF, 0x1_0003), Some(0xFFFF));
        assert_eq!(nearest(2, 0x1_FFF0), Some(0x2_0002));
        assert_eq!(nearest(5, 5), Some(5));
        assert_eq!(nearest(0xFFFF, 3), None, "before the first");
        assert_eq!(nearest(0x8000, 0), Some(0x8000));
        assert_eq!(nearest(0, u64::MAX), None);
    }

    /// A report of more than half of the numbers goes on where it began.
    #[test]
    fn the_packets_of_a_report_are_consecutive() {
        let numbers = Numbers::from(0xFFFE, 3);
        assert_eq!([0, 1, 2, 0xFFFF].map(|place| numbers.at(place)), [None, None, Some(0), Some(0xFFFD)]);
        assert_eq!((numbers.range(2, 9), numbers.range(4, 9)), (None, Some((0, 1))));
        assert_eq!(Numbers::from(7, 9).range(9, 9), Some((7, 9)), "10 was not sent");
        assert_eq!(Numbers::from(7, 9).range(0, 9), None);
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
