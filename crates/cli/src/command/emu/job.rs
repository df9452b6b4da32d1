//! A job of `tfrc-lab`: a scenario on standard input, its recording on standard output.

use std::io::Read;

use tfrc_emu::{KernelThreads, Priority};
use tfrc_scenario::{Document, World};
use tfrc_world::emulated::EmulationJob;
use tfrc_world::recording::Keep;
use tfrc_world::world::emulated::{Emulated, Setup};

use super::broken;
use crate::Failure;
use crate::interrupt::Interrupt;
use crate::run::{first, set};

/// Bytes of a job, at most: more than a scenario and its settings have.
const LONGEST: u64 = 64 << 20;

/// The text of the job.
///
/// # Errors
/// [`Failure::Run`] if it cannot be read.
pub(super) fn read() -> Result<String, Failure> {
    let mut text = String::new();
    let given = std::io::stdin().take(LONGEST).read_to_string(&mut text);
    given.map_err(|error| Failure::io(&"standard input", &error))?;
    Ok(text)
}

/// Runs the job.
///
/// # Errors
/// [`Failure`] for a job that is not right or cannot be run.
pub(super) fn run(text: &str, kernel: KernelThreads, interrupt: &Interrupt) -> Result<(), Failure> {
    let job: EmulationJob = serde_json::from_str(text)
        .map_err(|error| Failure::usage(format!("the job: {error}"), "jobs are made by `tfrc-lab`"))?;
    let mut document = Document::new(job.name, job.text).in_folder(job.folder);
    set(&mut document, &job.set);
    let scenario = first(document.plan_for(World::Emulated)?, Some(job.seed))?;
    let keep = Keep { looks: job.looks, link_flows: job.link_flows, ..Keep::NOTHING };
    let setup = Setup { priority: Priority::First, kernel, ..Setup::default() };
    let emulated = Emulated::set_up(&scenario, setup, keep).map_err(broken)?;
    let run = emulated.run(&mut [], &mut || !interrupt.is_wished()).map_err(broken)?;
    if interrupt.is_wished() {
        return Err(Failure::Session);
    }
    let text = serde_json::to_string(&run).map_err(|error| Failure::Run(error.to_string()))?;
    crate::command::print(&text)
}
