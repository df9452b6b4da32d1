//! DCCP over UDP endpoints (RFC 6773) around the sans-IO core.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, reason = "this crate is where clocks are read")]

pub mod io;
mod order;
mod queue;

pub use order::InOrder;
pub use queue::{LatePolicy, SendQueue};
