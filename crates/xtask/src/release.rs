//! The release build and its software bill of materials.

use std::path::Path;

use crate::tools::CARGO_CYCLONEDX;
use crate::{Outcome, cargo, root};

/// Builds the program and writes, beside it, what it is made of (CycloneDX 1.5, JSON).
pub(crate) fn run() -> Outcome {
    let built = cargo()
        .args(["build", "--release", "--locked", "--package", "tfrc-cli"])
        .status()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    if !built.success() {
        return Err(format!("the build ended with {built}"));
    }
    let listed = CARGO_CYCLONEDX
        .command()?
        .args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--describe", "binaries"])
        .args(["--manifest-path", "crates/cli/Cargo.toml"])
        .status()
        .map_err(|e| format!("cargo-cyclonedx did not start: {e}"))?;
    if !listed.success() {
        return Err(format!("cargo-cyclonedx ended with {listed}"));
    }
    let bill = Path::new("target/release/tfrc.cdx.json");
    let written = root().join("crates/cli/tfrc_bin.cdx.json");
    std::fs::rename(&written, root().join(bill)).map_err(|e| format!("{}: {e}", written.display()))?;
    // It also writes a bill for this tool, which nobody is given.
    let _ = std::fs::remove_file(root().join("crates/xtask/xtask_bin.cdx.json"));
    println!("target/release/tfrc and {}", bill.display());
    Ok(())
}
