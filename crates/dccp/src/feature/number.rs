//! The features known here: their numbers, locations, initial values and rules.

/// A feature this implementation knows (RFC 4340 table 4; RFC 4342 §8, table 2; RFC 6323 table 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// 1: which congestion control governs the data that the feature's location sends.
    Ccid,
    /// 2: whether its location may send 24-bit sequence numbers. Never wanted here.
    AllowShortSeqnos,
    /// 3: how many packets its location expects in flight, times about five (RFC 4340 §7.5.2).
    SequenceWindow,
    /// 4: whether its location cannot read ECN marks.
    EcnIncapable,
    /// 5: data packets per acknowledgement; CCID 3 does not use it.
    AckRatio,
    /// 6: whether its location must send Ack Vectors. Never wanted here.
    SendAckVector,
    /// 7: whether its location must send NDP Count.
    SendNdpCount,
    /// 8: which partial checksums its location refuses. Full ones are sent here, partial ones are
    /// taken.
    MinimumChecksumCoverage,
    /// 128, CCID 3: whether its location, a data sender, must report its round-trip time
    /// (RFC 6323).
    SendRttEstimate,
    /// 192, CCID 3: whether its location, a data receiver, must report the loss event rate.
    SendLossEventRate,
}

/// The end where a feature is located (RFC 4340 §3.3): F/A and F/B are two features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// Here: we ask with Change L.
    Local,
    /// At the peer: we ask with Change R.
    Remote,
}

/// How two ends' wishes become one value (RFC 4340 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The server's first choice that the client also lists; values of one byte.
    ServerPriority,
    /// The location decides; a number of this many bytes.
    NonNegotiable {
        /// Width of the value.
        bytes: usize,
    },
}

impl Feature {
    /// All of them in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::Ccid,
        Self::AllowShortSeqnos,
        Self::SequenceWindow,
        Self::EcnIncapable,
        Self::AckRatio,
        Self::SendAckVector,
        Self::SendNdpCount,
        Self::MinimumChecksumCoverage,
        Self::SendRttEstimate,
        Self::SendLossEventRate,
    ];

    /// The smallest valid Sequence Window (RFC 4340 §7.5.2).
    pub const MIN_SEQUENCE_WINDOW: u64 = 32;
    /// The largest valid Sequence Window, 2^46 − 1.
    pub const MAX_SEQUENCE_WINDOW: u64 = (1 << 46) - 1;

    /// Its number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Ccid => 1,
            Self::AllowShortSeqnos => 2,
            Self::SequenceWindow => 3,
            Self::EcnIncapable => 4,
            Self::AckRatio => 5,
            Self::SendAckVector => 6,
            Self::SendNdpCount => 7,
            Self::MinimumChecksumCoverage => 8,
            // RFC 6323 §3.2.2.
            Self::SendRttEstimate => 128,
            Self::SendLossEventRate => 192,
        }
    }

    /// From its number, or `None` if it is not known here.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.number() == number)
    }

    /// The value a connection starts with.
    #[must_use]
    pub const fn initial_value(self) -> u64 {
        match self {
            Self::Ccid | Self::AckRatio => 2,
            Self::SequenceWindow => 100,
            _ => 0,
        }
    }

    pub(crate) const fn rule(self) -> Rule {
        match self {
            Self::SequenceWindow => Rule::NonNegotiable { bytes: 6 },
            Self::AckRatio => Rule::NonNegotiable { bytes: 2 },
            _ => Rule::ServerPriority,
        }
    }

    /// Returns true if every DCCP must understand it, so that an empty Confirm is an error (RFC
    /// 4340 §6.6.7).
    pub(crate) const fn is_required(self) -> bool {
        // RFC 4340 §6.4.
        matches!(self, Self::Ccid | Self::AllowShortSeqnos | Self::SequenceWindow)
    }

    /// Returns true if a non-negotiable feature may take this value. An Ack Ratio of 0 means that
    /// none is used (RFC 4340 §11.3).
    pub(crate) const fn accepts(self, value: u64) -> bool {
        match self {
            Self::SequenceWindow => value >= Self::MIN_SEQUENCE_WINDOW && value <= Self::MAX_SEQUENCE_WINDOW,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4340 §6.4 table 4, the column of what every DCCP must understand.
    #[test]
    fn three_features_are_required() {
        let required = (1..=u8::MAX).filter(|n| Feature::from_number(*n).is_some_and(Feature::is_required));
        assert!(required.eq([1, 2, 3]));
    }
}
