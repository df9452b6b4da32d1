//! `tfrc schema`: the form of what is printed as JSON.

use super::print;
use crate::Failure;
use crate::args::SchemaArgs;
use crate::schema;

/// Runs `tfrc schema`.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    print(&if args.keys { schema::tables() } else { format!("{:#}\n", schema::schema()) })
}
