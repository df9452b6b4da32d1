//! One end of a session over DCCP or QUIC.

use std::net::SocketAddr;

use tfrc::RateChange;
use tfrc_units::{Instant, Rate};

use crate::either::either;
use crate::{Closed, LatePolicy, Received, SendError, Status};

/// Datagrams that wait to be sent where a deadline bounds their age, at most, for
/// [`Common::send_queue`](crate::Common::send_queue): 1.5 MB, more than a key picture. A short queue
/// would drop the oldest of a burst long before they are late.
pub const DEADLINE_QUEUE: usize = 1024;

/// One end of a session. [`tfrc_net::Connection`] says more about the methods. Dropping it ends the
/// connection.
#[derive(Debug)]
pub enum Connection {
    /// A session over DCCP.
    Dccp(tfrc_net::Connection),
    /// A session over QUIC.
    #[cfg(feature = "quic")]
    Quic(tfrc_quic::Connection),
}

impl Connection {
    /// The transport, if it is not DCCP over UDP.
    #[must_use]
    pub fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Dccp(connection) => match connection.carrier() {
                tfrc_net::options::Carrier::Udp => None,
                tfrc_net::options::Carrier::Raw => Some("raw"),
            },
            #[cfg(feature = "quic")]
            Self::Quic(_) => Some("quic"),
        }
    }

    /// The peer's address now: over QUIC it changes when the peer moves.
    #[must_use]
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        either!(self, one => one.remote_addr())
    }

    /// The fingerprint of the peer's key; `None` over DCCP.
    #[must_use]
    pub fn peer_key(&self) -> Option<String> {
        match self {
            Self::Dccp(_) => None,
            #[cfg(feature = "quic")]
            Self::Quic(connection) => connection.peer_key().map(|key| key.to_string()),
        }
    }

    /// Chooses what happens to data that the rate cannot carry at once.
    pub fn set_late_policy(&self, policy: LatePolicy) {
        either!(self, one => one.set_late_policy(policy));
    }

    /// Hands over a datagram; waits while the queue is full, unless late data is dropped.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(&self, datagram: Vec<u8>) -> Result<(), SendError> {
        either!(self, one => one.send(datagram).await)
    }

    /// The text of the peer's application in its first packet; `None` if it has none.
    #[must_use]
    pub fn peer_greeting(&self) -> Option<String> {
        either!(self, one => one.peer_greeting())
    }

    /// The text with which the peer's application closes; `None` if it has none.
    #[must_use]
    pub fn peer_closing_text(&self) -> Option<String> {
        either!(self, one => one.peer_closing_text())
    }

    /// True while the peer has asked for the end and has no answer yet.
    #[must_use]
    pub fn is_asked_to_close(&self) -> bool {
        either!(self, one => one.is_asked_to_close())
    }

    /// Sets the text of this end's Close.
    pub fn set_closing_text(&self, text: &str) {
        either!(self, one => one.set_closing_text(text));
    }

    /// The longest datagram that the path carries now, bytes.
    #[must_use]
    pub fn max_datagram(&self) -> usize {
        either!(self, one => one.max_datagram())
    }

    /// Waits until everything handed over has been sent or dropped.
    pub async fn flushed(&self) {
        either!(self, one => one.flushed().await);
    }

    /// The next datagram; `None` once the peer sends no more. Cancel-safe.
    pub async fn recv(&self) -> Option<Received> {
        either!(self, one => one.recv().await)
    }

    /// Appends up to `limit` datagrams, after waiting for the first; 0 once the peer sends no more.
    /// Cancel-safe.
    pub async fn recv_many(&self, batch: &mut Vec<Received>, limit: usize) -> usize {
        either!(self, one => one.recv_many(batch, limit).await)
    }

    /// Returns buffers of datagrams that were read, for later ones; QUIC has its own.
    pub fn recycle(&self, buffers: impl IntoIterator<Item = Vec<u8>>) {
        match self {
            Self::Dccp(connection) => connection.recycle(buffers),
            #[cfg(feature = "quic")]
            Self::Quic(_) => drop(buffers),
        }
    }

    /// An empty buffer for the next datagram.
    #[must_use]
    pub fn buffer(&self) -> Vec<u8> {
        match self {
            Self::Dccp(connection) => connection.buffer(),
            #[cfg(feature = "quic")]
            Self::Quic(_) => Vec::new(),
        }
    }

    /// The time by the endpoint's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        either!(self, one => one.now())
    }

    /// A snapshot of the connection.
    #[must_use]
    pub fn status(&self) -> Status {
        either!(self, one => one.status())
    }

    /// Changes of the allowed rate since the last call, with their reasons.
    #[must_use]
    pub fn take_rate_changes(&self) -> Vec<RateChange> {
        either!(self, one => one.take_rate_changes())
    }

    /// Closes the connection once everything handed over has been sent, and returns how it ended.
    pub async fn close(&self) -> Option<Closed> {
        either!(self, one => one.close().await)
    }

    /// Closes the connection now; what waits to be sent is dropped.
    pub async fn close_now(&self) -> Option<Closed> {
        either!(self, one => one.close_now().await)
    }

    /// Answers the peer's Close with a text, and returns how the connection ended.
    pub async fn accept_close(&self, text: &str) -> Option<Closed> {
        either!(self, one => one.accept_close(text).await)
    }

    /// Asks the peer to close, with a text, and returns how the connection ended.
    pub async fn request_close(&self, text: &str) -> Option<Closed> {
        either!(self, one => one.request_close(text).await)
    }

    /// Waits for another allowed rate, and returns it; `None` when the connection is over.
    /// Cancel-safe.
    pub async fn rate_changed(&self) -> Option<Rate> {
        either!(self, one => one.rate_changed().await)
    }

    /// Waits until the peer has a place for this end. Over QUIC a handshake ends with that.
    pub(crate) async fn confirmed(&self) -> Result<(), tfrc_net::ConnectError> {
        match self {
            Self::Dccp(connection) => connection.confirmed().await,
            #[cfg(feature = "quic")]
            Self::Quic(_) => Ok(()),
        }
    }
}
