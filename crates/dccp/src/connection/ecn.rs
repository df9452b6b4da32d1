//! Detects whether the path leaves ECN codepoints unchanged, as RFC 9000 §13.4.2 does. The receiver
//! sees it, datagram by datagram; it then says that it cannot read marks (ECN Incapable, RFC 4340
//! §12.1), and the sender goes on without ECN. A path that drops what has a codepoint shows to the
//! sender: the first packets that each end sends with one complete the handshake, and must be
//! answered.

pub use tfrc::EcnFault;
use tfrc::EcnWatch;
use tfrc_units::{Duration, Ecn, Instant};

use super::Connection;
use crate::feature::{EcnReading, Feature, Location};

/// The codepoints of the datagrams that arrive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArrivingEcn {
    watch: EcnWatch,
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

/// Packets that stay unanswered: as many as RFC 9000 §13.4.2 tests with.
const AT_FIRST: u32 = 10;

impl Connection {
    /// The path's treatment of ECN codepoints, once ECN was given up for it in the data that we
    /// receive.
    #[must_use]
    pub const fn ecn_fault(&self) -> Option<EcnFault> {
        self.ecn_watch.watch.fault()
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
        if self.ecn_watch.watch.on_packet(ecn) {
            self.features.give_up_ecn();
        }
    }

    /// The peer sends without ECN from now on. Where every packet was marked, no mark said
    /// anything: the receiver restarts.
    pub(super) fn follow_ecn(&mut self) {
        let given_up = self.ecn_watch.watch.fault() == Some(EcnFault::AllMarked) && !self.ecn_watch.forgotten;
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
}
