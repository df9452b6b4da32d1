use std::collections::VecDeque;

use crate::{LinkId, LinkSpec, NodeId};

/// The next link from every node towards every other: fewest hops, and of equals the link that was added first.
#[derive(Debug)]
pub(crate) struct Routes {
    nodes: usize,
    /// Row by row: `next[from * nodes + to]`.
    next: Vec<Option<LinkId>>,
}

impl Routes {
    pub(crate) fn shortest(nodes: usize, links: &[LinkSpec]) -> Self {
        let mut inbound: Vec<Vec<(LinkId, NodeId)>> = vec![Vec::new(); nodes];
        for (id, link) in (0..).map(LinkId).zip(links) {
            if let Some(list) = inbound.get_mut(link.to.index()) {
                list.push((id, link.from));
            }
        }
        let mut next = vec![None; nodes.saturating_mul(nodes)];
        for to in 0..nodes {
            // Breadth first, backwards from the destination.
            let mut distance: Vec<Option<u32>> = vec![None; nodes];
            if let Some(slot) = distance.get_mut(to) {
                *slot = Some(0);
            }
            let mut frontier = VecDeque::from([to]);
            while let Some(node) = frontier.pop_front() {
                let hops = distance.get(node).copied().flatten().unwrap_or(0) + 1;
                for (link, from) in inbound.get(node).into_iter().flatten() {
                    let Some(known) = distance.get_mut(from.index()) else { continue };
                    let Some(slot) = next.get_mut(from.index() * nodes + to) else { continue };
                    match known {
                        None => {
                            *known = Some(hops);
                            *slot = Some(*link);
                            frontier.push_back(from.index());
                        }
                        Some(best) if *best == hops && slot.is_some_and(|chosen| *link < chosen) => {
                            *slot = Some(*link);
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        Self { nodes, next }
    }

    #[inline]
    pub(crate) fn next(&self, from: NodeId, to: NodeId) -> Option<LinkId> {
        let i = from.index().checked_mul(self.nodes)?.checked_add(to.index())?;
        self.next.get(i).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
