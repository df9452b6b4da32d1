//! Programs at the nodes of an emulated network.

use std::fmt::Write as _;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tfrc_emu::NodeSpace;
use tfrc_report::record::{Record, Role, Summary};
use tfrc_world::recording::Recording;
use tfrc_world::world::emulated::Emulated;
use tokio::sync::{oneshot, watch};

use super::{EmuDocument, broken};
use crate::Failure;
use crate::args::{AtNode, EmuArgs, Format};
use crate::interrupt::Interrupt;
use crate::reporter::{Reporter, ReporterConfig};
use crate::run::Course;
use crate::session;
use crate::visible::{to_stderr, visible};

/// Time between the starts of two commands: a server listens before its client calls.
const BETWEEN: Duration = Duration::from_millis(300);
/// Time that commands have to end after they were asked to.
const GRACE: Duration = Duration::from_secs(2);

/// Exit status of commands that succeeded in a network outside of the limits of fidelity.
const OUTSIDE: i32 = 3;

/// Runs the commands, each at its node; returns the exit status of the last, as a shell would, or
/// [`OUTSIDE`].
pub(super) fn run(
    emulated: Emulated<'_>,
    commands: &[AtNode],
    args: &EmuArgs,
    interrupt: Interrupt,
) -> Result<i32, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io(&"runtime", &error))?;
    let format = args.output.format();
    let mut config = ReporterConfig::from(&args.output);
    // The programs have the terminal: of the links there is a line each at the end.
    if format == Format::Human {
        config.format = Format::Json;
    }
    let mut reporter = Reporter::on(config, io::stdout(), io::stderr());
    reporter = reporter.with_series(args.output.series.as_deref(), &[])?;
    let start = session::start(Role::Emu);
    reporter.record(&Record::Start(start))?;
    let course = Course::new(&mut reporter);
    let run = emulated.run_programs(&mut [course.watch(|_| None)], move |nodes| {
        runtime.block_on(commands_to_the_end(nodes, commands, interrupt))
    });
    let written = course.end();
    let (status, run) = run.map_err(broken)?;
    let status = status?;
    to_stderr(visible(&words(&run.recording)).trim_end());
    to_stderr(&run.fidelity.words());
    let summary = Summary {
        duration_s: run.recording.outcome.duration_s,
        links: run.recording.outcome.links.clone(),
        fidelity: Some(run.fidelity.clone()),
        ..Summary::default()
    };
    let invalid = run.fidelity.violations();
    let finished = reporter.finish(summary, |_| match format {
        Format::Json => EmuDocument::text(run),
        _ => String::new(),
    });
    if !invalid.is_empty() {
        to_stderr(&format!("outside of the limits: {}", invalid.join(", ")));
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    if code == 0 && invalid.is_empty() {
        written.and(finished)?;
    }
    // A command that failed has a reason of its own.
    Ok(if code == 0 && !invalid.is_empty() { OUTSIDE } else { code })
}

/// A line for each link that had packets.
fn words(recording: &Recording) -> String {
    let mut text = String::new();
    let links = recording.outcome.links.iter().zip(&recording.links);
    let links = links.map(|(link, record)| (&link.id, record.stats));
    for (name, stats) in links.filter(|(_, stats)| stats.arrivals.packets > 0) {
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
