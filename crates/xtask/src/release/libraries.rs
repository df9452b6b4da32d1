//! The libraries: that of C for both systems, and the wheels of Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{archive, dist};
use crate::python::{pip, run as done, virtual_environment};
use crate::targets::{WINDOWS, cost_here, cost_under_wine, same};
use crate::{cargo, root};

pub(super) const WINDOWS_NEEDS: &[(&str, &str)] =
    &[("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"), ("wine", "wine64 wine")];
/// Rust's targets of the wheels, each with the name of its processor in a wheel.
const WHEELS: [(&str, &str); 2] =
    [("x86_64-unknown-linux-gnu", "x86_64"), ("aarch64-unknown-linux-gnu", "aarch64")];
pub(super) const WHEELS_NEEDS: &[(&str, &str)] = &[("rustup", "rustup")];
/// Programs that make wheels for a glibc older than this machine's, from PyPI.
const MAKERS: [&str; 2] = ["maturin>=1.13,<2", "ziglang==0.15.2"];
/// The oldest glibc that the wheels run with, by its name in a wheel.
const GLIBC: &str = "manylinux_2_28";
/// A program that tries a wheel.
const TRIAL: &str =
    "import tfrc; flows = tfrc.simulate('mix-red', seed=1, progress=False).flows; print(len(flows), 'flows')";

/// The C library of this machine.
pub(super) fn linux() -> Result<Vec<PathBuf>, String> {
    let name = format!("tfrc-c-{}-linux-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    let prefix = installed(&name, None)?;
    // From another place than the one it was made for, as users unpack it.
    let moved = root().join("target/c/moved");
    let _ = std::fs::remove_dir_all(&moved);
    let packed = archive(&prefix, &name)?;
    std::fs::create_dir_all(&moved).map_err(|e| format!("{}: {e}", moved.display()))?;
    done(Command::new("tar").arg("-xzf").arg(&packed[0]).arg("-C").arg(&moved))?;
    let library = moved.join(&name).join("lib");
    let program = moved.join("cost");
    let compile = "cc -std=c11 -O1 \"$1\" $(pkg-config --cflags --libs tfrc) -o \"$2\"";
    done(
        Command::new("sh")
            .args(["-euc", compile, "sh"])
            .arg(root().join("bindings/c/examples/cost.c"))
            .arg(&program)
            .env("PKG_CONFIG_PATH", library.join("pkgconfig")),
    )?;
    same("with the archive's library", &crate::targets::cost(&mut Command::new(program))?, &cost_here()?)?;
    Ok(packed)
}

/// The C library for Windows.
pub(super) fn windows() -> Result<Vec<PathBuf>, String> {
    done(Command::new("rustup").args(["target", "add", WINDOWS]))?;
    let name = format!("tfrc-c-{}-windows-x86_64", env!("CARGO_PKG_VERSION"));
    let prefix = installed(&name, Some(WINDOWS))?;
    let packed = archive(&prefix, &name)?;
    same("under wine", &cost_under_wine(&prefix)?, &cost_here()?)?;
    Ok(packed)
}

/// A prefix that can be moved: the library in its release build, and the licences.
fn installed(name: &str, target: Option<&str>) -> Result<PathBuf, String> {
    let prefix = root().join("target/c").join(name);
    let _ = std::fs::remove_dir_all(&prefix);
    let mut make = Command::new("make");
    make.args(["--silent", "-C", "bindings/c", "install", "PC_PREFIX=$${pcfiledir}/../.."]);
    make.args(target.map(|target| format!("TARGET={target}")));
    make.arg(format!("PREFIX={}", prefix.display())).env("CARGO", cargo().get_program());
    done(&mut make)?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let (from, to) = (root().join(licence), prefix.join(licence));
        std::fs::copy(&from, to).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(prefix)
}

/// A wheel for each processor, for every Python from 3.9 on.
pub(super) fn wheels() -> Result<Vec<PathBuf>, String> {
    let makers = virtual_environment(&root().join("target/wheel-makers"))?;
    done(pip(&makers).arg("install").args(MAKERS))?;
    // maturin starts zig as a module of the `python3` in PATH.
    let mut path = makers.parent().unwrap_or(&makers).as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut made = Vec::new();
    for (target, processor) in WHEELS {
        done(Command::new("rustup").args(["target", "add", target]))?;
        done(
            Command::new(&makers)
                .env("PATH", &path)
                .args(["-m", "maturin", "build", "--quiet", "--release", "--locked", "--zig"])
                .args(["--compatibility", GLIBC, "--target", target])
                .args(["--manifest-path", "bindings/python/Cargo.toml", "--out"])
                .arg(dist()),
        )?;
        made.push(wheel(&dist(), processor)?);
    }
    let tried = root().join("target/wheel-tried");
    let _ = std::fs::remove_dir_all(&tried);
    let python = virtual_environment(&tried)?;
    let here = made.iter().find(|wheel| wheel.to_string_lossy().contains(std::env::consts::ARCH));
    done(pip(&python).arg("install").arg(here.ok_or("no wheel is for this machine")?))?;
    done(Command::new(&python).current_dir(&tried).args(["-c", TRIAL]))?;
    Ok(made)
}

/// The wheel of the folder for this processor.
fn wheel(folder: &Path, processor: &str) -> Result<PathBuf, String> {
    let ending = format!("{GLIBC}_{processor}.whl");
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let found = paths.find(|path| path.to_string_lossy().ends_with(&ending));
    found.ok_or_else(|| format!("maturin wrote no wheel {ending}"))
}
