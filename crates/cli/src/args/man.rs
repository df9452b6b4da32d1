//! Arguments of `tfrc man`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `tfrc man`.
#[derive(Debug, Args)]
#[command(after_help = "Example: tfrc man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Where to write tfrc.1 and one page per subcommand; made if it is not there
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}
