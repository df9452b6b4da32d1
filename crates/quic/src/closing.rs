//! How a session ended, in the words that sessions over DCCP have for it.

use noq::{ConnectionError, TransportErrorCode, VarInt};
use tfrc_dccp::wire::ResetCode;
use tfrc_net::{Cause, Closed, ClosedBy};
use tfrc_units::Duration;

use crate::frame::LONGEST_TEXT;

/// Why an end closes its connection, on the wire (the error code of CONNECTION_CLOSE, RFC 9000
/// §19.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseCode {
    /// Both ends have agreed.
    Agreed,
    /// The application has gone.
    GivenUp,
    /// The client brought no data in time.
    NoData,
    /// As many connections as the server takes are open.
    Busy,
    /// The peer has broken a rule; a [`Violation`] says which.
    Protocol,
}

/// A rule of a session that the peer has broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Violation {
    /// Its bytes are not a message.
    Message,
    /// It has ended its control stream, or takes nothing from ours.
    Stream,
    /// It has agreed to an end that nobody has asked for.
    Unasked,
    /// It claims more datagrams than it can have sent.
    Count,
}

impl CloseCode {
    const ALL: [Self; 5] = [Self::Agreed, Self::GivenUp, Self::NoData, Self::Busy, Self::Protocol];

    pub(crate) const fn wire(self) -> u32 {
        match self {
            Self::Agreed => 0,
            Self::GivenUp => 1,
            Self::NoData => 2,
            Self::Busy => 3,
            Self::Protocol => 4,
        }
    }

    /// Words for people.
    pub(crate) const fn reason(self) -> &'static [u8] {
        match self {
            Self::Agreed => b"",
            Self::GivenUp => b"the program has ended",
            Self::NoData => b"no data came",
            Self::Busy => b"busy",
            Self::Protocol => b"a rule was broken",
        }
    }

    const fn as_reset(self) -> ResetCode {
        match self {
            Self::Agreed => ResetCode::Closed,
            Self::GivenUp | Self::NoData => ResetCode::Aborted,
            Self::Busy => ResetCode::TooBusy,
            Self::Protocol => ResetCode::PacketError,
        }
    }

    fn read(code: VarInt) -> Option<Self> {
        Self::ALL.into_iter().find(|known| VarInt::from_u32(known.wire()) == code)
    }
}

impl Violation {
    /// A phrase for people, at both ends.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::Message => "a message without a meaning",
            Self::Stream => "the control stream of a session ended before the session",
            Self::Unasked => "an agreement to an end that was not asked for",
            Self::Count => "a count of more datagrams than can have been sent",
        }
    }
}

/// The end of a connection that QUIC has lost, when no end was agreed on.
pub(crate) fn lost(error: &ConnectionError, silence: Duration, sent: u64) -> Closed {
    let closed = |by, code, cause, text| Closed { by, code, cause, text, peer_sent_data_packets: sent };
    match error {
        ConnectionError::ApplicationClosed(close) => {
            let code = CloseCode::read(close.error_code).map_or(ResetCode::Unspecified, CloseCode::as_reset);
            closed(ClosedBy::PeerReset, code, Cause::PeerReset, shown(&close.reason))
        }
        ConnectionError::ConnectionClosed(close) => {
            let code = match close.error_code {
                TransportErrorCode::CONNECTION_REFUSED => ResetCode::TooBusy,
                _ => ResetCode::Unspecified,
            };
            closed(ClosedBy::PeerReset, code, Cause::PeerReset, shown(&close.reason))
        }
        ConnectionError::Reset => {
            closed(ClosedBy::PeerReset, ResetCode::NoConnection, Cause::PeerReset, None)
        }
        ConnectionError::TimedOut => {
            closed(ClosedBy::OurReset, ResetCode::Aborted, Cause::Silence(silence), None)
        }
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            closed(ClosedBy::OurReset, ResetCode::Aborted, Cause::Application, None)
        }
        ConnectionError::VersionMismatch | ConnectionError::TransportError(_) => {
            closed(ClosedBy::OurReset, ResetCode::PacketError, Cause::Protocol, None)
        }
    }
}

/// A reason of the peer's, if it can be shown.
fn shown(reason: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(reason.get(..LONGEST_TEXT).unwrap_or(reason)).ok()?;
    (!text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))).then(|| text.to_owned())
}
