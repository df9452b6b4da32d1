//! A file that arrives whole: one repair over both carriers (docs/file-transfer.md).
//!
//! The sender sends each byte once, in order, then says length and hash. The receiver names the
//! ranges that it lacks, the sender sends those, and so on in rounds until the hash agrees. The
//! rate is that of the connection; there is no window, and no timer but the round-trip time.
//! [`Outgoing`] and [`Incoming`] are the two ends without I/O, [`FileSource`] and [`FileTaker`]
//! those with files.

mod batch;
mod exchange;
mod map;
mod positioned;
mod ranges;
mod receiving;
mod sending;
mod source;
mod taker;
#[cfg(test)]
mod tests;
mod wire;

use tfrc_units::Duration;

use self::receiving::Incoming;
use self::sending::Outgoing;

pub(crate) use self::source::whole_hash;
pub(crate) use self::wire::HASH;

pub use self::exchange::{FileCopy, FileError, pump_file, receive_file, send_file};
pub use self::sending::FileOutcome;
pub(crate) use self::source::FileNext;
pub use self::source::{FileSent, FileSource};
pub use self::taker::{FileState, FileTaker};

/// Datagrams that wait for a [`FileTaker`] in the connection, at most, for
/// [`Common::receive_queue`](crate::Common::receive_queue): 1.5 MB, whatever the length of the file.
/// What finds no place while a disk stands still is sent again.
pub const FILE_QUEUE: usize = 1024;

/// The round-trip time assumed until one is known (RFC 4340 §3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// The shortest round-trip time that the words of a file follow: on a loopback interface they would
/// be as many as the data.
const SHORTEST_RTT: Duration = Duration::from_millis(10);

/// The round-trip time that the words of a file follow.
fn rounded(rtt: Option<Duration>) -> Duration {
    rtt.unwrap_or(DEFAULT_RTT).max(SHORTEST_RTT)
}
