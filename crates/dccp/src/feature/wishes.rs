//! An end's wishes for the values of its features, and the preferences that follow from them.

use super::{Feature, Location};
use crate::ccid::Ccid;

/// Wishes of an end for the values of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wishes {
    /// Our Sequence Window to begin with, at least 32; it is raised when more than a fifth of it is
    /// in flight.
    pub sequence_window: u64,
    /// The host's ability to read ECN marks of what it receives.
    pub ecn: EcnReading,
    /// Reports of the senders' round-trip times.
    pub rtt_reports: RttReports,
    /// CCIDs that may govern the data that we send.
    pub sending: CcidPreference,
    /// CCIDs that may govern the data that we receive.
    pub receiving: CcidPreference,
}

/// Which CCIDs are acceptable for a half-connection, best first. If the ends share none, there is
/// no connection. Where the two want different ones first, the server prevails (RFC 4340 §6.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CcidPreference {
    /// TFRC only.
    #[default]
    Three,
    /// TFRC; else TFRC-SP.
    ThreeThenFour,
    /// TFRC-SP only.
    Four,
    /// TFRC-SP; else TFRC.
    FourThenThree,
}

impl CcidPreference {
    const fn values(self) -> &'static [u8] {
        match self {
            Self::Three => &[3],
            Self::ThreeThenFour => &[3, 4],
            Self::Four => &[4],
            Self::FourThenThree => &[4, 3],
        }
    }

    /// The one wanted most.
    #[must_use]
    pub const fn first(self) -> Ccid {
        match self {
            Self::Three | Self::ThreeThenFour => Ccid::Three,
            Self::Four | Self::FourThenThree => Ccid::Four,
        }
    }
}

/// The host's ability to read marks on received packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnReading {
    /// The marks can be read.
    Capable,
    /// They cannot be read: the peer is asked to send without ECN (RFC 4340 §12.1).
    Incapable,
}

/// Use of the Send RTT Estimate feature of RFC 6323: asked for and granted, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttReports {
    /// At both ends.
    Wanted,
    /// At neither: receivers use the window counter.
    Refused,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            sequence_window: 1000,
            ecn: EcnReading::Capable,
            rtt_reports: RttReports::Wanted,
            sending: CcidPreference::default(),
            receiving: CcidPreference::default(),
        }
    }
}

/// Weight of a question: whether "unknown" will do for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Then the feature stays as it is.
    Optional,
    /// Then the connection cannot go on.
    Mandatory,
}

impl Wishes {
    /// Values acceptable for a server-priority feature, best first.
    pub(crate) const fn preferences(&self, feature: Feature, location: Location) -> &'static [u8] {
        match (feature, location) {
            (Feature::Ccid, _) => self.ccids(location).values(),
            (Feature::EcnIncapable, Location::Local) => match self.ecn {
                EcnReading::Capable => &[0, 1],
                EcnReading::Incapable => &[1],
            },
            (Feature::EcnIncapable, Location::Remote) => &[0, 1],
            (Feature::SendNdpCount | Feature::SendLossEventRate, _) => &[1, 0],
            (Feature::SendRttEstimate, _) => match self.rtt_reports {
                RttReports::Wanted => &[1, 0],
                RttReports::Refused => &[0],
            },
            // What is sent covers everything, which is acceptable to whatever the peer asks for;
            // and packets that cover less are taken (RFC 4340 §9.2.1).
            (Feature::MinimumChecksumCoverage, _) => &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            // RFC 4340 §7.5.5, RFC 4340 §11.4, RFC 4340 §11.5.
            _ => &[0],
        }
    }

    /// For the half-connection whose data this end sends.
    pub(crate) const fn ccids(&self, location: Location) -> CcidPreference {
        match location {
            Location::Local => self.sending,
            Location::Remote => self.receiving,
        }
    }

    /// Accepts no other CCID any more than this one, if it was acceptable.
    pub(crate) fn keep_ccid(&mut self, location: Location, value: u64) {
        let only = match Ccid::from_value(value).filter(|_| self.accepts(Feature::Ccid, location, value)) {
            Some(Ccid::Three) => CcidPreference::Three,
            Some(Ccid::Four) => CcidPreference::Four,
            None => return,
        };
        match location {
            Location::Local => self.sending = only,
            Location::Remote => self.receiving = only,
        }
    }

    /// The value to ask for when a feature has this one, and how urgently; `None` if the value will
    /// do.
    pub(crate) fn wanted(&self, feature: Feature, location: Location, value: u64) -> Option<(u64, Weight)> {
        let best = self.best(feature, location)?;
        let acceptable = match feature {
            Feature::Ccid => self.accepts(feature, location, value),
            _ => value == best.0,
        };
        (!acceptable).then_some(best)
    }

    /// Returns true if a value of a server-priority feature is among those acceptable.
    pub(crate) fn accepts(&self, feature: Feature, location: Location, value: u64) -> bool {
        self.preferences(feature, location).iter().any(|acceptable| u64::from(*acceptable) == value)
    }

    fn best(&self, feature: Feature, location: Location) -> Option<(u64, Weight)> {
        match (feature, location) {
            (Feature::Ccid, _) => {
                let first = self.preferences(feature, location).first()?;
                // RFC 4340 §10, RFC 4340 §10.3.
                Some((u64::from(*first), Weight::Mandatory))
            }
            // RFC 4340 §6.3.2.
            (Feature::SequenceWindow, Location::Local) => {
                let window = self.sequence_window;
                let least = window.max(Feature::MIN_SEQUENCE_WINDOW);
                Some((least.min(Feature::MAX_SEQUENCE_WINDOW), Weight::Optional))
            }
            (Feature::EcnIncapable, Location::Local) if self.ecn == EcnReading::Incapable => {
                Some((1, Weight::Mandatory))
            }
            (Feature::SendNdpCount | Feature::SendLossEventRate, _) => Some((1, Weight::Optional)),
            (Feature::SendRttEstimate, _) if self.rtt_reports == RttReports::Wanted => {
                Some((1, Weight::Optional))
            }
            _ => None,
        }
    }
}
