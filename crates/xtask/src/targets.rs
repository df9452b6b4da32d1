//! Other targets than the machine that builds: a device without a system, and Windows.

use std::process::Command;

use crate::python::{built, run};
use crate::{Outcome, cargo, root};

/// An Arm Cortex-M4 with a floating-point unit.
const DEVICE: &str = "thumbv7em-none-eabihf";
/// The package that runs on it.
const ON_DEVICE: &str = "crates/tfrc/no-std/cortex-m";
const WINDOWS: &str = "x86_64-pc-windows-gnu";

/// The core on a device under qemu: after a minute of its own time it allows the rate that it
/// allows here, bit by bit.
pub(crate) fn device() -> Outcome {
    installed(DEVICE)?;
    let allowed = |target: &[&str]| {
        let mut command = cargo();
        command.args(["run", "--locked", "--quiet", "--release"]).args(target);
        command.current_dir(root().join(ON_DEVICE)).env("CARGO_TARGET_DIR", built());
        let output = command.output().map_err(|error| format!("cargo did not start: {error}"))?;
        let (said, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let line = said.lines().find(|line| line.starts_with("X after")).map(str::to_owned);
        line.ok_or_else(|| format!("{ON_DEVICE} ended with {}: {said}{errors}", output.status))
    };
    let (there, here) = (allowed(&["--target", DEVICE])?, allowed(&[])?);
    println!("   on the device: {there}\n   here:          {here}");
    if there == here { Ok(()) } else { Err("the device allows another rate".to_owned()) }
}

/// The program and the C library, type by type; nothing is linked.
pub(crate) fn windows() -> Outcome {
    installed(WINDOWS)?;
    let packages = ["--package", "tfrc-cli", "--package", "tfrc-c"];
    run(cargo()
        .args(["check", "--locked", "--target", WINDOWS])
        .args(packages)
        .env("RUSTFLAGS", "-D warnings"))
}

/// Adds the target's standard library to the toolchain.
fn installed(target: &str) -> Outcome {
    run(Command::new("rustup").args(["target", "add", target]))
}
