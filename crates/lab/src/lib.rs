//! The laboratory around the core.
#![forbid(unsafe_code)]

pub mod record;
pub mod report;
