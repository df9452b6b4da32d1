//! ECN codepoints.

/// The two ECN bits of an IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Ecn {
    /// 00: the sender does not take part in ECN.
    #[default]
    NotEct,
    /// 01: ECN-capable, codepoint 1. Now the identifier of L4S (RFC 8311 §4.2), so never sent by
    /// this project.
    Ect1,
    /// 10: ECN-capable, codepoint 0: what an ECN-capable sender here sets.
    Ect0,
    /// 11: a router experienced congestion and marked instead of dropping.
    Ce,
}

impl Ecn {
    /// From the two bits; higher bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits as they stand in the IP header.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// Returns true if a router may mark the packet instead of dropping it.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        for bits in 0..4 {
            assert_eq!(Ecn::from_bits(bits).bits(), bits);
        }
        assert_eq!(Ecn::from_bits(0xFF), Ecn::Ce);
        assert!(!Ecn::NotEct.is_capable());
    }
}
