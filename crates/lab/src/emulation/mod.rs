//! A scenario in the emulated world: its nodes as network namespaces, its flows as real sockets.
//!
//! The functions here are for a process in namespaces of its own ([`tfrc_emu::sandbox`]).

mod flow;
mod kernel;
mod outcome;
mod places;
mod watcher;

use std::io;
use std::sync::mpsc;

use thiserror::Error;

use tfrc_emu::{Emulation, LinkCapture, SandboxError, WireKind};
use tfrc_units::Instant;

use crate::emulated::{EmulatedRun, Fidelity};
use crate::recording::Keep;
use crate::run;
use crate::watch::{Look, link_interval};
use tfrc_scenario::{Refusal, Scenario};

use flow::{FlowState, Stage};
use kernel::NodeTcp;
use places::Places;
use watcher::{Moment, Watcher};

/// Settings of an emulation that are not the scenario's.
#[derive(Debug, Default)]
pub struct Setup {
    /// How nodes are joined to the engine.
    pub wire: WireKind,
    /// Capture of a link.
    pub capture: Option<LinkCapture>,
}

/// The reason why a scenario could not be emulated to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// The system refuses a step of the set-up.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A flow asks for a TCP that the kernel does not have.
    #[error("flow {flow}: {refusal}")]
    Tcp {
        /// The flow's name.
        flow: String,
        /// The setting.
        refusal: Refusal,
    },
    /// Flows want different things of one node.
    #[error("flow {flow}: {why}")]
    Node {
        /// The flow's name.
        flow: String,
        /// The conflict.
        why: &'static str,
    },
    /// An end of a flow has failed.
    #[error("flow {flow}: {source}")]
    Flow {
        /// The flow's name.
        flow: String,
        /// The fault.
        source: io::Error,
    },
    /// The engine has failed.
    #[error("engine: {0}")]
    Engine(#[source] io::Error),
    /// The run was ended before its measured time began.
    #[error("ended before the warm-up was over: nothing was measured")]
    TooShort,
}

/// An emulated network in which a scenario's flows run.
pub struct Flows<'a> {
    scenario: &'a Scenario,
    places: Places<'a>,
    keep: Keep,
    emulation: Emulation,
    kernels: Vec<Option<tfrc_scenario::KernelTcp>>,
}

impl std::fmt::Debug for Flows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flows").field("emulation", &self.emulation).finish_non_exhaustive()
    }
}

/// Sets up the network of a scenario without its flows, for programs. Every node of the file that
/// is an end of something becomes a namespace: nodes of flows, the gateways, and those of `more`.
///
/// # Errors
/// [`SandboxError`] if the system refuses a step.
pub fn set_up_for_programs(
    scenario: &Scenario,
    setup: Setup,
    more: &[String],
) -> Result<Emulation, SandboxError> {
    let places = Places::of(scenario, more);
    Emulation::set_up(places.plan(scenario, setup))
}

impl<'a> Flows<'a> {
    /// Sets up the network of a scenario and the parameters of its TCPs.
    ///
    /// # Errors
    /// [`EmulationError`] for what the kernel does not have or the system refuses.
    pub fn set_up(scenario: &'a Scenario, setup: Setup, keep: Keep) -> Result<Self, EmulationError> {
        let places = Places::of(scenario, &[]);
        let mut tcps = vec![NodeTcp::default(); places.nodes()];
        let mut kernels = Vec::new();
        for member in &places.members {
            let flow = || member.name.clone();
            let kernel =
                kernel::of(member).map_err(|refusal| EmulationError::Tcp { flow: flow(), refusal })?;
            if let Some(kernel) = &kernel {
                for node in [member.flow.from, member.flow.to] {
                    let tcp = places.place(node).and_then(|place| tcps.get_mut(place));
                    let added = tcp.map_or(Ok(()), |tcp| tcp.add(kernel));
                    added.map_err(|why| EmulationError::Node { flow: flow(), why })?;
                }
            }
            kernels.push(kernel);
        }
        let emulation = Emulation::set_up(places.plan(scenario, setup))?;
        for (node, tcp) in emulation.nodes().iter().zip(&tcps) {
            let what = || format!("parameters of the kernel's TCP at {}", node.name());
            tcp.apply(node).map_err(|source| SandboxError::SetUp { what: what(), source })?;
        }
        Ok(Self { scenario, places, keep, emulation, kernels })
    }

    /// Runs the flows for the scenario's duration in real time. `watch` is called each second, and
    /// may ask for an early end by `false`: what was measured until then is kept.
    ///
    /// # Errors
    /// [`EmulationError`] if a flow or the engine fails.
    pub fn run(self, mut watch: impl FnMut(Look) -> bool) -> Result<EmulatedRun, EmulationError> {
        let Self { scenario, places, keep, emulation, kernels } = self;
        let states: Vec<FlowState> = places.members.iter().map(|_| FlowState::default()).collect();
        let (from, to) = (Instant::ZERO + scenario.warmup, Instant::ZERO + scenario.duration);
        let (tell, told) = mpsc::channel();
        let watcher = Watcher::new(states.clone(), keep, (from, to), tell);
        let running = emulation.start(watcher).map_err(EmulationError::Engine)?;
        let mut ends = Vec::new();
        for ((member, state), number) in places.members.iter().zip(&states).zip(0..) {
            let node = |id| places.place(id).and_then(|place| running.nodes().get(place));
            let (Some(from), Some(to)) = (node(member.flow.from), node(member.flow.to)) else { continue };
            let clock = running.clock();
            let reading = flow::reading(places.members.len(), keep.looks);
            let stage = Stage {
                from,
                to,
                port: places::port(number),
                clock,
                end: Instant::ZERO + scenario.duration,
                seed: scenario.seed,
                reading,
            };
            let started = flow::start(member, &stage, state);
            let started = started.map_err(|(flow, source)| EmulationError::Flow { flow, source })?;
            ends.extend(started.into_iter().map(|end| (member.name.clone(), end)));
        }
        let mut before: Option<Moment> = None;
        let mut end = scenario.duration;
        let links: Vec<String> = scenario.network.links().map(|(_, spec)| spec.name.clone()).collect();
        loop {
            match told.recv_timeout(PATIENCE) {
                Ok(moment) => {
                    let is_last = moment.at >= to;
                    let goes_on = match &before {
                        None => true,
                        Some(before) => watch(look(&places, &links, before, &moment)),
                    };
                    before = Some(moment);
                    if is_last {
                        break;
                    }
                    if !goes_on {
                        end = running.clock().now().saturating_since(Instant::ZERO);
                        break;
                    }
                }
                Err(_) if running.has_failed() => break,
                Err(_) => {}
            }
            if let Some(place) = ends.iter().position(|(_, end)| end.is_finished()) {
                let (flow, end) = ends.swap_remove(place);
                let ended = running.nodes().first().map(|node| node.run(end));
                if let Some(Ok(Ok(Err(source)))) = ended {
                    return Err(EmulationError::Flow { flow, source });
                }
            }
        }
        for (_, end) in &ends {
            end.abort();
        }
        let (fidelity, watcher) = running.stop().map_err(EmulationError::Engine)?;
        let behind = states.iter().map(|state| state.get().behind).max().unwrap_or_default();
        let fidelity = Fidelity { source_behind_s: behind.as_secs_f64(), ..fidelity.into() };
        let kernel = kernel::notes(kernels.iter().flatten());
        outcome::run(scenario, &places.members, watcher, before, end, fidelity, kernel)
    }
}

/// Longest silence of the engine before it is asked after.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

/// The course between two moments.
fn look(places: &Places<'_>, links: &[String], before: &Moment, after: &Moment) -> Look {
    let flows = places.members.iter().zip(before.flows.iter().zip(&after.flows));
    let flows = flows.map(|(member, (earlier, later))| {
        run::interval(before.at, after.at, member.name.clone(), &earlier.progress, &later.progress)
    });
    let states = before.links.iter().zip(&after.links).zip(&after.waiting);
    let links = links.iter().zip(states);
    let links = links.map(|(name, ((earlier, later), waiting))| {
        link_interval(name, after.at, &later.since(earlier), *waiting)
    });
    Look { flows: flows.collect(), links: links.collect() }
}
