//! `cargo xtask hostile`: attacks and faults against the built command `tfrc`, each with what
//! happened to an honest transfer beside it. `docs/security.md` and `docs/security-runs.md` say
//! what each shows.
//!
//! Programs and attackers meet in namespaces that the run makes (`namespace.rs`) or on the loopback
//! interface, never on another network. A case needs no option of the program that the program does
//! not name in its help, so that older programs can be put to the same test: `--binary`.

mod access;
mod crowd;
mod engine;
mod faults;
mod files;
mod honest;
mod hurtful;
mod icmp;
mod namespace;
mod narrow;
mod onpath;
mod path;
mod peers;
mod program;
mod session;
mod soak;
mod stranger;
mod strangers;
mod unfinished;
mod veth;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use crowd::crowd;
use engine::{Bench, Case, Form};
use namespace::Entered;

use crate::{Outcome, build_command, root};

/// Cases that share a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseGroup {
    All,
    Attacks,
    Faults,
    Icmp,
    Soak,
}

/// The parsed command line.
struct Wish {
    group: CaseGroup,
    binary: Option<PathBuf>,
    form: Form,
    markdown: Option<PathBuf>,
    messages: Option<u64>,
    soak: Option<Duration>,
    names: Vec<String>,
}

impl Wish {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let (group, arguments) = match arguments {
            ["all", rest @ ..] => (CaseGroup::All, rest),
            ["attacks", rest @ ..] => (CaseGroup::Attacks, rest),
            ["faults", rest @ ..] => (CaseGroup::Faults, rest),
            ["icmp", rest @ ..] => (CaseGroup::Icmp, rest),
            ["soak", rest @ ..] => (CaseGroup::Soak, rest),
            rest => (CaseGroup::Attacks, rest),
        };
        let mut wish = Self {
            group,
            binary: None,
            form: Form::Long,
            markdown: None,
            messages: None,
            soak: None,
            names: Vec::new(),
        };
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
            match *word {
                "--binary" => wish.binary = Some(PathBuf::from(value()?)),
                "--markdown" => wish.markdown = Some(PathBuf::from(value()?)),
                "--count" => {
                    let count = value()?;
                    wish.messages =
                        Some(count.parse().map_err(|_| format!("--count {count}: not a number"))?);
                }
                "--time" => {
                    wish.soak = Some(time(value()?)?);
                }
                "--short" => wish.form = Form::Short,
                option if option.starts_with('-') => {
                    return Err(format!("{option}: not an option of hostile"));
                }
                name => wish.names.push(name.to_owned()),
            }
        }
        Ok(wish)
    }
}

/// A time of the command line.
fn time(text: &str) -> Result<Duration, String> {
    tfrc_units::text::time(text).map(Duration::from).map_err(|error| format!("--time {text}: {error}"))
}

/// Runs `cargo xtask hostile` with these arguments.
pub(crate) fn from_arguments(arguments: &[&str]) -> Outcome {
    let mut wish = Wish::parse(arguments)?;
    let binary = match wish.binary.take() {
        Some(binary) => {
            fs::canonicalize(&binary).map_err(|error| format!("{}: {error}", binary.display()))?
        }
        None => build()?,
    };
    let (place, directory) = match namespace::enter(arguments)? {
        Entered::Done(0) => return Ok(()),
        Entered::Done(130) => return Err("interrupted".to_owned()),
        Entered::Done(_) => return Err("some rows fail".to_owned()),
        Entered::Here(place, directory) => (place, directory),
    };
    let mut bench = Bench {
        binary,
        directory,
        form: wish.form,
        place,
        undisturbed: Duration::ZERO,
        messages: wish.messages.unwrap_or(wish.form.choose(1_000_000, 40_000)),
        soak: wish.soak.unwrap_or(wish.form.choose(Duration::from_hours(1), Duration::from_secs(16))),
    };
    bench.undisturbed = honest::undisturbed(&bench)?;
    let outcome = tables(&bench, &wish);
    if place == engine::Ground::Machine {
        let _ = fs::remove_dir_all(&bench.directory);
    }
    outcome
}

/// Runs the cases of the group and prints their tables.
fn tables(bench: &Bench, wish: &Wish) -> Outcome {
    let chosen = |case: &&Case| {
        let named = wish.names.iter().any(|name| case.name.starts_with(name.as_str()));
        (bench.form == Form::Long || case.least == Form::Short) && (wish.names.is_empty() || named)
    };
    let (attacks, faults) = match wish.group {
        CaseGroup::All => {
            let all = attacks().into_iter().chain(&veth::CASES).chain(&soak::CASES);
            (all.collect(), faults())
        }
        CaseGroup::Attacks => (attacks(), Vec::new()),
        CaseGroup::Faults => (Vec::new(), faults()),
        CaseGroup::Icmp => (veth::CASES.iter().collect(), Vec::new()),
        CaseGroup::Soak => (soak::CASES.iter().collect(), Vec::new()),
    };
    let attacks: Vec<&Case> = attacks.into_iter().filter(chosen).collect();
    let faults: Vec<&Case> = faults.into_iter().filter(chosen).collect();
    if attacks.is_empty() && faults.is_empty() {
        return Err(format!("no case is called {}", wish.names.join(" or ")));
    }
    let results = engine::run(bench, &[attacks.as_slice(), faults.as_slice()].concat());
    let (of_attacks, of_faults) = results.split_at(attacks.len());
    let mut text = String::new();
    if !of_attacks.is_empty() {
        text.push_str(&engine::table(["attack", "sent", "what happened", "honest transfer"], of_attacks));
    }
    if !of_faults.is_empty() {
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(&engine::table(["fault", "what was done", "ends", "what is left"], of_faults));
    }
    println!("{text}");
    if let Some(path) = &wish.markdown {
        fs::write(path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let failed = engine::failed(&results);
    if failed.is_empty() {
        println!("{} cases, none fails", results.len());
        Ok(())
    } else {
        Err(format!("{} of {} cases fail: {}", failed.len(), results.len(), failed.join(", ")))
    }
}

/// All attacks.
fn attacks() -> Vec<&'static Case> {
    let groups: [&'static [Case]; 8] = [
        &icmp::CASES,
        &narrow::CASES,
        &strangers::CASES,
        &access::CASES,
        &peers::CASES,
        &onpath::CASES,
        &files::CASES,
        &hurtful::CASES,
    ];
    groups.into_iter().flatten().collect()
}

/// All faults.
fn faults() -> Vec<&'static Case> {
    faults::CASES.iter().chain(&unfinished::CASES).collect()
}

/// The short form of all groups, a check of `cargo xtask ci`.
pub(crate) fn check() -> Outcome {
    from_arguments(&["all", "--short"])
}

/// Runs an attacker of another namespace.
pub(crate) fn attacker(arguments: &[&str]) -> Outcome {
    veth::attacker(arguments)
}

/// Builds the command and gives its path.
fn build() -> Result<PathBuf, String> {
    let status = build_command().status();
    if !status.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(root().join(target).join("debug/tfrc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line() {
        let wish = Wish::parse(&["soak", "--time", "1h", "--short"]).expect("right");
        assert_eq!(
            (wish.group, wish.form, wish.soak),
            (CaseGroup::Soak, Form::Short, Some(Duration::from_hours(1)))
        );
        let wish = Wish::parse(&["icmp", "--count", "8", "veth-icmp4"]).expect("right");
        assert_eq!((wish.group, wish.messages), (CaseGroup::Icmp, Some(8)));
        assert_eq!(wish.names, ["veth-icmp4"]);
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        for wrong in [&["--time", "soon"][..], &["--count", "many"], &["--binary"], &["--long"]] {
            assert!(Wish::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn names_of_cases_are_unique_and_short_forms_exist() {
        let all = attacks();
        let mut names: Vec<&str> = all
            .iter()
            .copied()
            .chain(&veth::CASES)
            .chain(&soak::CASES)
            .chain(faults())
            .map(|c| c.name)
            .collect();
        let many = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), many);
        assert!(faults::CASES.iter().filter(|case| case.least == Form::Short).count() > 15);
    }
}
