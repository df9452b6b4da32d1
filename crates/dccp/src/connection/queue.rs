//! Received datagrams on their way to the application.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tfrc_units::{Ecn, Instant, SeqNo48};

/// A datagram that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The sequence number of its packet.
    pub seq: SeqNo48,
    /// Number of datagrams that the peer has sent before it, as far as was known when it arrived;
    /// [`Connection::data_index`](crate::Connection::data_index) gives the later number.
    pub data_index: u64,
    /// Its content.
    pub bytes: Vec<u8>,
    /// When it arrived.
    pub at: Instant,
    /// The mark it came with.
    pub ecn: Ecn,
}

/// A bounded queue that refuses datagrams when it is full (docs/decisions/0007).
#[derive(Debug, Clone)]
pub(crate) struct ReceiveQueue {
    entries: VecDeque<Received>,
    limit: usize,
    /// Buffers that were given back.
    spare: Vec<Vec<u8>>,
}

/// Maximum number of buffers kept: the datagrams that a host takes in with one system call.
const SPARE: usize = 16;

impl ReceiveQueue {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { entries: VecDeque::new(), limit, spare: Vec::new() }
    }

    /// Returns true if there is no room for another datagram.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

    /// Returns true if more than half of the places are taken: the reader does not keep up.
    pub(crate) fn is_half_full(&self) -> bool {
        self.entries.len() > self.limit / 2
    }

    /// Adds a datagram, unless it is full.
    pub(crate) fn push(&mut self, datagram: Received) {
        if !self.is_full() {
            self.entries.push_back(datagram);
        }
    }

    /// A copy of a payload, in a buffer that was given back if there is one.
    pub(crate) fn copy(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(payload);
        bytes
    }

    pub(crate) fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Received> {
        self.entries.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    fn datagram(n: u8) -> Received {
        Received {
            seq: SeqNo48::new(u64::from(n)),
            data_index: u64::from(n),
            bytes: vec![n],
            at: Instant::ZERO,
            ecn: Ecn::NotEct,
        }
    }

    #[test]
    fn the_newest_is_refused() {
        let mut queue = ReceiveQueue::new(2);
        for n in 1..=3 {
            queue.push(datagram(n));
        }
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(datagram(1)), Some(datagram(2)), None]);
        assert!(ReceiveQueue::new(0).is_full());
    }
}
