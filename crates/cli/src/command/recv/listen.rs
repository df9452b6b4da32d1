//! The port of a receiver, waited for while the one before still has it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tfrc_net::{BindError, Endpoint, Options};
use tokio::time::Instant;

use crate::Failure;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;

/// A receiver answers its sender for two seconds after the end (docs/decisions/0004); the next one
/// may be started meanwhile.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens the first of these addresses that can be had.
///
/// # Errors
/// [`Failure::Run`], with the reason for the first address.
pub(super) async fn listen(
    at: &[SocketAddr],
    options: &Options,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<Endpoint, Failure> {
    let until = Instant::now() + PATIENCE;
    let mut told = false;
    loop {
        let mut failed = None;
        for address in at {
            match Endpoint::bind(*address, options) {
                Ok(endpoint) => return Ok(endpoint),
                // The first is what the user wants; the others are for systems that lack it.
                Err(error) if in_use(&error) => {
                    failed = Some(error);
                    break;
                }
                Err(error) => drop(failed.get_or_insert(error)),
            }
        }
        let Some(failed) = failed else { return Err(Failure::Run("no address to listen on".to_owned())) };
        if !in_use(&failed) || Instant::now() >= until {
            return Err(Failure::Run(failed.to_string()));
        }
        if !std::mem::replace(&mut told, true) {
            reporter.note(&format!("{failed}; waiting up to {} s for it", PATIENCE.as_secs()));
        }
        if interrupt.or(tokio::time::sleep(PAUSE)).await.is_none() {
            return Err(Failure::Run(failed.to_string()));
        }
    }
}

fn in_use(error: &BindError) -> bool {
    matches!(error, BindError::Address { source, .. } if source.kind() == ErrorKind::AddrInUse)
}
