//! The checks and chores of this workspace: `cargo xtask ci` is what has to pass, on every machine
//! and in CI.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a tool for the terminal, which times its steps"
)]

mod adversary;
mod book;
mod c_library;
mod calls;
mod ci;
mod compliance;
mod dependencies;
mod features;
mod files;
mod formats;
mod full;
mod hostile;
mod instructions;
mod integrations;
mod measure;
mod mutants;
mod packages;
mod paths;
mod picture;
mod playground;
mod python;
mod readme;
mod release;
mod site;
mod speed;
mod targets;
mod test;
mod tools;
mod units;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// The checks and chores of this workspace
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    chore: Chore,
}

/// Chores of dependencies beyond the check.
#[derive(Debug, Subcommand)]
enum DependencyChore {
    /// Run cargo-deny (licences, sources, duplicate versions) and record the outcome
    Judge,
    /// Replace the snapshot of advisories by those of a newer database
    Renew {
        /// A checkout of rustsec/advisory-db
        database: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Two endpoints over the worst of networks
    Adversary {
        /// Packets of the run, at least
        #[arg(long, value_name = "N", default_value_t = adversary::PACKETS)]
        packets: u64,
        /// The first seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Rules on the book: summary, links, width of prose, commands and files that exist
    Book,
    /// The C libraries from C and Python, under valgrind and sanitizers, and their headers
    CLibrary {
        /// `header` writes their headers
        #[arg(value_parser = ["header"])]
        only: Option<String>,
    },
    /// System calls of `tfrc send` and `tfrc recv` for each packet, against ceilings
    Calls,
    /// Every check, in the order of their cost; ./check runs it and counts compile units
    Ci,
    /// The lists of what the specifications ask for against code and tests
    Compliance {
        /// Prints the counts and holes as JSON
        #[arg(long)]
        json: bool,
    },
    /// 200 senders to one receiver with a file for each, 20 of them killed: `hostile crowd`
    #[command(disable_help_flag = true)]
    Crowd {
        /// `--binary PATH`: a program in place of the release build
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// That cargo-deny judged these dependencies; security advisories of a dated snapshot
    Dependencies {
        #[command(subcommand)]
        only: Option<DependencyChore>,
    },
    /// Each crate with none of its features and with all; libraries with each alone too
    Features,
    /// Rules on the files under version control
    Files,
    /// The form of the sources of every workspace
    Format,
    /// The long forms of checks, over two hours; what has passed at this commit is not run again
    Full {
        /// The parts; without one all
        #[arg(value_name = "PART", value_parser = full::names())]
        parts: Vec<String>,
    },
    /// Attacks and faults on the built command beside an honest transfer; see `hostile --help`
    #[command(disable_help_flag = true)]
    Hostile {
        /// Arguments of the package `hostile`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Instructions of the core for each data packet, against what is recorded
    Instructions {
        /// Writes the record anew
        #[arg(long)]
        write: bool,
    },
    /// Controllers for other people's transports: those of noq and rtc-interceptor
    Integrations,
    /// Measurements that take minutes
    #[command(subcommand)]
    Measure(measure::Measurement),
    /// Broken rules, each of which a test has to notice
    Mutants(mutants::Choice),
    /// The crates that other programs add, packed and built from their packages
    Packages {
        /// `semver` holds their public items against version 0.1.0, by cargo-semver-checks
        #[arg(value_parser = ["semver"])]
        only: Option<String>,
    },
    /// Writes docs/demo.svg, the chart of `tfrc demo` that README.md shows
    Picture,
    /// Builds the simulator as a module of the page, and writes docs/playground/module.js
    Playground {
        /// Only that the module is of these sources, and its size
        #[arg(long)]
        check: bool,
    },
    /// The Python package: its wheel, installed into target/python, and its tests
    Python,
    /// The commands that README.md shows, pasted into a shell in an empty folder
    Readme {
        /// By the program of target/release, not installed
        #[arg(long, conflicts_with = "in_folder")]
        built: bool,
        /// By the program of a folder, not installed
        #[arg(long = "in", value_name = "FOLDER")]
        in_folder: Option<PathBuf>,
    },
    /// Files for users, into target/dist: programs, packages, libraries, wheels, site, checksums
    Release {
        /// The steps; without one all
        #[arg(value_name = "STEP", value_parser = release::names())]
        steps: Vec<String>,
    },
    /// The book as a site with the gallery as its front and the playground: target/site/book
    Site,
    /// Processor time next to peers: a packet-hop (ns-2, a floor), a packet received (`wire`)
    Speed(speed::Choice),
    /// The daily loop: lints and tests, without those that drive browsers and media
    Test {
        /// A crate, such as `sim`: with it only this crate and those that need it
        #[arg(value_name = "CRATE")]
        of: Option<String>,
        /// Every test, without lints: the step of `ci`
        #[arg(long, conflicts_with = "of")]
        all: bool,
    },
    /// The system's programs that the tests use; installs what is missing where it may
    Tools,
}

/// Result of a chore, with the message of its failure.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    match run(CommandLine::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Outcome {
    match chore {
        Chore::Adversary { packets, seed } => adversary::run(packets, seed),
        Chore::Book => book::check(),
        Chore::CLibrary { only: None } => c_library::check(),
        Chore::CLibrary { only: Some(_) } => c_library::write_headers(),
        Chore::Calls => calls::check(),
        Chore::Ci => ci::run(),
        Chore::Compliance { json: false } => compliance::check(),
        Chore::Compliance { json: true } => compliance::json(),
        Chore::Crowd { arguments } => hostile::crowd(&arguments),
        Chore::Dependencies { only: None } => dependencies::check(),
        Chore::Dependencies { only: Some(DependencyChore::Judge) } => dependencies::judge(),
        Chore::Dependencies { only: Some(DependencyChore::Renew { database }) } => {
            dependencies::renew(&database)
        }
        Chore::Features => features::check(),
        Chore::Files => files::check(),
        Chore::Format => formats::check(),
        Chore::Full { parts } => full::run(&parts),
        Chore::Hostile { arguments } => hostile::become_it(&arguments),
        Chore::Instructions { write: false } => instructions::check(),
        Chore::Instructions { write: true } => instructions::write(),
        Chore::Integrations => integrations::check(),
        Chore::Measure(measurement) => measurement.run(),
        Chore::Mutants(choice) => mutants::run(&choice),
        Chore::Packages { only: None } => packages::check(),
        Chore::Packages { only: Some(_) } => packages::semver(),
        Chore::Picture => picture::write(),
        Chore::Playground { check: false } => playground::build(),
        Chore::Playground { check: true } => playground::check(),
        Chore::Python => python::check(),
        Chore::Readme { built: true, .. } => readme::built(),
        Chore::Readme { in_folder: Some(folder), .. } => readme::run(&readme::Program::In(folder)),
        Chore::Readme { .. } => readme::run(&readme::Program::Installed),
        Chore::Release { steps } => release::run(&steps),
        Chore::Site => site::build(),
        Chore::Speed(choice) => speed::run(&choice),
        Chore::Test { all: true, .. } => test::whole(),
        Chore::Test { of, .. } => test::run(of.as_deref()),
        Chore::Tools => tools::check(),
    }
}

/// The words that `cargo xtask` takes first.
fn chores() -> Vec<String> {
    CommandLine::command().get_subcommands().map(|chore| chore.get_name().to_owned()).collect()
}

/// The root of the workspace.
fn root() -> &'static std::path::Path {
    static ROOT: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    ROOT.get_or_init(|| {
        // Cargo names the copy that it runs for; the program may have been built of another.
        let here = std::env::var_os("CARGO_MANIFEST_DIR")
            .filter(|_| std::env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == "xtask"));
        let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        // This crate is `crates/xtask`, two below the root.
        std::path::PathBuf::from(here).ancestors().nth(2).map(Into::into).unwrap_or_default()
    })
}

/// The cargo that runs us.
fn cargo() -> std::process::Command {
    let mut command = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The answer of `cargo metadata`: the members of the workspace, as far as `P` describes one.
#[derive(serde::Deserialize)]
struct Metadata<P> {
    packages: Vec<P>,
}

/// The members of the workspace.
fn members<P: serde::de::DeserializeOwned>() -> Result<Vec<P>, String> {
    let output = cargo()
        .args(["metadata", "--locked", "--no-deps", "--format-version", "1"])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo did not start: {e}"))?;
    let metadata: Metadata<P> =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(metadata.packages)
}

/// The development build of the command, with the features that the tests of the whole workspace
/// give its libraries: most of what they have built is used again.
fn build_command() -> std::process::Command {
    let mut command = cargo();
    command.args(["build", "--locked", "--quiet", "--workspace", "--bin", "tfrc"]);
    command
}
