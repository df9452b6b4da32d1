//! Losses that do not come from queues: which packets, what becomes of them, and where on the link.

mod process;

use core::num::NonZeroU64;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

use tfrc_units::{Instant, Probability};

use crate::packet::FlowId;
pub(crate) use process::{Hit, LossProcess};

/// Which packets are hit.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Loss {
    /// Each packet with the same probability, independently.
    Bernoulli(Probability),
    /// Each byte with the same probability b, independently, and a packet with any of its bytes: a
    /// packet of n bytes with 1 − (1 − b)^n.
    BernoulliPerByte(Probability),
    /// A two-state Markov chain that moves once per packet. A packet meets the loss probability of
    /// the state it finds; the chain moves after it. It starts in the good state.
    GilbertElliott {
        /// Probability of going from good to bad after a packet.
        to_bad: Probability,
        /// Probability of going from bad to good after a packet.
        to_good: Probability,
        /// Probability of losing a packet in the good state.
        in_good: Probability,
        /// Probability of losing a packet in the bad state.
        in_bad: Probability,
    },
    /// No packet.
    #[default]
    None,
    /// Every n-th packet, with n changing in time; none before the first phase.
    Periodic(Vec<Period>),
    /// Exactly these packets: numbers count the packets that the model sees, the first is 1.
    Scripted(Vec<u64>),
    /// For each of these times one packet: the first that comes then or later and is not taken for
    /// an earlier time.
    ScriptedTimes(Vec<Instant>),
    /// Each packet independently, with a probability that changes in time; none before the first
    /// step.
    TimeVarying(Vec<Step>),
}

/// A phase of periodic loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Time of the change. The count restarts.
    pub at: Instant,
    /// The last packet of every `every` is hit; `None` hits no packet.
    pub every: Option<NonZeroU64>,
    /// The number of the first packet that is hit, counted from 1 at `at`; `None` is `every`. The
    /// next ones follow `every` packets apart.
    pub first: Option<NonZeroU64>,
}

/// A step of a loss probability in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The time from which it holds.
    pub at: Instant,
    /// The probability.
    pub p: Probability,
}

/// A loss model at a place of a link. Several on one link act in their order; each sees only what
/// the ones before it let pass.
#[derive(Debug, Clone, PartialEq)]
pub struct LossRule {
    /// The model that selects packets.
    pub model: Loss,
    /// Fate of those packets.
    pub action: LossAction,
    /// The place on the link.
    pub place: LossPlace,
    /// Of which flows. The model neither sees nor counts the packets of others.
    pub flows: Flows,
}

/// Fate of a packet that is hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum LossAction {
    /// The packet is dropped.
    #[default]
    Drop,
    /// It is marked (RFC 3168) if it is ECN-capable, else dropped.
    Mark,
}

/// Where on a link packets are hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum LossPlace {
    /// At the far end: the packet has waited, and taken its time on the line.
    AfterLine,
    /// At the head: a dropped packet takes neither place nor time.
    #[default]
    BeforeQueue,
}

/// A choice of flows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Flows {
    /// All flows.
    #[default]
    All,
    /// Only these flows.
    Only(Vec<FlowId>),
}

impl Flows {
    pub(crate) fn contains(&self, flow: FlowId) -> bool {
        match self {
            Self::All => true,
            Self::Only(list) => list.contains(&flow),
        }
    }
}

/// Drops packets of all flows before the queue.
impl From<Loss> for LossRule {
    fn from(model: Loss) -> Self {
        Self { model, action: LossAction::Drop, place: LossPlace::BeforeQueue, flows: Flows::All }
    }
}

impl Loss {
    /// Returns true if the phases or steps are in the order of time, no two at once.
    pub(crate) fn is_ordered(&self) -> bool {
        match self {
            Self::Periodic(phases) => phases.is_sorted_by(|a, b| a.at < b.at),
            Self::TimeVarying(steps) => steps.is_sorted_by(|a, b| a.at < b.at),
            _ => true,
        }
    }
}
