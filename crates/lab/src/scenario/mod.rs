//! Scenarios: a network, what flows in it, and for how long, in one TOML file.
//!
//! ```
//! use tfrc_lab::scenario::Scenario;
//!
//! let text = r#"
//! duration = "60s"
//! nodes = ["near", "far"]
//!
//! [[link]]
//! from = "near"
//! to = "far"
//! rate = "2Mbit/s"
//! delay = "20ms"
//! queue = "25p"
//!
//! [[flow]]
//! kind = "tfrc"
//! from = "near"
//! to = "far"
//! "#;
//! let scenario = Scenario::parse("example.toml", text).unwrap();
//! assert_eq!(scenario.network.links().count(), 2); // both directions
//! ```
//!
//! Unknown keys and values are refused with their place in the file and a hint. Any value may be
//! written as `{ value = …, source = "…" }` or `{ value = …, assumed = "…" }`. A [`Document`] is
//! the text before it is read: values in it can be changed, and its [`Plan`] has a scenario for
//! each point of its sweeps. The keys:
//!
//! | key | meaning | default |
//! | --- | --- | --- |
//! | `duration` | virtual time of a run | required |
//! | `warmup` | time at the start that measurements leave out | `"0s"` |
//! | `seed` | the seed of all randomness | 1 |
//! | `runs` | runs of each point, with seeds that come from `seed` | 1 |
//! | `max_memory` | what a run may need by estimate | `"8GiB"` |
//! | `compare` | a CSV file of published values | none |
//! | `nodes` | names of the nodes | required |
//! | `[[sweep]]` | `set`: a path as `--set` takes it, or several; `values`: a list | none |
//! | `[[link]]` | `from`, `to`, `rate`, `delay` | required |
//! | | `rate` may be a trace: `{ trace = "lte" }`, one of the program's, or `{ trace = "mine.trace" }`, a file next to the scenario (`docs/models/traces.md`) | |
//! | | `name` | `from-to` |
//! | | `queue`: `"25p"` packets, `"50kB"` bytes, `"unlimited"`, `"20 buffers of 500B"`, ns-2's `"25p ns2"`; or a table with one of `red`, `rio`, `codel`, `pie` (`docs/models/queues.md`); what is in transmission does not count | `"unlimited"` |
//! | | `loss`: `"1%"`, or a table with one of `bernoulli`, `bernoulli_per_byte`, `gilbert_elliott`, `periodic`, `scripted`, `scripted_times`, `time_varying`, and perhaps `action`, `place`, `flows` (`docs/models/losses.md`); or a list of such tables | none |
//! | | `[[link.marker]]`: one of `fixed`, `token_bucket`, `single_rate`, and perhaps `scope`, `flows` (`docs/models/markers.md`) | none |
//! | | `reorder`: `{ share = "1%", extra = "5ms" }`; `duplicate`: a share | none |
//! | | `changes`: later rates, `[{ at = "10s", rate = "1Mbit/s" }]` | none |
//! | | `reverse`: a link goes both ways; the way back has the same rate, delay and queue, no loss and no changes. A table gives the way back its own values of any of these keys, `"none"` leaves it out. | the same |
//! | `[[flow]]` | `kind`: `tfrc`, `tfrc-sp` (small packets), `dccp` (CCID 3), `dccp-sp` (CCID 4), `tcp`, `cbr`, `onoff`, `web`, `ping`; `from`, `to` | required |
//! | | `name` | kind and number |
//! | | `count`: the number of such flows, numbered after the name | 1 |
//! | | `start`: a time or a distribution (`"uniform 0s 5s"`, `"exponential 1s"`, `"pareto 1s 1.5"`); `stop` | `"0s"`, the end |
//! | | `access`, `exit`: `{ rate, delay, queue }` of a line of each flow's own before `from` and after `to`; delays may be distributions | none |
//! | | `rtt`: propagation there and back, a time, a distribution, or `"evenly 40ms 240ms"`: in equal steps over the flows of the entry; an own line makes up for what the links lack | the links' |
//! | | `segment`: bytes of payload in a packet (the s of the equation); for TFRC and DCCP also a distribution | `"1460B"` |
//! | | `header`: bytes of all headers on the wire besides | `"44B"` |
//! | | `packets_per_second`, `on`, `off`: limits of the application | none: always something to send |
//! | | `backlog`: `"left-out"` or `"kept"`, what becomes of the packets of `packets_per_second` that may not go in time | `"left-out"` |
//! | | `loss_intervals`: `"left-out"`, or `"kept"`: the results list those of a `tfrc` flow that were closed in the measured time, in packets | `"left-out"` |
//! | | `draws` of `onoff`: `{ rate, on, off }`, distributions of the rate and of the mean times that each flow draws once | none |
//! | | `rate` of `cbr` and `onoff`; `interval` of `ping`; `transfer`, `overhead` of `tcp` | |
//! | | `guarantee`: a rate the network has promised (gTFRC); it needs a `dscp` of Assured Forwarding or a circuit breaker | none |
//! | | `guarantee_start`: `"first-rtt"`, `"first-loss-report"` | `"first-rtt"` |
//! | | `guarantee_threshold`: y, below g/y the promise counts as broken | none |
//! | | `dscp`: `"af11"` … `"af43"`, `"cs0"` … `"cs7"`, `"ef"` or a number; AF sets the drop precedence | `"cs0"` |
//! | | `ecn`: `"on"`, `"off"` | off for TFRC, on for DCCP |
//! | `[flow.tfrc]` | the rate control of the flow above: the keys of [`rate_control`], as `revision = "ns2"` | RFC 5348 |
//! | `[flow.tcp]` | `variant`, `settings = "ns2"` and all else of `docs/models/tcp.md`; `variant = "bbr"` is for `tfrc emu` alone | SACK by the RFCs |
//! | `[flow.web]` | `sessions`, `within` or `apart`, `pages`, `between_pages`, `objects`, `between_objects`, `object`, `request`, `think` | |
//! | `[gateway]` | `listen`, `to`: the nodes where real datagrams enter and leave (`tfrc link`) | the first and the last of `nodes` |

mod check;
mod distribution;
mod document;
mod error;
mod flow_config;
mod flows;
mod kernel_tcp;
mod layout;
mod link_settings;
mod links;
mod memory;
pub mod rate_control;
mod reader;
mod schema;
mod spanned;
mod suggest;
mod syntax;
mod table;
mod tcp_settings;
#[cfg(test)]
mod tests;
mod traces;
mod web_settings;
mod written;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tfrc_sim::packet::Precedence;
use tfrc_sim::queue::Queue;
use tfrc_sim::tcp::Transfer;
use tfrc_sim::traffic::{Distribution, Pattern};
use tfrc_sim::{Network, NodeId, Seed, Stream};
use tfrc_units::{Dscp, Duration, Ecn, Instant, Rate};

pub use document::{Document, Origin, Provenance};
pub(crate) use error::Mistake;
pub use error::{Fault, InvalidScenario, ScenarioError};
pub use flows::Group;
pub use kernel_tcp::{CongestionControl, KernelAcks, KernelTcp, Recovery, Refusal, Tcp};
pub(crate) use layout::Member;
pub(crate) use reader::read_text;
pub use schema::{join_lines, schema};
pub use suggest::hint;
pub(crate) use suggest::nearest;
pub use web_settings::WebTraffic;

/// The place where the flows of a scenario run, which decides on what they may ask for. A word
/// that the place does not have is a mistake in the file ([`Fault::World`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum World {
    /// The sockets of the system, with an engine in real time: a TCP is the kernel's.
    Emulated,
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
    /// The file of published values, as it is written.
    pub compare: Option<String>,
    /// Where values come from, as far as the file says.
    pub provenance: Vec<Provenance>,
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
    /// Lines of each flow's own.
    pub lines: Lines,
    /// The kind of flow.
    pub kind: FlowKind,
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
}

/// How the round-trip propagation times of the flows of an entry differ, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum FlowKind {
    /// Datagrams at a constant rate, or on and off.
    Datagrams(DatagramFlow),
    /// A DCCP connection: two endpoints of the core, byte for byte.
    Dccp(Box<DccpFlow>),
    /// Echo requests.
    Ping(PingFlow),
    /// A model TCP.
    Tcp(Box<TcpFlow>),
    /// The TFRC core with receiver feedback (RFC 5348).
    Tfrc(Box<TfrcFlow>),
    /// Web sessions. `from` is the server's node: where most bytes come from.
    Web(Box<WebFlow>),
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
#[non_exhaustive]
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
    /// How much it sends.
    pub transfer: Transfer,
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
#[non_exhaustive]
pub enum Backlog {
    /// They are left out, as media applications do.
    LeftOut,
    /// They all wait (ns-2: docs/ns2-facts.md §1, `maxqueue_`).
    Kept,
}

/// How often an application has a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Reads a scenario from a file, for a world.
    ///
    /// # Errors
    /// [`ScenarioError::Read`] if the file cannot be read, else as [`parse`](Self::parse).
    pub fn load(path: &Path, world: World) -> Result<Self, ScenarioError> {
        Self::first(&Document::load(path)?, world)
    }

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
