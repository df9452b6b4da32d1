//! The program `tfrc`.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(all(feature = "emu", feature = "live", feature = "quic")),
    allow(dead_code, unused_imports, reason = "arguments and helpers of a command that is left out")
)]
#![allow(clippy::disallowed_methods, reason = "a command line has a clock, threads and signals")]

mod args;
mod command;
mod document;
mod failure;
pub mod interrupt;
mod limits;
pub mod live;
mod log;
mod page;
mod reporter;
mod run;
mod session;
mod visible;

use std::process::ExitCode;

use clap::Parser;

use failure::Failure;

use args::{Cli, Command};

/// Runs the command line of this process and says how it went.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(help) = args::all_help(std::env::args_os().skip(1)) {
        return match command::print(&help) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        };
    }
    let outcome = match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        // Help and version come this way too, with status 0; a closed pipe must not turn them into
        // a failure.
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Reads a command line, the program's name first, and runs nothing.
///
/// # Errors
/// The first fault: an unknown word, or a value that is missing or out of its range.
pub fn judge<'a>(line: impl Iterator<Item = &'a str>) -> Result<(), clap::Error> {
    Cli::try_parse_from(line).map(|_| ())
}

/// Runs one subcommand. It is not public, nor are its arguments: of a public type each method would
/// be compiled, used or not.
fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Capture(args) => command::capture::run(&args),
        Command::Completions(args) => command::completions::run(&args),
        Command::Demo(args) => command::demo::run(&args),
        #[cfg(all(feature = "emu", target_os = "linux"))]
        Command::Emu(args) => command::emu::run(&args),
        #[cfg(all(feature = "emu", target_os = "linux"))]
        Command::EmuInside(args) => command::emu::inside(&args),
        #[cfg(all(not(feature = "emu"), target_os = "linux"))]
        Command::Emu(_) | Command::EmuInside(_) => Err(Failure::usage(
            "this program was built without the emulator",
            "build it with --features emu, which is on by default",
        )),
        Command::Equation(args) => command::equation::run(&args),
        Command::Key(args) => command::key::run(&args),
        Command::Link(args) => command::link::run(&args),
        Command::Man(args) => command::man::run(&args),
        Command::Recv(args) => command::recv::run(&args),
        Command::Replay(args) => command::replay::run(&args),
        Command::Scenario(args) => command::scenario::run(&args),
        Command::Schema(args) => command::schema::run(args),
        Command::Send(args) => command::send::run(&args),
        Command::Sim(args) => command::sim::run(&args),
        #[cfg(target_os = "linux")]
        Command::Stream(args) => command::stream::run(&args),
    }
}

/// The Rust code of README.md and of the guide for programs.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../README.md")]
    mod readme {}

    #[doc = include_str!("../../../docs/guides/library.md")]
    mod library {}
}
