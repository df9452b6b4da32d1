//! Combinations of features: each crate that has features is checked with every one of them, and
//! the program, whose features do not depend on each other, and its worlds, each of whose features
//! has the one before in it, with none and with each alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::{Outcome, cargo, members};

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
}

/// Features that are not checked here, with the reason.
const LEFT_OUT: [(&str, &str, &str); 3] = [
    ("tfrc-cli", "quic", "some fifty packages once more; the lints of the whole workspace have it"),
    ("tfrc-session", "quic", "the same packages"),
    ("tfrc-fuzz", "libfuzzer", "its C++ is built for minutes; `cargo xtask full fuzz` has it"),
];

/// Packages whose features stand each for itself, or in one another: the whole is what every other
/// step builds.
const ONE_BY_ONE: [&str; 2] = ["tfrc-cli", "tfrc-world"];

pub(crate) fn check() -> Outcome {
    for package in members::<Package>()? {
        let names: Vec<&str> = package
            .features
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "default")
            .filter(|name| !LEFT_OUT.iter().any(|(of, left, _)| *of == package.name && left == name))
            .collect();
        if names.is_empty() {
            continue;
        }
        let sets = if ONE_BY_ONE.contains(&package.name.as_str()) { each(&names) } else { powerset(&names) };
        for set in sets {
            let list: Vec<&str> = set.into_iter().collect();
            println!(
                "   {} with {}",
                package.name,
                if list.is_empty() { "none".into() } else { list.join(", ") }
            );
            let checked = cargo()
                .args(["check", "--locked", "--quiet", "--package", &package.name, "--no-default-features"])
                .args(["--features", &list.join(",")])
                .output()
                .map_err(|e| format!("cargo did not start: {e}"))?;
            let words = String::from_utf8_lossy(&checked.stderr);
            if !checked.status.success() || words.contains("warning: ") {
                let list = list.join(", ");
                return Err(format!("{} has errors or warnings with [{list}]:\n{words}", package.name));
            }
        }
    }
    Ok(())
}

/// Every subset, the empty one too.
fn powerset<'a>(names: &[&'a str]) -> Vec<BTreeSet<&'a str>> {
    let mut sets = vec![BTreeSet::new()];
    for name in names {
        let with = sets.iter().map(|set| set.iter().copied().chain([*name]).collect());
        sets.extend(with.collect::<Vec<_>>());
    }
    sets
}

/// None, and each alone.
fn each<'a>(names: &[&'a str]) -> Vec<BTreeSet<&'a str>> {
    std::iter::once(BTreeSet::new()).chain(names.iter().map(|name| BTreeSet::from([*name]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets() {
        let sets = powerset(&["a", "b", "c"]);
        assert_eq!(sets.len(), 8);
        assert_eq!(sets.iter().collect::<BTreeSet<_>>().len(), 8);
        assert_eq!(each(&["a", "b", "c"]).len(), 4);
    }
}
