//! Shortest routes between all nodes of a network.

use std::collections::VecDeque;

use crate::{LinkId, LinkSpec, NodeId};

/// The next link from every node towards every other: fewest hops, and of equals the link that was
/// added first.
///
/// Most nodes of a large network are hosts on a line of their own: with one link to them and one
/// from them, both of one neighbour. All that concerns them goes through that neighbour, so the
/// table has rows and columns for the others only.
#[derive(Debug)]
pub(crate) struct Routes {
    places: Vec<NodePlace>,
    /// Nodes with rows and columns.
    inner: usize,
    /// Row by row: `next[from * inner + to]`.
    next: Vec<LinkId>,
}

/// Where a node is.
#[derive(Debug, Clone, Copy)]
enum NodePlace {
    /// A row and a column.
    Inner(u32),
    /// On a line of its own to the node of this row.
    Leaf { at: u32, up: LinkId, down: LinkId },
}

impl Routes {
    pub(crate) fn shortest(nodes: usize, links: &[LinkSpec]) -> Self {
        let places = places(nodes, links);
        let inner = places.iter().filter(|place| matches!(place, NodePlace::Inner(_))).count();
        let row = |node: NodeId| match places.get(node.index()) {
            Some(NodePlace::Inner(row)) => usize::try_from(*row).ok(),
            _ => None,
        };
        let mut inbound: Vec<Vec<(LinkId, usize)>> = vec![Vec::new(); inner];
        for (id, link) in (0..).map(LinkId).zip(links) {
            if let (Some(from), Some(to)) = (row(link.from), row(link.to))
                && let Some(list) = inbound.get_mut(to)
            {
                list.push((id, from));
            }
        }
        let mut next = vec![LinkId::NONE; inner.saturating_mul(inner)];
        for to in 0..inner {
            // Breadth first, backwards from the destination.
            let mut distance: Vec<Option<u32>> = vec![None; inner];
            if let Some(slot) = distance.get_mut(to) {
                *slot = Some(0);
            }
            let mut frontier = VecDeque::from([to]);
            while let Some(node) = frontier.pop_front() {
                let hops = distance.get(node).copied().flatten().unwrap_or(0) + 1;
                for (link, from) in inbound.get(node).into_iter().flatten() {
                    let Some(known) = distance.get_mut(*from) else { continue };
                    let Some(slot) = next.get_mut(from * inner + to) else { continue };
                    match known {
                        None => {
                            *known = Some(hops);
                            *slot = *link;
                            frontier.push_back(*from);
                        }
                        Some(best) if *best == hops => *slot = (*slot).min(*link),
                        Some(_) => {}
                    }
                }
            }
        }
        Self { places, inner, next }
    }

    #[inline]
    pub(crate) fn next(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        let (target, last) = match *self.places.get(to.index())? {
            NodePlace::Inner(row) => (row, None),
            NodePlace::Leaf { at, down, .. } => (at, Some(down)),
        };
        match *self.places.get(from.index())? {
            NodePlace::Inner(row) if row == target => last,
            NodePlace::Inner(row) => self.inner(row, target),
            NodePlace::Leaf { .. } if from == to => None,
            NodePlace::Leaf { at, up, .. } => {
                (at == target || self.inner(at, target).is_some()).then_some(up)
            }
        }
    }

    /// The link to a host on a line of its own to `node`, if `to` is such a host.
    pub(crate) fn own_line(&self, node: NodeId, to: NodeId) -> Option<LinkId> {
        match (self.places.get(node.index())?, self.places.get(to.index())?) {
            (NodePlace::Inner(row), NodePlace::Leaf { at, down, .. }) if row == at => Some(*down),
            _ => None,
        }
    }

    #[inline]
    fn inner(&self, from: u32, to: u32) -> Option<LinkId> {
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        self.next.get(from * self.inner + to).copied().filter(|link| *link != LinkId::NONE)
    }
}

/// Separates the hosts on lines of their own from the other nodes, and numbers the latter.
fn places(nodes: usize, links: &[LinkSpec]) -> Vec<NodePlace> {
    /// Links seen so far that lead to a node, or from it.
    #[derive(Clone, Copy, PartialEq)]
    enum NodeLinks {
        Nothing,
        One(LinkId, NodeId),
        More,
    }
    let mut seen = vec![[NodeLinks::Nothing; 2]; nodes];
    for (id, link) in (0..).map(LinkId).zip(links) {
        for (side, node, other) in [(0, link.from, link.to), (1, link.to, link.from)] {
            if let Some(seen) = seen.get_mut(node.index()).and_then(|sides| sides.get_mut(side)) {
                *seen = if *seen == NodeLinks::Nothing { NodeLinks::One(id, other) } else { NodeLinks::More };
            }
        }
    }
    let line = |node: usize| match seen.get(node) {
        Some([NodeLinks::One(up, a), NodeLinks::One(down, b)]) if a == b => Some((*a, *up, *down)),
        _ => None,
    };
    // Of two nodes joined by one line only the second is a leaf.
    let leaf = |node: usize| {
        line(node).filter(|(other, ..)| {
            line(other.index()).is_none_or(|(back, ..)| back.index() != node || other.index() < node)
        })
    };
    let mut rows = 0..;
    let row: Vec<Option<u32>> =
        (0..nodes).map(|node| if leaf(node).is_some() { None } else { rows.next() }).collect();
    let place = |node: usize| match (row.get(node).copied().flatten(), leaf(node)) {
        (None, Some((other, up, down))) => {
            NodePlace::Leaf { at: row.get(other.index()).copied().flatten().unwrap_or(u32::MAX), up, down }
        }
        (row, _) => NodePlace::Inner(row.unwrap_or(u32::MAX)),
    };
    (0..nodes).map(place).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test may panic")]

    use super::*;
    use proptest::prelude::*;
    use tfrc_units::{Duration, Rate};

    fn link(from: u32, to: u32) -> LinkSpec {
        LinkSpec::new(&format!("{from}-{to}"), NodeId(from), NodeId(to), Rate::INFINITY, Duration::ZERO)
    }

    #[test]
    fn fewest_hops_then_first_link() {
        // 0 → 1 → 3 and 0 → 2 → 3 are equally long; 3 → 0 directly and around.
        let links = [link(0, 2), link(0, 1), link(1, 3), link(2, 3), link(3, 1), link(1, 0), link(3, 0)];
        let routes = Routes::shortest(5, &links);
        let next = |a: u32, b: u32| routes.next(NodeId(a), NodeId(b));
        assert_eq!(next(0, 3), Some(LinkId(0)));
        assert_eq!(next(3, 0), Some(LinkId(6)));
        assert_eq!(next(3, 2), Some(LinkId(6)));
        assert_eq!(next(0, 0), None);
        assert_eq!(next(0, 4), None);
        assert_eq!(next(4, 0), None);
        assert_eq!(routes.next(NodeId(9), NodeId(0)), None);
    }

    proptest! {
        #[test]
        fn hosts_on_lines_of_their_own_are_reached_as_any_node(
            ends in prop::collection::vec((0_u32..7, 0_u32..7), 0..12),
            hosts in prop::collection::vec(0_u32..9, 0..4),
        ) {
            let mut links: Vec<LinkSpec> =
                ends.into_iter().filter(|(a, b)| a != b).map(|(a, b)| link(a, b)).collect();
            for (host, node) in (7..).zip(&hosts).filter(|(host, node)| host > *node) {
                links.extend([link(host, *node), link(*node, host)]);
            }
            let nodes = 11;
            let routes = Routes::shortest(nodes, &links);
            for to in (0..11).map(NodeId) {
                // Bellman and Ford.
                let mut distance = vec![usize::MAX - 1; nodes];
                distance[to.index()] = 0;
                for _ in 0..nodes {
                    for LinkSpec { from, to, .. } in &links {
                        distance[from.index()] = distance[from.index()].min(distance[to.index()] + 1);
                    }
                }
                for from in (0..11).map(NodeId) {
                    let towards = |l: &&LinkSpec| l.from == from && distance[l.to.index()] + 1 == distance[from.index()];
                    let first = (0..).map(LinkId).zip(&links).find(|(_, l)| towards(l)).map(|(id, _)| id);
                    let reached = distance[from.index()] < nodes;
                    prop_assert_eq!(routes.next(from, to), first.filter(|_| reached), "{:?} {:?}", from, to);
                }
            }
        }
    }
}
