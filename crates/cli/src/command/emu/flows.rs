//! The flows of a scenario in real time, with the kernel's TCP.

use std::fmt::Write as _;

use serde::Serialize;
use tfrc_lab::Outcome;
use tfrc_lab::emulated::{EmulatedRun, Fidelity, KernelNotes};
use tfrc_lab::emulation::{Flows, Look, Setup};
use tfrc_lab::record::{Record, Role, Start, Summary};
use tfrc_lab::recording::Keep;
use tfrc_lab::report::{self, RunRecords};
use tfrc_lab::scenario::Scenario;

use super::broken;
use crate::Failure;
use crate::args::{EmuArgs, Format};
use crate::command::print;
use crate::command::sim::tables;
use crate::interrupt::Interrupt;
use crate::session;

/// The result, as it is printed.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    outcome: Outcome,
    fidelity: Fidelity,
    /// Limits of the fidelity that were not kept.
    invalid: Vec<String>,
    kernel: KernelNotes,
}

/// Runs the flows of the scenario and prints what they got.
///
/// # Errors
/// [`Failure::Check`] if the run was not near enough to the network; others as `tfrc emu` says.
pub(super) fn run(scenario: &Scenario, setup: Setup, args: &EmuArgs) -> Result<(), Failure> {
    let interrupt = Interrupt::install().map_err(|error| Failure::io(&"signals", &error))?;
    let format = args.output.format();
    let start = Start::new(Role::Emu, session::version(), session::command_line());
    let mut records = RunRecords::new(start.clone());
    tell(Record::Start(start), format, &mut records)?;
    let flows = Flows::set_up(scenario, setup, Keep::default()).map_err(broken)?;
    let mut told = Ok(());
    let run = flows.run(|look| {
        if format == Format::Human {
            eprintln!("{}", line(&look));
        }
        for interval in look.intervals {
            if told.is_ok() {
                told = tell(Record::Interval(interval), format, &mut records);
            }
        }
        !interrupt.is_wished() && told.is_ok()
    });
    let EmulatedRun { recording, fidelity, kernel } = run.map_err(broken)?;
    told?;
    let outcome = recording.outcome;
    let summary =
        Summary { duration_s: outcome.measured_s, flows: outcome.flows.clone(), ..Summary::default() };
    let end = Record::End(Box::new(summary));
    let invalid = fidelity.violations();
    match format {
        Format::JsonStream => tell(end, format, &mut records)?,
        Format::Json => {
            let document = Document { outcome, fidelity, invalid: invalid.clone(), kernel };
            print(&format!("{}\n", serde_json::json!(document)))?;
            records.push(end);
        }
        Format::Human => {
            print(&format!("{}\n{}\n", tables::single(&outcome), words(&fidelity, &kernel)))?;
            records.push(end);
        }
    }
    if let Some(path) = &args.report {
        let page = report::page(&records);
        std::fs::write(path, page).map_err(|error| Failure::io(&path.display(), &error))?;
    }
    if invalid.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(format!("not a result: {}", invalid.join(", "))))
}

fn tell(record: Record, format: Format, records: &mut RunRecords) -> Result<(), Failure> {
    if format == Format::JsonStream {
        print(&format!("{}\n", serde_json::json!(record)))?;
    }
    records.push(record);
    Ok(())
}

/// A line for a person: what each flow sends, and the queues.
fn line(look: &Look) -> String {
    let mut line = String::new();
    if let Some(first) = look.intervals.first() {
        let _ = write!(line, "{:6.1} s ", first.t_s);
    }
    let megabits = |bps: Option<f64>| bps.unwrap_or(0.0) / 1e6;
    for flow in look.intervals.iter().take(SHOWN) {
        let name = flow.flow.as_deref().unwrap_or_default();
        let _ = write!(line, " {name} {:.2}", megabits(flow.send_rate_bps));
    }
    if look.intervals.len() > SHOWN {
        let _ = write!(line, " and {} more", look.intervals.len() - SHOWN);
    }
    line.push_str(" Mbit/s;");
    for (name, rate, queue, dropped) in look.links.iter().filter(|(_, rate, ..)| *rate > 0.0).take(SHOWN) {
        let _ = write!(line, " {name} {:.2} Mbit/s, queue {queue}, {dropped} dropped;", rate / 1e6);
    }
    line.trim_end_matches(';').to_owned()
}

/// Flows and links shown in a line.
const SHOWN: usize = 4;

/// Fidelity and kernel of a run.
fn words(fidelity: &Fidelity, kernel: &KernelNotes) -> String {
    format!("{}\nkernel: Linux {}", fidelity_words(fidelity), kernel.release)
}

/// Fidelity of a run in a line.
pub(super) fn fidelity_words(fidelity: &Fidelity) -> String {
    let rate = fidelity
        .rate_error
        .map_or("no link was busy".to_owned(), |error| format!("rate off by {:.3} %", error * 100.0));
    let Fidelity { delay_error_p50_s, delay_error_p99_s, wakeup_p50_s, wakeup_p99_s, own_drops, .. } =
        fidelity;
    format!(
        "fidelity: {rate}, delays late by {:.3} ms (99th percentile {:.3} ms), woken late by {:.3} ms ({:.3} ms), \
         {own_drops} packets lost by the emulator",
        delay_error_p50_s * 1e3,
        delay_error_p99_s * 1e3,
        wakeup_p50_s * 1e3,
        wakeup_p99_s * 1e3,
    )
}
