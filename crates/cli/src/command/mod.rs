//! The subcommands at work, one file each.

pub(crate) mod capture;
pub(crate) mod completions;
pub(crate) mod demo;
#[cfg(all(feature = "emu", target_os = "linux"))]
pub(crate) mod emu;
pub(crate) mod equation;
pub(crate) mod key;
pub(crate) mod link;
pub(crate) mod man;
pub(crate) mod recv;
pub(crate) mod replay;
pub(crate) mod scenario;
pub(crate) mod schema;
pub(crate) mod send;
pub(crate) mod sim;
#[cfg(target_os = "linux")]
pub(crate) mod stream;

use std::io::{self, Write};

use crate::Failure;

/// Writes a result to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::standard_output(&e))
}
