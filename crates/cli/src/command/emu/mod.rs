//! `tfrc emu`: a scenario's network in real time, between network namespaces.

mod flows;
mod job;
mod programs;

use std::process::Command;

use tfrc_emu::{SandboxError, WireKind, sandbox};
use tfrc_lab::emulation::{self, EmulationError, Setup};
use tfrc_lab::scenario::{Document, Scenario, World};
use tfrc_sim::Seed;

use super::link::{told, with_source};
use crate::Failure;
use crate::args::{AtNode, EmuArgs, WireArg};

/// Makes namespaces of our own and goes on in them.
///
/// # Errors
/// [`Failure::Scenario`] and [`Failure::Usage`] for what is not right with the file or the
/// arguments, [`Failure::Run`] when the system gives no namespaces or the run fails.
pub fn run(args: &EmuArgs) -> Result<(), Failure> {
    if !args.job {
        // Mistakes are told before anything is made.
        Wanted::read(args)?;
    }
    sandbox::enter().map_err(|error| refused(&error))?;
    let program = std::env::current_exe().map_err(|error| Failure::io(&"this program", &error))?;
    let mut inside = Command::new(program);
    inside.arg("emu-inside").args(std::env::args_os().skip(2));
    let status = sandbox::wait_inside(&mut inside).map_err(|error| Failure::io(&"tfrc emu", &error))?;
    match status.code() {
        Some(0) => Ok(()),
        // It has said why.
        Some(code) => std::process::exit(code),
        None => Err(Failure::Run(format!("the emulation was ended: {status}"))),
    }
}

/// Runs as process 1 of the namespaces that [`run`] has made.
///
/// # Errors
/// As [`run`].
pub fn inside(args: &EmuArgs) -> Result<(), Failure> {
    sandbox::settle().map_err(|error| refused(&error))?;
    if args.job {
        return job::run();
    }
    let wanted = Wanted::read(args)?;
    if wanted.commands.is_empty() {
        return flows::run(&wanted.scenario, wanted.setup, args);
    }
    let nodes: Vec<String> = wanted.commands.iter().map(|one| one.node.clone()).collect();
    let emulation = emulation::set_up_for_programs(&wanted.scenario, wanted.setup, &nodes);
    let emulation = emulation.map_err(|error| refused(&error))?;
    let code = programs::run(emulation, &wanted.commands)?;
    std::process::exit(code)
}

/// The scenario and what happens in it.
struct Wanted {
    scenario: Scenario,
    commands: Vec<AtNode>,
    setup: Setup,
}

impl Wanted {
    fn read(args: &EmuArgs) -> Result<Self, Failure> {
        let Some(path) = &args.scenario else {
            return Err(Failure::usage("no scenario", "name a scenario file, such as one of scenarios/"));
        };
        let mut document = Document::load(path).map_err(told)?;
        for assignment in &args.set {
            document.set(assignment.as_str());
        }
        let plan = document.plan_for(World::Emulated).map_err(told)?;
        let Some(point) = plan.points.into_iter().next() else {
            return Err(Failure::usage("the scenario has no point", "see `[[sweep]]` in docs/scenarios.md"));
        };
        let mut scenario = point.scenario;
        if let Some(seed) = args.seed {
            scenario.seed = Seed(seed);
        }
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
        let wire = match args.wire {
            WireArg::Veth => WireKind::Veth,
            WireArg::Tun => WireKind::Tun,
        };
        Ok(Self { scenario, commands, setup: Setup { wire, capture: None } })
    }
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
