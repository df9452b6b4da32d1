//! Description of a network: nodes and links.

use core::fmt;
use std::collections::BTreeSet;

use tfrc_units::hash::fnv1a;

use crate::engine::event::MOST_LINKS;
pub use crate::ids::{LinkId, NodeId};
use crate::queue::{Discipline, Queue};
use crate::routing::Routes;
pub use crate::spec::{FlowCounts, LinkChange, LinkSpec, Reorder};
use crate::{Agent, Engine, Seed};

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

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::{Duration, Instant, Rate};

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
