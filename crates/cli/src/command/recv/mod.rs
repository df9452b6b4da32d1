//! `tfrc recv`: accepts connections and writes out what comes.

mod serve;
mod speaker;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tfrc_lab::record::{Event, EventKind, Outcome, Record};
use tfrc_net::options::Accept;
use tfrc_net::{ClosedBy, Endpoint, Options};
use tfrc_units::Instant;

use self::serve::{OutputState, Served, serve};
use crate::Failure;
use crate::args::values::{FileOrStream, Limit};
use crate::args::{Format, RecvArgs};
use crate::interrupt::Interrupt;
use crate::reporter::{Reporter, ReporterConfig, SummaryTo};
use crate::session::{self, Ending, Existing, LogLimit, Output, OutputPlan, counted};

/// Runs `tfrc recv`.
///
/// # Errors
/// [`Failure::Usage`] when the output must not be written, [`Failure::Run`] when the port cannot be
/// had, [`Failure::Session`] when the only connection failed or the output broke.
pub fn run(args: &RecvArgs) -> Result<(), Failure> {
    if args.output == Some(FileOrStream::Standard) && args.format.format() != Format::Human {
        return Err(Failure::usage(
            "standard output cannot carry both the received data and JSON",
            "write the data to a file with -o FILE, or leave out --json and --json-stream",
        ));
    }
    let existing = match (args.append, args.overwrite) {
        (true, _) => Existing::Append,
        (_, true) => Existing::Overwrite,
        _ => Existing::Refuse,
    };
    let plan = OutputPlan::new(args.output.as_ref(), existing)?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(recv(args, plan, interrupt))
}

/// Datagrams that wait for this program where they go to a file, at most: 43 MB, a sixth of a
/// second at 2 Gbit/s. A disk may stand still for that long, and nobody minds old data in a file.
const FOR_A_DISK: usize = 32_768;

/// Number of connections that `recv` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    /// One, and its end is that of the run.
    One,
    /// One after another, until the user ends the run.
    Many,
}

async fn recv(args: &RecvArgs, plan: OutputPlan, mut interrupt: Interrupt) -> Result<(), Failure> {
    let take = if args.one || (args.output.is_some() && !args.append) { Take::One } else { Take::Many };
    let endpoint = listen(args, &plan)?;
    let mut reporter = Reporter::new(config(args));
    reporter.note(&format!("listening on {}", endpoint.local_addr()));
    let Some(output) = open(plan, &mut reporter, &mut interrupt).await else {
        return interrupted(args, &mut reporter, "interrupted before the output had a reader");
    };
    let mut output = output?;
    let mut log = LogLimit::new(endpoint.now());
    let (mut served, mut failed) = (0_u64, 0_u64);
    let last = loop {
        let connection = tokio::select! {
            accepted = endpoint.accept() => accepted,
            () = interrupt.wished() => break None,
        };
        let Some(connection) = connection else { break None };
        let served_now =
            serve(args, take, &endpoint, &connection, &mut output, &mut log, &mut interrupt).await?;
        drop(connection);
        served += 1;
        failed += u64::from(served_now.ending.has_failed());
        // Who sends nothing does not use up a receiver that waits for a file; -1 takes the first
        // one whatever it does.
        let used_up = take == Take::One && (args.one || served_now.sent > 0);
        if used_up || served_now.fate != OutputState::Usable {
            if matches!(served_now.closed, Some(ClosedBy::Peer | ClosedBy::Us)) {
                interrupt.or(endpoint.linger()).await;
            }
            break Some(served_now);
        }
        if let Some(others) = log.sum_up(endpoint.now()) {
            more(args, endpoint.now(), others)?;
        }
        if interrupt.is_wished() {
            break None;
        }
    };
    output.leave();
    let now = endpoint.now();
    endpoint.shut_down().await.map_err(|error| Failure::io(&"network", &error))?;
    match last {
        Some(Served { ending, .. }) if ending.has_failed() => Err(Failure::Session),
        // The data is where it belongs, and somebody has closed standard output.
        Some(Served { fate: OutputState::Mute(Failure::ClosedPipe), .. }) if take == Take::One => Ok(()),
        Some(Served { fate: OutputState::Mute(failure), .. }) => Err(Failure::Run(failure.to_string())),
        Some(_) => Ok(()),
        None if take == Take::One => interrupted(args, &mut reporter, "interrupted before anybody connected"),
        None => {
            if let Some(others) = log.rest() {
                more(args, now, others)?;
            }
            let reason = match (served, failed) {
                (0, _) => "interrupted before anybody connected".to_owned(),
                (_, 0) => format!("interrupted after {}", counted(served, "connection")),
                _ => format!("interrupted after {}, {failed} of them failed", counted(served, "connection")),
            };
            reporter.note(&Ending::stopped(reason).to_string());
            Ok(())
        }
    }
}

/// The user ended the run while nobody was connected: fine for a receiver that runs until then, and
/// only for that.
fn interrupted(args: &RecvArgs, reporter: &mut Reporter, reason: &str) -> Result<(), Failure> {
    let outcome = if args.one { Outcome::Failed } else { Outcome::Stopped };
    let ending = Ending { outcome, reason: reason.to_owned() };
    reporter.note(&ending.to_string());
    if ending.has_failed() { Err(Failure::Session) } else { Ok(()) }
}

/// Says that more connections came than are spoken of one by one.
fn more(args: &RecvArgs, now: Instant, others: String) -> Result<(), Failure> {
    let t_s = now.saturating_since(Instant::ZERO).as_secs_f64();
    let event = Event { t_s, event: EventKind::MoreConnections, flow: None, detail: Some(others) };
    Reporter::new(config(args)).record(&Record::Event(event))
}

/// Listens where the user says; else on every address, of both IP versions where the system has
/// both.
fn listen(args: &RecvArgs, plan: &OutputPlan) -> Result<Endpoint, Failure> {
    let usual = Options::default();
    let options = Options {
        receive_queue: match plan {
            OutputPlan::Append(_) | OutputPlan::File(_) => FOR_A_DISK,
            _ => usual.receive_queue,
        },
        service: args.service,
        revision: args.revision,
        accept: Accept::One,
        per_source: args.per_source,
        allow: args.allow.clone(),
        first_data_within: match args.idle {
            Limit::After(time) => Some(time),
            Limit::Off => None,
        },
        ..usual
    };
    let addresses: &[IpAddr] = match args.bind {
        Some(address) => &[address],
        None => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
    };
    let mut failed = None;
    for address in addresses {
        match Endpoint::bind(SocketAddr::new(*address, args.port), &options) {
            Ok(endpoint) => return Ok(endpoint),
            Err(error) => failed = Some(error),
        }
    }
    Err(Failure::Run(failed.map_or(String::new(), |error| error.to_string())))
}

/// Opens the output; `None` if the user wants the end before a FIFO has its reader.
async fn open(
    plan: OutputPlan,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Option<Result<Output, Failure>> {
    /// An output that takes longer to open waits for somebody.
    const PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);
    let waited_for = match &plan {
        OutputPlan::Direct(path) => format!("waiting for a reader of {}", path.display()),
        _ => "waiting for the output".to_owned(),
    };
    let opening = session::blocking(move || plan.open());
    tokio::pin!(opening);
    let patience = tokio::time::sleep(PATIENCE);
    tokio::select! {
        output = &mut opening => return Some(output),
        () = interrupt.wished() => return None,
        () = patience => reporter.note(&waited_for),
    }
    interrupt.or(opening).await
}

fn config(args: &RecvArgs) -> ReporterConfig {
    let summary_to =
        if args.output == Some(FileOrStream::Standard) { SummaryTo::Stderr } else { SummaryTo::Stdout };
    ReporterConfig { format: args.format.format(), summary_to, duration: None, report: None }
}
