//! `cargo xtask picture`: the live chart of `tfrc demo` as README.md shows it.

use crate::{Outcome, cargo, root};

/// The picture; a test of `tfrc-cli` holds it against the program.
const FILE: &str = "docs/demo.svg";

pub(crate) fn write() -> Outcome {
    let made = cargo()
        .args(["run", "--locked", "--quiet", "--package", "tfrc-cli", "--example", "picture"])
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if !made.status.success() {
        return Err(format!("the example `picture` failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    std::fs::write(root().join(FILE), made.stdout).map_err(|error| format!("{FILE}: {error}"))
}
