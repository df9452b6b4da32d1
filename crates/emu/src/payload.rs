//! Real datagrams as content of packets in a relay's network.

/// Bytes that a datagram has on a link besides its payload: an IPv4 header (20) and a UDP header
/// (8). They count whatever the version of IP outside, so that a scenario does not depend on it.
pub const HEADER_BYTES: u32 = 28;

/// A real datagram on its way through the engine. Agents of the engine never see one: it is
/// addressed to a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The client it comes from or goes to.
    pub(crate) client: u64,
    pub(crate) bytes: Box<[u8]>,
}
