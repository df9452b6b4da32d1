//! The C interface to sessions.
#![doc = include_str!("../README.md")]
#![expect(unsafe_code, reason = "this crate is the border to C: pointers come from there")]
#![deny(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]
#![expect(
    clippy::missing_safety_doc,
    reason = "tfrc_session.h says once for all functions what a caller owes: handles of this \
              library, and pointers that are null or point to what their type says"
)]
#![allow(clippy::disallowed_methods, reason = "this crate is a host: it waits by the clock")]

pub mod file;
pub mod listener;
pub mod options;
mod runtime;
pub mod session;
pub mod status;
