//! Arguments of `tfrc replay`.

use std::path::PathBuf;

use clap::Args;

use super::output::JsonArgs;

/// Arguments of `tfrc replay`: feeds a journal into a fresh protocol machine.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: tfrc send HOST -f FILE --journal session.journal && tfrc replay session.journal"
)]
pub(crate) struct ReplayArgs {
    /// A journal written by tfrc send --journal
    #[arg(value_name = "FILE")]
    pub journal: PathBuf,
    /// Output format.
    #[command(flatten)]
    pub output: JsonArgs,
}
