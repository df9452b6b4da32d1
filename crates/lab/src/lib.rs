//! The laboratory: worlds in which scenarios run, and what is measured in them.
#![doc = include_str!("../README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the laboratory faces the real world: files, clocks and people"
)]
#![forbid(unsafe_code)]

pub mod agent;
pub mod batch;
#[cfg(feature = "host")]
pub mod cache;
pub mod capture;
pub mod document;
pub mod emulated;
mod figures;
pub mod jobs;
pub mod metric;
pub mod note;
pub mod own;
mod packets;
pub mod plot;
pub mod printed;
pub mod quantities;
pub mod record;
pub mod recording;
pub mod report;
mod run;
pub mod series;
pub mod statistics;
pub mod watch;
pub mod world;

pub use run::{
    COV_SCALE, Completion, FINE_COV_SCALE, GroupOutcome, LinkOutcome, Listeners, Outcome, record_until, run,
    run_traced, run_until, run_watched, run_with,
};

/// The version of the code that measures: a hash of the sources of the crates that decide a run,
/// of the packages that they are built with, and of the compiler's version.
#[must_use]
pub fn code_version() -> &'static str {
    env!("TFRC_CODE_VERSION")
}
