//! Which connection wants to be woken first. Entries are not taken out when a connection changes
//! its mind: one that does not say what the connection says now is passed over. So nothing is
//! allocated while timers move.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use tfrc_units::Instant;

use super::ConnectionId;

/// Times at which connections want to be woken, the earliest first.
#[derive(Debug, Clone, Default)]
pub(super) struct WakeTimes {
    heap: BinaryHeap<Reverse<(Instant, ConnectionId)>>,
}

/// Entries that do no harm, however few connections there are.
const FEW: usize = 8;

impl WakeTimes {
    /// A connection wants to be woken at this time, and no more at what it said before.
    /// `connections` is how many there are.
    pub(super) fn set(
        &mut self,
        at: Instant,
        id: ConnectionId,
        connections: usize,
        is_current: impl Fn(Instant, ConnectionId) -> bool,
    ) {
        if self.heap.len() >= FEW.max(connections.saturating_mul(2)) {
            self.heap.retain(|Reverse((at, id))| is_current(*at, *id));
        }
        self.heap.push(Reverse((at, id)));
    }

    /// The earliest entry that still holds.
    pub(super) fn first(
        &mut self,
        is_current: impl Fn(Instant, ConnectionId) -> bool,
    ) -> Option<(Instant, ConnectionId)> {
        while let Some(Reverse((at, id))) = self.heap.peek().copied() {
            if is_current(at, id) {
                return Some((at, id));
            }
            self.heap.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Against a map from connection to time, with times that move back and forth.
    #[test]
    fn the_first_is_the_earliest_of_what_holds() {
        let mut timers = WakeTimes::default();
        let mut now: BTreeMap<ConnectionId, Instant> = BTreeMap::new();
        let mut random = tfrc_testkit::Random::new(1);
        for _ in 0..20_000 {
            let id = ConnectionId::numbered(random.below(30));
            let at = Instant::from_nanos(random.below(1000));
            if random.below(8) == 0 {
                now.remove(&id);
            } else if now.insert(id, at) != Some(at) {
                let count = now.len();
                timers.set(at, id, count, |at, id| now.get(&id) == Some(&at));
            }
            let expected = now.iter().map(|(id, at)| (*at, *id)).min();
            assert_eq!(timers.first(|at, id| now.get(&id) == Some(&at)), expected);
            assert!(timers.heap.len() <= 61, "{}", timers.heap.len());
        }
    }
}
