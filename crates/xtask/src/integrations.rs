//! `cargo xtask integrations`: the workspace of `integrations/`, controllers for other people's
//! transports, with a lock file of its own.

use std::process::Command;

use crate::python::{built, run};
use crate::{Outcome, cargo};

const MANIFEST: &str = "integrations/Cargo.toml";

/// Format and tests of those that are in use today.
pub(crate) fn check() -> Outcome {
    format()?;
    run(workspace("test").args([
        "--package",
        "tfrc-noq",
        "--package",
        "tfrc-rtc",
        "--package",
        "tfrc-testpath",
    ]))
}

/// Lints and tests of all.
pub(crate) fn full() -> Outcome {
    format()?;
    run(workspace("clippy").args(["--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    run(workspace("test").arg("--workspace"))
}

fn format() -> Outcome {
    run(cargo().args(["fmt", "--all", "--check", "--manifest-path", MANIFEST]))
}

fn workspace(command: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([command, "--locked", "--manifest-path", MANIFEST]);
    cargo.env("CARGO_TARGET_DIR", built().join("integrations"));
    cargo
}
