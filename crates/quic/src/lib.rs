//! Private sessions of `tfrc`: QUIC datagrams (RFC 9221) at the rate of TFRC, between two ends that
//! know each other's keys.
//!
//! noq has QUIC, rustls TLS 1.3, `tfrc-noq` the rate. This crate adds what a session of `tfrc` has
//! besides: a number on each datagram, so that a receiver knows what it has lost; a queue with a
//! deadline; greetings and closing texts on a stream of their own; and keys that are known by
//! their fingerprints. `docs/quic.md` has the bytes.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate is a host: it reads clocks")]

mod base64;
mod clock;
mod closing;
mod connect;
mod connection;
mod endpoint;
pub mod frame;
mod handshakes;
mod ids;
mod key;
mod moves;
mod settings;
mod socket;
mod state;
mod stopped;
mod tasks;
#[cfg(test)]
mod tests;
mod tls;
pub mod trusted;
mod unproved;

pub use connect::{ConnectError, connect};
pub use connection::Connection;
pub use endpoint::{Endpoint, Refusal, RefusalReason};
pub use key::{Fingerprint, FingerprintError, Key, KeyError, Loaded, make_folder, replace};
