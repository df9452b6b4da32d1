//! The second act of `send`: the receiver is called, or with `-R` it calls.

use std::net::SocketAddr;
use std::sync::Arc;

use tfrc_report::record::{Record, Role, Start};
use tfrc_session::LatePolicy;
use tfrc_units::{Dscp, Rate};

use super::Session;
use super::agree::Agreed;
use super::trial::{self, Feed, Trial};
use crate::Failure;
use crate::args::SendArgs;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use crate::session::{
    self, Callee, Connection, DatagramSource, Endpoint, FileSource, FileWay, LogLimit, LogRate, Part,
    UdpInCounts, clash, listen, shown,
};

/// The longest wait for a peer that is not wanted.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(1);

/// A receiver that takes the data.
pub(super) struct Connected {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Arc<Connection>,
    /// The longest datagram that the path carries, bytes.
    pub(super) limit: usize,
    pub(super) source: DatagramSource,
    /// The file, if the receiver knows the places of its bytes.
    pub(super) file: Option<FileSource>,
    /// Datagrams of `--udp-in` that are not sent.
    pub(super) counts: Option<Arc<UdpInCounts>>,
    /// The part that this end named.
    pub(super) part: Part,
    /// The receiver's address, unless the user gave it.
    pub(super) peer: Option<String>,
}

impl Session<'_> {
    /// Reaches the receiver, and looks whether it and the path take the data as the user wants it.
    ///
    /// # Errors
    /// As [`Agreed::reached`]; [`Failure::Usage`] when `-l` is longer than a packet of the path;
    /// [`Failure::Run`] if the user ends it.
    pub(super) async fn connect(&mut self, mut agreed: Agreed) -> Result<Connected, Failure> {
        let args = self.args;
        let began = std::time::Instant::now();
        self.reporter.say(&Record::Start(start(args, &agreed.addresses, agreed.cap)));
        let mut patience = self.interrupt.clone();
        let attempt = agreed.reached(args, &mut self.reporter, &mut patience);
        let reached = match self.interrupt.or(attempt).await {
            Some(reached) => reached,
            None => Err(self.interrupted()),
        };
        let (endpoint, connection, file) = reached.inspect_err(|failure| {
            let t_s = began.elapsed().as_secs_f64();
            self.reporter.say(&Record::Error { t_s, message: failure.to_string() });
        })?;
        let limit = connection.max_datagram();
        if let Some(length) = args.length.filter(|length| usize::from(*length) > limit) {
            connection.close_now().await;
            let message = format!("-l {length}: packets on this path carry at most {limit} bytes");
            return Err(Failure::usage(message, format!("use -l {limit} or less")));
        }
        if let Some(agreed) = connection.status().sending.filter(|agreed| *agreed != args.variant) {
            self.reporter.note(&format!("the receiver does not take {}: {agreed} it is", args.variant));
        }
        if let Some(deadline) = args.deadline {
            connection.set_late_policy(LatePolicy::DropAfter(deadline));
        }
        let Agreed { addresses, source, counts, part, .. } = agreed;
        let is_named = args.to.is_some() && addresses.len() == 1;
        let peer = connection.remote_addr().filter(|_| !is_named).map(shown);
        let connection = Arc::new(connection);
        Ok(Connected { endpoint, connection, limit, source, file, counts, part, peer })
    }
}

/// The receiver, and the file if it knows the places of its bytes.
type Reached = (Endpoint, Connection, Option<FileSource>);

impl Agreed {
    /// Connects to the receiver, or waits until one has connected and acknowledges data. That has
    /// the beginning of the source then.
    ///
    /// # Errors
    /// [`Failure`] with each address that was tried, and why it failed; or with the time in which
    /// nobody came.
    async fn reached(
        &mut self,
        args: &SendArgs,
        reporter: &mut Reporter,
        interrupt: &mut Interrupt,
    ) -> Result<Reached, Failure> {
        let Self { addresses, privacy, source, recordings, part, options, .. } = self;
        let part = *part;
        if let Some(name) = &args.to {
            let callee = Callee { name, addresses, wait: args.session.wait };
            let recordings = std::mem::take(recordings);
            let (endpoint, connection) =
                session::connect(callee, part, options, recordings, privacy, reporter).await?;
            let file = file(part, &connection, source)?;
            return Ok((endpoint, connection, file));
        }
        let endpoint = listen::listen(addresses, options, reporter, interrupt).await?;
        reporter.note(&format!("listening on {}", endpoint.local_addr()));
        privacy.introduce(endpoint.local_addr(), "tfrc recv --from", " -o FILE", reporter);
        let taker = taker(&endpoint, part, source, reporter);
        let (connection, file) = match args.session.wait {
            Some(wait) => match tokio::time::timeout(wait.into(), taker).await {
                Ok(accepted) => accepted,
                Err(_) => return Err(Failure::Run(format!("no receiver connected for {wait}"))),
            },
            None => taker.await,
        }?;
        Ok((endpoint, connection, file))
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

/// The first record of the session.
fn start(args: &SendArgs, addresses: &[SocketAddr], cap: Option<f64>) -> Start {
    let mut start = session::start(Role::Send);
    start.peer = args.to.as_ref().map(|to| match addresses {
        [address] => address.to_string(),
        _ => to.to_string(),
    });
    start.segment_bytes = Some(u64::from(args.length()));
    let mut set = |name: &str, value: String| start.parameters.insert(name.to_owned(), value);
    set("variant", args.variant.to_string());
    if args.session.private.quic {
        set("transport", "quic".to_owned());
    }
    if let Some(guarantee) = args.guarantee {
        set("guarantee", guarantee.to_string());
    }
    if let Some(most) = args.session.max_queue_delay {
        set("max_queue_delay", most.to_string());
    }
    if let Some(least) = args.session.no_feedback_floor {
        set("no_feedback_floor", least.to_string());
    }
    if args.dscp != Dscp::DEFAULT {
        set("dscp", args.dscp.to_string());
    }
    set("revision", args.revision().name().to_owned());
    set("profile", args.profile().name().to_owned());
    if let Some(friend) = args.friend {
        set("friend", friend.name().to_owned());
    }
    if let Some(cap) = cap {
        set("cap", Rate::from_bits_per_sec(cap).to_string());
    }
    start
}
