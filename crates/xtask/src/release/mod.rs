//! `cargo xtask release`: the files for users, in `target/dist`, each used once where nothing else
//! is.

mod libraries;
mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::builder::PossibleValuesParser;

use crate::python::run as done;
use crate::{Outcome, root, site};

/// Folder of the files for users; the program that needs a C library stays in `target/release`.
const DIST: &str = "target/dist";
/// File of the checksums, in the form of `sha256sum`.
const CHECKSUMS: &str = "SHA256SUMS";

/// A step: what it makes, out of what earlier steps made.
struct Step {
    name: &'static str,
    /// Programs that not every machine has, each with its Debian package; without one the step is
    /// left out.
    needs: &'static [(&'static str, &'static str)],
    /// Makes the files, uses each once, and returns their paths.
    make: fn() -> Result<Vec<PathBuf>, String>,
}

const STEPS: [Step; 11] = [
    Step { name: "program", needs: &[], make: programs::program },
    Step { name: "bill-of-materials", needs: &[], make: programs::bill },
    Step { name: "debian-package", needs: &[], make: programs::package },
    Step { name: "static-program", needs: &[], make: programs::static_program },
    Step { name: "aarch64", needs: programs::ARM_NEEDS, make: programs::arm },
    Step { name: "image", needs: &[("podman", "podman")], make: programs::image },
    Step { name: "c-library", needs: &[], make: libraries::linux },
    Step { name: "c-library-windows", needs: libraries::WINDOWS_NEEDS, make: libraries::windows },
    Step { name: "wheels", needs: libraries::WHEELS_NEEDS, make: libraries::wheels },
    Step { name: "site", needs: &[], make: book },
    Step { name: "checksums", needs: &[], make: checksums },
];

/// The names of the steps.
pub(crate) fn names() -> PossibleValuesParser {
    STEPS.map(|step| step.name).into()
}

/// Makes the files of these steps, or, in an empty folder, of all; prints path, size and time of
/// each.
pub(crate) fn run(names: &[String]) -> Outcome {
    if names.is_empty() {
        let _ = std::fs::remove_dir_all(dist());
    }
    std::fs::create_dir_all(dist()).map_err(|e| format!("{DIST}: {e}"))?;
    let mut lines = Vec::new();
    let chosen = |name: &str| names.is_empty() || names.iter().any(|one| one == name);
    for Step { name, needs, make } in STEPS.iter().filter(|step| chosen(step.name)) {
        println!("== {name}");
        let missing: Vec<String> = needs
            .iter()
            .filter(|(program, _)| !starts(program))
            .map(|(program, package)| format!("{program} (Debian: {package})"))
            .collect();
        if !missing.is_empty() {
            lines.push(format!("{name:<18}         not made: needs {}", missing.join(" and ")));
            continue;
        }
        let since = Instant::now();
        let files = make().map_err(|why| format!("{name}: {why}"))?;
        for file in files {
            let size = std::fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.len();
            let shown = file.strip_prefix(root()).unwrap_or(&file).display();
            let (seconds, size) = (since.elapsed().as_secs_f64(), size as f64 / 1e6);
            lines.push(format!("{name:<18} {seconds:>5.0} s  {shown}, {size:.1} MB"));
        }
    }
    println!("\n{}", lines.join("\n"));
    Ok(())
}

/// The book as an archive.
fn book() -> Result<Vec<PathBuf>, String> {
    site::build()?;
    archive(&root().join("target/site/book"), &format!("tfrc-{}-site", env!("CARGO_PKG_VERSION")))
}

/// The checksums of all files in the folder, which `sha256sum -c SHA256SUMS` verifies there.
fn checksums() -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(dist()).map_err(|e| format!("{DIST}: {e}"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name != CHECKSUMS).collect();
    names.sort();
    let path = dist().join(CHECKSUMS);
    let file = std::fs::File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    done(Command::new("sha256sum").current_dir(dist()).arg("--").args(names).stdout(file))?;
    done(Command::new("sha256sum").current_dir(dist()).args(["--check", "--quiet", CHECKSUMS]))?;
    Ok(vec![path])
}

/// Packs a folder as `NAME.tar.gz`, in which all lies below `NAME`; the owners are nobody of this
/// machine.
fn archive(folder: &Path, name: &str) -> Result<Vec<PathBuf>, String> {
    let packed = dist().join(format!("{name}.tar.gz"));
    done(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-czf"])
            .arg(&packed)
            .arg(format!("--transform=s,^\\.,{name},S"))
            .arg("-C")
            .arg(folder)
            .arg("."),
    )?;
    Ok(vec![packed])
}

fn dist() -> PathBuf {
    root().join(DIST)
}

/// A program is there: it tells its version.
fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").output().is_ok_and(|output| output.status.success())
}
