//! The variants of the rate control: TFRC and TFRC-SP.

use std::fmt;

use serde::{Deserialize, Serialize};
use tfrc_dccp::Ccid;
use tfrc_dccp::feature::CcidPreference;

/// Which rate control governs the data of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Variant {
    /// TFRC: as many packets as a TCP with packets of this size would send (CCID 3, RFC 4342 and
    /// 5348).
    #[default]
    Tfrc,
    /// TFRC-SP: as many bytes, headers included, as a TCP with large packets would send, in at most
    /// 100 packets a second (CCID 4, RFC 5622 and 4828).
    TfrcSp,
}

impl Variant {
    /// The CCIDs that an end that sends by this variant proposes or takes. TFRC-SP falls back to
    /// TFRC, all that Linux has. An end that receives takes both and prefers TFRC-SP: whichever end
    /// accepts, and so has the order that prevails (RFC 4340 §6.3.1), a sender gets its own.
    pub(crate) const fn preference(self) -> CcidPreference {
        match self {
            Self::Tfrc => CcidPreference::Three,
            Self::TfrcSp => CcidPreference::FourThenThree,
        }
    }

    pub(crate) const fn of(ccid: Ccid) -> Option<Self> {
        match ccid {
            Ccid::Three => Some(Self::Tfrc),
            Ccid::Four => Some(Self::TfrcSp),
            _ => None,
        }
    }
}

/// The name that the command line uses.
impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tfrc => "tfrc",
            Self::TfrcSp => "tfrc-sp",
        })
    }
}
