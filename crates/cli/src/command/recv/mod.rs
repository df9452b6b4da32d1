//! `tfrc recv`: accepts connections and writes out what comes.
//!
//! A run takes one connection, one after another, or many at once: `options` decides it by the
//! arguments. `serve` has a connection from its first packet to its last line; what is said of it
//! passes the limit of the log in `speaker`, so that strangers cannot fill a disk with lines.

mod in_turn;
mod intake;
mod losses;
mod many;
mod metrics;
mod naming;
mod options;
mod overview;
mod program;
mod serve;
mod sink;
mod speaker;
mod totals;
mod web;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tfrc_net::{ClosedBy, Recordings};
use tfrc_report::record::{Event, EventKind, Record};
use tfrc_units::Instant;

use self::naming::Naming;
use self::options::{ServeOptions, Take};
use self::overview::Overview;
use self::serve::{Brought, Served, serve};
use self::sink::Sink;
use self::totals::Totals;
use crate::args::RecvArgs;
use crate::args::values::Target;
use crate::interrupt::Interrupt;
use crate::live::{Command, Keys};
use crate::reporter::Reporter;
use crate::session::{
    self, Callee, Connection, Does, Ending, Endpoint, IpVersions, LogLimit, LogRate, Privacy, SAMPLE,
    connect, counted, listen, resolve, shown, why_refused,
};
use crate::{Failure, live, log};

/// Runs `tfrc recv`.
///
/// # Errors
/// [`Failure::Usage`] when the output must not be written, [`Failure::Run`] when the port cannot be
/// had, [`Failure::Session`] when the only connection failed or the output broke.
pub(crate) fn run(args: &RecvArgs) -> Result<(), Failure> {
    log::start(args.verbose)?;
    let options = ServeOptions::new(args)?;
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    session::block_on(recv(args, options, interrupt))
}

/// A receiver that listens.
struct Receiver {
    options: ServeOptions,
    endpoint: Endpoint,
    /// Limits what is said about connections.
    log: Mutex<LogLimit>,
    totals: Totals,
    /// The live view and the time series, if the user wants one of them.
    overview: Option<Overview>,
}

async fn recv(args: &RecvArgs, options: ServeOptions, mut interrupt: Interrupt) -> Result<(), Failure> {
    let mut reporter = Reporter::new(options.reporter.clone());
    let (endpoint, caller) = match &args.from {
        Some(from) => {
            let (endpoint, connection) = call(args, from, &options, &mut reporter, &mut interrupt).await?;
            (endpoint, Some(connection))
        }
        None => (wait_for_callers(args, &options, &mut reporter, &mut interrupt).await?, None),
    };
    let rate = if let Take::Many(_) = options.take { LogRate::LINES } else { LogRate::SUMMARIES };
    let log = Mutex::new(LogLimit::new(endpoint.now(), rate));
    if args.live.tui {
        reporter.end_bar();
    }
    let screen = if args.live.tui { live::open(args.records.format()) } else { None };
    let (screen, keys) = screen.unzip();
    let (title, series) = (format!("tfrc recv {}", endpoint.local_addr()), args.records.series.as_deref());
    let overview = match (screen, series) {
        (None, None) => None,
        (screen, series) => Some(Overview::new(title, screen, series)?),
    };
    let receiver = Arc::new(Receiver { options, endpoint, log, totals: Totals::default(), overview });
    let drawing = keys.map(|keys| tokio::spawn(draw(Arc::clone(&receiver), keys, interrupt.clone())));
    let web = match &args.metrics {
        Some(at) => Some(web::serve(at, &receiver).await?),
        None => None,
    };
    if let Some(web) = &web {
        let open = if web.address.ip().is_loopback() { "" } else { ", readable by any host that reaches it" };
        reporter.note(&format!("metrics at http://{}/metrics{open}", web.address));
    }
    let watch = tokio::spawn(watch(Arc::clone(&receiver)));
    let ended = match receiver.options.take {
        Take::Many(_) => many::serve_many(&receiver, &mut reporter, &mut interrupt).await,
        _ => in_turn::serve_in_turn(&receiver, caller, &mut reporter, &mut interrupt, &watch).await,
    };
    receiver.close_view();
    for task in [Some(watch), drawing, web.map(|web| web.task)].into_iter().flatten() {
        task.abort();
        let _ = task.await;
    }
    // A page of metrics that is being written has the receiver for a moment more.
    if let Some(receiver) = Arc::into_inner(receiver) {
        // The last line has been said: a network that fails now changes nothing.
        let _ = receiver.endpoint.shut_down().await;
    }
    ended
}

/// Opens the port.
async fn wait_for_callers(
    args: &RecvArgs,
    options: &ServeOptions,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<Endpoint, Failure> {
    let at = listen::addresses(args.bind.as_ref(), args.port, args.raw).await?;
    let warning = options.check_reach(args, &at)?;
    let privacy = Privacy::new(&args.private, Does::Listens(&args.allow_key), reporter)?;
    let endpoint = listen::listen(&at, &options.endpoint(args, &privacy), reporter, interrupt).await?;
    options.check_loop(endpoint.local_addr())?;
    reporter.note(&format!("listening on {}", endpoint.local_addr()));
    privacy.introduce(endpoint.local_addr(), "tfrc send", "", reporter);
    let notes = [warning.as_deref(), options.note_on_names(), options.fewer.as_deref()];
    for note in notes.into_iter().flatten() {
        reporter.note(note);
    }
    Ok(endpoint)
}

/// Connects to a sender that listens.
async fn call(
    args: &RecvArgs,
    from: &Target,
    options: &ServeOptions,
    reporter: &mut Reporter,
    interrupt: &mut Interrupt,
) -> Result<(Endpoint, Connection), Failure> {
    let calling = async {
        let addresses = resolve(from, IpVersions::Any).await?;
        let privacy = Privacy::new(&args.private, Does::Calls(&from.to_string()), reporter)?;
        privacy.warn(&addresses, reporter);
        let callee = Callee { name: from, addresses: &addresses, wait: args.wait };
        let part = options.part();
        let options = options.endpoint(args, &privacy);
        connect(callee, part, &options, Recordings::default(), &privacy, reporter).await
    };
    let interrupted = || Failure::Run(format!("interrupted before {from} answered"));
    let (endpoint, connection) = interrupt.or(calling).await.ok_or_else(interrupted)??;
    options.check_loop(endpoint.local_addr())?;
    Ok((endpoint, connection))
}

impl Receiver {
    /// Serves a connection of a run that gives each its own file or program.
    async fn serve_apart(
        &self,
        connection: &Arc<Connection>,
        number: u64,
        interrupt: &mut Interrupt,
    ) -> Served {
        let began = SystemTime::now();
        let sink = |peer: SocketAddr| async move {
            let naming = Naming { number, address: peer.ip(), began };
            Sink::open(&self.options.destination, &naming).await
        };
        let (served, sink) = serve(self, connection, number, sink, interrupt).await;
        sink.output.leave();
        served
    }

    /// True if the run ends with a connection that ended so. Who sends nothing does not use up a
    /// receiver that waits for a file, unless it is a receiver, too; `-1` takes the first one
    /// whatever it does.
    const fn is_used_up(&self, brought: Brought) -> bool {
        match self.options.take {
            Take::First => true,
            Take::FirstWithData => !matches!(brought, Brought::Nothing),
            Take::InTurn | Take::Many(_) => false,
        }
    }

    /// True if the endpoint stays for a while only because of this connection.
    const fn is_last(&self, brought: Brought, closed: Option<ClosedBy>) -> bool {
        self.is_used_up(brought) && matches!(closed, Some(ClosedBy::Peer | ClosedBy::Us))
    }

    /// Gives the terminal back, if the live view has it.
    fn close_view(&self) {
        if let Some(overview) = &self.overview {
            overview.close_view();
        }
    }

    /// Gives the terminal back and writes what is left of the time series; the ending of the run
    /// after that.
    fn end_overview(&self, ending: Ending) -> Ending {
        self.close_view();
        let written = self.overview.as_ref().map_or(Ok(()), Overview::end);
        ending.after(written.err().as_ref())
    }

    /// The last line of a run that ends with none of its connections, and its exit status.
    ///
    /// # Errors
    /// [`Failure::Session`].
    fn last_line(&self, reporter: &mut Reporter, ending: Ending) -> Result<(), Failure> {
        let ending = self.end_overview(ending);
        reporter.note(&ending.to_string());
        ending.status()
    }

    /// Says that more connections came than are spoken of one by one.
    fn more(&self, now: Instant, others: String) {
        if let Take::Many(_) = self.options.take {
            tracing::info!("... and {others}");
            return;
        }
        let t_s = now.saturating_since(Instant::ZERO).as_secs_f64();
        let event = Event { t_s, event: EventKind::MoreConnections, flow: None, detail: Some(others) };
        Reporter::new(self.options.reporter.clone()).say(&Record::Event(event));
    }

    /// A phrase about all connections at the end of the run.
    fn interrupted_after(&self) -> String {
        let counts = self.totals.counts();
        match (counts.ended(), counts.failed) {
            (0, _) => "interrupted before anybody connected".to_owned(),
            (ended, 0) => format!("interrupted after {}", counted(ended, "connection")),
            (ended, failed) => {
                format!("interrupted after {}, {failed} of them failed", counted(ended, "connection"))
            }
        }
    }
}

/// Draws the live view until the user ends it, and the run with it.
async fn draw(receiver: Arc<Receiver>, keys: Keys, interrupt: Interrupt) {
    let mut keys = Some(keys);
    let mut tick = crate::session::ticks(SAMPLE);
    loop {
        tokio::select! {
            command = live::wish(&mut keys) => if command == Command::End { break },
            _ = tick.tick() => {
                if let Some(overview) = &receiver.overview {
                    overview.draw(receiver.endpoint.now());
                }
            }
        }
    }
    receiver.close_view();
    interrupt.ask();
}

/// Logs peers that are refused, and sums up what the limit of the log keeps back.
async fn watch(receiver: Arc<Receiver>) {
    let mut limit = LogLimit::new(receiver.endpoint.now(), LogRate::SUMMARIES);
    let mut tick = crate::session::ticks(std::time::Duration::from_millis(500));
    loop {
        tick.tick().await;
        let now = receiver.endpoint.now();
        for refusal in receiver.endpoint.take_refusals() {
            if limit.admit(now) {
                tracing::info!("refused {}: {}", shown(refusal.remote), why_refused(refusal.reason));
            } else {
                limit.passed_over(false);
            }
        }
        if let Some(others) = limit.sum_up(now) {
            tracing::info!("refused {others}");
        }
        let others = receiver.log.lock().unwrap_or_else(PoisonError::into_inner).sum_up(now);
        if let Some(others) = others {
            receiver.more(now, others);
        }
    }
}
