//! The crates that other programs add: packed as a registry would get them, built from the packed
//! files, and their public items held against the last version.

use crate::tools::CARGO_SEMVER_CHECKS;
use crate::{Outcome, cargo};

/// In the order of their dependencies.
const PACKAGES: [&str; 6] = ["tfrc-units", "tfrc", "tfrc-feedback", "tfrc-dccp", "tfrc-sim", "tfrc-net"];

/// The commit that is version 0.1.0: one contract, one configuration, named modules.
const BASELINE: &str = "b36d89c76b5c749bf50fbf96931feee7fd1d968f";

fn selection() -> impl Iterator<Item = &'static str> {
    PACKAGES.into_iter().flat_map(|name| ["--package", name])
}

/// Packs every crate and builds what was packed.
pub(crate) fn check() -> Outcome {
    let status = cargo()
        .args(["package", "--locked", "--allow-dirty", "--quiet"])
        .args(selection())
        .status()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo package ended with {status}")) }
}

/// Says whether the version's step allows what has changed in public items since [`BASELINE`].
pub(crate) fn semver() -> Outcome {
    let status = CARGO_SEMVER_CHECKS
        .command()?
        .args(["semver-checks", "--baseline-rev", BASELINE])
        .args(selection())
        .status()
        .map_err(|e| format!("cargo-semver-checks did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo-semver-checks ended with {status}")) }
}
