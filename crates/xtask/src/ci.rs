//! Every check, each with its title and the command that repeats it alone, and at the end what each
//! cost: minutes, which are noisy, and compile units, which are not.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::units::{self, Units};
use crate::{Outcome, python, root};

/// A check.
#[derive(Debug, Clone, Copy)]
struct CiStep {
    title: &'static str,
    /// Words for cargo; those after `xtask` are for this program.
    command: &'static [&'static str],
    /// Environment variables set for it.
    environment: &'static [(&'static str, &'static str)],
}

/// A command of `cargo xtask`.
const fn own(title: &'static str, command: &'static [&'static str]) -> CiStep {
    CiStep { title, command, environment: &[] }
}

/// Cheapest first, so that a slip shows early.
const FIRST: [CiStep; 11] = [
    own("programs that the tests use", &["xtask", "tools"]),
    own("formatting of every workspace", &["xtask", "format"]),
    own("files", &["xtask", "files"]),
    own("pages of the book", &["xtask", "book"]),
    own("the module of the playground is of these sources", &["xtask", "playground", "--check"]),
    own("dependencies: licences, sources, duplicate versions, advisories", &["xtask", "dependencies"]),
    own("lints", &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    own("combinations of features", &["xtask", "features"]),
    CiStep {
        title: "the core in a program without the standard library",
        command: &["run", "--locked", "--quiet", "--manifest-path", "crates/tfrc/no-std/Cargo.toml"],
        environment: &[("CARGO_TARGET_DIR", "target")],
    },
    own("the crates as packages", &["xtask", "packages"]),
    own("tests, and the corpora of the fuzz targets", &["xtask", "test", "--all"]),
];

/// One after another beside [`BUSY`]: steps that mostly wait, to which its programs leave the
/// processors, then such as keep one processor busy and compile little.
const BESIDE: [CiStep; 6] = [
    own("system calls for a packet", &["xtask", "calls"]),
    own(
        "the emulated world with other people's programs, the short form",
        &["xtask", "measure", "emulation", "--short"],
    ),
    own("attacks and faults, the short form", &["xtask", "hostile", "all", "--short"]),
    own("instructions for a packet", &["xtask", "instructions"]),
    own("a million packets of an adversary", &["xtask", "adversary"]),
    own("the C library", &["xtask", "c-library"]),
];

/// Steps that keep the processors busy, most of the time with compilers.
const BUSY: [CiStep; 5] = [
    own("the lists of the specifications' rules", &["xtask", "compliance"]),
    own("a mutant of the core", &["xtask", "mutants", "--sample", "1", "3714/", "4828/", "5348/", "8083/"]),
    own("the controller for rtc-interceptor, and the bench of media", &["xtask", "integrations"]),
    CiStep {
        title: "documentation",
        command: &["doc", "--locked", "--workspace", "--no-deps"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    own("the Python package", &["xtask", "python"]),
];

/// The price of a step.
struct Cost {
    title: &'static str,
    time: Duration,
    units: usize,
}

pub(crate) fn run() -> Outcome {
    let begin = Instant::now();
    let units = Units::start()?;
    // What was compiled before this program ran: itself.
    let mut costs = vec![Cost { title: "this program", time: units.before(), units: units.count() }];
    for step in &FIRST {
        costs.push(step.passed(&units, false)?);
    }
    let page = python::built().join("beside.txt");
    let beside = File::create(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    println!("\nbeside what follows: {}", BESIDE.map(|step| step.title).join("; "));
    let others = thread::spawn(move || others(&beside));
    let busy: Result<Vec<Cost>, String> = BUSY.iter().map(|step| step.passed(&units, true)).collect();
    let others = others.join().map_err(|_| "the steps beside others panicked".to_owned())?;
    print!("{}", fs::read_to_string(&page).unwrap_or_default());
    costs.extend(busy?);
    costs.extend(others?);
    let total = units.count();
    println!("\n{}", table(&costs, total));
    units::judged(total)?;
    let steps = FIRST.len() + BESIDE.len() + BUSY.len();
    println!("\nAll {steps} checks passed in {:.0} s.", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Runs the steps beside others, whose output goes to a page; their costs. What they compile is
/// counted for the step that goes on beside them.
fn others(mut page: &File) -> Result<Vec<Cost>, String> {
    let mut costs = Vec::new();
    for step in BESIDE {
        let since = Instant::now();
        let broken = |error: std::io::Error| format!("{}: {error}", step.title);
        writeln!(page, "\n== {}\n   {}", step.title, step.shown()).map_err(broken)?;
        let (out, err) = (page.try_clone().map_err(broken)?, page.try_clone().map_err(broken)?);
        step.judged(step.program(false).stdout(out).stderr(err))?;
        let cost = Cost { title: step.title, time: since.elapsed(), units: 0 };
        writeln!(page, "   passed in {:.1} s", cost.time.as_secs_f64()).map_err(broken)?;
        costs.push(cost);
    }
    Ok(costs)
}

impl CiStep {
    /// Runs it here; what it cost.
    fn passed(&self, units: &Units, gives_way: bool) -> Result<Cost, String> {
        println!("\n== {}\n   {}", self.title, self.shown());
        let (since, before) = (Instant::now(), units.count());
        self.judged(&mut self.program(gives_way))?;
        let cost = Cost { title: self.title, time: since.elapsed(), units: units.count() - before };
        println!("   passed in {:.1} s, {} units compiled", cost.time.as_secs_f64(), cost.units);
        Ok(cost)
    }

    fn judged(&self, program: &mut Command) -> Outcome {
        let why = match program.status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("did not start: {error}"),
        };
        Err(format!("{}: {why}\n  to repeat it: {}", self.title, self.shown()))
    }

    /// Its program, which gives way to others if wished.
    fn program(&self, gives_way: bool) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let (program, words) = match self.command {
            ["xtask", words @ ..] => (std::env::current_exe().map_or(cargo, Into::into), words),
            words => (cargo, words),
        };
        let mut command = if gives_way { Command::new("nice") } else { Command::new(&program) };
        if gives_way {
            command.arg(program);
        }
        command.args(words).envs(self.environment.iter().copied()).current_dir(root());
        command
    }

    /// As one would type it.
    fn shown(&self) -> String {
        let variables: String = self.environment.iter().map(|(k, v)| format!("{k}='{v}' ")).collect();
        format!("{variables}cargo {}", self.command.join(" "))
    }
}

/// The costs as a table, with all units that were compiled.
fn table(costs: &[Cost], units: usize) -> String {
    let total = Cost { title: "all", time: costs.iter().map(|cost| cost.time).sum(), units };
    let rows = costs.iter().chain([&total]).map(|Cost { title, time, units }| {
        format!("| {title:<67} | {:>7.1} | {units:>5} |\n", time.as_secs_f64() / 60.0)
    });
    let head = format!("| {:<67} | minutes | units |\n| {:-<67} | ------: | ----: |\n", "step", "");
    std::iter::once(head).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn steps_are_commands() {
        for step in FIRST.iter().chain(&BESIDE).chain(&BUSY) {
            if step.command[0] == "xtask" {
                crate::CommandLine::try_parse_from(step.command).expect(step.title);
            }
        }
    }
}
