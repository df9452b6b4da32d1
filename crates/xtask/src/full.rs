//! Checks too long for every change: the long forms of checks whose short forms `ci` runs.
//!
//! A part that has passed at a commit is not run again there, so that an interrupted run goes on
//! where it was: `target/full` has a file for each.

use std::path::PathBuf;
use std::time::Instant;

use clap::builder::PossibleValuesParser;

use crate::python::{built, run as command};
use crate::{
    Outcome, adversary, cargo, dependencies, features, files, hostile, integrations, measure, mutants,
    packages, playground, site, targets,
};

/// A long check: its name, about how many minutes it takes on two cores, and the check.
type Part = (&'static str, u32, fn() -> Outcome);

const PARTS: [Part; 21] = [
    ("adversary", 1, || adversary::run(10_000_000, 1)),
    ("advisories", 1, dependencies::renewed),
    ("attacks", 5, || hostile::table("attacks")),
    ("datagrams", 9, || hostile::table("datagrams")),
    ("dependencies", 4, dependencies::judge),
    ("device", 2, targets::device),
    ("emulation", 12, || measure::emulation(false)),
    ("faults", 4, || hostile::table("faults")),
    ("features", 3, features::full),
    ("fuzz", 3, fuzz),
    ("gstreamer", 6, integrations::gstreamer),
    ("icmp", 2, || hostile::table("icmp")),
    ("integrations", 8, integrations::full),
    ("linux-dccp", 9, integrations::linux_dccp),
    ("mutants", 25, || mutants::run(&mutants::Choice::default())),
    ("playground", 6, playground::browse),
    ("semver", 10, packages::semver),
    ("site", 4, site::build),
    ("soak", 61, || hostile::table("soak")),
    ("webrtc", 8, integrations::browsers),
    ("windows", 3, targets::windows),
];

/// The names of the parts.
pub(crate) fn names() -> PossibleValuesParser {
    PARTS.map(|(name, ..)| name).into()
}

/// Runs the parts with these names, or all; goes on after one that fails.
pub(crate) fn run(names: &[String]) -> Outcome {
    let commit = files::commit()?;
    let mut failed = Vec::new();
    let chosen = |part: &str| names.is_empty() || names.iter().any(|name| name == part);
    for (name, minutes, check) in PARTS.iter().filter(|(name, ..)| chosen(name)) {
        let record = record(name);
        if let Some(seconds) = passed(&record, commit.as_deref()) {
            println!(
                "\n== {name} has passed at this commit, in {seconds} s; to run it again, remove {}",
                record.display()
            );
            continue;
        }
        println!("\n== {name}, about {minutes} min");
        let since = Instant::now();
        let outcome = check();
        let seconds = since.elapsed().as_secs();
        let verdict = match outcome {
            Ok(()) => {
                keep(&record, commit.as_deref(), seconds)?;
                "passed".to_owned()
            }
            Err(why) => {
                failed.push(*name);
                format!("FAILED: {why}")
            }
        };
        println!("   {name} {verdict} after {seconds} s");
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// The fuzz targets, which libFuzzer's C++ makes slow to build.
fn fuzz() -> Outcome {
    command(cargo().args(["check", "--locked", "--package", "tfrc-fuzz", "--features", "libfuzzer"]))
}

fn record(name: &str) -> PathBuf {
    built().join("full").join(name)
}

/// The seconds that a part took when it passed at this commit; none for a tree that differs from
/// its commit.
fn passed(record: &PathBuf, commit: Option<&str>) -> Option<String> {
    let text = std::fs::read_to_string(record).ok()?;
    let (at, seconds) = text.trim().split_once(' ')?;
    (Some(at) == commit).then(|| seconds.to_owned())
}

fn keep(record: &PathBuf, commit: Option<&str>, seconds: u64) -> Outcome {
    let Some(commit) = commit else { return Ok(()) };
    let written = record.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = written.and_then(|()| std::fs::write(record, format!("{commit} {seconds}\n")));
    written.map_err(|error| format!("{}: {error}", record.display()))
}
