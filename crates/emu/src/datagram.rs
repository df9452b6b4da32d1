/// Bytes that a datagram has on a link besides its payload: an IPv4 header (20) and a UDP header (8). They count whatever
/// the version of IP outside, so that a scenario does not depend on it.
pub const HEADER_BYTES: u32 = 28;

/// A real datagram on its way through the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagram {
    /// The client it comes from or goes to.
    pub(crate) client: u64,
    pub(crate) bytes: Box<[u8]>,
}

/// The payload type of an engine that a [`crate::Relay`] drives: a datagram, or something of the engine's own agents.
pub trait Payload: From<Datagram> {
    /// The datagram, `None` for anything else.
    fn into_datagram(self) -> Option<Datagram>;
}

impl Payload for Datagram {
    fn into_datagram(self) -> Option<Datagram> {
        Some(self)
    }
}
