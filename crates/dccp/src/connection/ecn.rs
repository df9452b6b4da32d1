//! Detects whether the path leaves ECN codepoints unchanged, as RFC 9000 §13.4.2 does. The receiver
//! sees it, datagram by datagram; it then says that it cannot read marks (ECN Incapable, RFC 4340
//! §12.1), and the sender goes on without ECN. A path that drops what has a codepoint shows to the
//! sender: the first packets that each end sends with one complete the handshake, and must be
//! answered.

use tfrc_units::{Duration, Ecn, Instant};

use super::Connection;
use crate::feature::{EcnReading, Feature, Location};

/// A path's treatment of ECN codepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnFault {
    /// It marks every packet, congested or not.
    AllMarked,
    /// It clears every codepoint, marks included.
    Cleared,
    /// It drops the packets with a codepoint, as far as the handshake shows: those that we send.
    Dropped,
}

/// The codepoints of the latest datagrams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EcnWatch {
    /// Datagrams in a row with the same fault.
    run: u32,
    latest: Option<EcnFault>,
    /// An ECT codepoint has arrived as it was sent.
    worked: bool,
    /// The fault for which ECN was given up.
    fault: Option<EcnFault>,
    /// Set once the reported marks are forgotten.
    forgotten: bool,
}

/// The packets with a codepoint that complete the handshake, until the peer answers one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EcnTrial {
    /// When the first of them went.
    since: Option<Instant>,
    unanswered: u32,
    fault: Option<EcnFault>,
}

/// Weight of a packet that a timer has to repeat: three repetitions of nothing but an
/// acknowledgement are enough. A lossy path loses as many, which then costs no more than ECN.
const REPETITION: u32 = 3;
/// Round-trip times within which one of them is answered on a path that drops none.
const ANSWERED_WITHIN: u64 = 4;

impl EcnTrial {
    /// Packets of this number, or weight, are not answered until now.
    fn on_unanswered(&mut self, now: Instant, packets: u32, rtt: Duration) {
        let since = *self.since.get_or_insert(now);
        self.unanswered = self.unanswered.saturating_add(packets);
        if self.unanswered >= AT_FIRST && now.saturating_since(since) >= rtt * ANSWERED_WITHIN {
            self.fault = Some(EcnFault::Dropped);
        }
    }
}

/// Datagrams with the same fault at the beginning that give ECN up, and packets that stay
/// unanswered: as many as RFC 9000 §13.4.2 tests with.
const AT_FIRST: u32 = 10;
/// Later on, for a full queue may mark some round-trip times' worth in a row.
const LATER: u32 = 100;

impl EcnWatch {
    /// Takes in a datagram. Returns true if ECN is to be given up now.
    fn on_datagram(&mut self, ecn: Ecn) -> bool {
        let seen = match ecn {
            Ecn::Ce => Some(EcnFault::AllMarked),
            Ecn::NotEct => Some(EcnFault::Cleared),
            Ecn::Ect0 | Ecn::Ect1 => None,
        };
        self.worked |= seen.is_none();
        self.run = if seen == self.latest { self.run.saturating_add(1) } else { 1 };
        self.latest = seen;
        let enough = self.run >= if self.worked { LATER } else { AT_FIRST };
        if self.fault.is_some() || seen.is_none() || !enough {
            return false;
        }
        self.fault = seen;
        true
    }
}

impl Connection {
    /// The path's treatment of ECN codepoints, once ECN was given up for it in the data that we
    /// receive.
    #[must_use]
    pub const fn ecn_fault(&self) -> Option<EcnFault> {
        self.ecn_watch.fault
    }

    /// The path's treatment of ECN codepoints, once what we send has none any more because of it.
    #[must_use]
    pub const fn sending_ecn_fault(&self) -> Option<EcnFault> {
        self.ecn_trial.fault
    }

    /// A packet goes before the peer has answered any after its Response.
    pub(super) fn try_ecn(&mut self, now: Instant) {
        self.ecn_trial.on_unanswered(now, 1, self.round_trip());
    }

    /// A client's acknowledgement of the Response, or a server's first packet after it, has to go
    /// once more.
    pub(super) fn try_ecn_again(&mut self, now: Instant) {
        self.ecn_trial.on_unanswered(now, REPETITION, self.round_trip());
    }

    pub(super) fn watch_ecn(&mut self, ecn: Ecn) {
        if self.features.is_on(Feature::EcnIncapable, Location::Local) {
            return;
        }
        if self.ecn_watch.on_datagram(ecn) {
            self.features.give_up_ecn();
        }
    }

    /// The peer sends without ECN from now on. Where every packet was marked, no mark said
    /// anything: the receiver restarts.
    pub(super) fn follow_ecn(&mut self) {
        let given_up = self.ecn_watch.fault == Some(EcnFault::AllMarked) && !self.ecn_watch.forgotten;
        if given_up && self.features.is_on(Feature::EcnIncapable, Location::Local) {
            self.ecn_watch.forgotten = true;
            self.receiver = None;
            self.report = None;
        }
    }

    /// Returns true if data must not be accepted: the host cannot read marks, and the peer has not
    /// confirmed that it knows (RFC 4340 §12.1).
    pub(super) fn awaits_ecn_confirm(&self) -> bool {
        self.config.wishes.ecn == EcnReading::Incapable
            && !self.features.is_on(Feature::EcnIncapable, Location::Local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of datagrams after which ECN is given up.
    fn given_up(codepoints: impl IntoIterator<Item = Ecn>) -> Option<usize> {
        let mut watch = EcnWatch::default();
        codepoints.into_iter().position(|ecn| watch.on_datagram(ecn)).map(|at| at + 1)
    }

    /// Ten unanswered packets, for four round-trip times at least.
    #[test]
    fn unanswered_packets_of_four_round_trips() {
        let millis = Duration::from_millis;
        let faults = |packets: u32, wait: u64, rtt: u64| {
            let mut trial = EcnTrial::default();
            let mut times = (0..20).map(|n| Instant::ZERO + millis(wait * n));
            times.position(|now| {
                trial.on_unanswered(now, packets, millis(rtt));
                trial.fault.is_some()
            })
        };
        assert_eq!(faults(1, 10, 10), Some(9));
        assert_eq!(faults(1, 10, 40), Some(16));
        assert_eq!(faults(REPETITION, 200, 50), Some(3));
    }

    #[test]
    fn ten_at_first_and_a_hundred_later() {
        assert_eq!(given_up([Ecn::Ce; 500]), Some(10));
        assert_eq!(given_up([Ecn::NotEct; 500]), Some(10));
        assert_eq!(given_up([Ecn::Ect0; 500]), None);
        let later = core::iter::once(Ecn::Ect0).chain([Ecn::Ce; 500]);
        assert_eq!(given_up(later), Some(101));
        let mixed = (0..500).map(|n| if n % 10 == 9 { Ecn::Ect0 } else { Ecn::Ce });
        assert_eq!(given_up(mixed), None, "nine marks in ten are congestion");
        let both = (0..500).map(|n| if n % 9 == 8 { Ecn::NotEct } else { Ecn::Ce });
        assert_eq!(given_up(both), None);
    }
}
