//! Other targets than the machine that builds: a device without a system, and Windows.

use std::path::Path;
use std::process::Command;

use crate::python::{built, run};
use crate::{Outcome, cargo, root};

/// An Arm Cortex-M4 with a floating-point unit.
const DEVICE: &str = "thumbv7em-none-eabihf";
/// The package that runs on it.
const ON_DEVICE: &str = "crates/tfrc/no-std/cortex-m";
pub(crate) const WINDOWS: &str = "x86_64-pc-windows-gnu";
/// Random numbers where Rust's library asks Windows 10 for them, which Debian's wine 8 has not.
const RANDOM: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
    __declspec(dllexport) BOOL ProcessPrng(PBYTE to, SIZE_T size) { return RtlGenRandom(to, size); }\n";
/// Packets that the C library's example sends.
const PACKETS: &str = "10000";

/// The core on a device under qemu: after a minute of its own time it allows the rate that it
/// allows here, bit by bit.
pub(crate) fn device() -> Outcome {
    installed(DEVICE)?;
    let allowed = |target: &[&str]| {
        let mut command = cargo();
        command.args(["run", "--locked", "--quiet", "--release"]).args(target);
        said(command.current_dir(root().join(ON_DEVICE)).env("CARGO_TARGET_DIR", built()))
    };
    same("on the device", &allowed(&["--target", DEVICE])?, &allowed(&[])?)
}

/// The program, type by type, and the C library as a DLL: its example allows under wine the rate
/// that it allows here, bit by bit.
///
/// Needs mingw-w64 and wine (Debian: `gcc-mingw-w64-x86-64`, `wine64` and `wine`).
pub(crate) fn windows() -> Outcome {
    installed(WINDOWS)?;
    let checked = ["check", "--locked", "--package", "tfrc-cli", "--target", WINDOWS];
    run(cargo().args(checked).env("RUSTFLAGS", "-D warnings"))?;
    let prefix = root().join("target/c/windows");
    run(Command::new("make")
        .args(["--silent", "-C", "bindings/c", "install", "PROFILE=dev"])
        .arg(format!("TARGET={WINDOWS}"))
        .arg(format!("PREFIX={}", prefix.display()))
        .env("CARGO", cargo().get_program()))?;
    same("under wine", &cost_under_wine(&prefix)?, &cost_here()?)
}

/// The words of `cost.c` under wine with the DLL of a prefix.
pub(crate) fn cost_under_wine(prefix: &Path) -> Result<String, String> {
    let tried = root().join("target/c/wine-tried");
    std::fs::create_dir_all(&tried).map_err(|error| format!("{}: {error}", tried.display()))?;
    // Beside the program, where the loader looks.
    let library = prefix.join("bin/tfrc.dll");
    std::fs::copy(&library, tried.join("tfrc.dll"))
        .map_err(|error| format!("{}: {error}", library.display()))?;
    let program = tried.join("cost.exe");
    run(Command::new("x86_64-w64-mingw32-gcc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(prefix.join("include"))
        .arg(root().join("bindings/c/examples/cost.c"))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(prefix.join("lib"))
        .arg("-ltfrc"))?;
    let random = tried.join("random.c");
    std::fs::write(&random, RANDOM).map_err(|error| format!("{}: {error}", random.display()))?;
    run(Command::new("x86_64-w64-mingw32-gcc")
        .args(["-shared", "-o"])
        .arg(tried.join("bcryptprimitives.dll"))
        .arg(&random)
        .arg("-ladvapi32"))?;
    cost(
        Command::new("wine")
            .arg(&program)
            .env("WINEPREFIX", root().join("target/c/wine"))
            .env("WINEDEBUG", "-all"),
    )
}

/// The words of `cost.rs` here.
pub(crate) fn cost_here() -> Result<String, String> {
    cost(cargo().args(["run", "--locked", "--quiet", "--package", "tfrc-c", "--example", "cost", "--"]))
}

/// The words of a build of the example `cost` on its packets.
pub(crate) fn cost(command: &mut Command) -> Result<String, String> {
    said(command.arg(PACKETS))
}

/// The first line that a program prints.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name} did not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains("bits")).map(|line| line.trim().to_owned());
    let errors = String::from_utf8_lossy(&output.stderr);
    line.ok_or_else(|| format!("{name} ended with {}: {text}{errors}", output.status))
}

/// Two machines say the same.
pub(crate) fn same(place: &str, there: &str, here: &str) -> Outcome {
    println!("   {place}: {there}\n   here: {here}");
    if there == here { Ok(()) } else { Err(format!("{place} the rate is another")) }
}

/// Adds the target's standard library to the toolchain.
fn installed(target: &str) -> Outcome {
    run(Command::new("rustup").args(["target", "add", target]))
}
