//! `tfrc completions`: the completion script of a shell.

use crate::Failure;
use crate::args::{CompletionsArgs, whole};

/// Prints the script.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole(), "tfrc", &mut script);
    super::print(&String::from_utf8_lossy(&script))
}
