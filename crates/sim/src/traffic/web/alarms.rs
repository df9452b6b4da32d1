//! Many deadlines behind one timer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tfrc_units::Instant;

/// Deadlines of things called `K`, in the order of time and then of setting.
#[derive(Debug)]
pub(super) struct Alarms<K> {
    heap: BinaryHeap<Reverse<(Instant, u64, K)>>,
    serial: u64,
}

/// The entry that stands for a deadline in the heap. It stays where it is when the deadline is put
/// off, so that a timer moved by every packet has one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Queued(Option<(Instant, u64)>);

impl<K: Ord + Copy> Alarms<K> {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), serial: 0 }
    }

    /// `key` is wanted at `deadline`, if there is one.
    pub(super) fn want(&mut self, key: K, deadline: Option<Instant>, queued: &mut Queued) {
        if let Some(at) = deadline
            && queued.0.is_none_or(|(already, _)| at < already)
        {
            self.serial = self.serial.wrapping_add(1);
            queued.0 = Some((at, self.serial));
            self.heap.push(Reverse((at, self.serial, key)));
        }
    }

    /// When the timer must fire.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// An entry that is due: its number, for [`Queued::came_up`], and its key.
    pub(super) fn pop(&mut self, now: Instant) -> Option<(u64, K)> {
        let Reverse((at, serial, key)) = self.heap.peek().copied()?;
        (at <= now).then(|| {
            self.heap.pop();
            (serial, key)
        })
    }

    /// Number of entries, for tests.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }
}

impl Queued {
    /// Returns true if entry `serial` stands for this deadline; from then on it no longer does.
    pub(super) fn came_up(&mut self, serial: u64) -> bool {
        let mine = self.0.is_some_and(|(_, own)| own == serial);
        if mine {
            self.0 = None;
        }
        mine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_nanos(s)
    }

    #[test]
    fn a_deadline_put_off_has_one_entry() {
        let mut alarms = Alarms::new();
        let mut queued = Queued::default();
        for s in 5..100 {
            alarms.want('a', Some(at(s)), &mut queued);
        }
        assert_eq!((alarms.next(), alarms.len()), (Some(at(5)), 1));
        assert_eq!(alarms.pop(at(4)), None);
        let (serial, key) = alarms.pop(at(5)).unwrap_or_default();
        assert!(key == 'a' && queued.came_up(serial) && !queued.came_up(serial));
    }

    #[test]
    fn a_deadline_brought_forward_makes_the_old_entry_stale() {
        let mut alarms = Alarms::new();
        let mut queued = Queued::default();
        alarms.want('a', Some(at(9)), &mut queued);
        alarms.want('a', Some(at(3)), &mut queued);
        let (serial, _) = alarms.pop(at(10)).unwrap_or_default();
        assert!(queued.came_up(serial));
        let (serial, _) = alarms.pop(at(10)).unwrap_or_default();
        assert!(!queued.came_up(serial));
    }
}
