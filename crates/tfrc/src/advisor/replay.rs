//! How packets reach the receiving half (RFC 5348 §7): by their order of departure, or as the
//! transport reports their fate.

use tfrc_units::{Duration, Ecn, Instant};

use super::sent::{PacketFate, SentPacket};
use super::{Advisor, moment};
use crate::receiver::{Arrival, PacketKind};
use crate::study::Stamp;

/// Event of a packet for the receiving half.
#[derive(Debug, Clone, Copy)]
pub(super) enum Replayed {
    /// It arrived, with this mark.
    Reported(Ecn),
    /// Nothing is known of it: like a packet without data it is in no loss interval.
    Unreported,
}

/// Packets on their way to the receiving half in order of departure, with their ordinals for
/// numbers: one that did not arrive leaves a hole.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InOrder {
    /// The unreported packets since the last one replayed or missing: how many, and the last of
    /// them.
    unreported: Option<(u32, u64, SentPacket)>,
}

/// A packet for the receiving half: its ordinal, itself, its event, and how many unreported ones
/// stand directly before it.
pub(super) type Step = (u64, SentPacket, Replayed, u32);

impl InOrder {
    /// The next packet in order; gives the one that the receiving half is to see now, if there is
    /// one.
    pub(super) fn step(&mut self, ordinal: u64, packet: SentPacket) -> Option<Step> {
        match packet.fate {
            PacketFate::Reported { ecn, .. } | PacketFate::Done { ecn, .. } => {
                let before = self.unreported.take().map_or(0, |(count, ..)| count);
                Some((ordinal, packet, Replayed::Reported(ecn), before))
            }
            PacketFate::Unreported => {
                let before = self.unreported.map_or(0, |(count, ..)| count);
                self.unreported = Some((before.saturating_add(1), ordinal, packet));
                None
            }
            // A hole begins behind them: their last packet separates them from it.
            _ => self
                .unreported
                .take()
                .map(|(count, last, packet)| (last, packet, Replayed::Unreported, count.saturating_sub(1))),
        }
    }
}

impl<const N: usize> Advisor<N> {
    /// [`Losses::ByOrder`](super::Losses::ByOrder): the packets of a report from `lowest` to
    /// `highest`.
    pub(super) fn replay_in_order(&mut self, lowest: u64, highest: u64, rtt: Option<Duration>) {
        let above = self.newest.map_or(1, |(ordinal, _)| ordinal + 1);
        for ordinal in lowest..above.min(highest.saturating_add(1)) {
            self.replay_late(ordinal, rtt);
        }
        let mut order = InOrder::default();
        for ordinal in above..=highest {
            let Some(packet) = self.sent.get(ordinal) else { continue };
            if packet.fate == PacketFate::Unreported {
                self.set_checkpoint(ordinal);
            }
            let Some((seq, packet, replayed, before)) = order.step(ordinal, packet) else { continue };
            let at = self.replay(seq, &packet, rtt, replayed, before);
            if let Replayed::Reported(ecn) = replayed {
                self.sent.settle(ordinal, at, ecn);
            }
        }
    }

    /// A packet below the highest that has arrived: it fills a hole.
    fn replay_late(&mut self, ordinal: u64, rtt: Option<Duration>) {
        let Some(packet) = self.sent.get(ordinal) else { return };
        let PacketFate::Reported { ecn, .. } = packet.fate else { return };
        let at = self.replay(ordinal, &packet, rtt, Replayed::Reported(ecn), 0);
        self.sent.settle(ordinal, at, ecn);
        self.fill_checkpoint(ordinal, at, rtt);
    }

    /// [`Losses::ByTransport`](super::Losses::ByTransport): a packet gets a number when its fate is
    /// reported, so one without a report leaves no hole.
    pub(super) fn replay_told(&mut self, range: Option<(u64, u64)>, rtt: Option<Duration>) {
        let Some((lowest, highest)) = range else { return };
        for ordinal in lowest..=highest {
            let seq = self.next_seq;
            let Some(packet) = self.sent.get(ordinal) else { continue };
            match packet.fate {
                PacketFate::Reported { ecn, .. } => {
                    self.next_seq += 1;
                    let at = self.replay(seq, &packet, rtt, Replayed::Reported(ecn), 0);
                    self.sent.settle(ordinal, at, ecn);
                }
                PacketFate::Found { seq, ecn } => {
                    let at = self.replay(seq, &packet, rtt, Replayed::Reported(ecn), 0);
                    self.sent.settle(ordinal, at, ecn);
                }
                PacketFate::Lost => {
                    self.next_seq += 1;
                    self.sent.number_lost(ordinal, seq);
                    self.lost_up_to = seq;
                }
                _ => {}
            }
        }
    }

    /// Lets the receiving half see a packet at the time it came, or would have. Returns that time.
    fn replay(
        &mut self,
        seq: u64,
        packet: &SentPacket,
        rtt: Option<Duration>,
        replayed: Replayed,
        unreported_before: u32,
    ) -> Instant {
        let at = self.timeline.place(moment(packet));
        let replayed = match replayed {
            Replayed::Reported(_) if self.ecn_fault().is_some() => Replayed::Reported(Ecn::NotEct),
            other => other,
        };
        let stamp = Stamp { wants_report: false, ..self.sender.stamp(packet.sent_at) };
        self.receiver.on_stamped_packet(at, arrival(seq, packet, rtt, replayed, unreported_before), stamp);
        at
    }
}

/// A packet as the receiving half sees it.
pub(super) const fn arrival(
    seq: u64,
    packet: &SentPacket,
    rtt: Option<Duration>,
    replayed: Replayed,
    unreported_before: u32,
) -> Arrival {
    let (kind, ecn) = match replayed {
        Replayed::Reported(ecn) => (PacketKind::Data, ecn),
        Replayed::Unreported => (PacketKind::NonData, Ecn::NotEct),
    };
    Arrival {
        seq,
        size: packet.size,
        ecn,
        rtt,
        window_counter: 0,
        kind,
        // Those of which nothing will be known are, like packets without data, in no loss interval.
        non_data_before: unreported_before,
    }
}
