//! From a name to a connection.

use std::net::SocketAddr;

use tfrc_net::attempts::{AttemptError, ConnectAnyError, connect_any};
use tfrc_net::{BindError, Connection, Endpoint, Options, Recordings};

use crate::Failure;
use crate::args::values::Target;
use crate::session::why_not_connected;

/// All addresses of a host, in the system's order.
///
/// # Errors
/// [`Failure::Usage`] if there is none.
pub(super) async fn resolve(to: &Target) -> Result<Vec<SocketAddr>, Failure> {
    let unknown = |why: String| {
        Failure::usage(
            format!("{}: {why}", to.host),
            "name a host that can be found, or an address, such as 192.0.2.1:6511",
        )
    };
    let addresses = tokio::net::lookup_host((to.host.as_str(), to.port)).await;
    let addresses: Vec<SocketAddr> = addresses.map_err(|error| unknown(error.to_string()))?.collect();
    if addresses.is_empty() { Err(unknown("has no address".to_owned())) } else { Ok(addresses) }
}

/// Connects to the first address that answers (RFC 8305).
///
/// # Errors
/// [`Failure`] with each address that was tried, and why it failed.
pub(super) async fn connect(
    to: &Target,
    addresses: &[SocketAddr],
    options: &Options,
    recordings: Recordings,
) -> Result<(Endpoint, Connection), Failure> {
    connect_any(addresses, options, recordings).await.map_err(|error| match error {
        ConnectAnyError::Failed(attempts) => match attempts.as_slice() {
            [(address, error)] => Failure::Run(format!("cannot connect to {address}: {}", sentence(error))),
            _ => {
                let attempts =
                    attempts.iter().map(|(address, error)| format!("{address}: {}", sentence(error)));
                Failure::Run(format!("cannot connect to {to}: {}", attempts.collect::<Vec<_>>().join("; ")))
            }
        },
        ConnectAnyError::Bind(error @ BindError::Unmarked(_)) => Failure::usage(
            error.to_string(),
            "add --dscp af11, or whichever class the network has set aside, or leave the circuit breaker on",
        ),
        error => Failure::Run(error.to_string()),
    })
}

fn sentence(error: &AttemptError) -> String {
    match error {
        AttemptError::Connect(error) => why_not_connected(error),
        error => error.to_string(),
    }
}
