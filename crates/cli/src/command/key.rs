//! `tfrc key`: the keys of private sessions.

use crate::Failure;
use crate::args::KeyArgs;

/// Shows, renews or forgets, and prints what it did.
///
/// # Errors
/// [`Failure::Usage`] if a file is not as it must be, or this program has no QUIC.
pub(crate) fn run(args: &KeyArgs) -> Result<(), Failure> {
    super::print(&answer(args)?)
}

#[cfg(feature = "quic")]
fn answer(args: &KeyArgs) -> Result<String, Failure> {
    use crate::args::KeyCommand;
    use crate::session::{forget_host, renew_key, show_key};
    match &args.command {
        KeyCommand::Show(file) => show_key(file.key.as_deref()),
        KeyCommand::New(file) => renew_key(file.key.as_deref()),
        KeyCommand::Forget { host } => forget_host(&host.to_string()),
    }
}

#[cfg(not(feature = "quic"))]
fn answer(_: &KeyArgs) -> Result<String, Failure> {
    Err(crate::session::without_quic())
}
