//! `cargo xtask format`: sources are formatted in every workspace under version control, also in
//! those that no check builds. A module that is named and not there is found by it.

use crate::python::run;
use crate::{Outcome, cargo, files, root};

pub(crate) fn check() -> Outcome {
    let manifests = workspaces()?;
    for manifest in &manifests {
        let place = root().join(manifest);
        // Without `--all` the others leave out what they take from this workspace.
        let all = (manifest == "Cargo.toml").then_some("--all");
        run(cargo().args(["fmt", "--check"]).args(all).current_dir(place.parent().unwrap_or(root())))
            .map_err(|why| format!("{manifest}: {why}"))?;
    }
    println!("   {} workspaces", manifests.len());
    Ok(())
}

/// The manifests of all workspaces.
fn workspaces() -> Result<Vec<String>, String> {
    let manifests = files::tracked()?.into_iter().filter(|name| is_manifest(name));
    let read = |name: String| {
        let text = std::fs::read_to_string(root().join(&name)).map_err(|e| format!("{name}: {e}"))?;
        Ok((name, text))
    };
    let manifests: Result<Vec<_>, String> = manifests.map(read).collect();
    let roots = manifests?.into_iter().filter(|(_, text)| is_workspace(text));
    Ok(roots.map(|(name, _)| name).collect())
}

fn is_manifest(name: &str) -> bool {
    name == "Cargo.toml" || name.ends_with("/Cargo.toml")
}

fn is_workspace(manifest: &str) -> bool {
    manifest.lines().any(|line| line.trim() == "[workspace]")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each workspace is one of its own: a package that belongs to none would be looked at by
    /// nobody.
    #[test]
    fn workspaces_are_told_from_members() {
        assert!(is_manifest("Cargo.toml") && is_manifest("a/b/Cargo.toml") && !is_manifest("a/XCargo.toml"));
        assert!(
            is_workspace("[package]\nname = \"a\"\n\n[workspace]\n") && !is_workspace("[workspace.lints]\n")
        );
        let found = workspaces().expect("readable");
        for one in [
            "Cargo.toml",
            "benches/Cargo.toml",
            "integrations/bench/Cargo.toml",
            "integrations/gst/Cargo.toml",
        ] {
            assert!(found.iter().any(|name| name == one), "{one} in {found:?}");
        }
        assert!(!found.iter().any(|name| name == "crates/net/Cargo.toml"));
    }
}
