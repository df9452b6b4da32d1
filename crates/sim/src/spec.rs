//! Description of a link, which a [`Network`](crate::Network) is made of.

use std::sync::Arc;

use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::ids::NodeId;
use crate::link::delivery::DeliveryTrace;
use crate::loss::{Loss, LossRule};
use crate::marker::MarkerRule;
use crate::queue::{Limit, Queue};

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkSpec {
    /// A name of its own; it names the link's random stream.
    pub name: String,
    /// Where packets enter.
    pub from: NodeId,
    /// Where they come out.
    pub to: NodeId,
    /// Rate of the line at the start. Zero holds packets until a change; infinity transmits in no
    /// time. With a trace it is the trace's mean, which queues may use.
    pub rate: Rate,
    /// Times at which bytes may leave, in place of a rate.
    pub trace: Option<Arc<DeliveryTrace>>,
    /// Propagation delay.
    pub delay: Duration,
    /// Queue for packets that find the line busy.
    pub queue: Queue,
    /// Which packets are lost before the queue, whatever their flow.
    pub loss: Loss,
    /// Further losses, of chosen flows or at the far end; those before the queue come after `loss`.
    pub losses: Vec<LossRule>,
    /// Markers, which set the drop precedence of packets after losses and before the queue.
    pub markers: Vec<MarkerRule>,
    /// Which packets are held up at the far end.
    pub reorder: Reorder,
    /// The share of packets of which a copy arrives at the far end too, right behind the original.
    pub duplicate: Probability,
    /// Counting of packets by flow.
    pub flow_counts: FlowCounts,
    /// Later settings, in the order of time.
    pub changes: Vec<LinkChange>,
}

impl LinkSpec {
    /// A link with a queue without limit, no loss and no changes.
    #[must_use]
    pub fn new(name: &str, from: NodeId, to: NodeId, rate: Rate, delay: Duration) -> Self {
        Self {
            name: name.to_owned(),
            from,
            to,
            rate,
            trace: None,
            delay,
            queue: Queue::DropTail(Limit::Unlimited),
            loss: Loss::None,
            losses: Vec::new(),
            markers: Vec::new(),
            reorder: Reorder::default(),
            duplicate: Probability::ZERO,
            flow_counts: FlowCounts::Off,
            changes: Vec::new(),
        }
    }

    /// As [`new`](Self::new), on a line that follows a trace.
    #[must_use]
    pub fn traced(name: &str, from: NodeId, to: NodeId, trace: Arc<DeliveryTrace>, delay: Duration) -> Self {
        Self { rate: trace.mean_rate(), trace: Some(trace), ..Self::new(name, from, to, Rate::ZERO, delay) }
    }
}

/// Packets that a link delivers late, so that others overtake them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reorder {
    /// The share of packets, drawn independently.
    pub share: Probability,
    /// Besides these packets, counted from 1 among those that reach the far end.
    pub scripted: Vec<u64>,
    /// By how much they are late.
    pub extra: Duration,
}

/// Counting of a link's packets by flow, see [`Engine::flow_stats`](crate::Engine::flow_stats).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlowCounts {
    /// The link counts them.
    Keep,
    /// The link does not count them.
    #[default]
    Off,
}

/// New settings of a link, all at one time. `None` leaves a setting as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkChange {
    /// The time from which they hold.
    pub at: Instant,
    /// The rate from then on, of what is left of the packet in transmission too.
    pub rate: Option<Rate>,
    /// The propagation delay of every packet that leaves the line later. Packets that have left it
    /// keep the delay that they set out with, and no packet overtakes one before it: a packet that
    /// would do so arrives together with it.
    pub delay: Option<Duration>,
    /// The limit of a drop-tail queue for every packet that arrives then or later. Packets that
    /// wait stay, also if they are more than the new limit admits.
    pub limit: Option<Limit>,
    /// The losses in place of [`LinkSpec::loss`] and [`LinkSpec::losses`], from the next packet on.
    /// Their models begin anew.
    pub losses: Option<Vec<LossRule>>,
}

impl LinkChange {
    /// Another rate from `at` on.
    #[must_use]
    pub fn of_rate(at: Instant, rate: Rate) -> Self {
        Self { at, rate: Some(rate), ..Self::default() }
    }
}
