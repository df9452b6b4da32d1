//! The port of the end that listens, waited for while the one before still has it, and who may
//! connect.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tfrc_net::options::Prefix;
use tfrc_session::{BindError, Options};
use tokio::time::Instant;

use super::Endpoint;
use crate::Failure;
use crate::args::values::{AllowedPeers, DEFAULT_PORT, ListenAt};
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
pub(crate) async fn listen(
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
        if matches!(failed, BindError::NoRawSockets) {
            return Err(no_raw_sockets(&failed));
        }
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

/// The failure of `--raw` without the right to it, with the line that gives the right.
pub(crate) fn no_raw_sockets(error: &BindError) -> Failure {
    Failure::usage(error.to_string(), "sudo setcap cap_net_raw+ep $(command -v tfrc)")
}

fn in_use(error: &BindError) -> bool {
    matches!(error, BindError::Address { source, .. } if source.kind() == ErrorKind::AddrInUse)
}

/// The addresses to listen on, the first that can be had: where the user says, else every address,
/// of both IP versions where the system has both. A `raw` socket has one version: IPv4, if it can.
///
/// # Errors
/// [`Failure::Usage`] if the user's name has no address.
pub(crate) async fn addresses(
    bind: Option<&ListenAt>,
    port: Option<u16>,
    raw: bool,
) -> Result<Vec<SocketAddr>, Failure> {
    let usual = port.unwrap_or(DEFAULT_PORT);
    let Some(ListenAt { host, port: own }) = bind else {
        let mut any: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
        if raw {
            any.reverse();
        }
        return Ok(any.map(|address| SocketAddr::new(address, usual)).into());
    };
    let port = match (own, port) {
        (Some(one), Some(other)) if *one != other => {
            return Err(Failure::usage(
                format!("--bind names port {one} and -p port {other}"),
                "leave out one of them",
            ));
        }
        (Some(port), _) => *port,
        (None, _) => usual,
    };
    let found = tokio::net::lookup_host((host.as_str(), port)).await;
    found.map(Iterator::collect).map_err(|error| {
        Failure::usage(
            format!("--bind {host}: {error}"),
            "name an address of this host, such as 127.0.0.1, ::1 or localhost",
        )
    })
}

/// Refuses to do something for anybody who can reach this host, unless the user says who may, or
/// that everybody may; a warning then. `what` a host `could` do, and who these hosts are.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_reach(
    what: &str,
    who: &str,
    allow: &[AllowedPeers],
    at: &[SocketAddr],
) -> Result<Option<String>, Failure> {
    if at.iter().all(|address| address.ip().is_loopback()) {
        return Ok(None);
    }
    if allow.is_empty() {
        return Err(Failure::usage(
            format!("any host that reaches this one could {what}: {who} are not authenticated"),
            format!(
                "name the {who} with --allow ADDRESS[/PREFIX]{BY_KEY}, or let everybody in with --allow any"
            ),
        ));
    }
    let anybody = allow.iter().any(|peers| match peers {
        AllowedPeers::Any => true,
        AllowedPeers::Network(prefix) => is_whole_internet(prefix),
    });
    Ok(anybody.then(|| format!("warning: any host that reaches this one can {what}")))
}

/// The networks that are let in; none: everybody is.
pub(crate) fn networks(allowed: &[AllowedPeers]) -> Vec<Prefix> {
    let networks: Option<Vec<Prefix>> = allowed
        .iter()
        .map(|peers| match peers {
            AllowedPeers::Any => None,
            AllowedPeers::Network(prefix) => Some(*prefix),
        })
        .collect();
    networks.unwrap_or_default()
}

/// True for a network with all of IPv4 in it, or all of IPv6 that is given out (RFC 4291 §2.4).
fn is_whole_internet(network: &Prefix) -> bool {
    let ends = [
        [Ipv4Addr::UNSPECIFIED.into(), IpAddr::V4(Ipv4Addr::BROADCAST)],
        [Ipv6Addr::from_bits(0x2 << 124).into(), Ipv6Addr::from_bits((0x4 << 124) - 1).into()],
    ];
    ends.iter().any(|ends| ends.iter().all(|end| network.contains(*end)))
}

/// Another way to name them, of a program that has it.
const BY_KEY: &str =
    if cfg!(feature = "quic") { ", or by their keys with --quic and --allow-key" } else { "" };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_everybody_are_known() {
        for (written, all) in [
            ("0.0.0.0/0", true),
            ("::/0", true),
            ("2000::/3", true),
            ("0.0.0.0/1", false),
            ("10.0.0.0/8", false),
            ("2001:db8::/32", false),
        ] {
            let network = written.parse::<Prefix>().expect(written);
            assert_eq!(is_whole_internet(&network), all, "{written}");
        }
    }
}
