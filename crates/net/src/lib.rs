//! DCCP over UDP endpoints (RFC 6773) around the sans-IO core.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate is where clocks are read")]

pub mod attempts;
mod connection;
mod driver;
mod endpoint;
pub mod io;
pub mod journal;
mod machine;
pub mod options;
mod order;
pub mod pcap;
mod revision;
mod state;
mod status;
mod train;
mod variant;

pub use connection::{ConnectError, Connection, SendError};
pub use endpoint::{BindError, Endpoint, EndpointStats, Recordings};
pub use options::Options;
pub use order::InOrder;
pub use revision::Revision;
pub use status::Status;
pub use tfrc_dccp::{Cause, Closed, ClosedBy, LatePolicy, Received, Stats};
pub use variant::Variant;
