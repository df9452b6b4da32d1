//! The subcommands at work, one file each.

pub mod capture;
pub mod completions;
pub mod demo;
#[cfg(all(feature = "emu", target_os = "linux"))]
pub mod emu;
pub mod equation;
pub mod key;
pub mod link;
pub mod man;
pub mod recv;
pub mod replay;
pub mod scenario;
pub mod schema;
pub mod send;
pub mod sim;
#[cfg(target_os = "linux")]
pub mod stream;

use std::io::{self, Write};

use crate::Failure;

/// Writes a result to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::standard_output(&e))
}
