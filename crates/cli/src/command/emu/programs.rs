//! Programs at the nodes of an emulated network.

use std::fmt::Write as _;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tfrc_emu::{Emulation, FlowTraffic, NodeSpace, Observer, WireEngine};

use tfrc_lab::emulated::Fidelity;
use tfrc_lab::record::{Record, Role, Start, Summary};
use tfrc_lab::watch::{Look, link_interval};
use tfrc_sim::link::LinkStats;
use tfrc_units::Instant;
use tokio::sync::{oneshot, watch};

use crate::Failure;
use crate::args::{AtNode, EmuArgs, Format};
use crate::command::link;
use crate::interrupt::Interrupt;
use crate::reporter::{Reporter, ReporterConfig};
use crate::session;
use crate::visible::{to_stderr, visible};

/// Time between the starts of two commands: a server listens before its client calls.
const BETWEEN: Duration = Duration::from_millis(300);
/// Time that commands have to end after they were asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Exit status of commands that succeeded in a network outside of the limits of fidelity.
const OUTSIDE: i32 = 3;

/// Runs the commands, each at its node; returns the exit status of the last, as a shell would, or
/// [`OUTSIDE`]. `links` are the names of the links in their order.
pub(super) fn run(
    emulation: Emulation,
    commands: &[AtNode],
    links: Vec<String>,
    args: &EmuArgs,
) -> Result<i32, Failure> {
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    let (tell, told) = mpsc::channel();
    let running = emulation.start(LinkWatch::new(links, tell));
    let running = running.map_err(|error| Failure::io(&"engine", &error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io(&"runtime", &error))?;
    // The programs have the terminal: of the links there is a line each at the end.
    let mut config = ReporterConfig::from(&args.output);
    if config.format == Format::Human {
        config.format = Format::Json;
    }
    let mut reporter = Reporter::on(config, io::stdout(), io::stderr());
    reporter = reporter.with_series(args.output.series.as_deref(), &[])?;
    let start = Start::new(Role::Emu, session::version(), session::command_line());
    reporter.record(&Record::Start(start))?;
    let (status, stopped, told) = std::thread::scope(|scope| {
        let reporter = &mut reporter;
        let telling = scope.spawn(move || told.iter().try_for_each(|look| reporter.look(look)));
        let status = runtime.block_on(commands_to_the_end(running.nodes(), commands, interrupt));
        let stopped = running.stop();
        // The engine's thread has ended, and with it the reports.
        let stopped = stopped.map(|(fidelity, watch)| (fidelity, watch.names, watch.stats));
        (status, stopped, telling.join())
    });
    let status = status?;
    let (fidelity, names, stats) = stopped.map_err(|error| Failure::io(&"engine", &error))?;
    told.unwrap_or_else(|_| Err(Failure::Run("the records of the run are lost".to_owned())))?;
    to_stderr(visible(&words(&names, &stats)).trim_end());
    let fidelity = Fidelity::from(fidelity);
    to_stderr(&super::flows::fidelity_words(&fidelity));
    reporter.finish(summary(&names, &stats), |_| String::new())?;
    let invalid = fidelity.violations();
    if !invalid.is_empty() {
        to_stderr(&format!("outside of the limits: {}", invalid.join(", ")));
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    // A command that failed has a reason of its own.
    Ok(if code == 0 && !invalid.is_empty() { OUTSIDE } else { code })
}

/// Watch over the traffic of the links.
struct LinkWatch {
    names: Vec<String>,
    stats: Vec<LinkStats>,
    told: Vec<LinkStats>,
    next: Instant,
    tell: mpsc::Sender<Look>,
}

impl LinkWatch {
    fn new(names: Vec<String>, tell: mpsc::Sender<Look>) -> Self {
        Self { names, stats: Vec::new(), told: Vec::new(), next: Instant::ZERO, tell }
    }
}

/// Time between two records of the links.
const EVERY: Duration = Duration::from_secs(1);

impl Observer for LinkWatch {
    fn look(&mut self, now: Instant, engine: &WireEngine, _: &[FlowTraffic]) {
        self.stats = engine.link_ids().filter_map(|id| engine.link_stats(id)).collect();
        if now < self.next {
            return;
        }
        self.next += EVERY.into();
        let waiting =
            engine.link_ids().map(|id| engine.queue_state(id).map_or(0, |state| state.waiting.packets));
        let before = self.told.iter().copied().chain(std::iter::repeat(LinkStats::default()));
        let links = self.names.iter().zip(&self.stats).zip(before).zip(waiting);
        let links = links.map(|(((name, stats), before), waiting)| {
            link_interval(name, now, &stats.since(&before), waiting)
        });
        if now > Instant::ZERO {
            // Nobody may listen.
            let _ = self.tell.send(Look { flows: Vec::new(), links: links.collect() });
        }
        self.told.clone_from(&self.stats);
    }

    fn step(&self) -> tfrc_units::Duration {
        tfrc_units::Duration::from_millis(100)
    }
}

/// The figures of the links as a record.
fn summary(names: &[String], stats: &[LinkStats]) -> Summary {
    let duration_s = stats.first().map_or(0.0, |stats| stats.elapsed.as_secs_f64());
    let links = names.iter().zip(stats).map(|(name, stats)| link::outcome(name, stats));
    Summary { duration_s, links: links.collect(), ..Summary::default() }
}

/// A line for each link that had packets.
fn words(names: &[String], stats: &[LinkStats]) -> String {
    let mut text = String::new();
    for (name, stats) in names.iter().zip(stats).filter(|(_, stats)| stats.arrivals.packets > 0) {
        let _ = writeln!(
            text,
            "{name}: {} packets, {} lost, {} overflowed, utilization {:.3}, mean queue {:.1} packets",
            stats.arrivals.packets,
            stats.lost.packets + stats.corrupted.packets,
            stats.overflowed.packets,
            stats.utilization(),
            stats.mean_queue_packets(),
        );
    }
    text
}

async fn commands_to_the_end(
    nodes: &[NodeSpace],
    commands: &[AtNode],
    mut interrupt: Interrupt,
) -> Result<ExitStatus, Failure> {
    let (stop, stopping) = watch::channel(false);
    let mut ends = Vec::new();
    for (number, wanted) in commands.iter().enumerate() {
        if number > 0 {
            tokio::time::sleep(BETWEEN).await;
        }
        let Some(node) = nodes.iter().find(|node| node.name() == wanted.node) else { continue };
        let (tell, end) = oneshot::channel();
        // The last may have the terminal; the others must not wait for what is typed.
        let is_last = number + 1 == commands.len();
        node.spawn(one(wanted.command.clone(), is_last, stopping.clone(), tell));
        ends.push((wanted, end));
    }
    let Some((last, mut end)) = ends.pop() else { return Ok(ExitStatus::default()) };
    let status = tokio::select! {
        status = &mut end => status,
        () = interrupt.wished() => {
            let _ = stop.send(true);
            end.await
        }
    };
    let _ = stop.send(true);
    for (_, other) in ends {
        drop(other.await);
    }
    match status {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(Failure::Run(format!("{}: {error}", last.command))),
        Err(_) => Err(Failure::Run(format!("{}: its node has ended", last.command))),
    }
}

/// Runs one command to its end, or asks it to end when `stopping` says so.
async fn one(
    command: String,
    is_last: bool,
    mut stopping: watch::Receiver<bool>,
    tell: oneshot::Sender<std::io::Result<ExitStatus>>,
) {
    let mut shell = tokio::process::Command::new("/bin/sh");
    shell.arg("-c").arg(&command);
    if !is_last {
        shell.stdin(Stdio::null());
    }
    let ended = async {
        let mut child = shell.spawn()?;
        tokio::select! {
            status = child.wait() => return status,
            _ = stopping.wait_for(|stop| *stop) => {}
        }
        if let Some(pid) = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        match tokio::time::timeout(GRACE, child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                child.kill().await?;
                child.wait().await
            }
        }
    };
    let _ = tell.send(ended.await);
}
