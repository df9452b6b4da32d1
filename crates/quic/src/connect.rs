//! Connecting to one address, with handshakes that are begun again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use noq::{ClientConfig, ConnectionError, TransportErrorCode, VarInt};
use rustls::AlertDescription;
use tfrc_net::ConfigError;
use tfrc_net::io::longest_payload;
use tfrc_net::options::Common;
use tfrc_noq::Readings;
use tokio::time::{Instant, sleep, timeout_at};

use crate::clock::Clock;
use crate::closing::CloseCode;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::settings;
use crate::socket::SocketCounts;
use crate::state::Shared;
use crate::tls::{self, Peers, Verifier};
use crate::{Fingerprint, Key};

/// The wait before a handshake is begun again that has lost its place.
const AGAIN: Duration = Duration::from_millis(250);
/// The UDP payload that each path has to carry (RFC 9000 §14), bytes.
const SHORTEST: usize = 1200;
/// Interval between two looks at reports of the network.
const LOOK: Duration = Duration::from_millis(10);

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The network reports that nobody is there.
    #[error("nobody listens there: the network reports the port unreachable")]
    Absent,
    /// The peer takes no more connections now.
    #[error("the peer is busy with another connection, or takes none")]
    Busy,
    /// The options are out of range.
    #[error(transparent)]
    Options(#[from] ConfigError),
    /// The peer does not let our key in.
    #[error("the peer does not let the key {0} of this end in")]
    NotAllowed(Fingerprint),
    /// No answer came.
    #[error("no answer by QUIC: nobody is there, or it is not a `tfrc` with --quic")]
    NoAnswer,
    /// The peer has another key.
    #[error("the key there is {0}, which is not the expected one")]
    OtherKey(Fingerprint),
    /// The interface of the route takes no packets of QUIC (RFC 9000 §14).
    #[error(
        "the route there takes {limit} bytes in a datagram, and QUIC needs 1200: give its interface a larger \
         MTU"
    )]
    Narrow {
        /// The longest UDP payload, bytes.
        limit: usize,
    },
    /// The peer speaks QUIC, but not as this program does.
    #[error("the peer is not a `tfrc` of this kind: {0}")]
    Protocol(String),
    /// The system refuses.
    #[error("{0}")]
    System(String),
}

impl ConnectError {
    /// True for a failure that a peer that is started later, or becomes free, ends.
    #[must_use]
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Absent | Self::Busy | Self::NoAnswer | Self::System(_))
    }
}

/// Connects to the peer at this address, which has to own one of the keys `peers`. Begins
/// handshakes for as long as `patience` until one is complete: a peer that strangers besiege gives
/// the place of an old one to a newer one.
///
/// # Errors
/// [`ConnectError`].
pub async fn connect(
    address: SocketAddr,
    options: &Common,
    key: &Key,
    peers: &[Fingerprint],
    patience: Duration,
) -> Result<(Endpoint, Connection), ConnectError> {
    let until = Instant::now() + patience;
    let mut last = ConnectError::NoAnswer;
    loop {
        match timeout_at(until, handshake(address, options, key, peers)).await {
            Ok(Ok(Some(done))) => return Ok(done),
            Ok(Ok(None)) => last = ConnectError::Busy,
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(last),
        }
        sleep(AGAIN).await;
    }
}

/// One handshake; `None` if the peer has given its place away.
async fn handshake(
    address: SocketAddr,
    options: &Common,
    key: &Key,
    peers: &[Fingerprint],
) -> Result<Option<(Endpoint, Connection)>, ConnectError> {
    let system = |error: &dyn std::fmt::Display| ConnectError::System(error.to_string());
    if let Some(limit) = longest_payload(address).filter(|limit| *limit < SHORTEST) {
        return Err(ConnectError::Narrow { limit });
    }
    let clock = Clock::start();
    let (endpoint, socket) = Endpoint::towards(address, clock).map_err(|error| system(&error))?;
    let verifier = Arc::new(Verifier::new(Peers::These(peers.to_vec())));
    let readings = Arc::new(Readings::new(clock.epoch()));
    let crypto = tls::client(key, Arc::clone(&verifier)).map_err(|error| system(&error))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(settings::transport(options, &readings)?);
    let connecting =
        endpoint.quic().connect_with(config, address, tls::NAME).map_err(|error| system(&error))?;
    let refused = |error: &ConnectionError| why(error, key, &verifier);
    let quic = tokio::select! {
        connected = connecting => match connected {
            Ok(quic) => quic,
            Err(error) if is_displaced(&error) => return Ok(None),
            Err(error) => return Err(refused(&error)),
        },
        () = absent(&socket) => return Err(ConnectError::Absent),
    };
    let control = match quic.open_uni().await {
        Ok(control) => control,
        Err(error) if is_displaced(&error) => return Ok(None),
        Err(error) => return Err(refused(&error)),
    };
    let shared = Shared::new(quic, clock, options, readings, socket)?;
    let connection = Connection::new(Arc::new(shared), control, options, None, None);
    // A server that does not want this client says so only now.
    match connection.greeted().await {
        Ok(()) => Ok(Some((endpoint, connection))),
        Err(Some(error)) if is_displaced(&error) => Ok(None),
        Err(error) => Err(error.map_or(ConnectError::NoAnswer, |error| refused(&error))),
    }
}

/// True for the end of a handshake that has found no place, or whose place another one has taken.
/// The peer gives no reason: none would be sealed (RFC 9000 §10.2.3).
fn is_displaced(error: &ConnectionError) -> bool {
    match error {
        ConnectionError::ConnectionClosed(close) => {
            // The token of a Retry is too old when a place has been waited for.
            let code = close.error_code;
            code == TransportErrorCode::APPLICATION_ERROR || code == TransportErrorCode::INVALID_TOKEN
        }
        ConnectionError::ApplicationClosed(close) => {
            close.error_code == VarInt::from_u32(CloseCode::Agreed.wire())
        }
        error => *error == ConnectionError::Reset,
    }
}

/// Waits for a report that nobody is there.
async fn absent(socket: &SocketCounts) {
    while socket.unreachable.load(Ordering::Relaxed) == 0 {
        sleep(LOOK).await;
    }
}

fn why(error: &ConnectionError, key: &Key, verifier: &Verifier) -> ConnectError {
    if let Some(seen) = verifier.take_refused() {
        return ConnectError::OtherKey(seen);
    }
    let denied = TransportErrorCode::crypto(AlertDescription::AccessDenied.into());
    match error {
        ConnectionError::ConnectionClosed(close) if close.error_code == denied => {
            ConnectError::NotAllowed(key.fingerprint())
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            ConnectError::Busy
        }
        ConnectionError::ApplicationClosed(close)
            if close.error_code == VarInt::from_u32(CloseCode::Busy.wire()) =>
        {
            ConnectError::Busy
        }
        ConnectionError::TimedOut => ConnectError::NoAnswer,
        other => ConnectError::Protocol(other.to_string()),
    }
}
