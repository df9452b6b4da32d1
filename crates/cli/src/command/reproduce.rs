//! `tfrc reproduce`: the laboratory, `tfrc-lab` of the Python package, in place of this process.

use std::io::{self, ErrorKind};
use std::process::Command;

use crate::Failure;
use crate::args::ReproduceArgs;

/// Becomes `tfrc-lab`, which does its emulated runs by this program.
///
/// # Errors
/// [`Failure::Usage`] where `tfrc-lab` is not installed; else this process is another one.
pub fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    let is_list = args.arguments.first().is_some_and(|word| word == "list");
    let mut laboratory = Command::new("tfrc-lab");
    laboratory.args((!is_list).then_some("run")).args(&args.arguments);
    if let Ok(program) = std::env::current_exe() {
        laboratory.env("TFRC_PROGRAM", program);
    }
    let error = become_it(&mut laboratory);
    Err(match error.kind() {
        ErrorKind::NotFound => Failure::usage(
            "experiments are run by `tfrc-lab`, which is not installed",
            "pip install './bindings/python[lab]' in a checkout, or the wheel of a release with [lab]",
        ),
        _ => Failure::io(&"tfrc-lab", &error),
    })
}

/// Runs the program in place of this one; returns if it does not start.
#[cfg(unix)]
fn become_it(program: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(program)
}

/// Runs the program, and ends with its exit status.
#[cfg(not(unix))]
fn become_it(program: &mut Command) -> io::Error {
    match program.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
