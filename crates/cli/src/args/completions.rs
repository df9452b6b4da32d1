//! Arguments of `tfrc completions`.

use clap::Args;
use clap_complete::Shell;

/// Arguments of `tfrc completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example: tfrc completions bash > ~/.local/share/bash-completion/completions/tfrc")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}
