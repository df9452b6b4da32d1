//! Description of a network: nodes, links and their settings.

use core::fmt;
use std::collections::BTreeSet;
use std::sync::Arc;

use tfrc_units::hash::fnv1a;
use tfrc_units::{Duration, Instant, Probability, Rate, saturating};

use crate::engine::event::MOST_LINKS;
use crate::link::DeliveryTrace;
use crate::loss::{Loss, LossRule};
use crate::marker::MarkerRule;
use crate::queue::{Discipline, Limit, Queue};
use crate::routing::Routes;
use crate::{Agent, Engine, Seed};

/// A node of one [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// A link of one [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub(crate) u32);

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

/// Counting of a link's packets by flow, see [`Engine::flow_stats`].
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

/// Nodes and links, checked as they are added.
#[derive(Debug, Clone, Default)]
pub struct Network {
    nodes: Vec<String>,
    links: Vec<LinkSpec>,
    /// Hashes of the names: looking through all of them for each new one takes minutes with 100,000
    /// flows.
    node_names: BTreeSet<u64>,
    link_names: BTreeSet<u64>,
}

/// Why a node or link was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// The name is taken.
    Duplicate(String),
    /// A link from a node to itself.
    Loop(String),
    /// More nodes than the engine numbers (2^32), or more links (2^30 - 1).
    TooMany,
    /// A link ends at a node of another network.
    UnknownNode(String),
    /// A parameter of a link's queue makes no sense.
    Queue {
        /// The name of the link.
        link: String,
        /// Description of the fault.
        fault: &'static str,
    },
    /// The phases or steps of a link's loss model are not in the order of time.
    UnorderedLosses(String),
    /// A link has a trace and rate changes.
    TraceAndChanges(String),
    /// The changes of a link are not in the order of time.
    UnorderedChanges(String),
    /// The limit of a queue changes that is not drop-tail.
    LimitOfDiscipline(String),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate(name) => {
                write!(f, "the name `{name}` is used twice: give each node and link its own")
            }
            Self::Loop(name) => write!(f, "link `{name}` goes from a node to itself: let it join two nodes"),
            Self::TooMany => write!(f, "too many nodes or links: the limits are 2^32 nodes and 2^30 links"),
            Self::UnknownNode(name) => {
                write!(f, "link `{name}` ends at a node that is not in this network: add the node first")
            }
            Self::Queue { link, fault } => write!(f, "queue of link `{link}`: {fault}"),
            Self::UnorderedLosses(name) => {
                write!(f, "the losses of link `{name}` must be in the order of time, no two at once")
            }
            Self::TraceAndChanges(name) => {
                write!(f, "link `{name}` has a trace and rate changes: leave one of them out")
            }
            Self::UnorderedChanges(name) => {
                write!(f, "the changes of link `{name}` must be in the order of time, no two at once")
            }
            Self::LimitOfDiscipline(name) => {
                write!(f, "the queue of link `{name}` changes and is not drop-tail: give it a plain limit")
            }
        }
    }
}

impl core::error::Error for NetworkError {}

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

impl Network {
    /// An empty network.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// [`NetworkError::Duplicate`] if another node has the name, [`NetworkError::TooMany`].
    pub fn node(&mut self, name: &str) -> Result<NodeId, NetworkError> {
        let hash = fnv1a(name.as_bytes());
        if self.node_names.contains(&hash) && self.nodes.iter().any(|n| n == name) {
            return Err(NetworkError::Duplicate(name.to_owned()));
        }
        let id = NodeId(u32::try_from(self.nodes.len()).map_err(|_| NetworkError::TooMany)?);
        self.nodes.push(name.to_owned());
        self.node_names.insert(hash);
        Ok(id)
    }

    /// Adds one direction of a link.
    ///
    /// # Errors
    /// [`NetworkError`] says what is wrong with it.
    pub fn link(&mut self, spec: LinkSpec) -> Result<LinkId, NetworkError> {
        let hash = fnv1a(spec.name.as_bytes());
        if self.link_names.contains(&hash) && self.links.iter().any(|l| l.name == spec.name) {
            return Err(NetworkError::Duplicate(spec.name));
        }
        if spec.from == spec.to {
            return Err(NetworkError::Loop(spec.name));
        }
        if spec.from.index() >= self.nodes.len() || spec.to.index() >= self.nodes.len() {
            return Err(NetworkError::UnknownNode(spec.name));
        }
        if !spec.changes.is_sorted_by(|a, b| a.at < b.at) {
            return Err(NetworkError::UnorderedChanges(spec.name));
        }
        if spec.trace.is_some() && spec.changes.iter().any(|change| change.rate.is_some()) {
            return Err(NetworkError::TraceAndChanges(spec.name));
        }
        let is_passive = matches!(spec.queue, Queue::DropTail(_));
        if !is_passive && spec.changes.iter().any(|change| change.limit.is_some()) {
            return Err(NetworkError::LimitOfDiscipline(spec.name));
        }
        let later = spec.changes.iter().filter_map(|change| change.losses.as_ref()).flatten();
        if !spec.loss.is_ordered() || spec.losses.iter().chain(later).any(|rule| !rule.model.is_ordered()) {
            return Err(NetworkError::UnorderedLosses(spec.name));
        }
        if let Some(fault) = spec.queue.fault(spec.rate) {
            return Err(NetworkError::Queue { link: spec.name, fault });
        }
        let number = u32::try_from(self.links.len()).ok().filter(|number| *number < MOST_LINKS);
        let id = LinkId(number.ok_or(NetworkError::TooMany)?);
        self.links.push(spec);
        self.link_names.insert(hash);
        Ok(id)
    }

    /// Lets every link count packets by flow, see [`FlowCounts`].
    pub fn keep_flow_counts(&mut self) {
        for link in &mut self.links {
            link.flow_counts = FlowCounts::Keep;
        }
    }

    /// The node called `name`.
    #[must_use]
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        (0..).map(NodeId).zip(&self.nodes).find_map(|(id, n)| (n == name).then_some(id))
    }

    /// The nodes in the order of adding, with their names.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &str)> {
        (0..).map(NodeId).zip(self.nodes.iter().map(String::as_str))
    }

    /// The links in the order of adding, with their ids.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &LinkSpec)> {
        (0..).map(LinkId).zip(&self.links)
    }

    /// Returns true if packets from `from` can reach `to`.
    #[must_use]
    pub fn connects(&self, from: NodeId, to: NodeId) -> bool {
        let mut reached = vec![false; self.nodes.len()];
        let mut frontier = vec![from];
        while let Some(node) = frontier.pop() {
            if let Some(seen) = reached.get_mut(node.index())
                && !*seen
            {
                *seen = true;
                frontier.extend(self.links.iter().filter(|l| l.from == node).map(|l| l.to));
            }
        }
        reached.get(to.index()).copied().unwrap_or(false)
    }

    /// An engine for this network at time zero, without agents yet.
    #[must_use]
    pub fn build<A: Agent>(&self, seed: Seed) -> Engine<A> {
        self.build_with(seed, &mut |_, _| None)
    }

    /// An engine as [`build`](Self::build) makes it, in which `queues` gives a discipline for each
    /// custom queue, by its name ([`Queue::Custom`]). Where it gives none the queue has no limit.
    #[must_use]
    pub fn build_with<A: Agent>(&self, seed: Seed, queues: &mut MakeQueue<'_>) -> Engine<A> {
        let routes = Routes::shortest(self.nodes.len(), &self.links);
        Engine::new(&self.nodes, &self.links, routes, seed, queues)
    }
}

/// Gives the discipline of a queue of the host's own, by its name and its link.
pub type MakeQueue<'q> = dyn FnMut(&str, &LinkSpec) -> Option<Box<dyn Discipline>> + 'q;

impl NodeId {
    #[inline]
    pub(crate) fn index(self) -> usize {
        saturating::<usize>(self.0)
    }
}

impl LinkId {
    /// The number of no link.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(crate) fn index(self) -> usize {
        saturating::<usize>(self.0)
    }
}

/// `#` and its number.
impl fmt::Display for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be_built() {
        let mut network = Network::new();
        let ids = (network.node("a"), network.node("b"));
        let (Ok(a), Ok(b)) = ids else { panic!("{ids:?}") };
        assert_eq!(network.node("a"), Err(NetworkError::Duplicate("a".to_owned())));
        let spec = |from, to| LinkSpec::new("l", from, to, Rate::INFINITY, Duration::ZERO);
        assert_eq!(network.link(spec(a, a)), Err(NetworkError::Loop("l".to_owned())));
        assert_eq!(network.link(spec(a, NodeId(2))), Err(NetworkError::UnknownNode("l".to_owned())));
        let change = LinkChange::of_rate(Instant::ZERO, Rate::ZERO);
        let unordered = LinkSpec { changes: vec![change.clone(), change], ..spec(a, b) };
        assert_eq!(network.link(unordered), Err(NetworkError::UnorderedChanges("l".to_owned())));
        assert!(network.link(spec(a, b)).is_ok());
        assert_eq!(network.link(spec(b, a)), Err(NetworkError::Duplicate("l".to_owned())));
        assert!(network.connects(a, b) && !network.connects(b, a) && network.connects(b, b));
        assert_eq!(network.find_node("b"), Some(b));
    }
}
