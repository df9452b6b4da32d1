//! Arguments of `tfrc key`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::values::{self, Target};

/// Arguments of `tfrc key`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: tfrc key new; then name the new key once with --peer-key at the other ends."
)]
pub(crate) struct KeyArgs {
    /// The deed.
    #[command(subcommand)]
    pub command: KeyCommand,
}

/// The deeds of `tfrc key`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Print the fingerprint of this end's key, which is made if it is not there
    Show(KeyFileArgs),
    /// Make a new key for this end in the place of the old one, which nobody should trust any more
    New(KeyFileArgs),
    /// Forget the key of a host that was called
    Forget {
        /// HOST or HOST:PORT, as the user writes it [port: 6511]
        #[arg(value_name = "HOST[:PORT]", value_parser = values::target)]
        host: Target,
    },
}

/// The file of this end's key.
#[derive(Debug, Args)]
pub(crate) struct KeyFileArgs {
    /// File of the key; without it tfrc/key in the folder of the user's settings
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
}
