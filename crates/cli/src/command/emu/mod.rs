//! `tfrc emu`: a scenario's network in real time, between network namespaces.

mod flows;
mod job;
mod programs;

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use flows::EmuDocument;
use tfrc_emu::{KernelThreads, LinkCapture, Priority, SandboxError, sandbox};
use tfrc_scenario::library::Opened;
use tfrc_scenario::{Scenario, World};
use tfrc_sim::LinkId;
use tfrc_world::world::emulated::{Emulated, EmulationError, Setup};

use crate::Failure;
use crate::args::{AtNode, EmuArgs};
use crate::failure::with_source;
use crate::run::{self};

/// Makes namespaces of our own and goes on in them. All that is read is read before: in there the
/// process is the first, which signals do not end.
///
/// # Errors
/// [`Failure::Scenario`] and [`Failure::Usage`] for what is not right with the file or the
/// arguments, [`Failure::Run`] when the system gives no namespaces or the run fails.
pub(crate) fn run(args: &EmuArgs) -> Result<(), Failure> {
    let text = if args.job {
        sandbox::end_with_parent().map_err(|error| Failure::io(&"tfrc emu", &error))?;
        job::read()?
    } else {
        let opened = opened(args)?;
        let text = opened.document.file_text().to_owned();
        // Mistakes are reported before anything is created.
        Wanted::of(opened, args)?;
        text
    };
    let kept = sandbox::hand_over(&text).map_err(|error| Failure::io(&"the scenario", &error))?;
    sandbox::enter().map_err(|error| refused(&error))?;
    let program = std::env::current_exe().map_err(|error| Failure::io(&"this program", &error))?;
    let mut inside = Command::new(program);
    inside.arg("emu-inside").arg("--read-before").arg(kept.as_raw_fd().to_string());
    inside.args(std::env::args_os().skip(2));
    let status = sandbox::wait_inside(&mut inside).map_err(|error| Failure::io(&"tfrc emu", &error))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has said why.
        Some(code) => std::process::exit(code),
        None if status.signal() == Some(SIGXCPU) => Err(Failure::Run(
            "a thread of the emulation ran for seconds without a wait: this machine is too slow for the network"
                .to_owned(),
        )),
        None => Err(Failure::Run(format!("the emulation was ended: {status}"))),
    }
}

/// The signal by which the system ends a process that goes before all others for too long.
const SIGXCPU: i32 = 24;

/// Runs as process 1 of the namespaces that [`run`] has made.
///
/// # Errors
/// As [`run`].
pub(crate) fn inside(args: &EmuArgs) -> Result<(), Failure> {
    // Signals wait until `settle`, and without this the first process of a namespace ignores them.
    let interrupt = run::interrupt()?;
    let kernel = sandbox::settle().map_err(|error| refused(&error))?;
    let (Some(kept), path) = (args.read_before, args.scenario.as_deref()) else {
        return Err(Failure::usage("nothing was read before", "use `tfrc emu`"));
    };
    let text = sandbox::take_over(kept).map_err(|error| Failure::io(&"the scenario", &error))?;
    if args.job {
        return job::run(&text, kernel, &interrupt);
    }
    let wanted = Wanted::of(Opened::again(path.unwrap_or(Path::new("")), &text), args)?;
    let setup = wanted.setup(kernel)?;
    if wanted.commands.is_empty() {
        return flows::run(&wanted.scenario, setup, args, &interrupt);
    }
    let nodes: Vec<String> = wanted.commands.iter().map(|one| one.node.clone()).collect();
    let emulated = Emulated::for_programs(&wanted.scenario, setup, &nodes).map_err(broken)?;
    let code = programs::run(emulated, &wanted.commands, args, interrupt)?;
    std::process::exit(code)
}

/// The scenario and what happens in it.
struct Wanted {
    scenario: Scenario,
    commands: Vec<AtNode>,
    priority: Priority,
    captures: Vec<(LinkId, PathBuf)>,
}

/// Opens the scenario, once its files for output are found fit.
fn opened(args: &EmuArgs) -> Result<Opened, Failure> {
    let Some(path) = &args.scenario else {
        return Err(Failure::usage(
            "no scenario",
            "name a scenario; `tfrc scenario list` has those of the program",
        ));
    };
    let captures: Vec<_> = args.captures().map(|(_, file)| Some(PathBuf::from(file))).collect();
    let mut outputs = args.output.files().to_vec();
    outputs.extend(captures.iter().map(|file| ("--pcap", file)));
    run::open(path, &outputs)
}

impl Wanted {
    fn of(opened: Opened, args: &EmuArgs) -> Result<Self, Failure> {
        let mut document = opened.document;
        run::set(&mut document, &args.set);
        // With programs the flows of the file do not run.
        let world = match args.at.is_empty() && args.shell.is_none() {
            true => World::Emulated,
            false => World::Links,
        };
        let plan = match args.read_before {
            None => run::plan(&document, world)?,
            // The process outside of the namespaces has spoken of the logs.
            Some(_) => document.plan_for(world)?,
        };
        let scenario = run::first(plan, args.seed)?;
        let mut commands = args.commands();
        let shell = args.shell.clone().or_else(|| {
            let first = scenario.network.nodes().find(|(id, _)| *id == scenario.gateways.listen);
            first
                .filter(|_| commands.is_empty() && scenario.flows.is_empty())
                .map(|(_, name)| name.to_owned())
        });
        if let Some(node) = shell {
            let command = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
            commands.push(AtNode { node, command });
        }
        for AtNode { node, .. } in &commands {
            if scenario.network.find_node(node).is_none() {
                let names: Vec<&str> = scenario.network.nodes().map(|(_, name)| name).collect();
                return Err(Failure::usage(
                    format!("the scenario has no node `{node}`"),
                    format!("its nodes are {}", names.join(", ")),
                ));
            }
        }
        // Programs of a user may be of any kind, and get the place that they have everywhere.
        let priority = match commands.is_empty() || args.first {
            true => Priority::First,
            false => Priority::Usual,
        };
        let captures = args.captures().map(|(link, file)| Ok((link_of(&scenario, link)?, file.into())));
        let captures = captures.collect::<Result<_, Failure>>()?;
        Ok(Self { scenario, commands, priority, captures })
    }
}

impl Wanted {
    /// Opens what the emulation writes.
    fn setup(&self, kernel: KernelThreads) -> Result<Setup, Failure> {
        let mut capture = LinkCapture::default();
        for (link, path) in &self.captures {
            let told = |error| Failure::io(&path.display(), &error);
            let out = Box::new(BufWriter::new(File::create(path).map_err(told)?));
            capture.add(*link, out).map_err(told)?;
        }
        Ok(Setup { capture, priority: self.priority, kernel })
    }
}

fn link_of(scenario: &Scenario, name: &str) -> Result<LinkId, Failure> {
    let mut links = scenario.network.links();
    links.find(|(_, spec)| spec.name == name).map(|(id, _)| id).ok_or_else(|| {
        let names: Vec<&str> = scenario.network.links().map(|(_, spec)| spec.name.as_str()).collect();
        Failure::usage(
            format!("the scenario has no link `{name}`"),
            format!("its links are {}", names.join(", ")),
        )
    })
}

/// Turns the fault of an emulation into words.
fn broken(error: EmulationError) -> Failure {
    match error {
        EmulationError::Sandbox(error) => refused(&error),
        EmulationError::Tcp { .. } | EmulationError::Node { .. } => Failure::usage(
            error.to_string(),
            "change it in the scenario or with --set; `tfrc sim` has what the kernel has not",
        ),
        error => Failure::Run(with_source(&error)),
    }
}

/// Turns a refusal of the system into words.
fn refused(error: &SandboxError) -> Failure {
    let words = with_source(error);
    match error {
        SandboxError::Refused { .. } => {
            Failure::Run(format!("{words}\n  `tfrc link` plays a network without namespaces, for UDP"))
        }
        _ => Failure::Run(words),
    }
}
