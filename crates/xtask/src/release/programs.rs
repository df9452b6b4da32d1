//! The program: as a Debian package, static for two processors, and in an image.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{DIST, dist};
use crate::python::{built, run as done};
use crate::tools::{CARGO_CYCLONEDX, CARGO_DEB};
use crate::{cargo, paths, root};

/// Manual pages and completions for the package; `crates/cli/Cargo.toml` names these paths.
const SHARE: &str = "target/deb-share";
/// The name and path of each completion, by the name of its shell.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "tfrc.bash"), ("fish", "tfrc.fish"), ("zsh", "_tfrc")];

/// Features of the program that users get, besides the default ones: it is built once, for many.
const FEATURES: [&str; 2] = ["--features", "quic"];

const ARM: &str = "aarch64-unknown-linux-gnu";
/// A linker for 64-bit Arm, and an emulator of its processor.
pub(super) const ARM_NEEDS: &[(&str, &str)] = &[
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"),
    ("qemu-aarch64-static", "qemu-user-static"),
];

/// The run that every build of the program must print byte for byte as the first one does.
const RUN: [&str; 5] = ["sim", "mix-red", "--set", "duration=30s", "--json"];

pub(super) fn program() -> Result<Vec<PathBuf>, String> {
    let mut command = cargo();
    command.env("RUSTFLAGS", paths::of_nobody());
    done(command.args(["build", "--release", "--locked", "--package", "tfrc-cli"]).args(FEATURES))?;
    names_nobody(&here())?;
    Ok(vec![here()])
}

/// The program with the machine's C library.
fn here() -> PathBuf {
    built().join("release/tfrc")
}

/// The bill of materials of the program (CycloneDX 1.5, JSON).
pub(super) fn bill() -> Result<Vec<PathBuf>, String> {
    let mut command = CARGO_CYCLONEDX.command()?;
    command.args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--describe", "binaries"]);
    done(command.args(["--manifest-path", "crates/cli/Cargo.toml"]).args(FEATURES))?;
    let written = root().join("crates/cli/tfrc_bin.cdx.json");
    let bill = dist().join("tfrc.cdx.json");
    std::fs::rename(&written, &bill).map_err(|e| format!("{}: {e}", written.display()))?;
    // It also writes a bill for this tool, which is not for users.
    let _ = std::fs::remove_file(root().join("crates/xtask/xtask_bin.cdx.json"));
    Ok(vec![bill])
}

/// The program with its manual pages, completions, systemd unit and licences.
pub(super) fn package() -> Result<Vec<PathBuf>, String> {
    let share = root().join(SHARE);
    let _ = std::fs::remove_dir_all(&share);
    done(Command::new(here()).arg("man").arg(share.join("man1")))?;
    for (shell, name) in COMPLETIONS {
        let file = std::fs::File::create(share.join(name)).map_err(|e| format!("{name}: {e}"))?;
        done(Command::new(here()).args(["completions", shell]).stdout(file))?;
    }
    let mut command = CARGO_DEB.command()?;
    command.args(["deb", "-q", "--no-build", "--no-strip", "--locked", "--package", "tfrc-cli"]);
    done(command.args(["--output", DIST]))?;
    let package = newest(&dist(), "deb")?;
    let unpacked = root().join("target/deb-tried");
    let _ = std::fs::remove_dir_all(&unpacked);
    done(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked))?;
    same(&mut Command::new(unpacked.join("usr/bin/tfrc")))?;
    Ok(vec![package])
}

/// The program, linked statically with the C library (glibc).
pub(super) fn static_program() -> Result<Vec<PathBuf>, String> {
    let given = linked_statically(&host()?, "tfrc", None)?;
    same(&mut alone(&given, None)?)?;
    Ok(vec![given])
}

/// The static program for 64-bit Arm.
pub(super) fn arm() -> Result<Vec<PathBuf>, String> {
    done(Command::new("rustup").args(["target", "add", ARM]))?;
    let given = linked_statically(ARM, "tfrc-aarch64", Some(ARM_NEEDS[0].0))?;
    same(&mut alone(&given, Some(ARM_NEEDS[1].0))?)?;
    Ok(vec![given])
}

/// Builds for a target, with another linker and C compiler if one is named, and puts the program
/// among the files for users.
fn linked_statically(target: &str, name: &str, compiler: Option<&str>) -> Result<PathBuf, String> {
    let mut command = cargo();
    command.env("RUSTFLAGS", format!("-C target-feature=+crt-static {}", paths::of_nobody()));
    if let Some(compiler) = compiler {
        let variable = target.replace('-', "_");
        command.env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), compiler);
        command.env(format!("CC_{variable}"), compiler);
    }
    command.args(["build", "--release", "--locked", "--package", "tfrc-cli", "--target", target]);
    done(command.args(FEATURES))?;
    let (program, given) = (built().join(target).join("release/tfrc"), dist().join(name));
    std::fs::copy(&program, &given).map_err(|e| format!("{}: {e}", program.display()))?;
    names_nobody(&given)?;
    Ok(given)
}

/// # Errors
/// If the program has a path of this machine in it: that of the builder's crates or repository.
fn names_nobody(program: &Path) -> Result<(), String> {
    let bytes = std::fs::read(program).map_err(|e| format!("{}: {e}", program.display()))?;
    let own = [std::env::home_dir().map(|home| home.join(".cargo/registry")), Some(root().join("crates"))];
    for path in own.into_iter().flatten() {
        let path = path.display().to_string();
        if bytes.windows(path.len()).any(|window| window == path.as_bytes()) {
            return Err(format!("{} has {path} in it", program.display()));
        }
    }
    Ok(())
}

/// The command that starts a program, under an emulator if one is named, in a root where nothing
/// else is; without root's rights in this one.
fn alone(program: &Path, emulator: Option<&str>) -> Result<Command, String> {
    let folder = root().join("target/empty-root");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let copied = |from: &Path, name: &str| {
        std::fs::copy(from, folder.join(name)).map_err(|e| format!("{}: {e}", from.display()))
    };
    copied(program, "tfrc")?;
    let mut words: Vec<PathBuf> = Vec::new();
    if let Some(emulator) = emulator {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found =
            std::env::split_paths(&path).map(|folder| folder.join(emulator)).find(|file| file.exists());
        copied(&found.ok_or_else(|| format!("{emulator} is not in PATH"))?, "emulator")?;
        words.push("/emulator".into());
    }
    words.push("/tfrc".into());
    let may = Command::new("chroot").args(["/", "true"]).output().is_ok_and(|output| output.status.success());
    let mut command = if may {
        let mut command = Command::new("chroot");
        command.arg(&folder);
        command.arg(&words[0]);
        command
    } else {
        println!("   not root: used in this root, not in an empty one");
        words.iter_mut().for_each(|word| *word = folder.join(word.strip_prefix("/").unwrap_or(word)));
        Command::new(&words[0])
    };
    command.args(&words[1..]);
    Ok(command)
}

/// A build of the program simulates what the first one does, byte for byte.
fn same(tried: &mut Command) -> Result<(), String> {
    let printed = |command: &mut Command| {
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.args(RUN).output().map_err(|e| format!("{name} did not start: {e}"))?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(output.stdout) } else { Err(format!("{name}: {errors}")) }
    };
    let (there, here) = (printed(tried)?, printed(&mut Command::new(here()))?);
    if there != here {
        return Err(format!("{:?} prints another result than {}", tried, self::here().display()));
    }
    println!("   tfrc {}: the same {} bytes", RUN.join(" "), here.len());
    Ok(())
}

/// The image that `contrib/Containerfile` describes, as an archive that podman and docker load.
pub(super) fn image() -> Result<Vec<PathBuf>, String> {
    let archive = dist().join("tfrc-image.tar");
    let podman = || {
        let mut command = Command::new("podman");
        // The driver that needs nothing of the kernel; an image of one layer loses nothing by it.
        command.current_dir(root()).args(["--storage-driver", "vfs"]);
        command
    };
    let build = ["build", "--quiet", "--network", "host", "--tag", "tfrc", "--file", "contrib/Containerfile"];
    done(podman().args(build).arg(DIST))?;
    let _ = std::fs::remove_file(&archive);
    done(podman().args(["save", "--quiet", "--output"]).arg(&archive).arg("tfrc"))?;
    Ok(vec![archive])
}

/// The target that rustc compiles for by itself.
fn host() -> Result<String, String> {
    let told = Command::new("rustc").arg("-vV").output().map_err(|e| format!("rustc did not start: {e}"))?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not tell its host".to_owned())
}

/// The file of a folder with this ending that was written last.
fn newest(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let files = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let written = path.metadata().and_then(|about| about.modified()).ok()?;
        (path.extension()? == ending).then_some((written, path))
    });
    files.max().map(|(_, path)| path).ok_or_else(|| format!("no .{ending} in {}", folder.display()))
}
