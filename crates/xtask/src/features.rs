//! Combinations of features: each crate that has features is checked with none and with all of
//! them, and with each alone if other programs add it. The full form has each alone for all crates.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Outcome, cargo, members, packages};

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    features: BTreeMap<String, Vec<String>>,
}

/// Features that are not checked here, with the reason.
const LEFT_OUT: [(&str, &str, &str); 5] = [
    ("tfrc-cli", "quic", "some fifty packages once more; the lints of the whole workspace have it"),
    ("tfrc-session", "quic", "the same packages"),
    ("tfrc-testkit", "quic", "the same packages"),
    ("tfrc-testkit", "noq", "the same packages"),
    ("tfrc-fuzz", "libfuzzer", "its C++ is built for minutes; `cargo xtask full fuzz` has it"),
];

/// The form of every check.
pub(crate) fn check() -> Outcome {
    combinations(&packages::PACKAGES)
}

/// Each feature alone too, for every crate.
pub(crate) fn full() -> Outcome {
    let all = members::<Package>()?;
    combinations(&all.iter().map(|package| package.name.as_str()).collect::<Vec<_>>())
}

fn combinations(each_alone: &[&str]) -> Outcome {
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
        for list in sets(&names, each_alone.contains(&package.name.as_str())) {
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

/// None and all, and each alone if wished.
fn sets<'a>(names: &[&'a str], each_alone: bool) -> Vec<Vec<&'a str>> {
    let alone = names.iter().filter(|_| each_alone && names.len() > 1).map(|name| vec![*name]);
    std::iter::once(Vec::new()).chain(alone).chain([names.to_vec()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_features() {
        assert_eq!(sets(&["a"], true), [vec![], vec!["a"]]);
        assert_eq!(sets(&["a", "b"], true), [vec![], vec!["a"], vec!["b"], vec!["a", "b"]]);
        assert_eq!(sets(&["a", "b"], false), [vec![], vec!["a", "b"]]);
    }
}
