//! The records of a journal, and their form as bytes.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use tfrc::config::RateCap;
use tfrc_dccp::LatePolicy;
use tfrc_dccp::connection::PathError;
use tfrc_units::{Duration, Ecn, Instant, Rate, saturating};

use crate::Options;

/// Setup of a fresh machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The program that wrote the journal.
    pub version: String,
    /// The options of the endpoint.
    pub options: Options,
    /// The seed of initial sequence numbers and everything else secret. A reader of the journal has
    /// it too.
    pub seed: [u8; 32],
}

/// One input or output of the machine.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// In: connect to this address. Connections are numbered in the order in which they begin,
    /// from 0.
    Connect(SocketAddr),
    /// In: a datagram has arrived.
    Datagram {
        /// The sender's address.
        from: SocketAddr,
        /// With which ECN bits.
        ecn: Ecn,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// In: time has passed.
    Timeout,
    /// In: the application hands over a datagram on a connection.
    Send {
        /// The connection's number.
        connection: u64,
        /// The data.
        bytes: Vec<u8>,
    },
    /// In: the application chooses what becomes of late datagrams.
    LatePolicy {
        /// The connection's number.
        connection: u64,
        /// The policy.
        policy: LatePolicy,
    },
    /// In: the application replaces its limit on the sending rate.
    Cap {
        /// Of which connection.
        connection: u64,
        /// The limit.
        cap: RateCap,
    },
    /// In: the application reads the oldest datagram of a connection, which makes room for another.
    Read {
        /// The connection's number.
        connection: u64,
    },
    /// In: the application closes a connection.
    Close {
        /// The connection's number.
        connection: u64,
    },
    /// In: the application closes a connection without sending what waits in it.
    CloseNow {
        /// The connection's number.
        connection: u64,
    },
    /// In: the application agrees to the end of a connection, with a text for the peer.
    AcceptClose {
        /// The connection's number.
        connection: u64,
        /// The closing text.
        text: String,
    },
    /// In: the application asks the client of a connection to close, with a text for the end.
    RequestClose {
        /// The connection's number.
        connection: u64,
        /// The closing text.
        text: String,
    },
    /// In: the application forgets a connection.
    Release {
        /// The connection's number.
        connection: u64,
    },
    /// In: the application sets the text for the end of a connection.
    ClosingText {
        /// The connection's number.
        connection: u64,
        /// The closing text.
        text: String,
    },
    /// In: the system did not take a datagram to this address because it is too long.
    Refused {
        /// The receiver's address.
        to: SocketAddr,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// In: the system says how much the route to an address takes.
    Route {
        /// The receiver's address.
        to: SocketAddr,
        /// The longest payload, bytes.
        limit: u64,
    },
    /// In: the process stood still, and datagrams left late.
    HeldUp {
        /// Datagrams that were given out since then.
        since: Instant,
    },
    /// In: the network has said something about a datagram.
    PathError {
        /// To whom it went.
        to: SocketAddr,
        /// The network's message.
        error: PathError,
        /// The beginning of the datagram that the message quotes.
        quoted: Vec<u8>,
    },
    /// In: no more connections are taken.
    StopAccepting,
    /// Out: a datagram to be sent.
    Transmit {
        /// The receiver's address.
        to: SocketAddr,
        /// With which ECN bits.
        ecn: Ecn,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// Out: asked at this time, the machine had nothing more to send.
    Drained,
}

/// Stands for a limit where it is not about one.
const UNREACHABLE: u64 = u64::MAX;
/// The deadline of datagrams that wait indefinitely.
const NO_DEADLINE: u64 = u64::MAX;
/// The kind byte of the block that holds the [`Setup`].
pub(super) const SETUP: u8 = b'0';
/// The kind byte of the last block.
pub(super) const END: u8 = b'.';

impl Record {
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Connect(_) => b'o',
            Self::Datagram { .. } => b'i',
            Self::Timeout => b't',
            Self::Send { .. } => b's',
            Self::LatePolicy { .. } => b'l',
            Self::Cap { .. } => b'p',
            Self::Close { .. } => b'c',
            Self::CloseNow { .. } => b'k',
            Self::Read { .. } => b'g',
            Self::AcceptClose { .. } => b'a',
            Self::RequestClose { .. } => b'q',
            Self::Release { .. } => b'r',
            Self::StopAccepting => b'n',
            Self::ClosingText { .. } => b'w',
            Self::Refused { .. } => b'z',
            Self::Route { .. } => b'u',
            Self::HeldUp { .. } => b'h',
            Self::PathError { .. } => b'e',
            Self::Transmit { .. } => b'x',
            Self::Drained => b'd',
        }
    }

    pub(super) fn encode(&self, body: &mut Vec<u8>) {
        match self {
            Self::Connect(to) => address(body, *to),
            Self::Datagram { from: peer, ecn, bytes } | Self::Transmit { to: peer, ecn, bytes } => {
                address(body, *peer);
                body.push(ecn.bits());
                body.extend_from_slice(bytes);
            }
            Self::Refused { to, bytes } => {
                address(body, *to);
                body.extend_from_slice(bytes);
            }
            Self::Route { to, limit } => {
                address(body, *to);
                body.extend_from_slice(&limit.to_le_bytes());
            }
            Self::HeldUp { since } => body.extend_from_slice(&since.as_nanos().to_le_bytes()),
            Self::PathError { to, error, quoted } => {
                address(body, *to);
                let limit = match error {
                    PathError::TooLong { limit } => saturating::<u64>(*limit),
                    _ => UNREACHABLE,
                };
                body.extend_from_slice(&limit.to_le_bytes());
                body.extend_from_slice(quoted);
            }
            Self::Timeout | Self::StopAccepting | Self::Drained => {}
            Self::Send { connection, bytes } => {
                body.extend_from_slice(&connection.to_le_bytes());
                body.extend_from_slice(bytes);
            }
            Self::LatePolicy { connection, policy } => {
                body.extend_from_slice(&connection.to_le_bytes());
                let deadline = match policy {
                    LatePolicy::Wait => NO_DEADLINE,
                    LatePolicy::DropAfter(deadline) => deadline.as_nanos(),
                };
                body.extend_from_slice(&deadline.to_le_bytes());
            }
            Self::Cap { connection, cap } => {
                body.extend_from_slice(&connection.to_le_bytes());
                let rate = match cap {
                    RateCap::AtMost(rate) => rate.bytes_per_sec(),
                    _ => f64::INFINITY,
                };
                body.extend_from_slice(&rate.to_bits().to_le_bytes());
            }
            Self::Close { connection }
            | Self::CloseNow { connection }
            | Self::Read { connection }
            | Self::Release { connection } => {
                body.extend_from_slice(&connection.to_le_bytes());
            }
            Self::AcceptClose { connection, text }
            | Self::RequestClose { connection, text }
            | Self::ClosingText { connection, text } => {
                body.extend_from_slice(&connection.to_le_bytes());
                body.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// `None` if the body does not fit the kind.
    pub(super) fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        Some(match kind {
            b'o' => Self::Connect(take_address(body)?.0),
            b'i' | b'x' => {
                let (peer, rest) = take_address(body)?;
                let (ecn, bytes) = rest.split_first()?;
                let (ecn, bytes) = (Ecn::from_bits(*ecn), bytes.to_vec());
                if kind == b'i' {
                    Self::Datagram { from: peer, ecn, bytes }
                } else {
                    Self::Transmit { to: peer, ecn, bytes }
                }
            }
            // Older journals have its length alone.
            b'm' => {
                let (to, rest) = take_address(body)?;
                let length = take_u64(rest)?.0.min(u64::from(u16::MAX));
                Self::Refused { to, bytes: vec![0; saturating(length)] }
            }
            b'z' => take_address(body).map(|(to, rest)| Self::Refused { to, bytes: rest.to_vec() })?,
            b'u' => {
                let (to, rest) = take_address(body)?;
                Self::Route { to, limit: take_u64(rest)?.0 }
            }
            b'h' => Self::HeldUp { since: Instant::from_nanos(take_u64(body)?.0) },
            b'e' => {
                let (to, rest) = take_address(body)?;
                let (limit, quoted) = take_u64(rest)?;
                let error = match limit {
                    UNREACHABLE => PathError::Unreachable,
                    limit => PathError::TooLong { limit: usize::try_from(limit).ok()? },
                };
                Self::PathError { to, error, quoted: quoted.to_vec() }
            }
            b't' if body.is_empty() => Self::Timeout,
            b'n' if body.is_empty() => Self::StopAccepting,
            b'd' if body.is_empty() => Self::Drained,
            b's' => {
                take_u64(body).map(|(connection, rest)| Self::Send { connection, bytes: rest.to_vec() })?
            }
            b'l' => {
                let (connection, rest) = take_u64(body)?;
                let policy = match take_u64(rest)?.0 {
                    NO_DEADLINE => LatePolicy::Wait,
                    deadline => LatePolicy::DropAfter(Duration::from_nanos(deadline)),
                };
                Self::LatePolicy { connection, policy }
            }
            b'p' => {
                let (connection, rest) = take_u64(body)?;
                let rate = f64::from_bits(take_u64(rest)?.0);
                let cap = match rate {
                    f64::INFINITY => RateCap::Unlimited,
                    _ => RateCap::AtMost(Rate::from_bytes_per_sec(rate)),
                };
                Self::Cap { connection, cap }
            }
            b'c' => take_u64(body).map(|(connection, _)| Self::Close { connection })?,
            b'g' => take_u64(body).map(|(connection, _)| Self::Read { connection })?,
            b'k' => take_u64(body).map(|(connection, _)| Self::CloseNow { connection })?,
            b'r' => take_u64(body).map(|(connection, _)| Self::Release { connection })?,
            b'a' => {
                let (connection, rest) = take_u64(body)?;
                Self::AcceptClose { connection, text: String::from_utf8(rest.to_vec()).ok()? }
            }
            b'w' => {
                let (connection, rest) = take_u64(body)?;
                Self::ClosingText { connection, text: String::from_utf8(rest.to_vec()).ok()? }
            }
            b'q' => {
                let (connection, rest) = take_u64(body)?;
                Self::RequestClose { connection, text: String::from_utf8(rest.to_vec()).ok()? }
            }
            _ => return None,
        })
    }
}

/// A record and its time.
pub(super) type Timed = (Instant, Record);

fn address(body: &mut Vec<u8>, address: SocketAddr) {
    let text = address.to_string();
    body.push(saturating::<u8>(text.len()));
    body.extend_from_slice(text.as_bytes());
}

fn take_address(body: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (length, rest) = body.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(text).ok()?.parse().ok()?, rest))
}

fn take_u64(body: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = body.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), rest))
}
