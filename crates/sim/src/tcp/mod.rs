//! The simulator's TCPs, sender and sink, without I/O: Tahoe, Reno, NewReno, SACK and CUBIC by the
//! RFCs, and Linux's Reno and CUBIC.
//!
//! Sequence numbers count segments, from 0; a transfer is at most 2^32 − 2 of them. Windows are in
//! segments too. The machines follow the contract of ARCHITECTURE.md: after any input, take
//! everything from [`Sender::poll_transmit`], then read [`Sender::poll_timeout`].
//!
//! The other end's window has an end and never closes, connections are not closed by an exchange,
//! and nothing is reordered on purpose.

mod cubic;
mod delayed_acks;
mod either;
mod linux;
mod ranges;
mod reassembly;
mod receive_window;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod settings;
mod sink;
mod stats;
pub mod study;
#[cfg(test)]
mod tests;
mod window;
mod written;

pub use either::Sender;
pub use segment::{Ack, AckKind, ConnectionId, Data, DataKind, EcnEcho, Fin, Reduced, SackBlock, Stamp};
pub use sender::Transfer;
pub use settings::{Acks, EcnMode, Settings, Stack, SynMode, Timestamps, Variant};
pub use sink::{Sink, SinkStats};
pub use stats::{SenderStats, WindowSample};
pub use written::More;
