//! An emulated network: end nodes as network namespaces, and the engine between them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tfrc_net::io::Clock;
use tfrc_sim::{LinkId, LinkSpec, Network, NoAgent, NodeId, Seed};

use crate::bridge::{Bridge, FlowPath, Observer};
use crate::capture::LinkCapture;
use crate::ip;
use crate::sandbox::{mount_memory, replace_file, unmount};
use crate::space::{NodeSpace, Priority, await_running, wire, without_ipv6};
use crate::starvation::{KernelThreads, StarvationMeter, WaitingThread};
use crate::{Fidelity, SandboxError};

/// A network to be emulated.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Nodes and links, flows' own lines included.
    pub network: &'a Network,
    /// Seed of what the links draw.
    pub seed: Seed,
    /// The nodes that become namespaces, with their names; at most [`MOST_NODES`].
    pub nodes: Vec<(String, NodeId)>,
    /// Flows with paths of their own.
    pub flows: Vec<FlowPath>,
    /// The node at which the processes of a flow's host run, for hosts that have no namespace.
    pub hosts: BTreeMap<NodeId, NodeId>,
    /// Links whose packets are captured.
    pub capture: LinkCapture,
    /// The place of what runs at the nodes.
    pub priority: Priority,
    /// The kernel's threads whose waiting is measured.
    pub kernel: KernelThreads,
}

/// Most nodes that become namespaces.
pub const MOST_NODES: usize = 250;

/// An emulated network that has been set up and does not run yet.
pub struct Emulation {
    nodes: Vec<NodeSpace>,
    bridge: Bridge,
    kernel: KernelThreads,
}

impl std::fmt::Debug for Emulation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulation").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

impl Emulation {
    /// Makes the namespaces of the nodes and joins them to an engine. To be called in namespaces of
    /// our own, after [`crate::sandbox::settle`]; `/etc/hosts` then has the names of the nodes.
    ///
    /// # Errors
    /// [`SandboxError::SetUp`] with the step that failed.
    pub fn set_up(plan: Plan<'_>) -> Result<Self, SandboxError> {
        if plan.nodes.len() > MOST_NODES {
            let source = io::Error::other(format!("{} nodes; at most {MOST_NODES}", plan.nodes.len()));
            return Err(SandboxError::SetUp { what: "nodes".to_owned(), source });
        }
        // The engine's ends of the wires would send the nodes their own housekeeping, too.
        without_ipv6();
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        for ((name, node), number) in plan.nodes.iter().zip(1u8..) {
            let address = ip::address(number);
            let space = NodeSpace::new(name, address, plan.priority)?;
            places.push((*node, address, wire(&space, number)?));
            nodes.push(space);
        }
        for node in &nodes {
            await_running(node)?;
        }
        name_hosts(&nodes).map_err(SandboxError::set_up("names of the nodes"))?;
        let constant = plan.network.links().filter(|(_, spec)| spec.trace.is_none());
        let rates = constant.map(|(id, spec)| (id, spec.rate.bytes_per_sec()));
        let rates: Vec<(LinkId, f64)> = rates.filter(|(_, rate)| rate.is_finite() && *rate > 0.0).collect();
        let time = |spec: &LinkSpec| {
            let line = spec.rate.bytes_per_sec();
            if line > 0.0 { spec.delay + spec.rate.time_for(FULL_PACKET) } else { spec.delay }
        };
        let times = plan.network.links().map(|(id, spec)| (id, time(spec))).collect();
        let mut network = plan.network.clone();
        network.keep_flow_counts();
        let mut engine = network.build::<NoAgent<_>>(plan.seed);
        engine.keep_drops();
        let bridge = Bridge::new(engine, places, plan.flows, &plan.hosts, rates.into_iter(), plan.capture)?;
        Ok(Self { nodes, bridge: bridge.with_times(times), kernel: plan.kernel })
    }

    /// The namespaces, in the order of the plan.
    #[must_use]
    pub fn nodes(&self) -> &[NodeSpace] {
        &self.nodes
    }

    /// Lets the network's time begin. `observer` is called on the engine's thread.
    ///
    /// # Errors
    /// If the system gives no threads.
    pub fn start<O: Observer + 'static>(self, mut observer: O) -> io::Result<RunningEmulation<O>> {
        let stop = Arc::new(AtomicBool::new(false));
        let clock = Clock::start();
        let Self { nodes, bridge, kernel } = self;
        let starvation = StarvationMeter::start(kernel)?;
        let thread = std::thread::Builder::new().name("tfrc-engine".to_owned()).spawn({
            let stop = Arc::clone(&stop);
            move || {
                let fidelity = bridge.run(clock, &stop, &mut observer)?;
                Ok((fidelity, observer))
            }
        })?;
        Ok(RunningEmulation { nodes, clock, stop, thread, starvation })
    }
}

/// An emulated network in motion. Dropping it leaves it in motion until the process ends; use
/// [`RunningEmulation::stop`].
#[derive(Debug)]
pub struct RunningEmulation<O> {
    nodes: Vec<NodeSpace>,
    clock: Clock,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<(Fidelity, O)>>,
    starvation: StarvationMeter,
}

impl<O> RunningEmulation<O> {
    /// The namespaces, in the order of the plan.
    #[must_use]
    pub fn nodes(&self) -> &[NodeSpace] {
        &self.nodes
    }

    /// The clock of the network's time.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns true if the engine has stopped by itself, which it does only when it fails.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Stops the network: what was measured of the machine, the observer, and the threads at the
    /// nodes.
    ///
    /// # Errors
    /// The fault that made the engine stop earlier, or a capture that could not be written.
    pub fn stop(self) -> io::Result<(Fidelity, O, Vec<WaitingThread>)> {
        let (starvation, threads) = self.starvation.stop();
        self.stop.store(true, Ordering::Release);
        let ended = self.thread.join();
        let (fidelity, observer) =
            ended.unwrap_or_else(|_| Err(io::Error::other("the engine's thread has panicked")))?;
        Ok((Fidelity { starvation, ..fidelity }, observer, threads))
    }
}

/// Bytes of a full packet.
const FULL_PACKET: f64 = 1500.0;

/// Puts the names of the nodes into `/etc/hosts`, as the processes in here see it.
fn name_hosts(nodes: &[NodeSpace]) -> io::Result<()> {
    let mut text =
        std::fs::read_to_string("/etc/hosts").unwrap_or_else(|_| "127.0.0.1 localhost\n".to_owned());
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for node in nodes {
        writeln!(text, "{} {}", node.address(), node.name()).map_err(io::Error::other)?;
    }
    // A file system of its own holds it, which is gone with the namespace.
    let folder = std::env::temp_dir();
    mount_memory(&folder)?;
    let path = folder.join("hosts");
    std::fs::write(&path, text)?;
    let done = replace_file(&path, "/etc/hosts");
    unmount(&folder)?;
    done
}
