//! The C interface.
#![doc = include_str!("../README.md")]
#![expect(unsafe_code, reason = "this crate is the border to C: pointers come from there")]
#![deny(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]
#![expect(
    clippy::missing_safety_doc,
    reason = "tfrc.h says once for all functions what a caller owes: handles of this library, and \
              pointers that are null or point to what their type says"
)]

pub mod address;
pub mod advisor;
pub mod config;
pub mod endpoint;
pub mod endpoint_config;
pub mod equation;
pub mod event;
pub mod rate;
pub mod receiver;
pub mod sender;
pub mod status;
pub mod values;
