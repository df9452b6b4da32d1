//! The flows of a scenario in real time, with the kernel's TCP.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use tfrc_report::record::{Record, Role, Summary};
use tfrc_scenario::Scenario;
use tfrc_world::Outcome;
use tfrc_world::emulated::{EmulatedRun, Fidelity, KernelNotes, NodeThread};
use tfrc_world::recording::Keep;
use tfrc_world::results::Interval;
use tfrc_world::watch::Look;
use tfrc_world::world::emulated::{Emulated, Setup};

use super::broken;
use crate::args::{EmuArgs, Format};
use crate::command::sim::tables;
use crate::interrupt::Interrupt;
use crate::run::{self, Course, Wish};
use crate::visible::visible;
use crate::{Failure, document, session};

/// Result of an emulated run: as of a simulated one, with a measure of how far to trust it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Emu")]
pub(crate) struct EmuDocument {
    #[serde(flatten)]
    outcome: Outcome,
    /// Distance from the network that the scenario describes.
    fidelity: Fidelity,
    /// Limits of the fidelity that were not kept; the run is a result if there are none.
    invalid: Vec<String>,
    /// The kernel and its TCP.
    kernel: KernelNotes,
    /// The threads that ran the flows, one for each node, and those of programs.
    threads: Vec<NodeThread>,
}

impl EmuDocument {
    /// The document of a run, with its line end.
    pub(super) fn text(run: EmulatedRun) -> String {
        let EmulatedRun { recording, fidelity, kernel, threads } = run;
        let invalid = fidelity.violations();
        let document = Self { outcome: recording.outcome, fidelity, invalid, kernel, threads };
        format!("{}\n", document::text(&document))
    }
}

/// Runs the flows of the scenario and prints what they got.
///
/// # Errors
/// [`Failure::Check`] if the run was not near enough to the network; others as `tfrc emu` says.
pub(super) fn run(
    scenario: &Scenario,
    setup: Setup,
    args: &EmuArgs,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let format = args.output.format();
    let (reporter, keys) =
        run::reporter((&args.output).into(), args.live, "tfrc emu", Some(scenario.duration));
    let mut reporter = reporter.with_series(args.output.series.as_deref(), &[])?;
    let has_lines = format == Format::Human && keys.is_none();
    let wish = Wish::new(interrupt, keys);
    let start = session::start(Role::Emu);
    reporter.record(&Record::Start(start))?;
    let emulated = Emulated::set_up(scenario, setup, Keep::default()).map_err(broken)?;
    let course = Course::new(&mut reporter);
    let watch = course.watch(|look| has_lines.then(|| line(look)));
    let goes_on = &mut || !wish.is_given() && course.is_written();
    let run = emulated.run(&mut [watch], goes_on).map_err(broken)?;
    let written = course.end();
    let outcome = &run.recording.outcome;
    let summary = Summary {
        duration_s: outcome.measured_s,
        flows: outcome.flows.clone(),
        links: outcome.links.clone(),
        fidelity: Some(run.fidelity.clone()),
        ..Summary::default()
    };
    let invalid = run.fidelity.violations();
    let finished = reporter.finish(summary, |format| match format {
        Format::Json => EmuDocument::text(run),
        _ => {
            let words = words(&run.fidelity, &run.kernel);
            visible(&format!("{}\n{words}\n", tables::single(&run.recording.outcome, &[]))).into_owned()
        }
    });
    if invalid.is_empty() {
        return written.and(finished);
    }
    Err(Failure::Check(format!("not a result: {}", invalid.join(", "))))
}

/// A line for a person: the rate of each flow, and the queues.
fn line(look: &Look) -> String {
    let mut line = String::new();
    if let Some(first) = look.flows.first().or(look.links.first()) {
        let _ = write!(line, "{:6.1} s ", first.t_s);
    }
    let megabits = |bps: Option<f64>| bps.unwrap_or(0.0) / 1e6;
    for flow in look.flows.iter().take(SHOWN) {
        let name = flow.flow.as_deref().unwrap_or_default();
        let _ = write!(line, " {name} {:.2}", megabits(flow.send_rate_bps));
    }
    if look.flows.len() > SHOWN {
        let _ = write!(line, " and {} more", look.flows.len() - SHOWN);
    }
    if !look.flows.is_empty() {
        line.push_str(" Mbit/s;");
    }
    let is_used = |link: &&Interval| link.receive_rate_bps.is_some_and(|rate| rate > 0.0);
    for link in look.links.iter().filter(is_used).take(SHOWN) {
        let _ = write!(
            line,
            " {} {:.2} Mbit/s, queue {:.0}, {} dropped;",
            link.link.as_deref().unwrap_or_default(),
            megabits(link.receive_rate_bps),
            link.queue_packets.unwrap_or(0.0),
            link.lost_packets.unwrap_or(0),
        );
    }
    line.trim_end_matches(';').to_owned()
}

/// Flows and links shown in a line.
const SHOWN: usize = 4;

/// Fidelity and kernel of a run.
fn words(fidelity: &Fidelity, kernel: &KernelNotes) -> String {
    format!("{}\nkernel: Linux {}", fidelity.words(), kernel.release)
}
