//! The Datagram Congestion Control Protocol on bytes: RFC 4340 with CCID 3 (RFC 4342 read with RFC 5348, RTT reports of
//! RFC 6323), natively or inside UDP (RFC 6773).
//!
//! Everything is sans-IO and deterministic: time is an argument, secrets come from a seed, no call blocks and no input
//! of a peer panics.
//!
//! * [`Endpoint`] owns many connections behind one socket; [`Connection`] is one of them.
//! * [`wire`]: packets and options, parsed and emitted.
//! * [`feature`]: what the two ends agree on.

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod ccid;
mod connection;
mod endpoint;
pub mod feature;
mod limiter;
mod secret;
pub mod wire;

pub use connection::{
    Closed, ClosedBy, Connection, ConnectionConfig, EcnSending, Encapsulation, Event, FeedbackProfile,
    Received, SendError, Silence, State, Stats, Transmit, Wake, WakeReason,
};
pub use endpoint::{
    Carrier, ConnectConfig, ConnectError, ConnectionId, Endpoint, EndpointConfig, EndpointStats, Listen,
    Transmission,
};
pub use limiter::RateLimiter;
