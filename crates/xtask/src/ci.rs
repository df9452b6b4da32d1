//! Every check, each with its title and the command that repeats it alone, and at the end what each
//! cost: minutes, which are noisy, and compile units, which are not.

use std::time::{Duration, Instant};

use crate::units::{self, Units};
use crate::{
    Outcome, adversary, book, c_library, calls, cargo, compliance, dependencies, features, files, formats,
    hostile, instructions, integrations, measure, mutants, packages, playground, python, test, tools,
};

struct CiStep {
    title: &'static str,
    work: Work,
}

enum Work {
    /// Arguments of cargo, and environment variables set for it.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A command of `cargo xtask`.
    Own(&'static str, fn() -> Outcome),
}

/// Cheapest first, so that a slip shows early.
const STEPS: [CiStep; 22] = [
    CiStep { title: "programs that the tests use", work: Work::Own("tools", tools::check) },
    CiStep { title: "formatting of every workspace", work: Work::Own("format", formats::check) },
    CiStep { title: "files", work: Work::Own("files", files::check) },
    CiStep { title: "pages of the book", work: Work::Own("book", book::check) },
    CiStep {
        title: "the module of the playground is of these sources",
        work: Work::Own("playground --check", playground::check),
    },
    CiStep {
        title: "dependencies: licences, sources, duplicate versions, advisories",
        work: Work::Own("dependencies", dependencies::check),
    },
    CiStep {
        title: "lints",
        work: Work::Cargo(
            &["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"],
            &[],
        ),
    },
    CiStep { title: "combinations of features", work: Work::Own("features", features::check) },
    CiStep {
        title: "the core in a program without the standard library",
        work: Work::Cargo(
            &["run", "--locked", "--quiet", "--manifest-path", "crates/tfrc/no-std/Cargo.toml"],
            &[("CARGO_TARGET_DIR", "target")],
        ),
    },
    CiStep { title: "the crates as packages", work: Work::Own("packages", packages::check) },
    CiStep {
        title: "tests, and the corpora of the fuzz targets",
        work: Work::Own("test --all", test::whole),
    },
    CiStep {
        title: "the lists of the specifications' rules",
        work: Work::Own("compliance", compliance::check),
    },
    CiStep { title: "three mutants", work: Work::Own("mutants --sample 3", mutants::sample) },
    CiStep { title: "instructions for a packet", work: Work::Own("instructions", instructions::check) },
    CiStep { title: "system calls for a packet", work: Work::Own("calls", calls::check) },
    CiStep { title: "a million packets of an adversary", work: Work::Own("adversary", adversary::check) },
    CiStep {
        title: "attacks and faults, the short form",
        work: Work::Own("hostile all --short", || hostile::part(&["all", "--short"])),
    },
    CiStep {
        title: "the emulated world with other people's programs, the short form",
        work: Work::Own("measure emulation --short", || measure::emulation(true)),
    },
    CiStep { title: "the C library", work: Work::Own("c-library", c_library::check) },
    CiStep {
        title: "the controller for rtc-interceptor, and the bench of media",
        work: Work::Own("integrations", integrations::check),
    },
    CiStep { title: "the Python package", work: Work::Own("python", python::check) },
    CiStep {
        title: "documentation",
        work: Work::Cargo(
            &["doc", "--locked", "--workspace", "--no-deps"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
    },
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
    for (number, CiStep { title, work }) in STEPS.iter().enumerate() {
        println!("\n== {}/{} {title}\n   {}", number + 1, STEPS.len(), shown(work));
        let (since, before) = (Instant::now(), units.count());
        match work {
            Work::Own(_, check) => check(),
            Work::Cargo(arguments, environment) => {
                let status = cargo().args(*arguments).envs(environment.iter().copied()).status();
                match status {
                    Ok(status) if status.success() => Ok(()),
                    Ok(status) => Err(format!("cargo ended with {status}")),
                    Err(error) => Err(format!("cargo did not start: {error}")),
                }
            }
        }
        .map_err(|why| format!("{title}: {why}\n  to repeat it: {}", shown(work)))?;
        let cost = Cost { title, time: since.elapsed(), units: units.count() - before };
        println!("   passed in {:.1} s, {} units compiled", cost.time.as_secs_f64(), cost.units);
        costs.push(cost);
    }
    println!("\n{}", table(&costs));
    let total = costs.iter().map(|cost| cost.units).sum();
    units::judged(total)?;
    println!("\nAll {} checks passed in {:.0} s.", STEPS.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

/// The costs as a table.
fn table(costs: &[Cost]) -> String {
    let total = Cost {
        title: "all",
        time: costs.iter().map(|cost| cost.time).sum(),
        units: costs.iter().map(|cost| cost.units).sum(),
    };
    let rows = costs.iter().chain([&total]).map(|Cost { title, time, units }| {
        format!("| {title:<67} | {:>7.1} | {units:>5} |\n", time.as_secs_f64() / 60.0)
    });
    let head = format!("| {:<67} | minutes | units |\n| {:-<67} | ------: | ----: |\n", "step", "");
    std::iter::once(head).chain(rows).collect()
}

/// A step as one would type it.
fn shown(work: &Work) -> String {
    match work {
        Work::Own(name, _) => format!("cargo xtask {name}"),
        Work::Cargo(arguments, environment) => {
            let variables: String = environment.iter().map(|(k, v)| format!("{k}='{v}' ")).collect();
            format!("{variables}cargo {}", arguments.join(" "))
        }
    }
}
