//! `tfrc man`: the manual pages.

use clap::CommandFactory;

use crate::Failure;
use crate::args::{Cli, ManArgs};

/// Writes `tfrc.1` and one page per subcommand.
///
/// # Errors
/// When the directory cannot be made or written.
pub fn run(args: &ManArgs) -> Result<(), Failure> {
    let failed = |e| Failure::io(&args.dir.display(), &e);
    std::fs::create_dir_all(&args.dir).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), &args.dir).map_err(failed)
}
