//! The revisions of TFRC that go over a real network.

use serde::{Deserialize, Serialize};

/// An RFC whose rules a sender or a receiver follows. Studies of other algorithms are run in the
/// simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Revision {
    /// RFC 5348 (2008).
    #[default]
    Rfc5348,
    /// RFC 3448 (2003) with its errata.
    Rfc3448,
}

impl Revision {
    /// All of them, newest first.
    pub const ALL: [Self; 2] = [Self::Rfc5348, Self::Rfc3448];

    /// The name that command lines and journals use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.algorithm().name()
    }

    /// The revision of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// The revision's algorithm.
    pub(crate) const fn algorithm(self) -> tfrc::study::Revision {
        match self {
            Self::Rfc5348 => tfrc::study::Revision::Rfc5348,
            Self::Rfc3448 => tfrc::study::Revision::Rfc3448,
        }
    }
}
