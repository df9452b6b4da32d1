//! TCP-Friendly Rate Control (RFC 5348).
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

#[cfg(test)]
extern crate std;
