//! Content of the packets in a relay's network.

use tfrc_sim::traffic::Segment;

/// Bytes that a datagram has on a link besides its payload: an IPv4 header (20) and a UDP header (8). They count whatever
/// the version of IP outside, so that a scenario does not depend on it.
pub const HEADER_BYTES: u32 = 28;

/// A real datagram on its way through the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// The client it comes from or goes to.
    pub(crate) client: u64,
    pub(crate) bytes: Box<[u8]>,
}

/// What a packet in a relay's engine carries. Only real datagrams hold memory of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    /// From outside, and on its way out again.
    Datagram(Datagram),
    /// Between two agents inside.
    Segment(Segment),
}

impl From<Segment> for Payload {
    #[inline]
    fn from(segment: Segment) -> Self {
        Self::Segment(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_traffic_makes_packets_no_larger() {
        assert!(size_of::<Payload>() <= 56, "{}", size_of::<Payload>());
    }
}
