//! The crates that other programs add: packed as a registry would get them, built from the packed
//! files, and their public items held against the last version.

use std::path::Path;
use std::process::Command;

use crate::python::{built, run};
use crate::tools::CARGO_SEMVER_CHECKS;
use crate::{Outcome, cargo, root};

/// The packages, dependencies first.
pub(crate) const PACKAGES: [&str; 6] =
    ["tfrc-units", "tfrc", "tfrc-feedback", "tfrc-dccp", "tfrc-sim", "tfrc-net"];

/// The commit that is version 0.1.0: one contract, one configuration, named modules.
const BASELINE: &str = "b36d89c76b5c749bf50fbf96931feee7fd1d968f";

fn selection() -> impl Iterator<Item = &'static str> {
    PACKAGES.into_iter().flat_map(|name| ["--package", name])
}

/// Packs every crate, and builds the packages as one workspace, in the folder of all builds: other
/// people's crates are there from the lints.
pub(crate) fn check() -> Outcome {
    let packed = built().join("package");
    run(cargo().args(["package", "--locked", "--allow-dirty", "--quiet", "--no-verify"]).args(selection()))?;
    let place = packed.join("unpacked");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let ours = std::fs::read_to_string(root().join("Cargo.toml")).map_err(|e| format!("Cargo.toml: {e}"))?;
    let profiles = ours.find("[profile.").and_then(|at| ours.get(at..)).unwrap_or_default();
    let mut manifest =
        format!("{profiles}\n[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n[patch.crates-io]\n");
    for name in PACKAGES {
        let folder = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        run(Command::new("tar")
            .arg("-xzf")
            .arg(packed.join(format!("{folder}.crate")))
            .arg("-C")
            .arg(&place))?;
        manifest += &format!("{name} = {{ path = \"{folder}\" }}\n");
        // Its tests and examples name crates that are not packed.
        without_dev_dependencies(&place.join(folder).join("Cargo.toml"))?;
    }
    std::fs::write(place.join("Cargo.toml"), manifest).map_err(|e| format!("{}: {e}", place.display()))?;
    std::fs::copy(root().join("Cargo.lock"), place.join("Cargo.lock"))
        .map_err(|e| format!("Cargo.lock: {e}"))?;
    run(cargo()
        .args(["check", "--quiet", "--workspace", "--manifest-path"])
        .arg(place.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", built()))
}

/// Takes the tables of dev-dependencies out of a packed manifest, in which cargo has written each
/// dependency as a table of its own.
fn without_dev_dependencies(manifest: &Path) -> Outcome {
    let broken = |e: std::io::Error| format!("{}: {e}", manifest.display());
    let text = std::fs::read_to_string(manifest).map_err(broken)?;
    let mut kept = String::new();
    let mut dropped = false;
    for line in text.lines() {
        if line.starts_with('[') {
            dropped = line.starts_with("[dev-dependencies");
        }
        if !dropped {
            kept += line;
            kept.push('\n');
        }
    }
    std::fs::write(manifest, kept).map_err(broken)
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
