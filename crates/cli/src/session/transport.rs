//! The two ways of a session: DCCP over UDP, and QUIC. Everything else in this program has sessions
//! only by these names.

use std::io;
use std::net::SocketAddr;

use tfrc::RateChange;
use tfrc_net::options::Listen;
use tfrc_net::{BindError, Closed, EndpointStats, LatePolicy, Options, Received, Refusal, SendError, Status};
use tfrc_units::Instant;

use super::Privacy;

/// Does the same with a session of either kind.
macro_rules! either {
    ($of:expr, $one:ident => $does:expr) => {
        match $of {
            Self::Dccp($one) => $does,
            #[cfg(feature = "quic")]
            Self::Quic($one) => $does,
        }
    };
}

/// A UDP port that speaks DCCP or QUIC.
#[derive(Debug)]
pub(crate) enum Endpoint {
    Dccp(tfrc_net::Endpoint),
    #[cfg(feature = "quic")]
    Quic(tfrc_quic::Endpoint),
}

/// One end of a session. [`tfrc_net::Connection`] describes the methods.
#[derive(Debug)]
pub(crate) enum Connection {
    Dccp(tfrc_net::Connection),
    #[cfg(feature = "quic")]
    Quic(tfrc_quic::Connection),
}

/// A peer that was refused, and why.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) remote: SocketAddr,
    pub(crate) why: String,
}

impl Endpoint {
    /// Opens a UDP port to listen on.
    ///
    /// # Errors
    /// [`BindError`].
    pub(crate) fn bind(address: SocketAddr, options: &Options, privacy: &Privacy) -> Result<Self, BindError> {
        debug_assert_ne!(options.common.accept, Listen::Refuse);
        match privacy {
            Privacy::None => tfrc_net::Endpoint::bind(address, options).map(Self::Dccp),
            #[cfg(feature = "quic")]
            Privacy::Keys(keys) => keys.bind(address, options).map(Self::Quic),
        }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        either!(self, one => one.local_addr())
    }

    pub(crate) fn now(&self) -> Instant {
        either!(self, one => one.now())
    }

    pub(crate) fn stats(&self) -> EndpointStats {
        either!(self, one => one.stats())
    }

    pub(crate) fn stop_accepting(&self) {
        either!(self, one => one.stop_accepting());
    }

    pub(crate) async fn accept(&self) -> Option<Connection> {
        match self {
            Self::Dccp(endpoint) => endpoint.accept().await.map(Connection::Dccp),
            #[cfg(feature = "quic")]
            Self::Quic(endpoint) => endpoint.accept().await.map(Connection::Quic),
        }
    }

    pub(crate) async fn linger(&self) {
        either!(self, one => one.linger().await);
    }

    pub(crate) async fn shut_down(self) -> io::Result<()> {
        either!(self, one => one.shut_down().await)
    }

    /// The peers that were refused since the last call.
    pub(crate) fn take_refusals(&self) -> Vec<Refused> {
        match self {
            Self::Dccp(endpoint) => {
                let refusals = endpoint.take_refusals().into_iter();
                let why = |refusal: Refusal| Refused {
                    remote: refusal.remote,
                    why: why_refused(&refusal).to_owned(),
                };
                refusals.map(why).collect()
            }
            #[cfg(feature = "quic")]
            Self::Quic(endpoint) => {
                use tfrc_quic::RefusalReason::{Address, Busy, Key};
                let refusals = endpoint.take_refusals().into_iter();
                let why = |refusal: tfrc_quic::Refusal| Refused {
                    remote: refusal.remote,
                    why: match refusal.reason {
                        Address => NOT_ALLOWED.to_owned(),
                        Busy => BUSY.to_owned(),
                        Key(key) => format!("its key {key} is not in --allow-key"),
                        _ => "it was not let in".to_owned(),
                    },
                };
                refusals.map(why).collect()
            }
        }
    }
}

const NOT_ALLOWED: &str = "its address is not in --allow";
const BUSY: &str = "as many connections as are served at once are open, or as many of this address";

/// The reason for a refusal, by the code of the Reset (RFC 4340 §5.6).
fn why_refused(refusal: &Refusal) -> &'static str {
    match refusal.code.map(|code| code.wire()) {
        None => NOT_ALLOWED,
        Some(7) => "no connections are taken now, or not on this DCCP port",
        Some(8) => "it asks for another service code",
        Some(9) => BUSY,
        Some(10) => "its cookie is not of this receiver, or too old",
        Some(_) => "its packets fit no connection",
    }
}

impl Connection {
    /// The transport, if it is not DCCP.
    pub(crate) const fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Dccp(_) => None,
            #[cfg(feature = "quic")]
            Self::Quic(_) => Some("quic"),
        }
    }

    pub(crate) fn remote_addr(&self) -> Option<SocketAddr> {
        either!(self, one => one.remote_addr())
    }

    pub(crate) fn set_late_policy(&self, policy: LatePolicy) {
        either!(self, one => one.set_late_policy(policy));
    }

    pub(crate) async fn send(&self, datagram: Vec<u8>) -> Result<(), SendError> {
        either!(self, one => one.send(datagram).await)
    }

    pub(crate) fn peer_greeting(&self) -> Option<String> {
        either!(self, one => one.peer_greeting())
    }

    pub(crate) fn peer_closing_text(&self) -> Option<String> {
        either!(self, one => one.peer_closing_text())
    }

    /// True while the peer has asked for the end and has no answer yet.
    pub(crate) fn is_asked_to_close(&self) -> bool {
        either!(self, one => one.is_asked_to_close())
    }

    pub(crate) fn set_closing_text(&self, text: &str) {
        either!(self, one => one.set_closing_text(text));
    }

    pub(crate) fn max_datagram(&self) -> usize {
        either!(self, one => one.max_datagram())
    }

    pub(crate) async fn flushed(&self) {
        either!(self, one => one.flushed().await);
    }

    pub(crate) async fn recv(&self) -> Option<Received> {
        either!(self, one => one.recv().await)
    }

    pub(crate) async fn recv_many(&self, batch: &mut Vec<Received>, limit: usize) -> usize {
        either!(self, one => one.recv_many(batch, limit).await)
    }

    /// Returns buffers of datagrams that were read, for later ones; QUIC has its own.
    pub(crate) fn recycle(&self, buffers: impl IntoIterator<Item = Vec<u8>>) {
        match self {
            Self::Dccp(connection) => connection.recycle(buffers),
            #[cfg(feature = "quic")]
            Self::Quic(_) => drop(buffers),
        }
    }

    /// An empty buffer for the next datagram.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        match self {
            Self::Dccp(connection) => connection.buffer(),
            #[cfg(feature = "quic")]
            Self::Quic(_) => Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        either!(self, one => one.now())
    }

    pub(crate) fn status(&self) -> Status {
        either!(self, one => one.status())
    }

    pub(crate) fn take_rate_changes(&self) -> Vec<RateChange> {
        either!(self, one => one.take_rate_changes())
    }

    pub(crate) async fn close(&self) -> Option<Closed> {
        either!(self, one => one.close().await)
    }

    pub(crate) async fn close_now(&self) -> Option<Closed> {
        either!(self, one => one.close_now().await)
    }

    pub(crate) async fn accept_close(&self, text: &str) -> Option<Closed> {
        either!(self, one => one.accept_close(text).await)
    }

    pub(crate) async fn request_close(&self, text: &str) -> Option<Closed> {
        either!(self, one => one.request_close(text).await)
    }
}
