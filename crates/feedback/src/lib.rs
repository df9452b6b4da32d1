//! Per-packet feedback of other protocols, for a [`tfrc::Advisor`].
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

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
    /// Packets that a report before has acknowledged.
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
