//! Peers that were refused, for the log of the application.

use alloc::collections::VecDeque;
use core::net::SocketAddr;

use crate::wire::ResetCode;

/// Maximum number of refusals kept until polled; later ones are only counted in
/// [`EndpointStats`](super::EndpointStats).
const KEPT: usize = 64;

/// An attempt of a peer to connect that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The peer's address; it may be forged.
    pub remote: SocketAddr,
    /// The code of the Reset sent to the peer (RFC 4340 §5.6); `None` if the peer gets no answer
    /// because [`EndpointConfig::allow`](super::EndpointConfig::allow) leaves its address out.
    pub code: Option<ResetCode>,
    /// The CCID that the peer asked for first, where none of its CCIDs is spoken here.
    pub ccid: Option<u8>,
}

/// The oldest refusals not yet polled.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusals(VecDeque<Refusal>);

impl Refusals {
    pub(super) fn add(&mut self, remote: SocketAddr, code: Option<ResetCode>) {
        self.keep(Refusal { remote, code, ccid: None });
    }

    pub(super) fn keep(&mut self, refusal: Refusal) {
        if self.0.len() < KEPT {
            self.0.push_back(refusal);
        }
    }

    pub(super) fn next(&mut self) -> Option<Refusal> {
        self.0.pop_front()
    }
}
