//! `tfrc recv`: accepts connections and writes out what comes.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tfrc_lab::record::{EventKind, Record, Role, Start, Summary};
use tfrc_net::{Accept, Closed, ClosedBy, Connection, Endpoint, Options};
use tfrc_units::{Duration, Instant};
use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};

use crate::Failure;
use crate::args::values::Place;
use crate::args::{Format, RecvArgs};
use crate::interrupt::Interrupt;
use crate::reporter::{Reporter, ReporterConfig, SummaryTo};
use crate::session::{self, Inbox, SAMPLE, Sampler, Tally};

/// The round-trip time assumed until the sender tells its own (RFC 4340 §3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// What is written goes on to the reader at least this often.
const FLUSH: std::time::Duration = std::time::Duration::from_millis(10);

type Output = Option<BufWriter<Box<dyn AsyncWrite + Send + Unpin>>>;

/// Runs `tfrc recv`.
///
/// # Errors
/// [`Failure::Run`] when the port cannot be had or the output not be written.
pub fn run(args: &RecvArgs) -> Result<(), Failure> {
    if args.output == Some(Place::Standard) && args.format.format() != Format::Human {
        return Err(Failure::usage(
            "standard output cannot carry both the received data and JSON",
            "write the data to a file with -o FILE, or leave out --json and --json-stream",
        ));
    }
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(recv(args, interrupt))
}

async fn recv(args: &RecvArgs, mut interrupt: Interrupt) -> Result<(), Failure> {
    let mut output = open(args).await?;
    let options = Options {
        service: args.service,
        revision: args.revision,
        accept: Accept::One,
        per_source: args.per_source,
        ..Options::default()
    };
    let endpoint = listen(args, &options)?;
    Reporter::new(config(args)).note(&format!("listening on {}", endpoint.local_addr()));
    loop {
        let connection = tokio::select! {
            accepted = endpoint.accept() => accepted,
            () = interrupt.wished() => break,
        };
        let Some(connection) = connection else { break };
        let closed = serve(args, &endpoint, &connection, &mut output, &mut interrupt).await?;
        drop(connection);
        if args.one && closed.is_some_and(|closed| closed.by == ClosedBy::Peer) {
            tokio::select! {
                () = endpoint.linger() => {}
                () = interrupt.wished() => {}
            }
        }
        if args.one || interrupt.is_wished() {
            break;
        }
    }
    endpoint.shut_down().await.map_err(|error| Failure::io(&"network", &error))
}

/// Listens where the user says; else on every address, of both IP versions where the system has both.
fn listen(args: &RecvArgs, options: &Options) -> Result<Endpoint, Failure> {
    let addresses: &[IpAddr] = match args.bind {
        Some(address) => &[address],
        None => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
    };
    let mut failed = None;
    for address in addresses {
        match Endpoint::bind(SocketAddr::new(*address, args.port), options) {
            Ok(endpoint) => return Ok(endpoint),
            Err(error) => failed = Some(error),
        }
    }
    Err(Failure::Run(failed.map_or(String::new(), |error| error.to_string())))
}

/// One connection from its first packet to its summary; how it was closed.
async fn serve(
    args: &RecvArgs,
    endpoint: &Endpoint,
    connection: &Connection,
    output: &mut Output,
    interrupt: &mut Interrupt,
) -> Result<Option<Closed>, Failure> {
    let mut reporter = Reporter::new(config(args));
    let began = endpoint.now();
    let mut start = Start::new(Role::Recv, session::version(), session::command_line());
    start.peer = connection.remote_addr().map(|address| address.to_string());
    let variant = connection.status().receiving;
    if let Some(variant) = variant {
        start.parameters.insert("variant".to_owned(), variant.to_string());
    }
    reporter.record(&Record::Start(start))?;
    let mut sampler = Sampler::new(began, connection.status());
    reporter.record(&sampler.event(began, EventKind::Connected))?;
    let mut inbox = Inbox::default();
    let mut tick = tokio::time::interval(SAMPLE);
    let mut flush = tokio::time::interval(FLUSH);
    let mut written: Result<(), Failure> = Ok(());
    let interrupted = loop {
        let now = endpoint.now();
        let rtt = connection.status().sender_rtt.unwrap_or(DEFAULT_RTT);
        let next_gap = inbox.poll_timeout(rtt);
        let wait = next_gap.map(|at| std::time::Duration::from(at.saturating_since(now)));
        tokio::select! {
            received = connection.recv() => match received {
                Some(datagram) => inbox.push(endpoint.now(), datagram),
                None => break false,
            },
            () = sleep(wait) => {}
            () = interrupt.wished() => break true,
            _ = flush.tick() => written = written.and(flush_out(args, output).await),
            _ = tick.tick() => {
                for record in sampler.receiver(connection) {
                    reporter.record(&record)?;
                }
            }
        }
        let now = endpoint.now();
        while let Some(bytes) = inbox.pop(now, rtt) {
            written = written.and(write(args, output, &bytes).await);
        }
        if written.is_err() {
            break true;
        }
    };
    while let Some(bytes) = inbox.take() {
        written = written.and(write(args, output, &bytes).await);
    }
    written = written.and(flush_out(args, output).await);
    let tally = inbox.tally(connection);
    let closed = if interrupted {
        connection.close().await
    } else {
        connection.accept_close(&tally.to_string()).await
    };
    for record in sampler.receiver(connection) {
        reporter.record(&record)?;
    }
    let ended = endpoint.now();
    reporter.record(&sampler.event(ended, EventKind::Closed))?;
    let summary = summarise(connection, inbox.tally(connection), &sampler, closed.as_ref(), ended, began);
    reporter.record(&Record::End(Box::new(summary)))?;
    written.map(|()| closed)
}

fn summarise(
    connection: &Connection,
    tally: Tally,
    sampler: &Sampler,
    closed: Option<&Closed>,
    ended: Instant,
    began: Instant,
) -> Summary {
    let status = connection.status();
    let sent = closed.map_or(status.peer_sent_packets, |closed| closed.peer_sent_data_packets);
    let mut summary = Summary {
        variant: status.receiving.map(|variant| variant.to_string()),
        duration_s: ended.saturating_since(began).as_secs_f64(),
        rtt_s: sampler.mean_rtt(),
        max_datagram_bytes: u64::try_from(status.max_datagram).ok(),
        invalid_packets: Some(status.stats.invalid_packets),
        duplicate_packets: Some(status.stats.duplicate_packets),
        marked_packets: Some(status.stats.marked_packets),
        queue_dropped_packets: Some(status.stats.queue_dropped_packets),
        ..Summary::default()
    };
    tally.complete(sent, &mut summary);
    summary
}

async fn sleep(wait: Option<std::time::Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

async fn open(args: &RecvArgs) -> Result<Output, Failure> {
    let writer: Box<dyn AsyncWrite + Send + Unpin> = match &args.output {
        None => return Ok(None),
        Some(Place::Standard) => Box::new(tokio::io::stdout()),
        Some(Place::File(path)) => {
            let file = tokio::fs::File::create(path).await;
            Box::new(file.map_err(|error| {
                Failure::usage(
                    format!("{}: {error}", path.display()),
                    "name a file that can be written, or - for standard output",
                )
            })?)
        }
    };
    Ok(Some(BufWriter::with_capacity(1 << 16, writer)))
}

async fn write(args: &RecvArgs, output: &mut Output, bytes: &[u8]) -> Result<(), Failure> {
    match output {
        Some(output) => output.write_all(bytes).await.map_err(|error| failed(args, &error)),
        None => Ok(()),
    }
}

async fn flush_out(args: &RecvArgs, output: &mut Output) -> Result<(), Failure> {
    match output {
        Some(output) => output.flush().await.map_err(|error| failed(args, &error)),
        None => Ok(()),
    }
}

fn failed(args: &RecvArgs, error: &io::Error) -> Failure {
    match &args.output {
        Some(Place::File(path)) => Failure::Run(format!("{}: {error}", path.display())),
        _ => Failure::io(&"standard output", error),
    }
}

fn config(args: &RecvArgs) -> ReporterConfig {
    let summary_to = if args.output == Some(Place::Standard) { SummaryTo::Stderr } else { SummaryTo::Stdout };
    ReporterConfig { format: args.format.format(), summary_to, duration: None, report: None }
}
