//! The receiver of a session: it is called, or with `-R` it calls.

use std::net::SocketAddr;

use tfrc_net::{Connection, Endpoint, Options, Recordings};

use crate::Failure;
use crate::args::SendArgs;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use crate::session::{Callee, IpVersions, connect, listen, resolve};

/// The addresses of the receiver, or those to listen on.
///
/// # Errors
/// [`Failure::Usage`] if there is none.
pub(super) async fn addresses(args: &SendArgs) -> Result<Vec<SocketAddr>, Failure> {
    let versions = match (args.ipv4, args.ipv6) {
        (true, _) => IpVersions::Four,
        (_, true) => IpVersions::Six,
        _ => IpVersions::Any,
    };
    match &args.to {
        Some(to) => resolve(to, versions).await,
        None => listen::addresses(args.bind.as_ref(), args.port).await,
    }
}

/// Refuses to send to anybody who can reach this host, unless the user says so; says it then.
///
/// # Errors
/// [`Failure::Usage`].
pub(super) fn check(args: &SendArgs, at: &[SocketAddr], reporter: &mut Reporter) -> Result<(), Failure> {
    if !args.reverse {
        return Ok(());
    }
    if let Some(warning) = listen::check_reach("have the data", "receivers", &args.allow, at)? {
        reporter.note(&warning);
    }
    Ok(())
}

/// Connects to the receiver, or waits until it has connected.
///
/// # Errors
/// [`Failure`] with each address that was tried, and why it failed; or with the time in which
/// nobody came.
pub(super) async fn connected(
    args: &SendArgs,
    addresses: &[SocketAddr],
    options: &Options,
    recordings: Recordings,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<(Endpoint, Connection), Failure> {
    if let Some(name) = &args.to {
        return connect(Callee { name, addresses, wait: args.wait }, options, recordings, reporter).await;
    }
    let endpoint = listen::listen(addresses, options, reporter, interrupt).await?;
    reporter.note(&format!("listening on {}", endpoint.local_addr()));
    let accepted = match args.wait {
        Some(wait) => match tokio::time::timeout(wait.into(), endpoint.accept()).await {
            Ok(accepted) => accepted,
            Err(_) => return Err(Failure::Run(format!("no receiver connected for {wait}"))),
        },
        None => endpoint.accept().await,
    };
    match accepted {
        Some(connection) => Ok((endpoint, connection)),
        None => Err(Failure::Run("the network of this end has failed".to_owned())),
    }
}
