/// What a full queue does. Decided when a packet arrives, so it costs no event of its own.
///
/// The packet in transmission has left the queue: a limit counts the packets that wait behind it, so an idle line
/// takes a packet even if the limit is zero. (ns-2's drop-tail with limit N lets N − 1 wait.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Queue {
    /// First in, first out; an arriving packet that does not fit is dropped.
    DropTail(Limit),
}

/// How much may wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// At most so many bytes.
    Bytes(u64),
    /// At most so many packets.
    Packets(u64),
    /// No limit but memory.
    Unlimited,
}

/// What waits behind the packet in transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Waiting {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Queue {
    /// Whether a packet of `size` bytes may join those that wait.
    #[inline]
    pub(crate) fn admits(self, waiting: Waiting, size: u32) -> bool {
        match self {
            Self::DropTail(Limit::Bytes(limit)) => waiting.bytes.saturating_add(u64::from(size)) <= limit,
            Self::DropTail(Limit::Packets(limit)) => waiting.packets < limit,
            Self::DropTail(Limit::Unlimited) => true,
        }
    }
}
