//! `tfrc man`: the manual pages.

use crate::Failure;
use crate::args::{ManArgs, whole};

/// Writes `tfrc.1` and one page per subcommand.
///
/// # Errors
/// When the directory cannot be made or written.
pub(crate) fn run(args: &ManArgs) -> Result<(), Failure> {
    let failed = |e| Failure::io(&args.dir.display(), &e);
    std::fs::create_dir_all(&args.dir).map_err(failed)?;
    clap_mangen::generate_to(whole(), &args.dir).map_err(failed)
}
