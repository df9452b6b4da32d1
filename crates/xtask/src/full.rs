//! Checks too long for every change: the long forms of checks whose short forms `ci` runs.

use std::time::Instant;

use crate::{Outcome, adversary, hostile, measure, mutants, packages};

/// A long check: its name, about how many minutes it takes on two cores, and the check.
type CiStep = (&'static str, u32, fn() -> Outcome);

const STEPS: [CiStep; 8] = [
    ("adversary", 1, || adversary::from_arguments(&["--packets", "10000000"])),
    ("attacks", 5, || hostile::from_arguments(&["attacks"])),
    ("emulation", 12, || measure::emulation(false)),
    ("faults", 4, || hostile::from_arguments(&["faults"])),
    ("icmp", 2, || hostile::from_arguments(&["icmp"])),
    ("mutants", 25, || mutants::run(&[])),
    ("semver", 10, packages::semver),
    ("soak", 61, || hostile::from_arguments(&["soak"])),
];

/// Runs the steps with these names, or all; goes on after one that fails.
pub(crate) fn run(names: &[&str]) -> Outcome {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|(step, ..)| step != *name)) {
        let known: Vec<&str> = STEPS.iter().map(|(step, ..)| *step).collect();
        return Err(format!("full {unknown}: not a step; there are {}", known.join(", ")));
    }
    let mut failed = Vec::new();
    for (name, minutes, check) in STEPS.iter().filter(|(name, ..)| names.is_empty() || names.contains(name)) {
        println!("\n== {name}, about {minutes} min");
        let since = Instant::now();
        let verdict = match check() {
            Ok(()) => "passed".to_owned(),
            Err(why) => {
                failed.push(*name);
                format!("FAILED: {why}")
            }
        };
        println!("   {name} {verdict} after {:.0} s", since.elapsed().as_secs_f64());
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}
