//! A record of everything that went into a protocol machine and came out of it, with the times, so
//! that a session can be replayed into a fresh machine byte for byte.
//!
//! The file: a line of magic; then blocks of one kind byte, time (u64 nanoseconds), length (u32),
//! the body, and a check value (u64), all little-endian. Each check value is keyed with the one
//! before it, so that a changed, missing or moved byte is noticed at the block where it stands. The
//! first block holds the options and the secret seed; the last one says how many blocks there are.

mod block;
mod read;
mod record;
mod replay;
mod write;

pub use read::{JournalError, Reader};
pub use record::{Record, Setup};
pub use replay::{JournalEnd, ReplayError, Replayed, replay};
pub use write::Writer;
