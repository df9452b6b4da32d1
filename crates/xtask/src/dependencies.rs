//! Licences and versions of what we depend on, against `deny.toml`.
//!
//! The file is cargo-deny's own, so that tool gives the same answer where it is installed; this check needs nothing
//! but cargo.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{Outcome, cargo, licence, root};

/// The parts of `deny.toml` that are checked here.
#[derive(Debug, Deserialize)]
struct Deny {
    licenses: Licences,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    /// Crates that may be there in several versions, each with a reason.
    skip: Vec<Skip>,
}

#[derive(Debug, Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

/// The part of `cargo metadata` that is looked at.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

pub(crate) fn check() -> Outcome {
    let deny = std::fs::read_to_string(root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let deny: Deny = toml::from_str(&deny).map_err(|e| format!("deny.toml: {e}"))?;
    let output = cargo()
        .args(["metadata", "--locked", "--format-version", "1"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    if !output.status.success() {
        return Err("cargo metadata failed; is Cargo.lock up to date?".to_owned());
    }
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let complaints = complaints(&deny, &metadata);
    if complaints.is_empty() {
        println!("   {} packages, every licence allowed, no unexplained duplicate", metadata.packages.len());
        Ok(())
    } else {
        Err(complaints.join("\n  "))
    }
}

fn complaints(deny: &Deny, metadata: &Metadata) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Package { name, version, license } in &metadata.packages {
        versions.entry(name).or_default().push(version);
        let Some(license) = license else {
            complaints.push(format!("{name} {version} names no licence"));
            continue;
        };
        match licence::satisfied(license, &|l| deny.licenses.allow.contains(l)) {
            Ok(true) => {}
            Ok(false) => complaints.push(format!("{name} {version}: licence {license} is not allowed")),
            Err(why) => complaints.push(format!("{name} {version}: {why}")),
        }
    }
    for (name, several) in versions.iter().filter(|(_, v)| v.len() > 1) {
        if !deny.bans.skip.iter().any(|s| s.name == *name) {
            complaints.push(format!(
                "{name} is there {} times ({}): update one user, or say why in deny.toml under bans.skip",
                several.len(),
                several.join(", ")
            ));
        }
    }
    for Skip { name, reason } in &deny.bans.skip {
        if reason.trim().is_empty() {
            complaints.push(format!("deny.toml: bans.skip of {name} gives no reason"));
        }
        if versions.get(name.as_str()).is_none_or(|v| v.len() < 2) {
            complaints.push(format!("deny.toml: bans.skip of {name} is not needed any more"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(skip: &str, packages: &[(&str, &str, Option<&str>)]) -> Vec<String> {
        let deny = format!("[licenses]\nallow = [\"MIT\"]\n[bans]\nskip = [{skip}]");
        let packages = packages
            .iter()
            .map(|(name, version, license)| Package {
                name: (*name).to_owned(),
                version: (*version).to_owned(),
                license: license.map(str::to_owned),
            })
            .collect();
        complaints(&toml::from_str(&deny).expect("right"), &Metadata { packages })
    }

    #[test]
    fn licences_are_checked() {
        assert_eq!(found("", &[("a", "1.0.0", Some("MIT OR GPL-3.0"))]), [""; 0]);
        let bad = found(
            "",
            &[("a", "1.0.0", Some("GPL-3.0")), ("b", "1.0.0", None), ("c", "1.0.0", Some("MIT AND"))],
        );
        assert_eq!(bad.len(), 3, "{bad:?}");
    }

    #[test]
    fn duplicates_need_a_reason() {
        let twice = [("a", "1.0.0", Some("MIT")), ("a", "2.0.0", Some("MIT"))];
        assert_eq!(found("", &twice).len(), 1);
        assert_eq!(found("{ crate = \"a\", reason = \"b still needs 1\" }", &twice), [""; 0]);
        assert_eq!(found("{ crate = \"a\", reason = \"\" }", &twice).len(), 1);
        assert_eq!(found("{ crate = \"z\", reason = \"once needed\" }", &[]).len(), 1);
    }
}
