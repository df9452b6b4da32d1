//! `cargo xtask hostile` and `crowd`: the package `hostile`, built and run with the command that it
//! attacks.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::python::{built, release, run};
use crate::{Outcome, build_command};

/// Runs it with these arguments in this process's place: whoever ends this one ends the run.
pub(crate) fn become_it(arguments: &[OsString]) -> Outcome {
    let error = attacks()?.args(arguments).exec();
    Err(format!("hostile did not start: {error}"))
}

/// 200 senders, with the release build or with another program.
pub(crate) fn crowd(arguments: &[OsString]) -> Outcome {
    let mut command = attacks()?;
    command.arg("crowd");
    if arguments.is_empty() {
        command.arg("--binary").arg(release()?);
    }
    Err(format!("hostile did not start: {}", command.args(arguments).exec()))
}

/// Runs a group of cases against the release build; `target/full` gets their table.
pub(crate) fn table(group: &str) -> Outcome {
    let table = built().join("full").join(format!("{group}.md"));
    let made = table.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.map_err(|error| format!("{}: {error}", table.display()))?;
    run(attacks()?.arg(group).arg("--binary").arg(release()?).arg("--markdown").arg(table))
}

/// The built program, beside the development build of the command.
fn attacks() -> Result<Command, String> {
    run(build_command().args(["--bin", "hostile"]))?;
    Ok(Command::new(built().join("debug/hostile")))
}
