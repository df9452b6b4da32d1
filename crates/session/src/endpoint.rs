//! A UDP port that speaks DCCP or QUIC.

use std::io;
use std::net::SocketAddr;

use tfrc_units::Instant;

use crate::either::either;
use crate::{BindError, Carrier, Connection, EndpointStats, Options, Refusal};

/// A UDP port with sessions: those into it, or the one out of it. It runs as a task of the tokio
/// runtime it was made in.
#[derive(Debug)]
pub enum Endpoint {
    /// It speaks DCCP.
    Dccp(tfrc_net::Endpoint),
    /// It speaks QUIC.
    #[cfg(feature = "quic")]
    Quic(tfrc_quic::Endpoint),
}

impl Endpoint {
    /// Opens a UDP port to listen on; port 0 lets the system choose. Over QUIC the owners of
    /// [`peers`](crate::Carrier) are let in, and everybody if there are none.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(address: SocketAddr, options: &Options) -> Result<Self, BindError> {
        let Options { common, carrier } = options;
        match carrier {
            Carrier::Dccp(dccp) => {
                let options = tfrc_net::Options { common: common.clone(), dccp: dccp.clone() };
                tfrc_net::Endpoint::bind(address, &options).map(Self::Dccp)
            }
            #[cfg(feature = "quic")]
            Carrier::Quic(quic) => {
                tfrc_quic::Endpoint::bind(address, common, &quic.key, &quic.peers).map(Self::Quic)
            }
        }
    }

    /// The address bound to.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        either!(self, one => one.local_addr())
    }

    /// The time by the endpoint's clock, zero at its creation.
    #[must_use]
    pub fn now(&self) -> Instant {
        either!(self, one => one.now())
    }

    /// Counts of the endpoint as a whole.
    #[must_use]
    pub fn stats(&self) -> EndpointStats {
        either!(self, one => one.stats())
    }

    /// The peers that were refused since the last call, oldest first; at most 64 are kept.
    #[must_use]
    pub fn take_refusals(&self) -> Vec<Refusal> {
        either!(self, one => one.take_refusals().into_iter().map(Refusal::from).collect())
    }

    /// Takes no more connections. Open ones continue.
    pub fn stop_accepting(&self) {
        either!(self, one => one.stop_accepting());
    }

    /// The next connection from a peer; `None` when the endpoint has ended. Cancel-safe.
    pub async fn accept(&self) -> Option<Connection> {
        match self {
            Self::Dccp(endpoint) => endpoint.accept().await.map(Connection::Dccp),
            #[cfg(feature = "quic")]
            Self::Quic(endpoint) => endpoint.accept().await.map(Connection::Quic),
        }
    }

    /// Takes no more connections, and stays for peers that have not heard the end of theirs.
    /// Cancel-safe.
    pub async fn linger(&self) {
        either!(self, one => one.linger().await);
    }

    /// Ends the endpoint. Connections still open are broken off.
    ///
    /// # Errors
    /// An earlier error of the network, or that of a recording that could not be written.
    pub async fn shut_down(self) -> io::Result<()> {
        either!(self, one => one.shut_down().await)
    }

    /// Ends the endpoint without a wait, as [`Endpoint::shut_down`] does with one. Over QUIC the
    /// end comes when the endpoint is dropped.
    pub fn stop(&self) {
        match self {
            Self::Dccp(endpoint) => endpoint.stop(),
            #[cfg(feature = "quic")]
            Self::Quic(_) => {}
        }
    }
}
