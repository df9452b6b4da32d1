//! The log on standard error: what `-v` and `RUST_LOG` let through.

use std::io::{self, Write};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::visible::Lossy;
use crate::{Failure, live};

/// Begins to log for the rest of the process. `RUST_LOG`, where it is set, has its usual meaning
/// (`debug`, or `tfrc=debug`); else `verbosity` counts the `-v`.
///
/// # Errors
/// [`Failure::Usage`] if `RUST_LOG` cannot be read.
pub(crate) fn start(verbosity: u8) -> Result<(), Failure> {
    let level = match verbosity {
        0 => LevelFilter::INFO,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let filter = match std::env::var("RUST_LOG") {
        Ok(wanted) if !wanted.is_empty() => wanted.parse::<Targets>().map_err(|error| {
            Failure::usage(format!("RUST_LOG={wanted}: {error}"), "write a level, such as RUST_LOG=debug")
        })?,
        _ => Targets::new().with_default(level),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_target(false);
    // A second call in one process, as tests make it, keeps the first log.
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
    Ok(())
}

/// Standard error; nothing while a chart has the terminal.
fn writer() -> Box<dyn Write> {
    if live::is_shown() { Box::new(io::sink()) } else { Box::new(Lossy(io::stderr())) }
}
