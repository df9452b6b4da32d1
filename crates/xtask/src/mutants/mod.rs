//! Would a test notice? Each mutation of the lists is made in a copy of the crate and the tests
//! named for it are run.

pub(crate) mod report;
mod workspace;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use tfrc_units::hash::splitmix64 as mixed;
use tfrc_units::saturating;

use crate::compliance::lists::{self, ItemState, Lists};
use crate::{Outcome, root};
use workspace::Workspace;

/// A package whose tests are run, and the folder that mutations may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MutatedPackage {
    name: &'static str,
    folder: &'static str,
    /// Tests that are run where no named one fails, to see if another one does.
    survivors: SurvivorRun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SurvivorRun {
    /// It takes seconds.
    AllTests,
    /// It takes minutes without optimisation.
    NamedTests,
}

/// The core, and DCCP.
const PACKAGES: [MutatedPackage; 2] = [
    MutatedPackage { name: "tfrc", folder: "crates/tfrc/", survivors: SurvivorRun::AllTests },
    MutatedPackage { name: "tfrc-dccp", folder: "crates/dccp/", survivors: SurvivorRun::NamedTests },
];

/// The report, from the root of the repository.
pub(crate) const REPORT: &str = "compliance/mutants.md";

/// Survivors without an explanation, in parts of a hundred, that still pass.
const MOST_SURVIVORS: usize = 3;

/// One mutation, with what its item says.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    /// The item's name and the mutation's number in it.
    pub(crate) name: String,
    rule: String,
    package: MutatedPackage,
    file: String,
    find: String,
    replace: String,
    tests: Vec<String>,
    survives: Option<String>,
}

/// Fate of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MutantFate {
    /// A test named for the rule failed, or hung.
    Killed,
    /// Only other tests failed.
    KilledByOthers(String),
    /// All tests passed.
    Survived,
    /// It cannot be made or does not compile.
    Broken(String),
}

/// The mutants to try; without a choice all.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Choice {
    /// Tries only so many, and writes no report
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// Chooses the sample [default: by the commit]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Beginnings of names
    #[arg(value_name = "NAME-PREFIX")]
    prefixes: Vec<String>,
}

/// Tries the mutants. Writes what it finds to `compliance/mutants.md`, but for samples.
pub(crate) fn run(Choice { sample, seed, prefixes }: &Choice) -> Outcome {
    let all = mutants(&lists::read(&root().join("compliance"))?)?;
    let sampled = sample.is_some();
    let mut chosen: Vec<Mutant> = all
        .iter()
        .filter(|m| prefixes.is_empty() || prefixes.iter().any(|p| m.name.starts_with(p.as_str())))
        .cloned()
        .collect();
    if let Some(n) = *sample {
        let seed = seed.map_or_else(seed_of_commit, Ok)?;
        println!("   sample of {n}, seed {seed}");
        chosen = pick(chosen, n, seed);
    }
    let results = try_all(chosen)?;
    if !sampled {
        let page = root().join(REPORT);
        let old = report::rows(&std::fs::read_to_string(&page).unwrap_or_default());
        let rows = report::merged(&all, &old, &results, &commit()?);
        std::fs::write(page, report::markdown(&rows, &all)).map_err(|e| format!("{REPORT}: {e}"))?;
    }
    verdict(&results)
}

/// All mutations of the lists.
pub(crate) fn mutants(lists: &Lists) -> Result<Vec<Mutant>, String> {
    let mut mutants = Vec::new();
    for section in &lists.sections {
        for item in section.items.iter().filter(|item| item.state == ItemState::Done) {
            for (number, mutation) in item.mutations.iter().enumerate() {
                let name = format!("{}:{}", section.name_of(item), number + 1);
                let file = mutation.file.clone().or_else(|| item.code.clone());
                let place = file.and_then(|file| {
                    PACKAGES.iter().find(|p| file.starts_with(p.folder)).map(|p| (*p, file))
                });
                let (package, file) = place.ok_or(format!("{name}: no file of a crate that is mutated"))?;
                mutants.push(Mutant {
                    name,
                    rule: item.text.clone(),
                    package,
                    file,
                    find: mutation.find.clone(),
                    replace: mutation.replace.clone(),
                    tests: item.tests.clone(),
                    survives: mutation.survives.clone(),
                });
            }
        }
    }
    Ok(mutants)
}

fn try_all(mutants: Vec<Mutant>) -> Result<Vec<(Mutant, MutantFate)>, String> {
    let begin = Instant::now();
    let workspace = Workspace::new(root(), &root().join("target/mutants"))?;
    let count = mutants.len();
    let mut results = Vec::new();
    for package in PACKAGES {
        let of_package: Vec<_> = mutants.iter().filter(|m| m.package == package).cloned().collect();
        if of_package.is_empty() {
            continue;
        }
        let named: BTreeSet<&String> = of_package.iter().flat_map(tests_of).collect();
        let programs: BTreeSet<Option<&str>> = named.iter().map(|test| program(package, test)).collect();
        let run = workspace.build(package, &programs)?;
        for test in named {
            if !run.passes(test)? {
                return Err(format!("{test} fails without any mutation"));
            }
        }
        for mutant in of_package {
            let fate = fate(&workspace, &mutant, &programs)?;
            println!("   {:>3}/{count} {:<44} {}", results.len() + 1, mutant.name, shown(&fate));
            results.push((mutant, fate));
        }
    }
    println!("   {count} mutants in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(results)
}

fn fate(
    workspace: &Workspace,
    mutant: &Mutant,
    programs: &BTreeSet<Option<&str>>,
) -> Result<MutantFate, String> {
    let original = workspace.read(Path::new(&mutant.file))?;
    let times = original.matches(&mutant.find).count();
    if times != 1 {
        return Ok(MutantFate::Broken(format!("its text occurs {times} times in {}", mutant.file)));
    }
    workspace.write(Path::new(&mutant.file), &original.replacen(&mutant.find, &mutant.replace, 1))?;
    let fate = judged(workspace, mutant, programs);
    workspace.write(Path::new(&mutant.file), &original)?;
    fate
}

/// Only programs with tests named for the mutant are built, unit tests first; all of them if no
/// named test fails.
fn judged(
    workspace: &Workspace,
    mutant: &Mutant,
    programs: &BTreeSet<Option<&str>>,
) -> Result<MutantFate, String> {
    for wanted in programs {
        let named = tests_of(mutant).filter(|test| program(mutant.package, test) == *wanted);
        let mut named = named.peekable();
        if named.peek().is_none() {
            continue;
        }
        let run = match workspace.build(mutant.package, &BTreeSet::from([*wanted])) {
            Err(why) => return Ok(MutantFate::Broken(why)),
            Ok(run) => run,
        };
        for test in named {
            if !run.passes(test)? {
                return Ok(MutantFate::Killed);
            }
        }
    }
    if mutant.package.survivors == SurvivorRun::NamedTests {
        return Ok(MutantFate::Survived);
    }
    let all = workspace.build(mutant.package, programs)?.all()?;
    Ok(all.map_or(MutantFate::Survived, MutantFate::KilledByOthers))
}

/// The tests named for the mutant that are its package's.
fn tests_of(mutant: &Mutant) -> impl Iterator<Item = &String> {
    mutant.tests.iter().filter(|t| t.strip_prefix(mutant.package.name).is_some_and(|t| t.starts_with("::")))
}

/// The program of integration tests that has this test; `None` for a unit test. A test of
/// `tests/fixed_point.rs` is in `tests`, one of the folder `tests/attacks` in `memory`.
fn program(package: MutatedPackage, test: &str) -> Option<&'static str> {
    let (module, _) = test.strip_prefix(package.name)?.strip_prefix("::")?.split_once("::")?;
    let folder = root().join(package.folder).join("tests");
    if folder.join(format!("{module}.rs")).is_file() {
        Some("tests")
    } else {
        folder.join(module).is_dir().then_some("memory")
    }
}

fn shown(fate: &MutantFate) -> String {
    match fate {
        MutantFate::Killed => "killed".to_owned(),
        MutantFate::KilledByOthers(test) => format!("KILLED, but not by its test: {test}"),
        MutantFate::Survived => "SURVIVED".to_owned(),
        MutantFate::Broken(why) => format!("BROKEN: {}", why.lines().next().unwrap_or_default()),
    }
}

fn verdict(results: &[(Mutant, MutantFate)]) -> Outcome {
    let mut faults = Vec::new();
    let mut unexplained = Vec::new();
    for (mutant, fate) in results {
        match (fate, &mutant.survives) {
            (MutantFate::Killed, None) | (MutantFate::Survived, Some(_)) => {}
            (MutantFate::Killed | MutantFate::KilledByOthers(_), Some(_)) => {
                faults.push(format!("{}: it is said to survive, and does not", mutant.name));
            }
            (MutantFate::KilledByOthers(test), None) => {
                faults.push(format!("{}: its own tests pass, {test} fails", mutant.name));
            }
            (MutantFate::Survived, None) => {
                unexplained.push(format!("{}: survived: {}", mutant.name, mutant.rule));
            }
            (MutantFate::Broken(why), _) => faults.push(format!("{}: {why}", mutant.name)),
        }
    }
    if unexplained.len() * 100 > results.len() * MOST_SURVIVORS || !faults.is_empty() {
        faults.extend(unexplained);
        return Err(faults.join("\n  "));
    }
    Ok(())
}

/// `n` of the mutants, chosen by `seed`, in their order.
fn pick(mutants: Vec<Mutant>, n: u64, seed: u64) -> Vec<Mutant> {
    let mut ranked: Vec<(u64, usize)> =
        (0..mutants.len()).map(|i| (mixed(seed ^ mixed(i as u64)), i)).collect();
    ranked.sort_unstable();
    let mut kept: Vec<usize> = ranked.into_iter().take(saturating::<usize>(n)).map(|(_, i)| i).collect();
    kept.sort_unstable();
    kept.into_iter().filter_map(|i| mutants.get(i).cloned()).collect()
}

/// The first 64 bits of the commit's hash.
fn seed_of_commit() -> Result<u64, String> {
    let hash = git(&["rev-parse", "HEAD"])?;
    hash.get(..16)
        .and_then(|h| u64::from_str_radix(h, 16).ok())
        .ok_or("git names no commit: give a --seed".to_owned())
}

/// The commit that is tried, and a plus sign if the code differs from it.
fn commit() -> Result<String, String> {
    let hash = git(&["rev-parse", "--short=10", "HEAD"])?;
    let folders = PACKAGES.map(|package| package.folder);
    let changed = !git(&[&["status", "--porcelain", "--"], folders.as_slice()].concat())?.is_empty();
    Ok(format!("{hash}{}", if changed { "+" } else { "" }))
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let output = std::process::Command::new("git")
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|e| format!("git did not start: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(name: &str, survives: Option<&str>) -> Mutant {
        Mutant {
            name: name.to_owned(),
            rule: String::new(),
            package: PACKAGES[0],
            file: String::new(),
            find: String::new(),
            replace: String::new(),
            tests: Vec::new(),
            survives: survives.map(str::to_owned),
        }
    }

    #[test]
    fn a_sample_depends_on_its_seed_only() {
        let all: Vec<Mutant> = (0..50).map(|i| mutant(&i.to_string(), None)).collect();
        let names = |seed| pick(all.clone(), 3, seed).into_iter().map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(names(1), names(1));
        assert_eq!(names(1).len(), 3);
        assert!((0..20).any(|seed| names(seed) != names(1)));
        assert_eq!(pick(all.clone(), 1000, 1).len(), 50);
    }

    #[test]
    fn what_passes_and_what_does_not() {
        let fates = |fates: &[(MutantFate, Option<&str>)]| {
            let killed = std::iter::repeat_n((mutant("k", None), MutantFate::Killed), 60);
            let others = fates.iter().map(|(fate, why)| (mutant("m", *why), fate.clone()));
            verdict(&killed.chain(others).collect::<Vec<_>>())
        };
        assert!(fates(&[]).is_ok());
        assert!(
            fates(&[(MutantFate::Survived, Some("the same")), (MutantFate::Survived, Some("the same"))])
                .is_ok()
        );
        assert!(fates(&[(MutantFate::Survived, None)]).is_ok(), "1 in 61");
        assert!(fates(&[(MutantFate::Survived, None), (MutantFate::Survived, None)]).is_err(), "2 in 62");
        assert!(fates(&[(MutantFate::Killed, Some("the same"))]).is_err());
        assert!(fates(&[(MutantFate::KilledByOthers("t".to_owned()), None)]).is_err());
        assert!(fates(&[(MutantFate::Broken("does not compile".to_owned()), None)]).is_err());
    }
}
