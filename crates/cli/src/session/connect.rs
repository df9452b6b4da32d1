//! From a name to a connection.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc_session::{
    AttemptError, BindError, ConnectError, Options, Recordings, connect_any, connect_waiting,
};

use super::listen::no_raw_sockets;
use super::{Connection, Endpoint, Part, Privacy, clash, shown, why_not_connected};
use crate::Failure;
use crate::args::values::Target;
use crate::reporter::Reporter;

/// Time between two lines about attempts that go on, at first and after a quarter of a minute.
const TOLD_EVERY: u32 = 3;
const TOLD_LATER_EVERY: u32 = 15;
/// Questions for the user while nobody answers; the second of these lines has them.
const QUESTIONS: &str = "; does the other end run, is its UDP port open, has its --allow this address?";

/// Versions of IP whose addresses count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpVersions {
    Any,
    Four,
    Six,
}

/// The peer to connect to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callee<'a> {
    pub(crate) name: &'a Target,
    pub(crate) addresses: &'a [SocketAddr],
    /// Time for which attempts are repeated.
    pub(crate) wait: Option<tfrc_units::Duration>,
}

/// The addresses of a host, of the IP versions asked for, in the system's order.
///
/// # Errors
/// [`Failure::Usage`] if there is none.
pub(crate) async fn resolve(to: &Target, versions: IpVersions) -> Result<Vec<SocketAddr>, Failure> {
    let unknown = |why: String| {
        Failure::usage(
            format!("{}: {why}", to.host),
            "name a host that can be found, or an address, such as 192.0.2.1:6511",
        )
    };
    let addresses = tokio::net::lookup_host((to.host.as_str(), to.port)).await;
    let addresses = addresses.map_err(|error| unknown(error.to_string()))?;
    let (addresses, lacking): (Vec<SocketAddr>, &str) = match versions {
        IpVersions::Four => (addresses.filter(SocketAddr::is_ipv4).collect(), "IPv4 "),
        IpVersions::Six => (addresses.filter(SocketAddr::is_ipv6).collect(), "IPv6 "),
        IpVersions::Any => (addresses.collect(), ""),
    };
    if addresses.is_empty() { Err(unknown(format!("has no {lacking}address"))) } else { Ok(addresses) }
}

/// Connects to the first address that answers (RFC 8305), and says while it lasts what is tried.
///
/// # Errors
/// [`Failure`] with each address that was tried, and why it failed; or if the peer has the same
/// part.
pub(crate) async fn connect(
    callee: Callee<'_>,
    part: Part,
    options: &Options,
    recordings: Recordings,
    privacy: &Privacy,
    reporter: &mut Reporter,
) -> Result<(Endpoint, Connection), Failure> {
    let Callee { name, addresses, wait } = callee;
    let attempt = async {
        let connected = match wait {
            Some(wait) => connect_waiting(addresses, options, recordings, wait.into()).await,
            None => connect_any(addresses, options, recordings).await,
        };
        connected.map_err(|error| privacy.refused(&error).unwrap_or_else(|| why_unconnected(name, error)))
    };
    tokio::pin!(attempt);
    let names: Vec<String> = addresses.iter().copied().map(shown).collect();
    let mut seconds = 0;
    let connected = loop {
        let step = if seconds < TOLD_LATER_EVERY { TOLD_EVERY } else { TOLD_LATER_EVERY };
        tokio::select! {
            connected = &mut attempt => break connected,
            () = tokio::time::sleep(Duration::from_secs(step.into())) => {
                seconds += step;
                let questions = if seconds == 2 * TOLD_EVERY { QUESTIONS } else { "" };
                reporter.note(&format!("trying {} ... {seconds} s{questions}", names.join(", ")));
            }
        }
    };
    if let Ok((_, connection)) = &connected
        && let Some(why) = clash(part, connection)
    {
        // The peer finds out with this Close.
        connection.close_now().await;
        return Err(Failure::Run(format!("{name}: {why}")));
    }
    #[cfg(feature = "quic")]
    if let (Ok(_), Privacy::Keys(keys)) = (&connected, privacy) {
        keys.remember(reporter);
    }
    connected
}

/// The sentence for a session that was not made.
fn why_unconnected(name: &Target, error: ConnectError) -> Failure {
    match error {
        ConnectError::Failed(attempts) => match attempts.as_slice() {
            [(address, error)] => {
                Failure::Run(format!("cannot connect to {}: {}", shown(*address), sentence(error)))
            }
            _ => {
                let attempts = attempts
                    .iter()
                    .map(|(address, error)| format!("{}: {}", shown(*address), sentence(error)));
                let attempts = attempts.collect::<Vec<_>>().join("; ");
                Failure::Run(format!("cannot connect to {name}: {attempts}"))
            }
        },
        ConnectError::Bind(error @ BindError::Unmarked(_)) => Failure::usage(
            error.to_string(),
            "add --dscp af11, or whichever class the network has set aside, or leave the circuit breaker on",
        ),
        ConnectError::Bind(error @ BindError::NoRawSockets) => no_raw_sockets(&error),
        error => Failure::Run(format!("cannot connect to {name}: {error}")),
    }
}

fn sentence(error: &AttemptError) -> String {
    match error {
        AttemptError::Dccp(error) => why_not_connected(error),
        error => error.to_string(),
    }
}
