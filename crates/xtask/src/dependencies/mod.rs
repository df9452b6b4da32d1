//! Checks of our dependencies: licences, sources and duplicate versions by cargo-deny, security
//! advisories from a dated snapshot of the RustSec database (`advisories`).
//!
//! cargo-deny takes minutes to build, and what it says depends on a few files alone. It is run by
//! hand after a change of one of them, and a hash of them is recorded; a check compares the hash.

mod advisories;
mod advisory;

use tfrc_units::hash::fnv1a;

pub(crate) use advisories::{renew, renewed};

use crate::tools::CARGO_DENY;
use crate::{Outcome, files, root};

/// The hash of what cargo-deny has judged well.
const JUDGED: &str = ".ci/supply-chain/judged";

pub(crate) fn check() -> Outcome {
    let (now, judged) = (subject()?, std::fs::read_to_string(root().join(JUDGED)).unwrap_or_default());
    if judged.trim() != now {
        return Err(format!(
            "cargo-deny {} has not judged these dependencies: run `cargo xtask dependencies judge`",
            CARGO_DENY.version
        ));
    }
    println!(
        "   cargo-deny {} has judged the dependencies of {} workspaces",
        CARGO_DENY.version,
        locks()?.len()
    );
    advisories::check()
}

/// The lock files under version control: one for each workspace with dependencies from outside.
fn locks() -> Result<Vec<String>, String> {
    let locks = files::tracked()?.into_iter();
    Ok(locks.filter(|name| name == "Cargo.lock" || name.ends_with("/Cargo.lock")).collect())
}

/// The hash of what decides on cargo-deny's answer: its version, its rules, the locked packages and
/// our manifests without their build settings.
fn subject() -> Result<String, String> {
    let mut text = CARGO_DENY.version.to_owned();
    let manifests = files::tracked()?.into_iter().filter(|name| name.ends_with("Cargo.toml"));
    for name in locks()?.into_iter().chain(["deny.toml".to_owned()]).chain(manifests) {
        let file = std::fs::read_to_string(root().join(&name)).map_err(|e| format!("{name}: {e}"))?;
        text += &without_profiles(&file);
    }
    Ok(format!("{:016x}", fnv1a(text.as_bytes())))
}

/// A manifest without its `[profile]` tables and comments: they say how a package is built, not
/// which packages there are.
fn without_profiles(manifest: &str) -> String {
    let mut profile = false;
    let kept = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            profile = line.trim_start_matches('[').starts_with("profile");
        }
        !profile && !line.starts_with('#')
    });
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// Runs cargo-deny, and records what it has judged.
pub(crate) fn judge() -> Outcome {
    for lock in locks()? {
        let manifest = lock.replace("Cargo.lock", "Cargo.toml");
        let status = CARGO_DENY
            .command()?
            .args(["--locked", "--workspace", "--config", "deny.toml", "--manifest-path"])
            .arg(&manifest)
            .args(["check", "--hide-inclusion-graph", "bans", "licenses", "sources"])
            .status()
            .map_err(|e| format!("cargo-deny did not start: {e}"))?;
        if !status.success() {
            return Err(format!("{manifest}: cargo-deny ended with {status}; deny.toml holds the rules"));
        }
    }
    std::fs::write(root().join(JUDGED), format!("{}\n", subject()?)).map_err(|e| format!("{JUDGED}: {e}"))?;
    println!("recorded in {JUDGED}");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_build_setting_is_not_a_dependency() {
        let (package, build) =
            ("[dependencies]\nlibc = \"0.2\"\n", "[profile.dev.package.x]\nopt-level = 3\n");
        let manifest = format!("{build}# why\n{package}{build}");
        assert_eq!(super::without_profiles(&manifest), package);
        assert_ne!(super::without_profiles(&manifest.replace("0.2", "0.3")), package);
    }

    /// A workspace without a lock file has dependencies of ours alone.
    #[test]
    fn every_workspace_is_judged() {
        let locks = super::locks().expect("a clone");
        for manifest in
            crate::files::tracked().expect("a clone").iter().filter(|name| name.ends_with("Cargo.toml"))
        {
            let text = std::fs::read_to_string(crate::root().join(manifest)).expect("there");
            let foreign = text.lines().any(|line| {
                line.contains(" = ")
                    && !line.contains("path = ")
                    && line.contains("version = \"")
                    && line.contains('{')
            });
            if text.contains("\n[workspace]") && foreign {
                assert!(locks.contains(&manifest.replace("Cargo.toml", "Cargo.lock")), "{manifest}");
            }
        }
        assert!(locks.len() >= 6, "{locks:?}");
    }
}
