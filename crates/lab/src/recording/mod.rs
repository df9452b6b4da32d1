//! All that is kept of one run for the formulas of experiments: more than an [`Outcome`], in memory
//! only.

mod keeping;
mod series;

use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_units::{Duration, Instant};

use crate::Outcome;
use crate::agent::LossEvent;
use crate::metric::Series;

pub(crate) use keeping::{Keep, Keeping, LinkFlows, Looks};
pub(crate) use series::{Samples, equivalence, rate};

/// The time between two looks at states.
pub(crate) const LOOK: Duration = Duration::from_millis(10);

/// One run with its time series.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    pub(crate) outcome: Outcome,
    /// The groups of flows: name, first flow, number of flows.
    pub(crate) groups: Vec<(String, usize, usize)>,
    /// In the order of the outcome's flows.
    pub(crate) flows: Vec<FlowRecord>,
    /// In the order of the outcome's links.
    pub(crate) links: Vec<LinkRecord>,
    /// The measured time.
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

/// Record of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowRecord {
    /// Bytes of data sent in each tenth of a second of the whole run.
    pub(crate) sent: Series,
    /// Bytes of data received.
    pub(crate) received: Series,
    /// Over the measured time.
    pub(crate) counts: FlowCounts,
    /// Its loss events, of the whole run; of TFRC flows only.
    pub(crate) loss_events: Vec<LossEvent>,
    /// The rate it was allowed at each look, bit/s.
    pub(crate) allowed: Samples,
    /// Its loss event rate at each look.
    pub(crate) p: Samples,
    /// Its smoothed round-trip time at each look, seconds.
    pub(crate) rtt: Samples,
}

/// Record of a link.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkRecord {
    /// Over the measured time.
    pub(crate) stats: LinkStats,
    /// Counts of each flow's packets at the link, in the order of the outcome's flows; empty unless
    /// asked for.
    pub(crate) flows: Vec<FlowStats>,
    /// Packets that waited at each look.
    pub(crate) queue: Samples,
}

/// Counters of a flow over the measured time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FlowCounts {
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) acknowledged_packets: Option<u64>,
    pub(crate) loss_events: Option<u64>,
}

/// Returns true if a name in a formula, which may end in `*`, means the flow of this name.
pub(crate) fn is_meant(name: &str, flow: &str) -> bool {
    name.strip_suffix('*').map_or(name == flow, |beginning| flow.starts_with(beginning))
}

impl Recording {
    /// The flows of a group, the one flow of this name, or for `NAME*` all whose names begin so.
    /// `None` if there is no such flow.
    pub(crate) fn members(&self, name: &str) -> Option<Vec<usize>> {
        let group = self.groups.iter().find(|(group, ..)| group == name);
        let members: Vec<usize> = match group {
            Some((_, first, count)) => (*first..first + count).collect(),
            None => {
                let flows = self.outcome.flows.iter().enumerate();
                flows.filter(|(_, flow)| is_meant(name, &flow.id)).map(|(at, _)| at).collect()
            }
        };
        (group.is_some() || !members.is_empty()).then_some(members)
    }
}
