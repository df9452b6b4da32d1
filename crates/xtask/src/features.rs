//! Combinations of features: each crate that other programs add is checked with none of its
//! features, with each alone and with all of them, and the program with none; the lints of the
//! whole workspace have all of it. The full form has none, each alone and all, for all crates.

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

/// The crate of the program.
const PROGRAM: &str = "tfrc-cli";

/// The form of every check.
pub(crate) fn check() -> Outcome {
    let is_wanted = |name: &str| packages::PACKAGES.contains(&name) || name == PROGRAM;
    let of = members::<Package>()?.into_iter().filter(|package| is_wanted(&package.name));
    combinations(of, |name, features| if name == PROGRAM { vec![Vec::new()] } else { sets(features) })
}

/// Each feature alone too, for every crate.
pub(crate) fn full() -> Outcome {
    combinations(members::<Package>()?, |_, features| sets(features))
}

fn combinations(
    of: impl IntoIterator<Item = Package>,
    sets: for<'a> fn(&str, &[&'a str]) -> Vec<Vec<&'a str>>,
) -> Outcome {
    for package in of {
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
        for list in sets(&package.name, &names) {
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

/// None, each alone, and all.
fn sets<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let alone = names.iter().filter(|_| names.len() > 1).map(|name| vec![*name]);
    std::iter::once(Vec::new()).chain(alone).chain([names.to_vec()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_features() {
        assert_eq!(sets(&["a"]), [vec![], vec!["a"]]);
        assert_eq!(sets(&["a", "b"]), [vec![], vec!["a"], vec!["b"], vec!["a", "b"]]);
    }
}
