//! The number of packets lost, as far as a report shows it.

use tfrc_units::f64_from_u64;

/// Data packets lost or marked since the beginning, among those up to the newest one that a report
/// covers. Both numbers are sums over the whole connection, so that a lost report loses no count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PacketCount {
    /// The report has no count: the feedback packet of RFC 5348 §3.2.2 has no such field. The
    /// sender then compares X_recv with what it has sent, which shows a loss of more than a tenth.
    #[default]
    Unknown,
    /// The receiver held the flow back or threw data away, not the network: it said Slow Receiver
    /// or Data Dropped (RFC 4340 §11.6, §11.7). X_recv is then its reading rate. The circuit
    /// breaker and the stop rule leave out the report.
    SlowReceiver,
    /// The number lost is known.
    Exact {
        /// Data packets sent up to the newest one reported.
        packets: u64,
        /// Those of them that were lost or marked, at most `packets`.
        lost: u64,
    },
    /// Bounds are known: a Loss Intervals option shows where losses begin and end, not how many lie
    /// between them (RFC 4342 §8.6).
    Within {
        /// Data packets sent up to the newest one reported.
        packets: u64,
        /// Fewest of them that were lost or marked.
        least: u64,
        /// Most of them that were, `least` or more.
        most: u64,
    },
}

/// A count in numbers that can be subtracted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) packets: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl PacketCount {
    /// The bounds, made consistent: a peer may report any numbers.
    pub(crate) fn counted(self) -> Option<Counted> {
        let (packets, least, most) = match self {
            Self::Unknown | Self::SlowReceiver => return None,
            Self::Exact { packets, lost } => (packets, lost, lost),
            Self::Within { packets, least, most } => (packets, least, most),
        };
        let most = most.min(packets);
        Some(Counted {
            packets: f64_from_u64(packets),
            least: f64_from_u64(least.min(most)),
            most: f64_from_u64(most),
        })
    }
}
