//! `tfrc key`: the keys of private sessions.

use crate::Failure;
use crate::args::KeyArgs;
#[cfg(feature = "quic")]
use crate::args::KeyCommand;
#[cfg(feature = "quic")]
use crate::session::{forget_host, renew_key, show_key};

/// Shows, renews or forgets, and prints what it did.
///
/// # Errors
/// [`Failure::Usage`] if a file is not as it must be, or this program has no QUIC.
#[cfg(feature = "quic")]
pub fn run(args: &KeyArgs) -> Result<(), Failure> {
    let text = match &args.command {
        KeyCommand::Show(file) => show_key(file.key.as_deref()),
        KeyCommand::New(file) => renew_key(file.key.as_deref()),
        KeyCommand::Forget { host } => forget_host(&host.to_string()),
    }?;
    super::print(&text)
}

#[cfg(not(feature = "quic"))]
pub fn run(_: &KeyArgs) -> Result<(), Failure> {
    Err(crate::session::without_quic())
}
