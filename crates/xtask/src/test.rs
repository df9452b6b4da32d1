//! The daily loop: what a change is tried with many times a day, in at most three minutes once the
//! workspace is built.

use std::collections::BTreeSet;
use std::process::Command;

use serde::Deserialize;

use crate::{Outcome, cargo, formats, members, python, root};

/// Tests left to `cargo xtask ci`: they drive a browser, ffmpeg and Wireshark, which a machine for
/// daily work need not have, or wait for the minute after which silence ends a session.
const LEFT_OUT: [&str; 5] =
    ["a_killed_sender_leaves_a_part", "browser::", "capture::", "opens_in_tshark", "video::"];
/// Tests of programs mostly wait, so that more of them than processors go on at once.
const THREADS: &str = "4";

/// Tests that mostly wait, for programs and for endpoints on the loopback interface.
const WAITING: [&str; 2] = ["e2e::", "loopback::"];

/// Every test, and the corpora of the fuzz targets. Those that wait go on beside all others, which
/// leave them the processor.
pub(crate) fn whole() -> Outcome {
    step(&["test", "--locked", "--workspace", "--no-run"])?;
    let page = python::built().join("tests-that-wait.txt");
    let open = || std::fs::File::create(&page).map_err(|e| format!("{}: {e}", page.display()));
    let written = open()?;
    let both = written.try_clone().map_err(|e| format!("{}: {e}", page.display()))?;
    let mut waiting = cargo()
        .args(["test", "--locked", "--workspace", "--test", "tests", "--"])
        .args(WAITING)
        .env("RUST_TEST_THREADS", "6")
        .stdout(written)
        .stderr(both)
        .spawn()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    let others = Command::new("nice")
        .arg(cargo().get_program())
        .args(["test", "--locked", "--workspace", "--no-fail-fast", "--"])
        .args(WAITING.iter().flat_map(|name| ["--skip", name]))
        .env("RUST_TEST_THREADS", "2")
        .current_dir(root())
        .status();
    let ended = waiting.wait().map_err(|e| format!("the tests that wait: {e}"))?;
    print!("{}", std::fs::read_to_string(&page).unwrap_or_default());
    match others {
        Ok(others) if others.success() && ended.success() => Ok(()),
        Ok(others) => Err(format!("tests that wait: {ended}; the others: {others}")),
        Err(error) => Err(format!("nice did not start: {error}")),
    }
}

/// A member of the workspace, and what it needs.
#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build` or nothing.
    kind: Option<String>,
}

/// Lints and tests a crate and the crates that need it; without one, the workspace.
pub(crate) fn run(of: Option<&str>) -> Outcome {
    formats::check()?;
    let chosen = match of {
        None => vec!["--workspace".to_owned()],
        Some(word) => {
            let chosen = with_dependents(&members::<Package>()?, word)?;
            println!("{}", chosen.join(", "));
            chosen.into_iter().flat_map(|name| ["--package".to_owned(), name]).collect()
        }
    };
    let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
    step(&[&["clippy", "--locked"], &chosen[..], &["--all-targets", "--", "--deny", "warnings"]].concat())?;
    let left_out = LEFT_OUT.iter().flat_map(|name| ["--skip", name]).collect::<Vec<_>>();
    step(&[&["test", "--locked"], &chosen[..], &["--tests", "--"], &left_out[..]].concat())
}

/// The crate called `word` or `tfrc-` and `word`, the crates that are built with it, and those
/// whose tests use one of these, in the order of the names.
fn with_dependents(packages: &[Package], word: &str) -> Result<Vec<String>, String> {
    let long = format!("tfrc-{word}");
    let named = |name: &str| packages.iter().any(|package| package.name == name);
    let crate_ = [word, &long].into_iter().find(|name| named(name)).ok_or_else(|| {
        let all: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        format!("there is no crate `{word}`; there are {}", all.join(", "))
    })?;
    let uses = |package: &Package, known: &BTreeSet<String>, in_tests: bool| {
        package
            .dependencies
            .iter()
            .any(|one| known.contains(&one.name) && (one.kind.as_deref() == Some("dev")) == in_tests)
    };
    let mut built = BTreeSet::from([crate_.to_owned()]);
    loop {
        let more: Vec<&Package> = packages
            .iter()
            .filter(|package| !built.contains(&package.name) && uses(package, &built, false))
            .collect();
        if more.is_empty() {
            break;
        }
        built.extend(more.into_iter().map(|package| package.name.clone()));
    }
    let in_tests = packages.iter().filter(|package| uses(package, &built, true));
    let in_tests: Vec<String> = in_tests.map(|package| package.name.clone()).collect();
    built.extend(in_tests);
    Ok(built.into_iter().collect())
}

fn step(arguments: &[&str]) -> Outcome {
    println!("\n== cargo {}", arguments.join(" "));
    let status = cargo()
        .args(arguments)
        .env("RUST_TEST_THREADS", THREADS)
        .status()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} ended with {status}", arguments.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_its_dependents() {
        let package = |name: &str, needs: &[(&str, Option<&str>)]| Package {
            name: name.to_owned(),
            dependencies: needs
                .iter()
                .map(|(name, kind)| Dependency { name: (*name).to_owned(), kind: kind.map(str::to_owned) })
                .collect(),
        };
        let packages = [
            package("tfrc", &[("tfrc-testkit", Some("dev"))]),
            package("tfrc-sim", &[("tfrc", None), ("serde", None)]),
            package("tfrc-testkit", &[("tfrc-sim", None)]),
            package("tfrc-cli", &[("tfrc-world", None)]),
            package("tfrc-world", &[("tfrc-sim", Some("build"))]),
            package("tfrc-net", &[("tfrc", None), ("tfrc-testkit", Some("dev"))]),
            package("tfrc-bench", &[("tfrc-net", None)]),
        ];
        let of = |word| with_dependents(&packages, word);
        // A crate whose tests alone use another does not take its own dependents along.
        let all = ["tfrc", "tfrc-cli", "tfrc-net", "tfrc-sim", "tfrc-testkit", "tfrc-world"];
        assert_eq!(of("sim").unwrap(), all);
        assert_eq!(of("tfrc-cli").unwrap(), ["tfrc-cli"]);
        assert_eq!(of("tfrc").unwrap().len(), 7);
        assert_eq!(of("simm").unwrap_err().split(';').next(), Some("there is no crate `simm`"));
    }
}
