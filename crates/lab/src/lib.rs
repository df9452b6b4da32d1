//! The laboratory around the core: scenarios, agents, metrics and reports.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "the laboratory faces the real world: files, clocks and people"
)]
#![forbid(unsafe_code)]

pub mod agent;
pub mod batch;
pub mod capture;
pub mod compare;
pub mod document;
pub mod emulated;
#[cfg(all(feature = "emu", target_os = "linux"))]
pub mod emulation;
pub mod experiment;
mod jobs;
pub mod library;
pub mod metric;
pub mod note;
mod progress;
pub mod quantities;
pub mod record;
pub mod recording;
#[cfg(feature = "relay")]
pub mod relay;
pub mod report;
mod run;
pub mod scenario;
pub mod series;
pub mod statistics;
pub mod text;
pub mod watch;

pub use run::{
    COV_SCALE, FINE_COV_SCALE, LinkOutcome, NoDccpFlow, Outcome, run, run_captured, run_until, run_watched,
    run_with,
};
