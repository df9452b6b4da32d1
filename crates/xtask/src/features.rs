//! Combinations of features: each crate is checked with every one, by cargo-hack.

use crate::Outcome;
use crate::tools::CARGO_HACK;

pub(crate) fn check() -> Outcome {
    let status = CARGO_HACK
        .command()?
        .args(["hack", "check", "--locked", "--workspace", "--feature-powerset", "--quiet"])
        .status()
        .map_err(|e| format!("cargo-hack did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo-hack ended with {status}")) }
}
