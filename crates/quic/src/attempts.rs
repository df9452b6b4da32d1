//! Connecting to a name that has several addresses (RFC 8305), and to an end that comes later.

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
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::clock::Clock;
use crate::closing::CloseCode;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::settings;
use crate::socket::SocketCounts;
use crate::state::Shared;
use crate::tls::{self, Peers, Verifier};
use crate::{Fingerprint, Key};

/// Connection Attempt Delay (RFC 8305 §5, §8).
const DELAY: Duration = Duration::from_millis(250);
/// Time between two rounds of attempts while a peer is waited for, and before a handshake is begun
/// again that has lost its place.
const AGAIN: Duration = Duration::from_millis(250);
/// The longest attempt; on a path that loses one packet in five one of some hundred takes 20 s.
const PATIENCE: Duration = Duration::from_secs(30);
/// The first attempt at a peer that may come later, whose packets are repeated more and more
/// rarely. Later ones last longer.
const FIRST_WAIT: Duration = Duration::from_secs(3);
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
    fn may_pass(&self) -> bool {
        matches!(self, Self::Absent | Self::Busy | Self::NoAnswer | Self::System(_))
    }
}

/// Connects to the first of these addresses where the owner of the key `peer` answers. An attempt
/// begins 250 ms after the one before, or as soon as that one fails.
///
/// # Errors
/// The address of the last attempt that failed, and why.
pub async fn connect_any(
    addresses: &[SocketAddr],
    options: &Common,
    key: &Key,
    peer: Fingerprint,
) -> Result<(Endpoint, Connection), (Option<SocketAddr>, ConnectError)> {
    race(addresses, options, key, peer, PATIENCE).await
}

/// Connects as [`connect_any`], and for as long as `wait` begins again when nobody is there yet or
/// the peer is busy. A wrong key ends it at once.
///
/// # Errors
/// As [`connect_any`].
pub async fn connect_waiting(
    addresses: &[SocketAddr],
    options: &Common,
    key: &Key,
    peer: Fingerprint,
    wait: Duration,
) -> Result<(Endpoint, Connection), (Option<SocketAddr>, ConnectError)> {
    let until = Instant::now() + wait;
    let mut patience = FIRST_WAIT;
    let mut last = (None, ConnectError::NoAnswer);
    loop {
        match timeout_at(until, race(addresses, options, key, peer, patience)).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err((address, error))) if error.may_pass() => last = (address, error),
            Ok(Err(error)) => return Err(error),
            Err(_) => return Err(last),
        }
        patience = (patience * 2).min(PATIENCE);
        if Instant::now() + AGAIN >= until {
            return Err(last);
        }
        sleep(AGAIN).await;
    }
}

async fn race(
    addresses: &[SocketAddr],
    options: &Common,
    key: &Key,
    peer: Fingerprint,
    patience: Duration,
) -> Result<(Endpoint, Connection), (Option<SocketAddr>, ConnectError)> {
    let mut attempts = JoinSet::new();
    let mut left = addresses.iter().copied();
    let mut failed = (None, ConnectError::NoAnswer);
    loop {
        if let Some(address) = left.next() {
            let (options, key) = (options.clone(), key.clone());
            attempts.spawn(async move {
                let outcome = attempt(address, &options, &key, peer, patience).await;
                outcome.map_err(|error| (Some(address), error))
            });
        }
        let ended = match left.len() {
            0 => Ok(attempts.join_next().await),
            _ => timeout(DELAY, attempts.join_next()).await,
        };
        match ended {
            Ok(Some(Ok(Ok(done)))) => return Ok(done),
            // Another key says more than an address at which nobody is.
            Ok(Some(Ok(Err(failure)))) => {
                if failed.0.is_none() || failed.1.may_pass() {
                    failed = failure;
                }
            }
            Ok(Some(Err(panic))) => failed = (None, ConnectError::System(panic.to_string())),
            Ok(None) => return Err(failed),
            Err(_) => {}
        }
    }
}

/// Begins handshakes until one is complete: a peer that strangers besiege gives the place of an old
/// one to a newer one.
async fn attempt(
    address: SocketAddr,
    options: &Common,
    key: &Key,
    peer: Fingerprint,
    patience: Duration,
) -> Result<(Endpoint, Connection), ConnectError> {
    let until = Instant::now() + patience;
    let mut last = ConnectError::NoAnswer;
    loop {
        match timeout_at(until, handshake(address, options, key, peer)).await {
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
    peer: Fingerprint,
) -> Result<Option<(Endpoint, Connection)>, ConnectError> {
    let system = |error: &dyn std::fmt::Display| ConnectError::System(error.to_string());
    if let Some(limit) = longest_payload(address).filter(|limit| *limit < SHORTEST) {
        return Err(ConnectError::Narrow { limit });
    }
    let clock = Clock::start();
    let (endpoint, socket) = Endpoint::towards(address, clock).map_err(|error| system(&error))?;
    let verifier = Arc::new(Verifier::new(Peers::These(vec![peer])));
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
