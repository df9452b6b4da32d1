//! One number for each packet of a path, whatever its packet number space.

use std::collections::VecDeque;
use std::time::Instant;

/// A packet whose fate is unknown.
#[derive(Debug, Clone, Copy)]
struct Packet {
    id: u64,
    sent: Instant,
    pn: u64,
}

/// Packets in flight. Each packet number space counts from zero, and the transport does not name
/// the space: a packet is found by its number and time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    in_flight: VecDeque<Packet>,
    next: u64,
}

impl Numbers {
    /// Numbers a packet and drops numbers before `oldest`: a discarded packet number space is never
    /// acknowledged.
    pub(crate) fn on_sent(&mut self, sent: Instant, pn: u64, oldest: u64) -> u64 {
        while self.in_flight.front().is_some_and(|packet| packet.id < oldest) {
            self.in_flight.pop_front();
        }
        let id = self.next;
        self.next += 1;
        self.in_flight.push_back(Packet { id, sent, pn });
        id
    }

    /// The packet with this number that was sent then. Packets are acknowledged about in order, so
    /// it is near the front.
    pub(crate) fn on_ack(&mut self, sent: Instant, pn: u64) -> Option<u64> {
        let at = self.in_flight.iter().position(|packet| packet.pn == pn && packet.sent == sent)?;
        self.in_flight.remove(at).map(|packet| packet.id)
    }

    /// The oldest packet with this number, and when it was sent.
    pub(crate) fn on_lost(&mut self, pn: u64) -> Option<(u64, Instant)> {
        let at = self.in_flight.iter().position(|packet| packet.pn == pn)?;
        self.in_flight.remove(at).map(|packet| (packet.id, packet.sent))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Initial 0 and 1, Handshake 0, then data 0 and 1.
    #[test]
    fn spaces_may_overlap() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut numbers = Numbers::default();
        let sent = [(0, 0), (10, 1), (50, 0), (60, 0), (61, 1)];
        let ids = sent.map(|(ms, pn)| numbers.on_sent(at(ms), pn, 0));
        assert_eq!(ids, [0, 1, 2, 3, 4]);
        assert_eq!(numbers.on_ack(at(50), 0), Some(2));
        assert_eq!(numbers.on_ack(at(50), 0), None, "acknowledged before");
        assert_eq!(numbers.on_lost(1), Some((1, at(10))), "the oldest");
        assert_eq!(numbers.on_ack(at(61), 1), Some(4));
        assert_eq!(numbers.on_ack(at(10), 1), None, "lost before");
        numbers.on_sent(at(70), 2, 3);
        assert_eq!(numbers.on_lost(0), Some((3, at(60))), "number 0 of the discarded space is forgotten");
    }
}
