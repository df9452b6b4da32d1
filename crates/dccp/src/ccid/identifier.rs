//! The congestion control identifiers (CCIDs) that this implementation knows.

use crate::wire::option_kind as kind;

/// A congestion control identifier that this implementation can run a half-connection with
/// (RFC 4340 §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Ccid {
    /// 3: TFRC (RFC 4342).
    Three,
    /// 4: TFRC-SP, for small packets (RFC 5622).
    Four,
}

impl Ccid {
    /// From the value of the CCID feature; `None` for one that is not known here, such as the
    /// initial 2.
    #[must_use]
    pub const fn from_value(value: u64) -> Option<Self> {
        match value {
            3 => Some(Self::Three),
            4 => Some(Self::Four),
            _ => None,
        }
    }

    /// Returns true if an option belongs to a half-connection with this CCID. Those from 128 to 191
    /// go from its sender to its receiver, those from 192 on the other way (RFC 4340 §10.3).
    pub(crate) const fn knows(self, option: u8) -> bool {
        match option {
            kind::RTT_ESTIMATE | kind::LOSS_EVENT_RATE | kind::LOSS_INTERVALS | kind::RECEIVE_RATE => true,
            kind::DROPPED_PACKETS => matches!(self, Self::Four),
            _ => false,
        }
    }
}
