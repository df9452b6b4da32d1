//! Scenarios: what they say, and how they are read.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod check;
mod distribution;
mod document;
mod error;
#[cfg(feature = "files")]
pub mod files;
#[cfg(not(feature = "files"))]
mod files {
    //! In place of the module of files.

    pub(super) fn read_trace(_path: &std::path::Path) -> std::io::Result<String> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
mod flow_config;
mod flows;
mod kernel_tcp;
mod layout;
#[cfg(feature = "files")]
pub mod library;
mod link_settings;
mod links;
pub mod logs;
mod meanings;
mod memory;
mod mistakes;
pub mod rate_control;
mod reader;
pub mod reference;
mod schema;
mod spanned;
mod suggest;
mod syntax;
mod table;
mod tcp_settings;
#[cfg(test)]
mod tests;
pub mod text;
mod timetables;
mod traces;
mod web_settings;
mod whole;
mod written;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tfrc_sim::packet::Precedence;
use tfrc_sim::queue::Queue;
use tfrc_sim::traffic::{Distribution, Pattern, Timetable};
use tfrc_sim::{Network, NodeId, Seed, Stream};
use tfrc_units::{Dscp, Duration, Ecn, Instant, Rate};

pub use document::{Document, Origin, Provenance};
pub use error::{Fault, InvalidScenario, Mistake, ScenarioError};
pub use flows::Group;
pub use kernel_tcp::{CongestionControl, KernelAcks, KernelTcp, Recovery, Refusal, Tcp};
pub use layout::Member;
pub use memory::BIN;
pub use reader::read_text;
pub use schema::{join_lines, schema};
pub use suggest::{hint, nearest};
pub use traces::{Log, LogKind};
pub use web_settings::WebTraffic;

/// The place where the flows of a scenario run, which decides on what they may ask for. A word
/// that the place does not have is a mistake in the file ([`Fault::World`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum World {
    /// The sockets of the system, with an engine in real time: a TCP is the kernel's.
    Emulated,
    /// Agents of the simulator, and controllers and queues of the host's own, by their names.
    Extended,
    /// Nowhere: only the links of the file are used.
    Links,
    /// Agents of the simulator, in virtual or real time.
    #[default]
    Simulated,
}

/// A scenario that has passed all checks.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// How long a run lasts.
    pub duration: Duration,
    /// How much of its beginning measurements leave out; less than the duration.
    pub warmup: Duration,
    /// The seed unless another is asked for.
    pub seed: Seed,
    /// Nodes and links, but for the flows' own lines.
    pub network: Network,
    /// The flows, in the order of the file; the destination of each can be reached from its source
    /// and back.
    pub flows: Vec<Flow>,
    /// Where real datagrams enter and leave.
    pub gateways: Gateways,
}

/// The runs that a file asks for: a scenario for each point of its sweeps, each to be run several
/// times.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The points: one if nothing is swept. The last sweep of the file changes fastest.
    pub points: Vec<Point>,
    /// Runs of each point.
    pub runs: u32,
    /// Where values come from, as far as the file says.
    pub provenance: Vec<Provenance>,
    /// The logs that it names, as they were read.
    pub logs: Vec<Log>,
}

/// One point of the sweeps.
#[derive(Debug, Clone)]
pub struct Point {
    /// The name of each sweep, and the label of its value at this point.
    pub at: Vec<(String, String)>,
    /// The scenario there.
    pub scenario: Scenario,
}

/// Flows from one node to another, all alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// How many, and what they are called.
    pub group: Group,
    /// The sender's node, or the node its own line leads to.
    pub from: NodeId,
    /// The receiver's.
    pub to: NodeId,
    /// When each starts to send, in seconds.
    pub start: Distribution,
    /// When they stop, if before the end.
    pub stop: Option<Instant>,
    /// When their applications have data, and how much.
    pub timetable: FlowTimetable,
    /// Lines of each flow's own.
    pub lines: Lines,
    /// The host at both ends, if they act late.
    pub host: Option<MeasuredHost>,
    /// The kind of flow.
    pub kind: FlowKind,
}

/// The timetable of a flow.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowTimetable {
    table: Timetable,
    clock: TimetableClock,
}

/// The time that a timetable counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TimetableClock {
    /// The start of the flow.
    Flow,
    /// The beginning of the run.
    #[default]
    Run,
}

impl FlowTimetable {
    /// The timetable of a flow that starts at `start`, in times of the run.
    #[must_use]
    pub fn starting(&self, start: Instant) -> Timetable {
        match self.clock {
            TimetableClock::Flow => self.table.later(start.saturating_since(Instant::ZERO)),
            TimetableClock::Run => self.table.clone(),
        }
    }

    /// Bytes of all data, if it has an end.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.table.total()
    }

    /// Returns true if there is always data, without end.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.table.is_endless()
    }
}

/// A host whose lateness was measured. It is one machine, and its name says which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum MeasuredHost {
    /// `tfrc emu` on a virtual machine of two processors with Linux 6.18, five runs at once.
    #[serde(rename = "emu-vm-6.18")]
    EmuVm618,
}

impl MeasuredHost {
    /// The host of this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name)).ok()
    }
}

/// Lines of each flow's own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// Between the sender's host and the node `from`.
    pub access: Option<OwnLine>,
    /// Between the node `to` and the receiver's host.
    pub exit: Option<OwnLine>,
    /// The round-trip propagation time of each flow, in seconds, and that of the links: half of
    /// what is missing is the delay of the access line.
    pub rtt: Option<(RoundTrip, Duration)>,
    /// In place of all these the hosts of another entry's flows, by its number among the entries.
    pub hosts: Option<(usize, Seats)>,
}

/// Which hosts of another entry's flows a flow has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seats {
    /// The first flow those of its first, and so on, in turn.
    InTurn,
    /// Each end one of all, drawn.
    Drawn,
}

/// How the round-trip propagation times of the flows of an entry differ, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RoundTrip {
    /// Each is drawn.
    Drawn(Distribution),
    /// In equal steps from the first flow's to the last's; a flow alone has the least.
    Evenly {
        /// The first flow's.
        low: f64,
        /// The last flow's.
        high: f64,
    },
}

/// A line of a flow's own, in both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnLine {
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay one way, in seconds.
    pub delay: Distribution,
    /// Its queue.
    pub queue: Queue,
}

/// Kind of a flow, with its settings.
#[derive(Debug, Clone, PartialEq)]
pub enum FlowKind {
    /// Datagrams at a constant rate, or on and off.
    Datagrams(DatagramFlow),
    /// A DCCP connection: two endpoints of the core, byte for byte.
    Dccp(Box<DccpFlow>),
    /// A congestion control of the host's own.
    Custom(CustomFlow),
    /// Echo requests.
    Ping(PingFlow),
    /// A model TCP.
    Tcp(Box<TcpFlow>),
    /// The TFRC core with receiver feedback (RFC 5348).
    Tfrc(Box<TfrcFlow>),
    /// Web sessions. `from` is the server's node: where most bytes come from.
    Web(Box<WebFlow>),
}

/// A flow whose congestion control the host has, by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomFlow {
    /// The name.
    pub controller: String,
    /// Bytes of payload in a packet.
    pub segment: u32,
    /// Bytes of headers on the wire besides.
    pub header: u32,
    /// The ECN bits of its packets.
    pub ecn: Ecn,
}

/// A TFRC flow.
#[derive(Debug, Clone, PartialEq)]
pub struct TfrcFlow {
    /// Bytes of payload in a packet; the mean, if sizes differ.
    pub segment: u32,
    /// Bytes of headers on the wire besides.
    pub header: u32,
    /// The application that gives it packets to send.
    pub application: Application,
    /// The rate control.
    pub config: tfrc::Config,
    /// The revision that `config` began with, before single keys changed it.
    pub revision: tfrc::study::Revision,
    /// The DSCP of its packets.
    pub dscp: Dscp,
    /// The ECN bits of its packets.
    pub ecn: Ecn,
    /// The drop precedence with which they set out.
    pub precedence: Precedence,
    /// Its loss intervals in the results: kept or left out.
    pub loss_intervals: LossIntervals,
}

/// Loss intervals of a flow in the results: every one, or only the loss event rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossIntervals {
    /// All that were closed in the measured time.
    Kept,
    /// None.
    LeftOut,
}

/// A DCCP connection over IPv4.
#[derive(Debug, Clone, PartialEq)]
pub struct DccpFlow {
    /// The congestion control of the data.
    pub ccid: tfrc_dccp::Ccid,
    /// Bytes of payload in a packet; the mean, if sizes differ.
    pub segment: u32,
    /// The application that gives it packets to send.
    pub application: Application,
    /// The rate control.
    pub config: tfrc::Config,
    /// The DSCP of its packets.
    pub dscp: Dscp,
    /// The ECN bits of its packets, ECN-capable or not.
    pub ecn: Ecn,
    /// The drop precedence with which they set out.
    pub precedence: Precedence,
}

/// A TCP flow.
#[derive(Debug, Clone, PartialEq)]
pub struct TcpFlow {
    /// The TCP, at both ends.
    pub tcp: Tcp,
    /// The greatest random delay before it sends.
    pub overhead: Duration,
}

/// Web traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct WebFlow {
    /// The TCP of requests and objects.
    pub tcp: Tcp,
    /// Sessions, pages and objects.
    pub traffic: WebTraffic,
}

/// Datagrams without any control.
#[derive(Debug, Clone, PartialEq)]
pub struct DatagramFlow {
    /// When they are sent.
    pub pattern: Pattern,
    /// Means of the pattern that each flow draws once, in place of those of `pattern`.
    pub draws: Draws,
    /// Bytes of data in each.
    pub data: u32,
    /// Bytes of headers besides.
    pub header: u32,
}

/// Means that each of several on/off sources draws once, at its beginning. `None` leaves the mean
/// of the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Draws {
    /// The rate while on, bytes per second.
    pub rate: Option<Distribution>,
    /// The mean time on, seconds.
    pub on: Option<Distribution>,
    /// The mean time off, seconds.
    pub off: Option<Distribution>,
}

impl Draws {
    /// The pattern of one source. It draws the rate, the time on and the time off, in this order
    /// and only the given ones.
    #[must_use]
    pub fn of(&self, pattern: Pattern, stream: &mut Stream) -> Pattern {
        let Pattern::OnOff { rate, on, off } = pattern else { return pattern };
        let mut drawn = |from: Option<Distribution>| from.map(|from| from.sample(stream));
        Pattern::OnOff {
            rate: drawn(self.rate).map_or(rate, Rate::from_bytes_per_sec),
            on: drawn(self.on).map_or(on, |mean| on.with_mean(mean)),
            off: drawn(self.off).map_or(off, |mean| off.with_mean(mean)),
        }
    }
}

/// Echo requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PingFlow {
    /// Between requests.
    pub interval: Duration,
    /// Bytes of a request on the wire.
    pub size: u32,
}

/// Application that gives a flow packets to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Application {
    /// How often it has a packet.
    pub pace: Pace,
    /// When it has something to send at all; always, if `None`.
    pub phases: Option<Phases>,
    /// Bytes of each packet, if they differ.
    pub sizes: Option<Distribution>,
    /// Fate of packets that the flow may not send in time.
    pub backlog: Backlog,
}

/// Fate of an application's packets that the flow may not send in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backlog {
    /// They are left out, as media applications do.
    LeftOut,
    /// They all wait (ns-2: docs/ns2-facts.md §1, `maxqueue_`).
    Kept,
}

/// How often an application has a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// There is always one to send.
    Backlog,
    /// One every so often.
    Every(Duration),
}

/// An application that falls silent now and then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phases {
    /// Seconds with something to send.
    pub on: Distribution,
    /// Seconds without.
    pub off: Distribution,
}

/// Where real datagrams enter and leave the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gateways {
    /// Where datagrams from clients come in.
    pub listen: NodeId,
    /// Where they go out to their destination; answers take the way back.
    pub to: NodeId,
}

impl Scenario {
    /// Reads a scenario from text, for the simulator; `name` is for error messages. Of a sweep it
    /// is the first point.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] with the first mistake found.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::first(&Document::new(name, text), World::Simulated)
    }

    fn first(document: &Document, world: World) -> Result<Self, ScenarioError> {
        let plan = document.plan_for(world)?;
        let first = plan.points.into_iter().next();
        Ok(first.unwrap_or_else(|| unreachable!("a plan has a point")).scenario)
    }

    /// How long measurements last.
    #[must_use]
    pub fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warmup)
    }

    /// The names of all flows, in the order of their numbers.
    pub fn flow_names(&self) -> impl Iterator<Item = String> + '_ {
        self.flows.iter().flat_map(|flow| flow.group.names())
    }
}
