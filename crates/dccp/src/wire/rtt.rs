//! The RTT Estimate option (RFC 6323).

use tfrc_units::{Duration, saturating};

use super::bytes::be;

/// The value of an RTT Estimate option (RFC 6323 §3.2.1): the round-trip time that a sender passes
/// to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RttEstimate {
    /// 0: there is no estimate yet.
    Unknown,
    /// 1..=0xFFFFFE: microseconds.
    Micros(
        /// The estimate, rounded up.
        u32,
    ),
    /// 0xFFFFFF: more than 16.7 s.
    TooLong,
}

/// The value that stands for more than 16.7 s.
const TOO_LONG: u32 = 0xFF_FFFF;

impl RttEstimate {
    /// From an estimate, rounded up to a microsecond, as 0 means that there is none (RFC 6323
    /// §3.2.1), or from its absence.
    #[must_use]
    pub fn from_rtt(rtt: Option<Duration>) -> Self {
        let Some(rtt) = rtt else { return Self::Unknown };
        Self::from_wire(saturating::<u32>(rtt.as_nanos().div_ceil(1_000).max(1)).min(TOO_LONG))
    }

    /// The estimate, if it is a number.
    #[must_use]
    pub fn duration(self) -> Option<Duration> {
        match self {
            Self::Micros(us) => Some(Duration::from_micros(u64::from(us))),
            Self::Unknown | Self::TooLong => None,
        }
    }

    const fn from_wire(n: u32) -> Self {
        match n {
            0 => Self::Unknown,
            1..TOO_LONG => Self::Micros(n),
            _ => Self::TooLong,
        }
    }

    /// The number on the wire. A number that the option cannot carry becomes the nearest that it
    /// can.
    pub(super) const fn wire(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::Micros(0) => 1,
            Self::Micros(us) if us < TOO_LONG => us,
            Self::Micros(_) | Self::TooLong => TOO_LONG,
        }
    }

    /// From one to three bytes of option data; any other length is invalid.
    pub(super) fn parse(data: &[u8]) -> Option<Self> {
        if !(1..=3).contains(&data.len()) {
            return None;
        }
        u32::try_from(be(data)).ok().map(Self::from_wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_up_and_knows_its_special_values() {
        assert_eq!(RttEstimate::from_rtt(None), RttEstimate::Unknown);
        assert_eq!(RttEstimate::from_rtt(Some(Duration::ZERO)), RttEstimate::Micros(1));
        assert_eq!(
            RttEstimate::from_rtt(Some(Duration::from_nanos(50_000_001))),
            RttEstimate::Micros(50_001)
        );
        assert_eq!(
            RttEstimate::from_rtt(Some(Duration::from_micros(0xFF_FFFE))),
            RttEstimate::Micros(0xFF_FFFE)
        );
        assert_eq!(RttEstimate::from_rtt(Some(Duration::from_secs(17))), RttEstimate::TooLong);
        assert_eq!(RttEstimate::TooLong.duration(), None);
        assert_eq!(RttEstimate::parse(&[]), None);
        assert_eq!(RttEstimate::parse(&[0, 0, 0, 1]), None);
    }
}
