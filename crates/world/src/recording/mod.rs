//! All that is kept of one run for experiments: more than an [`Outcome`]. An
//! emulated run hands its recording over as JSON ([`crate::emulated`]).

pub(crate) mod against_tcp;
mod course;
mod recorder;
mod series;

use serde::{Deserialize, Serialize};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_units::Instant;

use crate::agent::LossEvent;
use crate::metric::Series;
use crate::results::{FlowCounts, Outcome};

pub use crate::keep::{Keep, LOOK, LinkFlows, Looks, PacketDelays};
pub use series::Samples;

pub(crate) use recorder::Recorder;

/// One run with its time series.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recording {
    /// The figures of the run.
    pub outcome: Outcome,
    /// The groups of flows: name, first flow, number of flows.
    pub groups: Vec<(String, usize, usize)>,
    /// In the order of the outcome's flows.
    pub flows: Vec<FlowRecord>,
    /// In the order of the outcome's links.
    pub links: Vec<LinkRecord>,
    /// When the measured time begins.
    #[serde(with = "tfrc_units::schema::nanoseconds")]
    pub from: Instant,
    /// When the run ends.
    #[serde(with = "tfrc_units::schema::nanoseconds")]
    pub to: Instant,
}

/// Record of a flow.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Bytes of data sent in each tenth of a second of the whole run.
    pub sent: Series,
    /// Bytes of data received in each tenth of a second of the whole run.
    pub received: Series,
    /// Over the measured time.
    pub counts: FlowCounts,
    /// Its loss events, of the whole run; of simulated TFRC flows only.
    #[serde(skip)]
    pub(crate) loss_events: Vec<LossEvent>,
    /// The rate it was allowed at each look, bit/s.
    pub allowed: Samples,
    /// Its loss event rate at each look.
    pub p: Samples,
    /// Its smoothed round-trip time at each look, seconds.
    pub rtt: Samples,
}

impl FlowRecord {
    /// Its loss events, of the whole run; of simulated TFRC flows only.
    pub fn losses(&self) -> impl Iterator<Item = &LossEvent> {
        self.loss_events.iter()
    }
}

/// Record of a link.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Over the measured time.
    pub stats: LinkStats,
    /// Counts of each flow's packets at the link, in the order of the outcome's flows; empty unless
    /// asked for.
    pub flows: Vec<FlowStats>,
    /// Packets that waited at each look.
    pub queue: Samples,
}
