//! `cargo xtask integrations`: the workspace of `integrations/`, controllers for other people's
//! transports, with a lock file of its own; and its bench, with another one.

use std::process::Command;

use crate::python::{built, run};
use crate::{Outcome, cargo};

const MANIFEST: &str = "integrations/Cargo.toml";
const BENCH: &str = "integrations/bench/Cargo.toml";

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
    run(workspace("test").arg("--workspace"))?;
    // The tables and pictures of docs/media.md.
    run(of(BENCH, "clippy").args(["--all-targets", "--", "--deny", "warnings"]))?;
    run(&mut of(BENCH, "test"))?;
    run(of(BENCH, "run").args(["--", "--check"]))
}

fn format() -> Outcome {
    run(cargo().args(["fmt", "--all", "--check", "--manifest-path", MANIFEST]))?;
    run(cargo().args(["fmt", "--check", "--manifest-path", BENCH]))
}

fn workspace(command: &str) -> Command {
    of(MANIFEST, command)
}

fn of(manifest: &str, command: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([command, "--locked", "--manifest-path", manifest]);
    cargo.env("CARGO_TARGET_DIR", built().join("integrations"));
    cargo
}
