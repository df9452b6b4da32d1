//! DCCP over UDP endpoints (RFC 6773) around the sans-IO core.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate is where clocks are read")]

mod connection;
mod driver;
mod endpoint;
mod gso;
pub mod io;
pub mod journal;
mod journaled_endpoint;
pub mod options;
pub mod pcap;
mod reorder;
mod scheduler;
mod status;
mod variant;

pub use connection::{ConnectError, Connection, SendError, overtaken};
pub use endpoint::{BindError, Endpoint, EndpointStats, Recordings};
pub use options::Options;
pub use reorder::InOrder;
pub use status::Status;
pub use tfrc::config::{ConfigError, RateCap};
pub use tfrc::equation::Friend;
pub use tfrc::study::{Profile, Revision};
pub use tfrc_dccp::endpoint::Refusal;
pub use tfrc_dccp::{Boundaries, Cause, Closed, ClosedBy, LatePolicy, Received, Stats, UNCONFIRMED};
pub use variant::Variant;
