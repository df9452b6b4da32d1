//! The receiver of a session: it is called, or with `-R` it calls.

use std::net::SocketAddr;

use tfrc_session::{Options, Recordings};

use super::trial::{self, Feed, Trial};
use crate::Failure;
use crate::args::SendArgs;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use crate::session::{
    Callee, Connection, DatagramSource, Endpoint, FileSource, FileWay, IpVersions, LogLimit, LogRate, Part,
    Privacy, clash, connect, listen, resolve, shown,
};

/// The longest wait for a peer that is not wanted.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(1);

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
    if !args.reverse || !args.allow_key.is_empty() {
        return Ok(());
    }
    if let Some(warning) = listen::check_reach("have the data", "receivers", &args.allow, at)? {
        reporter.note(&warning);
    }
    Ok(())
}

/// A sender that has no receiver yet.
#[derive(Clone, Copy)]
pub(super) struct Connecting<'a> {
    pub(super) args: &'a SendArgs,
    /// The part that this end names.
    pub(super) part: Part,
    /// The addresses of the receiver, or those to listen on.
    pub(super) addresses: &'a [SocketAddr],
    pub(super) options: &'a Options,
    pub(super) privacy: &'a Privacy,
}

/// A receiver that takes the data, and the file if it knows the places of its bytes.
pub(super) struct Connected {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Connection,
    pub(super) file: Option<FileSource>,
}

impl Connecting<'_> {
    /// Connects to the receiver, or waits until one has connected and acknowledges data. That has
    /// the beginning of `source` then.
    ///
    /// # Errors
    /// [`Failure`] with each address that was tried, and why it failed; or with the time in which
    /// nobody came.
    pub(super) async fn connected(
        self,
        recordings: Recordings,
        source: &mut DatagramSource,
        reporter: &mut Reporter,
        interrupt: &mut Interrupt,
    ) -> Result<Connected, Failure> {
        let Self { args, part, addresses, options, privacy } = self;
        if let Some(name) = &args.to {
            let callee = Callee { name, addresses, wait: args.session.wait };
            let (endpoint, connection) =
                connect(callee, part, options, recordings, privacy, reporter).await?;
            let file = file(part, &connection, source)?;
            return Ok(Connected { endpoint, connection, file });
        }
        let endpoint = listen::listen(addresses, options, reporter, interrupt).await?;
        reporter.note(&format!("listening on {}", endpoint.local_addr()));
        privacy.introduce(endpoint.local_addr(), "tfrc recv --from", " -o FILE", reporter);
        let (connection, file) = match args.session.wait {
            Some(wait) => {
                let taker = taker(&endpoint, part, source, reporter);
                match tokio::time::timeout(wait.into(), taker).await {
                    Ok(accepted) => accepted,
                    Err(_) => return Err(Failure::Run(format!("no receiver connected for {wait}"))),
                }
            }
            None => taker(&endpoint, part, source, reporter).await,
        }?;
        Ok(Connected { endpoint, connection, file })
    }
}

/// The file for a receiver that knows the places of its bytes; another one gets the stream.
fn file(part: Part, connection: &Connection, source: &DatagramSource) -> Result<Option<FileSource>, Failure> {
    let Some(way) = part.file_way(connection) else { return Ok(None) };
    let file = source.whole().map_err(unreadable)?;
    Ok(match way {
        FileWay::Repaired => file,
        FileWay::WithHoles => file.map(FileSource::once),
    })
}

fn unreadable(error: std::io::Error) -> Failure {
    Failure::Run(format!("the data cannot be read: {error}"))
}

/// The first receiver that acknowledges data. Others do not use the sender up.
async fn taker(
    endpoint: &Endpoint,
    part: Part,
    source: &mut DatagramSource,
    reporter: &mut Reporter,
) -> Result<(Connection, Option<FileSource>), Failure> {
    let mut log = LogLimit::new(endpoint.now(), LogRate::SUMMARIES);
    loop {
        let Some(connection) = endpoint.accept().await else {
            return Err(Failure::Run("the network of this end has failed".to_owned()));
        };
        let peer = connection.remote_addr().map_or_else(String::new, shown);
        if let Some(why) = clash(part, &connection) {
            // It closes, or is closed.
            let _ = tokio::time::timeout(FAREWELL, connection.close()).await;
            drop(connection);
            let _ = tokio::time::timeout(FAREWELL, endpoint.linger()).await;
            return Err(Failure::Run(format!("{peer}: {why}")));
        }
        let mut file = file(part, &connection, source)?;
        let feed = match &mut file {
            Some(file) => Feed::File(file),
            None => Feed::Stream(source),
        };
        match trial::begin(&connection, feed).await.map_err(unreadable)? {
            Trial::Acknowledged => return Ok((connection, file)),
            Trial::Failed(why) => {
                if log.admit(endpoint.now()) {
                    reporter.note(&format!("{peer} {why}: still listening"));
                }
            }
        }
    }
}
