//! Quantities of a network core as types: a raw number crosses only the wire and the printer.
#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

#[cfg(any(test, feature = "std"))]
extern crate std;

mod cast;
mod dscp;
mod ecn;
#[cfg(feature = "std")]
mod epoch;
pub mod hash;
mod probability;
mod rate;
#[cfg(feature = "schema")]
pub mod schema;
mod seq;
pub mod text;
mod time;

pub use cast::{Integer, f64_from_u64, saturating, u64_from_f64};
pub use dscp::{Dscp, NotADscp};
pub use ecn::Ecn;
#[cfg(feature = "std")]
pub use epoch::Epoch;
pub use probability::{NotAProbability, Probability};
pub use rate::Rate;
pub use seq::{SeqNo24, SeqNo48};
pub use time::{Duration, Instant};
