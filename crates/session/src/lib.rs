//! A session: two ends with data between them, over DCCP or QUIC.
//!
//! `tfrc-net` has DCCP over UDP, which anybody on the path can read; `tfrc-quic` has QUIC, private
//! between ends that know each other's keys. This crate is the one door to both: [`Options`] name
//! the carrier and can set nothing that the carrier lacks, [`connect_any`] finds the peer among
//! several addresses, and an [`Endpoint`] has the same methods over either.
//!
//! It has no bytes of its own: what goes over the network is in the two crates below.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate is a host: it reads clocks")]

mod attempts;
mod connection;
mod either;
mod endpoint;
mod options;
mod refusal;

pub use attempts::{AttemptError, ConnectError, connect_any, connect_waiting};
pub use connection::Connection;
pub use endpoint::Endpoint;
#[cfg(feature = "quic")]
pub use options::Quic;
pub use options::{Carrier, Options};
pub use refusal::{Refusal, RefusalReason};
pub use tfrc_net::options::{Common, DataFrom, Dccp, Listen};
pub use tfrc_net::{
    BindError, Boundaries, Cause, Closed, ClosedBy, EndpointStats, LatePolicy, Received, Recordings,
    SendError, Status,
};
#[cfg(feature = "quic")]
pub use tfrc_quic::{Fingerprint, Key};
