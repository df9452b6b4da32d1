//! The choice of what is kept of a run.

use serde::{Deserialize, Serialize};
use tfrc_units::Duration;

/// Choice of what to keep of a run besides the bytes of each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Keep {
    /// Samples of states.
    pub looks: Looks,
    /// Counts by flow at links.
    pub link_flows: LinkFlows,
    /// Delays of each packet, its drop, and times of objects.
    #[serde(default)]
    pub delays: PacketDelays,
}

impl Keep {
    /// Nothing but the bytes of each flow.
    pub const NOTHING: Self =
        Self { looks: Looks::None, link_flows: LinkFlows::None, delays: PacketDelays::None };
}

/// Delays and drops of packets and times of objects: measured or not. Only a simulation can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketDelays {
    /// Not measured.
    #[default]
    None,
    /// Measured.
    Measured,
}

/// Samples of the state of flows and queues, every [`LOOK`]: taken or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Looks {
    /// Not taken.
    #[default]
    None,
    /// Taken.
    Taken,
}

/// Counts of packets by flow at links: kept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkFlows {
    /// Not kept.
    #[default]
    None,
    /// Kept.
    Counted,
}

/// The time between two looks at states and queues: a queue of some tens of packets at some Mbit/s
/// fills and drains within this.
pub const LOOK: Duration = Duration::from_millis(10);
