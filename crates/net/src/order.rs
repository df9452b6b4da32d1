//! Datagrams put back in order for an application that reads a stream of them.

use std::collections::BTreeMap;

use tfrc_units::{Duration, Instant};

/// So many later packets end the wait for a missing one, as they make it lost (RFC 5348 §5.1).
const LATER_PACKETS: usize = 3;

/// Holds back what comes after a gap until the gap is filled, three later packets have come, or a round-trip time has
/// passed; then it goes on, and what comes for the gap afterwards is late.
#[derive(Debug, Default)]
pub struct InOrder {
    /// Everything below has been handed out or given up.
    next: u64,
    held: BTreeMap<u64, (Instant, Vec<u8>)>,
    late: u64,
}

impl InOrder {
    /// Expects the packet with this number first.
    #[must_use]
    pub fn new(first: u64) -> Self {
        Self { next: first, ..Self::default() }
    }

    /// Takes in a packet; [`InOrder::pop`] then gives what may go. A packet for a gap given up is dropped and counted.
    pub fn push(&mut self, now: Instant, number: u64, datagram: Vec<u8>) {
        if number < self.next {
            self.late += 1;
        } else {
            self.held.insert(number, (now, datagram));
        }
    }

    /// The next datagram that need not wait any longer.
    pub fn pop(&mut self, now: Instant, rtt: Duration) -> Option<Vec<u8>> {
        let (&number, (since, _)) = self.held.first_key_value()?;
        let wait_over = now.saturating_since(*since) >= rtt || self.held.len() >= LATER_PACKETS;
        if number == self.next || wait_over { self.take() } else { None }
    }

    /// When [`InOrder::pop`] may give something without further packets.
    #[must_use]
    pub fn poll_timeout(&self, rtt: Duration) -> Option<Instant> {
        self.held.first_key_value().map(|(_, (since, _))| *since + rtt)
    }

    /// At the end: the next datagram, gaps or not.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let (number, (_, datagram)) = self.held.pop_first()?;
        self.next = number + 1;
        Some(datagram)
    }

    /// Packets that came after their gap had been given up.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn drain(order: &mut InOrder, ms: u64) -> Vec<u8> {
        std::iter::from_fn(|| order.pop(at(ms), RTT)).flatten().collect()
    }

    #[test]
    fn in_order_goes_straight_through() {
        let mut order = InOrder::new(5);
        for n in 5..9u8 {
            order.push(at(0), u64::from(n), vec![n]);
            assert_eq!(drain(&mut order, 0), [n]);
        }
    }

    #[test]
    fn a_swapped_pair_is_put_right() {
        let mut order = InOrder::new(0);
        order.push(at(0), 1, vec![1]);
        assert_eq!(drain(&mut order, 99), [0u8; 0]);
        assert_eq!(order.poll_timeout(RTT), Some(at(100)));
        order.push(at(99), 0, vec![0]);
        assert_eq!(drain(&mut order, 99), [0, 1]);
        assert_eq!(order.late(), 0);
    }

    #[test]
    fn three_later_packets_or_a_round_trip_end_the_wait() {
        let mut order = InOrder::new(0);
        for n in 1..4u8 {
            order.push(at(0), u64::from(n), vec![n]);
        }
        assert_eq!(drain(&mut order, 0), [1, 2, 3]);
        order.push(at(10), 5, vec![5]);
        assert_eq!(drain(&mut order, 109), [0u8; 0]);
        assert_eq!(drain(&mut order, 110), [5]);
        order.push(at(111), 0, vec![0]);
        order.push(at(111), 4, vec![4]);
        assert_eq!((drain(&mut order, 500), order.late()), (vec![], 2));
    }

    #[test]
    fn at_the_end_nothing_stays_behind() {
        let mut order = InOrder::new(0);
        order.push(at(0), 3, vec![3]);
        order.push(at(0), 7, vec![7]);
        assert_eq!((order.take(), order.take(), order.take()), (Some(vec![3]), Some(vec![7]), None));
    }
}
