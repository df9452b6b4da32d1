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
mod ci;
mod compliance;
mod dependencies;
mod features;
mod files;
mod full;
mod hostile;
mod instructions;
mod lines;
mod measure;
mod mutants;
mod packages;
mod picture;
mod python;
mod readme;
mod references;
mod release;
mod results;
mod speed;
mod test;
mod tools;
mod traces;
mod unchanged;
mod units;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  adversary [--packets N] [--seed S]
                two endpoints over the worst of networks (1,000,000 packets)
  book          rules on the book: summary, links, width of prose, commands and files that exist
  c-library     the C library from C and Python, under valgrind and sanitizers, and its header
  c-library header
                writes bindings/c/include/tfrc.h
  ci            every check, in the order of their cost; ./check runs it and counts compile units
  compliance    the lists of what the specifications ask for against code and tests [--json]
  crowd [--binary PATH]
                200 senders to one receiver with a file for each, 20 of them killed: files, log, exit statuses
  dependencies  that cargo-deny judged these dependencies; security advisories of a dated snapshot
  dependencies judge
                licences, sources and duplicate versions by cargo-deny; records what it has judged
  features      every combination of features, where there are features
  full          the long forms of checks, over two hours; a part that has passed at this commit is not run again
                [adversary attacks dependencies emulation faults fuzz icmp mutants semver soak]
  files         rules on the files under version control
  hostile [attacks|faults|icmp|soak|all] [--short] [--binary PATH] [--markdown FILE] [--count N] [--time TIME] [NAME...]
                attacks on the built command beside an honest transfer (the default); faults at either end; forged ICMP
                over a veth pair (--count, 1,000,000); strangers coming and going (--time, 1h)
  instructions  what the core costs for each data packet, against what is recorded [--write]
  lines [COMMIT [COMMIT]]
                code, comments, public names and fields of the working tree, or before and after
  measure bernoulli [--seconds N]
                rate and loss event rate of the built command under random loss, in real time (240 s)
  measure demo [--seconds N]
                TFRC's share, smoothness and yielding against 1 and 4 simulated TCPs, in real time (60 s, four times)
  measure emulation [--short]
                     what ping and iperf3 see of `tfrc emu` against its scenario
  measure fixed-points
                every estimator and every method for small packets under random loss, in virtual time; writes the page
  measure tcp [--figures FILE]
                every TCP alone and in fours through one bottleneck, in virtual time; writes the page, of the figures
                that the example of crates/sim has printed before, if they are given
  packages      the crates that other programs add, packed and built from their packages
  packages semver
                their public items against version 0.1.0, by cargo-semver-checks
  picture       docs/demo.svg, the chart of `tfrc demo` that README.md shows
  python        the Python package: its wheel, installed into target/python, and its tests
  references    the values of ns-2 that experiments are compared with: writes their ns2.csv; with names of
                peers/ns2/references.toml it runs ns-2 [--minutes N] [--seeds N] [--where KEY=VALUE]... [NAME...]
  readme [--built | --in FOLDER]
                the commands that README.md shows under Install, Stream, Build and Study, pasted into a shell in an
                empty folder; with --built or --in by the program of target/release or of a folder, not installed
  release       the release build, and in target/dist its bill of materials, a Debian package, the static program
                and an image with it
  speed         processor time of a packet-hop: ns-2, ours and a floor in turn [--rounds N] [small] [large]
  results       every experiment; writes docs/results.md and docs/peers.md [--check-three COMMIT: runs three again and compares]
  test          the daily loop: lints and the tests of every crate, without those that drive browsers and media
  tools         the system's programs that the tests use; installs what is missing where it may
  traces        the delivery traces of scenarios/traces and their pictures, by the models of docs/models/traces.md
  unchanged BEFORE.json AFTER.json
                the results of two runs of `tfrc reproduce`: equal values and verdicts, or a list of the differences
  mutants       whether the tests notice each broken rule [--sample N] [--seed S] [NAME-PREFIX...]
";

/// Result of a chore, with the message of its failure.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["adversary", arguments @ ..] => adversary::from_arguments(arguments),
        ["book"] => book::check(),
        ["c-library"] => c_library::check(),
        ["c-library", "header"] => c_library::write_header(),
        ["ci"] => ci::run(),
        ["compliance"] => compliance::check(),
        ["compliance", "--json"] => compliance::json(),
        ["crowd", arguments @ ..] => hostile::crowd(arguments),
        ["dependencies"] => dependencies::check(),
        ["dependencies", "judge"] => dependencies::judge(),
        ["features"] => features::check(),
        ["packages"] => packages::check(),
        ["packages", "semver"] => packages::semver(),
        ["files"] => files::check(),
        ["full", names @ ..] => full::run(names),
        ["hostile", arguments @ ..] => hostile::from_arguments(arguments),
        ["hostile-attacker", arguments @ ..] => hostile::attacker(arguments),
        ["instructions"] => instructions::check(),
        ["instructions", "--write"] => instructions::write(),
        ["lines", commits @ ..] => lines::run(commits),
        ["measure", "bernoulli"] => measure::bernoulli(240),
        ["measure", "bernoulli", "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => measure::bernoulli(seconds),
            Err(_) => Err(format!("--seconds {seconds}: not a whole number of seconds")),
        },
        ["measure", "demo"] => measure::demo(60),
        ["measure", "demo", "--seconds", seconds] => match seconds.parse() {
            Ok(seconds) => measure::demo(seconds),
            Err(_) => Err(format!("--seconds {seconds}: not a whole number of seconds")),
        },
        ["measure", "emulation"] => measure::emulation(false),
        ["measure", "emulation", "--short"] => measure::emulation(true),
        ["measure", "fixed-points"] => measure::fixed_points(2_000_000),
        ["measure", "tcp"] => measure::tcp_alone(None),
        ["measure", "tcp", "--figures", file] => measure::tcp_alone(Some(file)),
        ["picture"] => picture::write(),
        ["python"] => python::check(),
        ["references", arguments @ ..] => references::run(arguments),
        ["readme"] => readme::run(&readme::Program::Installed),
        ["readme", "--in", folder] => readme::run(&readme::Program::In(folder.into())),
        ["readme", "--built"] => readme::built(),
        ["release"] => release::run(),
        ["test"] => test::run(),
        ["tools"] => tools::check(),
        ["traces"] => traces::write(),
        ["speed", arguments @ ..] => speed::run(arguments),
        ["unchanged", before, after] => unchanged::run(before, after),
        ["results", arguments @ ..] => results::run(arguments),
        ["mutants", arguments @ ..] => mutants::run(arguments),
        ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> &'static std::path::Path {
    // This crate is `crates/xtask`, two below the root.
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// The cargo that runs us.
fn cargo() -> std::process::Command {
    let mut command = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The development build of the command, with the features that the tests of the whole workspace
/// give its libraries: most of what they have built is used again.
fn build_command() -> std::process::Command {
    let mut command = cargo();
    command.args(["build", "--locked", "--quiet", "--workspace", "--bin", "tfrc"]);
    command
}
