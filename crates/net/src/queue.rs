//! Datagrams that wait for their turn to be sent.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant};

/// What happens to data that the allowed rate cannot carry at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LatePolicy {
    /// It waits, and so does the application: nothing is dropped here. For files.
    #[default]
    Wait,
    /// It is dropped when it has waited this long, and the oldest is dropped when the queue is full: the application never
    /// waits. For live media, which is worth nothing when late.
    DropAfter(Duration),
}

/// A bounded queue with a policy for what comes late.
#[derive(Debug)]
pub struct SendQueue {
    policy: LatePolicy,
    capacity: usize,
    waiting: VecDeque<(Instant, Vec<u8>)>,
    dropped: u64,
}

impl SendQueue {
    /// An empty queue for at most `capacity` datagrams (at least one).
    #[must_use]
    pub fn new(policy: LatePolicy, capacity: usize) -> Self {
        Self { policy, capacity: capacity.max(1), waiting: VecDeque::new(), dropped: 0 }
    }

    /// Chooses another policy.
    pub const fn set_policy(&mut self, policy: LatePolicy) {
        self.policy = policy;
    }

    /// Adds a datagram.
    ///
    /// # Errors
    /// The datagram itself when the queue is full and the policy is to wait.
    pub fn push(&mut self, now: Instant, datagram: Vec<u8>) -> Result<(), Vec<u8>> {
        self.drop_late(now);
        if self.is_full() {
            match self.policy {
                LatePolicy::Wait => return Err(datagram),
                LatePolicy::DropAfter(_) => {
                    self.waiting.pop_front();
                    self.dropped += 1;
                }
            }
        }
        self.waiting.push_back((now, datagram));
        Ok(())
    }

    /// Takes the oldest datagram that is not late.
    pub fn pop(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.drop_late(now);
        self.waiting.pop_front().map(|(_, datagram)| datagram)
    }

    /// Empties the queue, late datagrams among them; returns how many waited and how many bytes
    /// they had.
    pub fn discard(&mut self) -> (u64, u64) {
        let sum = |(packets, bytes), (_, datagram): (Instant, Vec<u8>)| {
            (packets + 1, bytes + u64::try_from(datagram.len()).unwrap_or(u64::MAX))
        };
        self.waiting.drain(..).fold((0, 0), sum)
    }

    /// Datagrams waiting, late ones among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the next [`SendQueue::push`] would have to wait or drop.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= self.capacity
    }

    /// Datagrams dropped because they were late.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn drop_late(&mut self, now: Instant) {
        let LatePolicy::DropAfter(deadline) = self.policy else { return };
        while self.waiting.front().is_some_and(|(since, _)| now.saturating_since(*since) > deadline) {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn waiting_gives_the_datagram_back() {
        let mut queue = SendQueue::new(LatePolicy::Wait, 2);
        assert_eq!(queue.push(at(0), vec![1]), Ok(()));
        assert_eq!(queue.push(at(0), vec![2]), Ok(()));
        assert_eq!(queue.push(at(0), vec![3]), Err(vec![3]));
        assert_eq!(queue.pop(at(99_999)), Some(vec![1]));
        assert_eq!((queue.len(), queue.dropped()), (1, 0));
        assert_eq!(queue.discard(), (1, 1));
        assert_eq!((queue.len(), queue.dropped()), (0, 0), "discarded, not late");
    }

    #[test]
    fn late_data_is_dropped_and_counted() {
        let mut queue = SendQueue::new(LatePolicy::DropAfter(Duration::from_millis(50)), 3);
        for (ms, byte) in [(0, 0), (10, 1), (20, 2), (30, 3)] {
            assert_eq!(queue.push(at(ms), vec![byte]), Ok(()));
        }
        assert_eq!(queue.dropped(), 1, "full: the oldest went");
        assert_eq!(queue.pop(at(60)), Some(vec![1]), "exactly at its deadline");
        assert_eq!(queue.pop(at(71)), Some(vec![3]), "2 is late by a millisecond");
        assert_eq!((queue.is_empty(), queue.dropped()), (true, 2));
    }
}
