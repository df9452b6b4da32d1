//! `tfrc send`: a file, a pipe or made-up data over one connection.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::path::PathBuf;

use tfrc_lab::record::{EventKind, Record, Role, Start, Summary};
use tfrc_net::{
    BindError, Closed, ClosedBy, Connection, Dscp, Endpoint, LatePolicy, Options, Promise, Recordings,
    SendError,
};

use crate::Failure;
use crate::args::SendArgs;
use crate::args::values::{Place, Target};
use crate::interrupt::Interrupt;
use crate::reporter::{Reporter, ReporterConfig, SummaryTo};
use crate::session::{self, Pace, SAMPLE, Sampler, Source, Tally};

/// What is sent to another host at most, unless the user says otherwise.
const POLITE_CAP_BPS: f64 = 50e6;
/// How long made-up data lasts unless the user says otherwise.
const ENDLESS_UNTIL: tfrc_units::Duration = tfrc_units::Duration::from_secs(10);
/// What has come through a pipe goes after this time, full packet or not.
const FLUSH: std::time::Duration = std::time::Duration::from_millis(20);

/// Runs `tfrc send`.
///
/// # Errors
/// [`Failure::Run`] when the connection cannot be made or breaks off, or the data cannot be read.
pub fn run(args: &SendArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(send(args, interrupt))
}

async fn send(args: &SendArgs, mut interrupt: Interrupt) -> Result<(), Failure> {
    let mut reporter = Reporter::new(ReporterConfig {
        format: args.output.format(),
        summary_to: SummaryTo::Stdout,
        duration: time_limit(args),
        report: args.report.clone(),
    });
    let to = resolve(&args.to).await?;
    let cap = match args.cap {
        Some(cap) => Some(cap.bits_per_sec()),
        None if to.ip().is_loopback() => None,
        None => {
            reporter.note("no -b given: sending at most 50 Mbit/s to another host");
            Some(POLITE_CAP_BPS)
        }
    };
    if let (Some(cap), Some(guarantee)) = (cap, args.guarantee)
        && cap < guarantee.bits_per_sec()
    {
        let cap = tfrc_units::Rate::from_bits_per_sec(cap);
        return Err(Failure::usage(
            format!("--guarantee {guarantee} cannot be kept below a cap of {cap}"),
            format!("use -b {guarantee} or more, or a lower guarantee"),
        ));
    }
    // Opened first: a wrong name should fail before anybody is called.
    let source = open(args).await?;
    let options = Options {
        service: args.service,
        variant: args.variant,
        revision: args.revision,
        segment_bytes: u32::from(args.length),
        cap_bps: cap,
        guarantee: args.guarantee.map(|g| Promise {
            rate_bps: g.bits_per_sec(),
            start: args.guarantee_start,
            give_way_below: args.guarantee_threshold,
        }),
        dscp: args.dscp,
        circuit_breaker: args.circuit_breaker,
        optimistic_acks: args.optimistic_acks,
        ..Options::default()
    };
    let recordings =
        Recordings { journal: create(args.journal.as_ref())?, capture: create(args.pcap.as_ref())? };
    let endpoint = Endpoint::towards(to, &options, recordings).map_err(|error| match error {
        BindError::Unmarked(_) => Failure::usage(
            error.to_string(),
            "add --dscp af11, or whichever class the network has set aside, or leave the circuit breaker on",
        ),
        _ => Failure::Run(error.to_string()),
    })?;
    let mut start = Start::new(Role::Send, session::version(), session::command_line());
    start.peer = Some(to.to_string());
    start.segment_bytes = Some(u64::from(args.length));
    start.parameters.insert("variant".to_owned(), args.variant.to_string());
    if let Some(guarantee) = args.guarantee {
        start.parameters.insert("guarantee".to_owned(), guarantee.to_string());
    }
    if args.dscp != Dscp::DEFAULT {
        start.parameters.insert("dscp".to_owned(), args.dscp.to_string());
    }
    start.parameters.insert("revision".to_owned(), args.revision.name().to_owned());
    if let Some(cap) = cap {
        start.parameters.insert("cap".to_owned(), tfrc_units::Rate::from_bits_per_sec(cap).to_string());
    }
    reporter.record(&Record::Start(start))?;
    let began = endpoint.now();
    let connection = tokio::select! {
        connected = endpoint.connect(to) => connected,
        () = interrupt.wished() => return Err(Failure::Run(format!("interrupted before {to} answered"))),
    };
    let connection = match connection {
        Ok(connection) => connection,
        Err(error) => {
            let message = format!("cannot connect to {to}: {error}");
            let t_s = endpoint.now().saturating_since(began).as_secs_f64();
            reporter.record(&Record::Error { t_s, message: message.clone() })?;
            return Err(Failure::Run(message));
        }
    };
    let limit = connection.max_datagram();
    if usize::from(args.length) > limit {
        connection.close().await;
        let message = format!("-l {}: packets on this path carry at most {limit} bytes", args.length);
        return Err(Failure::usage(message, format!("use -l {limit} or less")));
    }
    if let Some(deadline) = args.deadline {
        connection.set_late_policy(LatePolicy::DropAfter(deadline));
    }
    let mut sampler = Sampler::new(began, connection.status());
    let connected_at = endpoint.now();
    reporter.record(&sampler.event(connected_at, EventKind::Connected))?;
    let outcome = transfer(args, &connection, source, &mut sampler, &mut reporter, &mut interrupt).await;
    // However the data ended, the connection is closed and summed up.
    let closed = close(&connection, &mut sampler, &mut reporter).await?;
    let ended = endpoint.now();
    reporter.record(&sampler.event(ended, EventKind::Closed))?;
    let status = connection.status();
    let mut summary = Summary {
        variant: Some(args.variant.to_string()),
        sent_packets: Some(status.stats.sent_data_packets),
        sent_bytes: Some(status.stats.sent_data_bytes),
        duration_s: ended.saturating_since(connected_at).as_secs_f64(),
        allowed_rate_bps: sampler.mean_allowed_rate(),
        rtt_s: sampler.mean_rtt(),
        late_dropped_packets: Some(status.late_dropped),
        max_datagram_bytes: u64::try_from(status.max_datagram).ok(),
        path_probes: Some(status.stats.sent_path_probes),
        corrected_feedback: Some(status.stats.corrected_feedback),
        refused_feedback: Some(status.stats.refused_feedback),
        skipped_numbers: Some(status.stats.skipped_numbers),
        invalid_packets: Some(status.stats.invalid_packets),
        ..Summary::default()
    };
    if summary.duration_s > 0.0 {
        summary.send_rate_bps = Some(status.stats.sent_data_bytes as f64 * 8.0 / summary.duration_s);
    }
    let text = closed.as_ref().and_then(|closed| closed.text.as_deref());
    match text.and_then(|text| text.parse::<Tally>().ok()) {
        Some(tally) => tally.complete(status.stats.sent_data_packets, &mut summary),
        None => reporter.note("the receiver did not say what it got: received, lost and late are unknown"),
    }
    reporter.record(&Record::End(Box::new(summary)))?;
    drop(connection);
    if closed.as_ref().is_some_and(|closed| closed.by == ClosedBy::Peer) {
        tokio::select! {
            () = endpoint.linger() => {}
            () = interrupt.wished() => {}
        }
    }
    endpoint.shut_down().await.map_err(|error| match args.journal.as_ref().or(args.pcap.as_ref()) {
        Some(_) => Failure::io(&"network or recording", &error),
        None => Failure::io(&"network", &error),
    })?;
    outcome?;
    match closed {
        Some(closed) if closed.by == ClosedBy::Us => Ok(()),
        Some(closed) => Err(broken(&closed)),
        None => Err(Failure::Run("the connection was lost".to_owned())),
    }
}

/// Sends a datagram, in pieces if the path carries less than it is long. Should the path shrink at that very moment, it is lost as
/// it would be on the way.
async fn send_cut(connection: &Connection, mut datagram: Vec<u8>) -> Result<(), SendError> {
    loop {
        let limit = connection.max_datagram();
        if !(1..datagram.len()).contains(&limit) {
            return connection.send(datagram).await;
        }
        let rest = datagram.split_off(limit);
        connection.send(datagram).await?;
        datagram = rest;
    }
}

/// Moves data until it ends, the time is up, the user wants the end, or the connection breaks.
async fn transfer(
    args: &SendArgs,
    connection: &Connection,
    mut source: Source,
    sampler: &mut Sampler,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let mut tick = tokio::time::interval(SAMPLE);
    tick.tick().await;
    let deadline = time_limit(args).map(|time| tokio::time::Instant::now() + std::time::Duration::from(time));
    let time_up = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let pump = async {
        while let Some(datagram) = source.next().await? {
            match send_cut(connection, datagram).await {
                Ok(()) | Err(SendError::TooLong { .. }) => {}
                // How the connection ended is told by its close.
                Err(_) => break,
            }
        }
        connection.flushed().await;
        Ok::<(), io::Error>(())
    };
    tokio::pin!(pump, time_up);
    loop {
        tokio::select! {
            done = &mut pump => {
                return done.map_err(|error| match &args.file {
                    Some(Place::File(path)) => Failure::Run(format!("{}: {error}", path.display())),
                    _ => Failure::Run(format!("standard input: {error}")),
                });
            }
            () = &mut time_up => return Ok(()),
            () = interrupt.wished() => return Ok(()),
            _ = tick.tick() => {
                for record in sampler.sender(connection) {
                    reporter.record(&record)?;
                }
                if let Some(trip) = connection.status().stopped {
                    let message = format!("stopped by the circuit breaker: {trip}");
                    reporter.note(&message);
                    return Err(Failure::Run(message));
                }
            }
        }
    }
}

/// When to stop at the latest: made-up data would never end by itself.
fn time_limit(args: &SendArgs) -> Option<tfrc_units::Duration> {
    let endless = args.file.is_none() && args.bytes.is_none();
    args.time.or(endless.then_some(ENDLESS_UNTIL))
}

/// Closes, still sampling what is on its way.
async fn close(
    connection: &Connection,
    sampler: &mut Sampler,
    reporter: &mut Reporter,
) -> Result<Option<Closed>, Failure> {
    let mut tick = tokio::time::interval(SAMPLE);
    let close = connection.close();
    tokio::pin!(close);
    loop {
        tokio::select! {
            closed = &mut close => {
                for record in sampler.sender(connection) {
                    reporter.record(&record)?;
                }
                return Ok(closed);
            }
            _ = tick.tick() => {
                for record in sampler.sender(connection) {
                    reporter.record(&record)?;
                }
            }
        }
    }
}

fn broken(closed: &Closed) -> Failure {
    let text = closed.text.as_ref().map_or(String::new(), |text| format!(" ({text})"));
    let code = closed.code;
    Failure::Run(match closed.by {
        ClosedBy::Peer => "the receiver ended the session".to_owned(),
        ClosedBy::PeerReset => format!("the receiver broke the connection off: {code:?}{text}"),
        _ => format!("this end broke the connection off: {code:?}{text}"),
    })
}

/// The file of a recording, if one is wanted.
fn create(path: Option<&PathBuf>) -> Result<Option<Box<dyn io::Write + Send>>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).map_err(|error| {
        Failure::usage(format!("{}: {error}", path.display()), "name a file that can be written")
    })?;
    Ok(Some(Box::new(BufWriter::new(file))))
}

async fn open(args: &SendArgs) -> Result<Source, Failure> {
    let length = usize::from(args.length);
    let source = match &args.file {
        None => Source::made_up(length),
        Some(Place::Standard) => Source::pipe(tokio::io::stdin(), length, FLUSH),
        Some(Place::File(path)) => {
            let file = tokio::fs::File::open(path).await;
            let file = file.map_err(|error| {
                Failure::usage(
                    format!("{}: {error}", path.display()),
                    "name a file that can be read, or - for standard input",
                )
            })?;
            Source::file(file, length)
        }
    };
    let pace = args.pps.map_or(Pace::AsAllowed, Pace::PerSecond);
    Ok(source.at_most(args.bytes).paced(pace))
}

async fn resolve(to: &Target) -> Result<SocketAddr, Failure> {
    let unknown = |why: String| {
        Failure::usage(
            format!("{}: {why}", to.host),
            "name a host that can be found, or an address, such as 192.0.2.1:6511",
        )
    };
    let mut addresses = tokio::net::lookup_host((to.host.as_str(), to.port))
        .await
        .map_err(|error| unknown(error.to_string()))?;
    addresses.next().ok_or_else(|| unknown("has no address".to_owned()))
}
