//! A scenario in the emulated world: its nodes as network namespaces, its flows as real sockets.
//!
//! The functions here are for a process in namespaces of its own ([`tfrc_emu::sandbox`]).

mod flow;
mod kernel;
mod moment;
mod places;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use thiserror::Error;

use tfrc_emu::{
    Emulation, KernelThreads, LinkCapture, NodeSpace, Priority, RunningEmulation, SandboxError, WaitingThread,
};
use tfrc_scenario::{KernelTcp, Refusal, Scenario};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_sim::trace::DroppedPacket;
use tfrc_units::{Duration, Instant, saturating};

use super::record;
use crate::emulated::{EmulatedRun, Fidelity, NodeThread, Undeliverable};
use crate::keep::{Keep, LOOK, Looks};
use crate::metric::BIN;
use crate::recording::Recording;
use crate::state::{Progress, Stage, World};
use crate::watch::Watch;

use flow::{End, FlowState, Venue};
use kernel::NodeTcp;
use moment::{Moment, Teller};
use places::Places;

/// Settings of an emulation that are not the scenario's.
#[derive(Debug, Default)]
pub struct Setup {
    /// Captures of links.
    pub capture: LinkCapture,
    /// The place of what runs at the nodes among all programs of the machine.
    pub priority: Priority,
    /// The kernel's threads whose waiting is measured ([`tfrc_emu::sandbox::settle`]).
    pub kernel: KernelThreads,
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

/// An emulated network that has been set up: for the flows of a scenario, or for programs.
pub struct Emulated<'a> {
    scenario: &'a Scenario,
    places: Places<'a>,
    keep: Keep,
    emulation: Emulation,
    kernels: Vec<Option<KernelTcp>>,
}

impl std::fmt::Debug for Emulated<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulated").field("emulation", &self.emulation).finish_non_exhaustive()
    }
}

impl<'a> Emulated<'a> {
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

    /// Sets up the network of a scenario without its flows, for programs. Every node of the file
    /// that is an end of something becomes a namespace: nodes of flows, the gateways, and those of
    /// `more`.
    ///
    /// # Errors
    /// [`SandboxError`] if the system refuses a step.
    pub fn for_programs(
        scenario: &'a Scenario,
        setup: Setup,
        more: &[String],
    ) -> Result<Self, EmulationError> {
        let places = Places::of(scenario, more);
        let emulation = Emulation::set_up(places.plan(scenario, setup))?;
        Ok(Self { scenario, places, keep: Keep::default(), emulation, kernels: Vec::new() })
    }

    /// The namespaces of the nodes.
    #[must_use]
    pub fn nodes(&self) -> &[NodeSpace] {
        self.emulation.nodes()
    }

    /// Runs the flows for the scenario's duration in real time, or until `goes_on` says false,
    /// which is asked at least every 100 ms: what was measured until then is kept.
    ///
    /// # Errors
    /// [`EmulationError`] if a flow or the engine fails.
    pub fn run(
        self,
        watches: &mut [Watch<'_>],
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<EmulatedRun, EmulationError> {
        let Self { scenario, places, keep, emulation, kernels } = self;
        let members = &places.members;
        let stage = Stage::of(scenario, members, keep);
        let states: Vec<FlowState> = members.iter().map(|_| FlowState::default()).collect();
        let (running, told) = start(emulation, &stage, states.clone(), watches)?;
        let mut ends = Vec::new();
        for ((member, state), number) in members.iter().zip(&states).zip(0..) {
            let node = |id| places.place(id).and_then(|place| running.nodes().get(place));
            let (Some(from), Some(to)) = (node(member.flow.from), node(member.flow.to)) else { continue };
            let venue = Venue {
                from,
                to,
                port: places::port(number),
                clock: running.clock(),
                end: stage.to,
                seed: scenario.seed,
                reading: flow::reading(members.len(), keep.looks),
            };
            let started = flow::start(member, &venue, state);
            let started = started.map_err(|(flow, source)| EmulationError::Flow { flow, source })?;
            ends.extend(started.into_iter().map(|end| (member.name.clone(), end)));
        }
        let mut world = Running::new(&running, told, &stage, ends);
        let recording = record(&mut world, &stage, watches, goes_on);
        let Running { ends, wrong, .. } = world;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        ends.iter().for_each(|(_, end)| end.abort());
        let stopped = running.stop().map_err(EmulationError::Engine)?;
        let behind = states.iter().map(|state| state.get().behind).max().unwrap_or_default();
        let shortened = states.iter().map(|state| state.get().shortened).max().unwrap_or_default();
        let mut run = emulated_run(recording, stopped, &kernels)?;
        run.fidelity.source_behind_s = behind.as_secs_f64();
        run.fidelity.shortened_bytes = saturating(shortened);
        Ok(run)
    }

    /// Runs `programs`, which gets the namespaces of the nodes, and records the links meanwhile.
    /// Returns the outcome of `programs`, and the run.
    ///
    /// # Errors
    /// [`EmulationError::Engine`] if the engine fails.
    pub fn run_programs<T: Send>(
        self,
        watches: &mut [Watch<'_>],
        programs: impl FnOnce(&[NodeSpace]) -> T + Send,
    ) -> Result<(T, EmulatedRun), EmulationError> {
        let Self { scenario, keep, emulation, kernels, .. } = self;
        let to = Instant::ZERO + Duration::MAX;
        let stage = Stage { scenario, members: &[], keep, from: Instant::ZERO, to };
        let (running, told) = start(emulation, &stage, Vec::new(), watches)?;
        let are_over = AtomicBool::new(false);
        let (given, recording) = std::thread::scope(|scope| {
            let (nodes, are_over) = (running.nodes(), &are_over);
            let programs = std::thread::Builder::new().spawn_scoped(scope, move || {
                let given = programs(nodes);
                are_over.store(true, Ordering::Release);
                given
            })?;
            let goes_on = &mut || !are_over.load(Ordering::Acquire) && !programs.is_finished();
            let mut world = Running::new(&running, told, &stage, Vec::new());
            let recording = record(&mut world, &stage, watches, goes_on);
            Ok((programs.join(), recording))
        })
        .map_err(EmulationError::Engine)?;
        let stopped = running.stop().map_err(EmulationError::Engine)?;
        let given = given.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((given, emulated_run(recording, stopped, &kernels)?))
    }
}

/// The answer of a run that has been stopped.
fn emulated_run(
    recording: Option<Recording>,
    (fidelity, _, threads): (tfrc_emu::Fidelity, Teller, Vec<WaitingThread>),
    kernels: &[Option<KernelTcp>],
) -> Result<EmulatedRun, EmulationError> {
    let recording = recording.ok_or(EmulationError::TooShort)?;
    let kernel = kernel::notes(kernels.iter().flatten());
    let threads = threads.into_iter().map(NodeThread::from).collect();
    Ok(EmulatedRun { recording, fidelity: fidelity.into(), kernel, threads })
}

/// Lets the time of the network begin.
fn start(
    emulation: Emulation,
    stage: &Stage<'_>,
    states: Vec<FlowState>,
    watches: &[Watch<'_>],
) -> Result<(RunningEmulation<Teller>, mpsc::Receiver<Moment>), EmulationError> {
    let (tell, told) = mpsc::channel();
    let sees_queues = stage.keep.looks == Looks::Taken || watches.iter().any(Watch::sees_queues);
    let teller = Teller {
        states,
        links: stage.scenario.network.links().map(|(id, _)| id).collect(),
        link_flows: stage.keep.link_flows,
        step: if sees_queues { LOOK } else { BIN },
        tell,
        told_drops: 0,
    };
    Ok((emulation.start(teller).map_err(EmulationError::Engine)?, told))
}

/// An emulated network in motion, as its latest moment has it.
struct Running<'r> {
    running: &'r RunningEmulation<Teller>,
    told: mpsc::Receiver<Moment>,
    now: Moment,
    /// Packets that links have dropped; `None` if they were too many.
    drops: Option<Vec<DroppedPacket>>,
    /// The running ends of flows, with the flows' names.
    ends: Vec<(String, End)>,
    /// The fault of an end.
    wrong: Option<EmulationError>,
}

impl<'r> Running<'r> {
    fn new(
        running: &'r RunningEmulation<Teller>,
        told: mpsc::Receiver<Moment>,
        stage: &Stage<'_>,
        ends: Vec<(String, End)>,
    ) -> Self {
        let links = stage.link_names().count();
        let now = Moment {
            flows: vec![Progress::default(); stage.members.len()],
            links: vec![LinkStats::default(); links],
            waiting: vec![0; links],
            link_flows: vec![Vec::new(); links],
            ..Moment::default()
        };
        Self { running, told, now, drops: Some(Vec::new()), ends, wrong: None }
    }

    /// Returns true if an end of a flow has failed.
    fn has_failed(&mut self) -> bool {
        while let Some(place) = self.ends.iter().position(|(_, end)| end.is_finished()) {
            let (flow, end) = self.ends.swap_remove(place);
            let ended = self.running.nodes().first().map(|node| node.run(end));
            let fault = match ended {
                None | Some(Ok(Ok(Ok(())))) => continue,
                Some(Ok(Ok(Err(fault))) | Err(fault)) => fault,
                Some(Ok(Err(panic))) => io::Error::other(panic),
            };
            self.wrong = Some(EmulationError::Flow { flow, source: fault });
        }
        self.wrong.is_some()
    }
}

/// Longest silence of the engine before it is asked after.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(2);

impl World for Running<'_> {
    fn advance(&mut self, to: Instant) -> Instant {
        while self.now.at < to && !self.has_failed() {
            match self.told.recv_timeout(PATIENCE) {
                Ok(mut moment) => {
                    match (&mut self.drops, moment.drops.take()) {
                        (Some(all), Some(more)) => all.extend(more),
                        (drops, _) => *drops = None,
                    }
                    self.now = moment;
                }
                Err(_) if self.running.has_failed() => break,
                Err(_) => {}
            }
        }
        self.now.at
    }

    fn flow(&self, number: usize) -> Progress {
        self.now.flows.get(number).copied().unwrap_or_default()
    }

    fn drops(&self) -> Option<&[DroppedPacket]> {
        self.drops.as_deref()
    }

    fn links(&self) -> Vec<LinkStats> {
        self.now.links.clone()
    }

    fn waiting(&self) -> Vec<u64> {
        self.now.waiting.clone()
    }

    fn link_flows(&self) -> Vec<Vec<(FlowId, FlowStats)>> {
        self.now.link_flows.clone()
    }

    fn packet_hops(&self) -> u64 {
        self.now.packet_hops
    }
}

impl From<tfrc_emu::Fidelity> for Fidelity {
    fn from(fidelity: tfrc_emu::Fidelity) -> Self {
        Self {
            rate_error: fidelity.rate_error,
            delay_error_p50_s: fidelity.delay_error_p50.as_secs_f64(),
            delay_error_p99_s: fidelity.delay_error_p99.as_secs_f64(),
            wakeup_p50_s: fidelity.wakeup_p50.as_secs_f64(),
            wakeup_p99_s: fidelity.wakeup_p99.as_secs_f64(),
            own_drops: fidelity.own_drops,
            overruns: fidelity.overruns,
            shortest_round_trip_s: fidelity.shortest_round_trip.map(Duration::as_secs_f64),
            source_behind_s: 0.0,
            programs_waited: fidelity.starvation.programs,
            programs_late: fidelity.starvation.late,
            kernel_waited: fidelity.starvation.kernel,
            stolen: fidelity.starvation.stolen,
            measured_s: Some(fidelity.starvation.measured.as_secs_f64()),
            undeliverable: fidelity.undeliverable.into_iter().map(Undeliverable::from).collect(),
            shortened_bytes: 0,
        }
    }
}

impl From<WaitingThread> for NodeThread {
    fn from(WaitingThread { name, ran, waited, late }: WaitingThread) -> Self {
        let [ran_s, waited_s, late_s] = [ran, waited, late].map(Duration::as_secs_f64);
        Self { name, ran_s, waited_s, late_s }
    }
}

impl From<tfrc_emu::Undeliverable> for Undeliverable {
    fn from(tfrc_emu::Undeliverable { destination, packets }: tfrc_emu::Undeliverable) -> Self {
        Self { destination, packets }
    }
}
