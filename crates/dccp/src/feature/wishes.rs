use super::{Feature, Location};

/// What an end wants of the features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wishes {
    /// Our Sequence Window to begin with, at least 32; it is raised when more than a fifth of it is in flight.
    pub sequence_window: u64,
    /// Whether the host can read ECN marks of what it receives.
    pub ecn: EcnReading,
    /// Whether senders report their round-trip time.
    pub rtt_reports: RttReports,
}

/// Whether marks on received packets can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnReading {
    /// They can.
    Capable,
    /// They cannot: the peer is told to send without ECN (RFC 4340 §12.1).
    Incapable,
}

/// Whether the Send RTT Estimate feature of RFC 6323 is asked for and granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttReports {
    /// At both ends.
    Wanted,
    /// At neither: receivers go by the window counter.
    Refused,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { sequence_window: 1000, ecn: EcnReading::Capable, rtt_reports: RttReports::Wanted }
    }
}

/// Whether a question may be answered with "unknown".
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
            (Feature::Ccid, _) => &[3],
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
            _ => &[0],
        }
    }

    /// The value to ask for if the feature has another, and how urgently.
    pub(crate) fn wanted(&self, feature: Feature, location: Location) -> Option<(u64, Weight)> {
        match (feature, location) {
            (Feature::Ccid, _) => Some((3, Weight::Mandatory)),
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
