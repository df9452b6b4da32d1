//! Peers that were not let in.

use std::net::SocketAddr;

use tfrc_dccp::wire::ResetCode;

/// A peer that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The peer's address. It may be forged, unless a key was refused.
    pub remote: SocketAddr,
    /// The reason.
    pub reason: RefusalReason,
}

/// Why a peer was refused. Only the first two reasons occur over any carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// Its address is not one of [`Common::allow`](crate::Common).
    Address,
    /// As many connections as are taken are open, or as many of its address.
    Busy,
    /// DCCP: it speaks none of this end's CCIDs; the first of its own.
    Ccid(u8),
    /// DCCP: no connections are taken now, or not on this DCCP port.
    Closed,
    /// DCCP: the cookie in its packet is not of this endpoint, or too old.
    Cookie,
    /// QUIC: its key is not one of those that are let in.
    #[cfg(feature = "quic")]
    Key(tfrc_quic::Fingerprint),
    /// DCCP: it asks for another service code.
    Service,
    /// DCCP: its packets fit no connection.
    Stray,
}

impl From<tfrc_net::Refusal> for Refusal {
    /// The reason follows from the code of the Reset (RFC 4340 §5.6).
    fn from(refusal: tfrc_net::Refusal) -> Self {
        let reason = match (refusal.code, refusal.ccid) {
            (None, _) => RefusalReason::Address,
            (_, Some(ccid)) => RefusalReason::Ccid(ccid),
            (Some(ResetCode::ConnectionRefused), _) => RefusalReason::Closed,
            (Some(ResetCode::BadServiceCode), _) => RefusalReason::Service,
            (Some(ResetCode::TooBusy), _) => RefusalReason::Busy,
            (Some(ResetCode::BadInitCookie), _) => RefusalReason::Cookie,
            (Some(_), _) => RefusalReason::Stray,
        };
        Self { remote: refusal.remote, reason }
    }
}

#[cfg(feature = "quic")]
impl From<tfrc_quic::Refusal> for Refusal {
    fn from(refusal: tfrc_quic::Refusal) -> Self {
        let reason = match refusal.reason {
            tfrc_quic::RefusalReason::Address => RefusalReason::Address,
            tfrc_quic::RefusalReason::Key(key) => RefusalReason::Key(key),
            _ => RefusalReason::Busy,
        };
        Self { remote: refusal.remote, reason }
    }
}
