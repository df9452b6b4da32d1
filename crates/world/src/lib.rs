//! Worlds in which scenarios run, and all that decides the results.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "worlds face the real one: files, clocks and people"
)]
#![forbid(unsafe_code)]

pub mod batch;
#[cfg(feature = "host")]
pub mod cache;
pub mod custom;
pub mod emulated;
mod figures;
pub mod jobs;
pub mod keep;
pub mod metric;
pub mod note;
pub mod printed;
pub mod quantities;
pub mod recording;
pub mod results;
mod run;
mod state;
pub mod statistics;
pub mod watch;
pub mod world;

pub use results::Outcome;
pub use run::{Run, run};
pub use tfrc_agents as agent;

/// The version of the code that measures: a hash of the sources of the crates that decide a run,
/// of the packages that they are built with, and of the compiler's version.
#[must_use]
pub fn code_version() -> &'static str {
    env!("TFRC_CODE_VERSION")
}
