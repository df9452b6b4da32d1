//! Attacks and faults against the built command `tfrc`, each with what happened to an honest
//! transfer beside it: `cargo xtask hostile` builds both programs and runs this one.
//! `docs/security.md` and `docs/security-runs.md` say what each shows.
//!
//! Programs and attackers meet in namespaces that the run makes (`namespace.rs`) or on the loopback
//! interface, never on another network. A case needs no option of the program that the program does
//! not name in its help, so that older programs can be put to the same test: `--binary`.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a tool for the terminal that attacks running programs in real time"
)]

mod access;
mod addresses;
mod crowd;
mod engine;
mod faults;
mod files;
mod honest;
mod hurtful;
mod icmp;
mod limits;
mod mtu;
mod namespace;
mod narrow;
mod onpath;
mod parts;
mod path;
mod peers;
mod private;
mod program;
mod session;
mod soak;
mod stranger;
mod strangers;
mod terminal;
mod unfinished;
mod veth;
mod whole;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};

use engine::{Bench, Case, Form};
use namespace::Entered;

/// Result of a run, with the message of its failure.
type Outcome = Result<(), String>;

/// Attacks and faults against the built command, each beside an honest transfer
#[derive(Debug, Parser)]
#[command(name = "hostile", args_conflicts_with_subcommands = true)]
struct CommandLine {
    /// The cases; without a group the attacks.
    #[command(subcommand)]
    group: Option<Group>,
    #[command(flatten)]
    wish: Wish,
}

/// Cases that share a table.
#[derive(Debug, Subcommand)]
enum Group {
    /// Every case but the crowd
    All(Wish),
    /// Attacks on the built command (the default)
    Attacks(Wish),
    /// Faults at either end
    Faults(Wish),
    /// Forged ICMP over a veth pair
    Icmp(Wish),
    /// Strangers coming and going
    Soak(Wish),
    /// Hostile datagrams at the socket of a private session
    Datagrams(Wish),
    /// 200 senders to one receiver with a file for each, 20 of them killed
    Crowd(Under),
    /// The attacker in another namespace, which a case starts
    #[command(hide = true)]
    Forge(veth::Forgery),
}

/// The program under test.
#[derive(Debug, Args)]
struct Under {
    /// Program under test; without it `tfrc` in this program's folder
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// The cases to run, and how long.
#[derive(Debug, Args)]
struct Wish {
    #[command(flatten)]
    under: Under,
    /// Fewer packets and shorter waits: two minutes for all
    #[arg(long)]
    short: bool,
    /// Writes the tables to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Private sessions alone
    #[arg(long)]
    quic: bool,
    /// Forged ICMP messages, all versions and ends together [default: 1,000,000; short: 40,000];
    /// hostile datagrams [default: 10,000,000; short: 10,000]
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Time of the soak [default: 1h; short: 16s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Duration>,
    /// Names of cases, or their beginnings; without one all of the group
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// A time of the command line.
fn time(text: &str) -> Result<Duration, String> {
    tfrc_units::text::time(text).map(Duration::from).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let CommandLine { group, wish } = CommandLine::parse();
    let all =
        || attacks().into_iter().chain(&veth::CASES).chain(&soak::CASES).chain(&private::DATAGRAMS).collect();
    let outcome = match group.unwrap_or(Group::Attacks(wish)) {
        Group::All(wish) => run(&wish, all(), faults()),
        Group::Attacks(wish) => run(&wish, attacks(), Vec::new()),
        Group::Faults(wish) => run(&wish, Vec::new(), faults()),
        Group::Icmp(wish) => run(&wish, veth::CASES.iter().collect(), Vec::new()),
        Group::Soak(wish) => run(&wish, soak::CASES.iter().collect(), Vec::new()),
        Group::Datagrams(wish) => run(&wish, private::DATAGRAMS.iter().collect(), Vec::new()),
        Group::Crowd(under) => under.path().and_then(|binary| crowd::run(&binary)),
        Group::Forge(forgery) => forgery.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

impl Under {
    /// The path of the program, which cases start in folders of their own.
    fn path(&self) -> Result<PathBuf, String> {
        let path = match &self.binary {
            Some(path) => path.clone(),
            None => std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("tfrc"),
        };
        fs::canonicalize(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Runs these cases in namespaces of the run's own.
fn run(wish: &Wish, attacks: Vec<&'static Case>, faults: Vec<&'static Case>) -> Outcome {
    let binary = wish.under.path()?;
    let (place, directory) = match namespace::enter()? {
        Entered::Done(0) => return Ok(()),
        Entered::Done(130) => return Err("interrupted".to_owned()),
        Entered::Done(_) => return Err("some rows fail".to_owned()),
        Entered::Here(place, directory) => (place, directory),
    };
    let form = if wish.short { Form::Short } else { Form::Long };
    let mut bench = Bench {
        binary,
        directory,
        form,
        place,
        undisturbed: Duration::ZERO,
        messages: wish.count.unwrap_or(form.choose(1_000_000, 40_000)),
        soak: wish.time.unwrap_or(form.choose(Duration::from_hours(1), Duration::from_secs(16))),
        datagrams: wish.count.unwrap_or(form.choose(10_000_000, 10_000)),
        key: None,
    };
    let outcome = both(&mut bench, wish, &[attacks, faults]);
    if place == engine::Ground::Machine {
        let _ = fs::remove_dir_all(&bench.directory);
    }
    outcome
}

/// Runs those of the cases that are asked for, first in plain sessions, then in private ones, and
/// prints their tables.
fn both(bench: &mut Bench, wish: &Wish, groups: &[Vec<&'static Case>; 2]) -> Outcome {
    let chosen = |case: &&Case| {
        let named = wish.names.iter().any(|name| case.name.starts_with(name.as_str()));
        (bench.form == Form::Long || case.least == Form::Short) && (wish.names.is_empty() || named)
    };
    let groups = groups.each_ref().map(|group| group.iter().copied().filter(chosen).collect::<Vec<_>>());
    let of = |applies: &dyn Fn(&Case) -> bool| {
        groups.each_ref().map(|group| group.iter().copied().filter(|case| applies(case)).collect::<Vec<_>>())
    };
    let form = bench.form;
    let plain = of(&|case| !wish.quic && private::is_plain(case.name));
    let private = of(&|case| private::applies(case.name, form));
    if plain.iter().chain(&private).all(Vec::is_empty) {
        return Err(format!("no case is called {}", wish.names.join(" or ")));
    }
    let (begin, mut text, mut results) = (Instant::now(), String::new(), Vec::new());
    if plain.iter().any(|group| !group.is_empty()) {
        bench.undisturbed = honest::undisturbed(bench)?;
        results.extend(tables(bench, &plain, &mut text));
    }
    if private.iter().any(|group| !group.is_empty()) && private::begin(bench)? {
        text.push_str("\nIn private sessions (`--quic`):\n\n");
        results.extend(tables(bench, &private, &mut text));
    }
    println!("{text}");
    if let Some(path) = &wish.markdown {
        fs::write(path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let (failed, seconds) = (engine::failed(&results), begin.elapsed().as_secs());
    if failed.is_empty() {
        println!("{} cases in {seconds} s, none fails", results.len());
        Ok(())
    } else {
        Err(format!("{} of {} cases fail: {}", failed.len(), results.len(), failed.join(", ")))
    }
}

/// Runs attacks and faults, and adds their tables to the text.
fn tables(bench: &Bench, [attacks, faults]: &[Vec<&Case>; 2], text: &mut String) -> Vec<engine::Tried> {
    let mut results = engine::run(bench, &[attacks.as_slice(), faults.as_slice()].concat());
    let of_faults = results.split_off(attacks.len());
    if !results.is_empty() {
        text.push_str(&engine::table(["attack", "sent", "what happened", "honest transfer"], &results));
    }
    if !of_faults.is_empty() {
        text.push_str(if results.is_empty() { "" } else { "\n" });
        text.push_str(&engine::table(["fault", "what was done", "ends", "what is left"], &of_faults));
    }
    results.extend(of_faults);
    results
}

/// All attacks.
fn attacks() -> Vec<&'static Case> {
    let groups: [&'static [Case]; 12] = [
        &icmp::CASES,
        &mtu::CASES,
        &narrow::CASES,
        &strangers::CASES,
        &access::CASES,
        &peers::CASES,
        &whole::CASES,
        &onpath::CASES,
        &files::CASES,
        &hurtful::CASES,
        &private::CASES,
        &addresses::CASES,
    ];
    groups.into_iter().flatten().collect()
}

/// All faults.
fn faults() -> Vec<&'static Case> {
    let groups: [&'static [Case]; 5] =
        [&faults::CASES, &unfinished::CASES, &terminal::CASES, &limits::CASES, &parts::CASES];
    groups.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line() {
        let parse = |words: &[&str]| CommandLine::try_parse_from([&["hostile"], words].concat());
        let Some(Group::Soak(wish)) = parse(&["soak", "--time", "90s", "--short"]).expect("right").group
        else {
            panic!("another group");
        };
        assert_eq!((wish.short, wish.time), (true, Some(Duration::from_secs(90))));
        let Some(Group::Icmp(wish)) = parse(&["icmp", "--count", "8", "veth-icmp4"]).expect("right").group
        else {
            panic!("another group");
        };
        assert_eq!((wish.count, wish.names), (Some(8), vec!["veth-icmp4".to_owned()]));
        let attacks = parse(&["--short", "garbage", "churn"]).expect("right");
        assert!(attacks.group.is_none() && attacks.wish.short);
        assert_eq!(attacks.wish.names, ["garbage", "churn"]);
        for wrong in [&["--time", "soon"][..], &["--count", "many"], &["--binary"], &["--long"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
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
            .chain(&private::DATAGRAMS)
            .chain(faults())
            .map(|c| c.name)
            .collect();
        let many = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), many);
        for name in private::ALSO.iter().chain(&private::ALSO_LONG) {
            assert!(names.contains(name), "{name}");
        }
        assert!(faults::CASES.iter().filter(|case| case.least == Form::Short).count() > 15);
    }
}
