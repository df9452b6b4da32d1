//! Arguments of private sessions, which `send`, `recv` and `stream` have.

use std::path::PathBuf;

use clap::Args;

use super::values;

/// A program without the feature `quic` does not offer its options, and knows them to say so.
pub(super) const UNKNOWN: bool = cfg!(not(feature = "quic"));
/// Those options, by their names here.
pub(super) const OPTIONS: [&str; 4] = ["quic", "peer_key", "key", "allow_key"];

/// QUIC in place of DCCP, and the keys of both ends.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PrivateArgs {
    /// Private: encrypted, by QUIC in place of DCCP; at both ends
    #[arg(hide = UNKNOWN, long)]
    pub quic: bool,
    /// The receiver's key fingerprint, as `tfrc recv --quic` prints it; kept
    #[arg(hide = UNKNOWN, long, value_name = "KEY", requires = "quic", value_parser = values::fingerprint)]
    pub peer_key: Option<String>,
    /// File of this end's own key, made if not there [~/.config/tfrc/key]
    #[arg(hide = UNKNOWN, long, value_name = "FILE", requires = "quic")]
    pub key: Option<PathBuf>,
}
