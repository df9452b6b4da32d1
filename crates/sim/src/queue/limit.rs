//! Limits of queues in packets, bytes or buffers.

/// How much may wait in a queue. The packet in transmission has left it, so an idle line takes a
/// packet whatever the limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// A number of buffers of equal size; a packet takes as many whole ones as it needs. This is
    /// the model between packets and bytes that RFC 4828 §B.3 asks for. Such a queue measures in
    /// bytes of occupied buffers.
    Buffers {
        /// Number of buffers.
        count: u64,
        /// Bytes of each; 0 counts as 1.
        bytes: u32,
    },
    /// At most this many bytes.
    Bytes(u64),
    /// ns-2's drop-tail in bytes: one byte less than the limit (docs/ns2-facts.md §4, `DropTail`).
    Ns2Bytes(u64),
    /// ns-2's drop-tail in packets: with limit N only N − 1 wait (docs/ns2-facts.md §4,
    /// `DropTail`).
    Ns2Packets(u64),
    /// ns-2's RED in bytes: a packet of any size is taken while fewer bytes than this wait
    /// (docs/ns2-facts.md §4, queue overflow in RED). Its `limit_` N means N · `mean_pktsize_`
    /// bytes.
    Ns2RedBytes(u64),
    /// At most this many packets.
    Packets(u64),
    /// No limit but memory.
    Unlimited,
}

/// Packets and bytes that wait behind the packet in transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Waiting {
    pub(crate) packets: u64,
    /// Whole granules, see [`Limit::granule`].
    pub(crate) bytes: u64,
}

impl Limit {
    /// Bytes are counted in multiples of this, each packet's rounded up.
    pub(crate) fn granule(self) -> u32 {
        match self {
            Self::Buffers { bytes, .. } => bytes.max(1),
            _ => 1,
        }
    }

    /// Returns true if a packet of `size` bytes, rounded up to whole granules, may join the queue.
    #[inline(always)]
    pub(crate) fn admits(self, waiting: Waiting, size: u64) -> bool {
        let bytes = waiting.bytes.saturating_add(size);
        match self {
            Self::Buffers { count, bytes: each } => bytes <= count.saturating_mul(u64::from(each.max(1))),
            Self::Bytes(limit) => bytes <= limit,
            Self::Ns2Bytes(limit) => bytes < limit,
            Self::Ns2Packets(limit) => waiting.packets.saturating_add(1) < limit,
            Self::Ns2RedBytes(limit) => waiting.bytes < limit,
            Self::Packets(limit) => waiting.packets < limit,
            Self::Unlimited => true,
        }
    }

    /// The packets that may wait by a limit in packets.
    pub(crate) fn packets(self) -> Option<u64> {
        match self {
            Self::Packets(limit) | Self::Ns2Packets(limit) => Some(limit),
            _ => None,
        }
    }

    /// Returns true if the waiting packets take at least a third of the limit, by the limit's own
    /// measure.
    pub(crate) fn is_third_full(self, waiting: Waiting) -> bool {
        let (held, limit) = match self {
            Self::Buffers { count, bytes } => (waiting.bytes, count.saturating_mul(u64::from(bytes.max(1)))),
            Self::Bytes(limit) | Self::Ns2Bytes(limit) | Self::Ns2RedBytes(limit) => (waiting.bytes, limit),
            Self::Packets(limit) | Self::Ns2Packets(limit) => (waiting.packets, limit),
            Self::Unlimited => return false,
        };
        held.saturating_mul(3) >= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(packets: u64, bytes: u64) -> Waiting {
        Waiting { packets, bytes }
    }

    #[test]
    fn each_limit_at_its_edge() {
        assert!(Limit::Packets(3).admits(waiting(2, 0), 9000) && !Limit::Packets(3).admits(waiting(3, 0), 1));
        assert!(
            Limit::Bytes(1000).admits(waiting(9, 900), 100)
                && !Limit::Bytes(1000).admits(waiting(1, 900), 101)
        );
        let ns2 = Limit::Ns2Packets(3);
        assert!(ns2.admits(waiting(1, 0), 1) && !ns2.admits(waiting(2, 0), 1)); // two wait
        let ns2 = Limit::Ns2Bytes(1000);
        assert!(ns2.admits(waiting(0, 900), 99) && !ns2.admits(waiting(0, 900), 100));
        let ns2 = Limit::Ns2RedBytes(1000);
        assert!(ns2.admits(waiting(0, 999), 9000) && !ns2.admits(waiting(0, 1000), 1));
        assert!(Limit::Unlimited.admits(waiting(u64::MAX, u64::MAX), u64::MAX));
    }

    #[test]
    fn buffers_hold_whole_granules() {
        let limit = Limit::Buffers { count: 10, bytes: 500 };
        assert_eq!((limit.granule(), Limit::Bytes(7).granule()), (500, 1));
        // A 1500 B packet takes three, a 40 B one takes one: nine are taken, one fits, two do not.
        assert!(limit.admits(waiting(3, 4500), 500) && !limit.admits(waiting(3, 4500), 1000));
    }

    #[test]
    fn a_third() {
        assert!(
            Limit::Packets(9).is_third_full(waiting(3, 0)) && !Limit::Packets(9).is_third_full(waiting(2, 0))
        );
        assert!(
            Limit::Bytes(900).is_third_full(waiting(0, 300))
                && !Limit::Bytes(900).is_third_full(waiting(9, 299))
        );
        assert!(!Limit::Unlimited.is_third_full(waiting(1, 1)));
    }
}
