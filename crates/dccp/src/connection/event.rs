//! Events of a connection, and how it ended.

use alloc::string::String;

use tfrc::RateChange;
use tfrc_units::Duration;

use super::DropReason;
use crate::wire::{ResetCode, ServiceCode};

/// Event for the application.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A server's new connection is established.
    Incoming {
        /// The service that the client asked for.
        service: ServiceCode,
    },
    /// A client's connection is established: data may be sent.
    Connected,
    /// The receive queue was empty and has datagrams.
    Readable,
    /// The send queue was full and has room again.
    Writable,
    /// The send queue has become empty: all that was handed over has been sent or dropped.
    Flushed,
    /// Datagrams left the send queue and were not sent.
    Dropped {
        /// The reason.
        reason: DropReason,
        /// Datagrams dropped for this reason since the last event about it.
        packets: u64,
        /// Total length of those datagrams, bytes.
        bytes: u64,
    },
    /// The allowed sending rate has changed.
    RateChanged(RateChange),
    /// The peer wants to close: read what is left, set a closing text, accept.
    CloseReceived,
    /// The connection is over. What was received can still be read. No more events follow.
    Closed(Closed),
}

/// An event of the connection's own that waits to be polled. [`Event`] is much larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    Incoming(ServiceCode),
    Connected,
    Readable,
    Writable,
    Flushed,
    CloseReceived,
}

impl From<Notice> for Event {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Incoming(service) => Self::Incoming { service },
            Notice::Connected => Self::Connected,
            Notice::Readable => Self::Readable,
            Notice::Writable => Self::Writable,
            Notice::Flushed => Self::Flushed,
            Notice::CloseReceived => Self::CloseReceived,
        }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The party that ended the connection, and how.
    pub by: ClosedBy,
    /// The Reset Code with which it ended; [`ResetCode::Closed`] if all went well.
    pub code: ResetCode,
    /// Why, beyond the Reset Code.
    pub cause: Cause,
    /// The text that the peer's Reset carried, or its Close, safe to show: control characters and
    /// characters that change the direction or the line are escaped as `\u{1b}`. At most 1024
    /// bytes.
    pub text: Option<String>,
    /// Datagrams that the peer has sent, received or not, as far as sequence numbers and NDP Counts
    /// show.
    pub peer_sent_data_packets: u64,
}

/// Party that ended a connection, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClosedBy {
    /// We closed, and the peer agreed.
    Us,
    /// The peer closed, and we agreed.
    Peer,
    /// We aborted it: on request, for lack of progress, or because of what the peer sent.
    OurReset,
    /// The peer aborted it.
    PeerReset,
    /// The network says that nobody listens there; only before the first answer.
    Unreachable,
}

/// The reason for the end of a connection, as this end knows it. Durations are how long it had
/// lasted when this end gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// One end closed and the other agreed (RFC 4340 §8.3).
    Agreed,
    /// The application of this end aborted it.
    Application,
    /// This end closed, and no answer came.
    CloseUnanswered(Duration),
    /// The handshake was not completed.
    HandshakeIncomplete(Duration),
    /// The network reports that nobody listens at the peer's address.
    PeerAbsent,
    /// The peer's Reset ended it; its code and text say more.
    PeerReset,
    /// The peer's Reset ended it, because it does not speak this CCID, the first that this end
    /// asked for.
    CcidRefused(u8),
    /// The peer broke a rule of the protocol; the code of our Reset says which.
    Protocol,
    /// The peer broke a rule of another protocol than DCCP; a phrase says which.
    Rule(&'static str),
    /// Nothing valid came from the peer.
    Silence(Duration),
    /// A new client from the same IP address took the place; this connection had left two Syncs
    /// unanswered.
    Replaced,
    /// The two ends disagree about sequence numbers and do not resynchronise, or the path lets
    /// nothing else through: for this long only Syncs and SyncAcks of the peer were valid, although
    /// this end sent datagrams. The duration is that of
    /// [`Silence::Probe`](crate::connection::Silence::Probe).
    OutOfStep(Duration),
    /// A server's client was connected and sent no datagram; see
    /// [`ConnectionConfig::first_data_within`](crate::ConnectionConfig::first_data_within).
    NoData(Duration),
}

/// Message of the network about a packet that was sent, such as an ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// It was too long.
    TooLong {
        /// The longest packet that would have passed, in bytes: the MTU less IP and UDP headers.
        limit: usize,
    },
    /// Nobody listens at its destination, or access to it is forbidden.
    Unreachable,
}
