//! The options of a session: those of any session, and those of its carrier.

use tfrc_net::options::{Common, Dccp};
#[cfg(feature = "quic")]
use tfrc_quic::{Fingerprint, Key};

/// Options of an endpoint and its sessions.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Options that every session has.
    pub common: Common,
    /// The carrier of the data, with the options that it alone has.
    pub carrier: Carrier,
}

/// The protocol below a session.
#[derive(Debug, Clone)]
pub enum Carrier {
    /// DCCP over UDP (RFC 6773) or over IP alone. Anybody on the path can read and change the
    /// data.
    Dccp(Dccp),
    /// QUIC datagrams (RFC 9221): encrypted, between ends that prove their keys.
    #[cfg(feature = "quic")]
    Quic(Quic),
}

impl Default for Carrier {
    /// DCCP with its usual options.
    fn default() -> Self {
        Self::Dccp(Dccp::default())
    }
}

/// The keys of a session over QUIC.
#[cfg(feature = "quic")]
#[derive(Debug, Clone)]
pub struct Quic {
    /// The key of this end.
    pub key: Key,
    /// The keys of the peers that this end talks to. If there are none, an endpoint that listens
    /// lets every peer in, and one that connects refuses every peer.
    pub peers: Vec<Fingerprint>,
}
