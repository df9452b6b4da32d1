//! Per-packet feedback of other protocols: decoding its bytes, encoding it, and handing it to a
//! [`tfrc::Advisor`].
//!
//! * [`twcc`]: RTP transport-wide congestion control feedback
//!   (draft-holmer-rmcat-transport-wide-cc-extensions-01).
//! * [`rfc8888`]: RTP congestion control feedback.
//! * [`quic`]: the body of a QUIC ACK frame (RFC 9000 §19.3).
//! * [`BySendTime`]: no bytes, but transports that report packets by their time of sending.
//!
//! Each module of a format has a `decode` that borrows its input and allocates nothing, an
//! `Adapter` that keeps what must be remembered between reports and makes the calls, and an
//! `encode` for the other end.
//! Errors say what is wrong and at which byte; a report with an error in it has no effect at all.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

/// Programs of the crate's front page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FrontPage;

mod by_send_time;
mod error;
pub mod quic;
mod reader;
pub mod rfc8888;
pub mod rtcp;
pub mod twcc;
mod unwrapping;

pub use by_send_time::BySendTime;
pub use error::{DecodeError, ErrorKind};

use tfrc::advisor::Taken;

/// Packets of a report, counted by what the Advisor knew of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that this report is the first to acknowledge.
    pub new: u64,
    /// Packets already acknowledged.
    pub duplicate: u64,
    /// Packets never sent, or forgotten since. Many of them mean that the peer lies or that the
    /// record is too small.
    pub unknown: u64,
}

impl Counts {
    const fn add(&mut self, taken: Taken) {
        match taken {
            Taken::New => self.new += 1,
            Taken::Duplicate => self.duplicate += 1,
            Taken::Unknown => self.unknown += 1,
        }
    }
}
