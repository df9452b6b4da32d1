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
//! Unknown keys and values are refused with their place in the file and a hint. The keys:
//!
//! | key | meaning | default |
//! | --- | --- | --- |
//! | `duration` | virtual time of a run | required |
//! | `warmup` | time at the start that measurements leave out | `"0s"` |
//! | `seed` | the seed of all randomness | 1 |
//! | `nodes` | names of the nodes | required |
//! | `[[link]]` | `from`, `to`, `rate`, `delay` | required |
//! | | `name` | `from-to` |
//! | | `queue`: `"25p"` packets, `"50kB"` bytes, `"unlimited"`; what is in transmission does not count | `"unlimited"` |
//! | | `loss`: `"1%"`, or a table: `{ bernoulli = "1%" }`, `{ scripted = [3, 5] }` (packet numbers from 1), `{ gilbert_elliott = { to_bad = "1%", to_good = "30%", in_good = "0", in_bad = "50%" } }` | none |
//! | | `changes`: later rates, `[{ at = "10s", rate = "1Mbit/s" }]` | none |
//! | | `reverse`: a link goes both ways; the way back has the same rate, delay and queue, no loss and no changes. A table gives the way back its own values of any of these keys, `"none"` leaves it out. | the same |
//! | `[[flow]]` | `kind` (`"tfrc"`, or `"tfrc-sp"` for small packets), `from`, `to` | required |
//! | | `name` | kind and number |
//! | | `start`, `stop` | `"0s"`, the end |
//! | | `segment`: bytes of payload in a packet (the s of the equation) | `"1460B"` |
//! | | `header`: bytes of all headers on the wire besides | `"44B"` |
//! | | `packets_per_second`: limit of the application | none: always something to send |
//! | | `guarantee`: a rate the network has promised (gTFRC); it needs a `dscp` of Assured Forwarding or a circuit breaker | none |
//! | | `guarantee_start`: `"first-rtt"`, `"first-loss-report"` | `"first-rtt"` |
//! | | `guarantee_threshold`: y, below g/y the promise counts as broken | none |
//! | | `dscp`: `"af11"` … `"af43"`, `"cs0"` … `"cs7"`, `"ef"` or a number | `"cs0"` |
//! | `[flow.tfrc]` | the rate control of the flow above: the keys of [`rate_control`], as `revision = "ns2"` | RFC 5348 |
//! | `[gateway]` | `listen`, `to`: the nodes where real datagrams enter and leave (`tfrc link`) | the first and the last of `nodes` |

mod check;
mod error;
mod flow_config;
pub mod rate_control;
mod raw;
mod suggest;

use std::path::Path;

use tfrc_sim::{Network, NodeId, Seed};
use tfrc_units::{Dscp, Duration, Instant};

pub use error::{InvalidScenario, ScenarioError};

/// A scenario that has passed all checks.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// How long a run lasts.
    pub duration: Duration,
    /// How much of its beginning measurements leave out; less than the duration.
    pub warmup: Duration,
    /// The seed unless another is asked for.
    pub seed: Seed,
    /// Nodes and links.
    pub network: Network,
    /// The flows, in the order of the file; the destination of each can be reached from its source and back.
    pub flows: Vec<Flow>,
    /// Where real datagrams enter and leave.
    pub gateways: Gateways,
}

/// A flow from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Its name in results, unique in the scenario.
    pub name: String,
    /// The sender's node.
    pub from: NodeId,
    /// The receiver's node.
    pub to: NodeId,
    /// When it starts to send.
    pub start: Instant,
    /// When it stops, if before the end.
    pub stop: Option<Instant>,
    /// What sends.
    pub kind: FlowKind,
}

/// What sends.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FlowKind {
    /// The TFRC core with receiver feedback (RFC 5348).
    Tfrc(TfrcFlow),
}

/// A TFRC flow.
#[derive(Debug, Clone, PartialEq)]
pub struct TfrcFlow {
    /// Bytes of payload in a packet.
    pub segment: u32,
    /// Bytes of headers on the wire besides.
    pub header: u32,
    /// What there is to send.
    pub application: Application,
    /// The rate control.
    pub config: tfrc::Config,
    /// What its packets are marked with.
    pub dscp: Dscp,
}

/// What an application gives a flow to send.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Application {
    /// There is always a packet to send.
    Backlog,
    /// A packet every so often; if the flow may not send as fast, packets are left out.
    Every(Duration),
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
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// [`ScenarioError::Read`] if the file cannot be read, else as [`parse`](Self::parse).
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&name, &text),
            Err(source) => Err(ScenarioError::Read { name, source }),
        }
    }

    /// Reads a scenario from text; `name` is for error messages.
    ///
    /// # Errors
    /// [`ScenarioError::Invalid`] with the first mistake found.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        raw::parse(text).and_then(check::check).map_err(|mistake| mistake.in_text(name, text))
    }

    /// How long measurements last.
    #[must_use]
    pub fn measured(&self) -> Duration {
        self.duration.saturating_sub(self.warmup)
    }
}
