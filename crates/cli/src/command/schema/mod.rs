//! `tfrc schema`: the form of what is printed as JSON.

mod documents;

use super::print;
use crate::Failure;
use crate::args::SchemaArgs;

/// Runs `tfrc schema`.
///
/// # Errors
/// When standard output cannot be written.
pub(crate) fn run(args: SchemaArgs) -> Result<(), Failure> {
    print(&if args.keys { documents::tables() } else { format!("{:#}\n", documents::schema()) })
}
