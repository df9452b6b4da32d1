//! How packets reach the receiving half (RFC 5348 §7): by their order of departure, or as the
//! transport reports their fate.

use tfrc_units::{Duration, Ecn};

use super::sent::{PacketFate, SentPacket};
use super::{Advisor, moment};
use crate::receiver::{Arrival, PacketKind};
use crate::study::Stamp;

/// Event of a packet for the receiving half.
#[derive(Debug, Clone, Copy)]
enum Replayed {
    /// It arrived, with this mark.
    Reported(Ecn),
    /// Nothing is known of it: like a packet without data it is in no loss interval.
    Unreported,
}

impl<const N: usize> Advisor<N> {
    /// [`Losses::ByOrder`](super::Losses::ByOrder): a packet has its ordinal for a number, so one
    /// that did not arrive leaves a hole.
    pub(super) fn replay_in_order(&mut self, lowest: u64, highest: u64, rtt: Option<Duration>) {
        let above = self.newest.map_or(1, |(ordinal, _)| ordinal + 1);
        // The unreported packets since the last one replayed or missing: how many, and the last of
        // them.
        let mut unreported: Option<(u32, u64, SentPacket)> = None;
        for ordinal in lowest.min(above)..=highest {
            let Some(packet) = self.sent.settle(ordinal) else { continue };
            match packet.fate {
                PacketFate::Reported { ecn, .. } => {
                    let before = unreported.take().map_or(0, |(count, ..)| count);
                    self.replay(ordinal, &packet, rtt, Replayed::Reported(ecn), before);
                }
                PacketFate::Unreported if ordinal >= above => {
                    let before = unreported.map_or(0, |(count, ..)| count);
                    unreported = Some((before.saturating_add(1), ordinal, packet));
                }
                // A hole begins behind them: their last packet separates them from it.
                PacketFate::InFlight if ordinal >= above => {
                    if let Some((count, last, packet)) = unreported.take() {
                        self.replay(last, &packet, rtt, Replayed::Unreported, count.saturating_sub(1));
                    }
                }
                _ => {}
            }
        }
    }

    /// [`Losses::ByTransport`](super::Losses::ByTransport): a packet gets a number when its fate is
    /// reported, so one without a report leaves no hole.
    pub(super) fn replay_told(&mut self, range: Option<(u64, u64)>, rtt: Option<Duration>) {
        let Some((lowest, highest)) = range else { return };
        for ordinal in lowest..=highest {
            let seq = self.next_seq;
            let Some(packet) = self.sent.settle(ordinal) else { continue };
            match packet.fate {
                PacketFate::Reported { ecn, .. } => {
                    self.next_seq += 1;
                    self.replay(seq, &packet, rtt, Replayed::Reported(ecn), 0);
                }
                PacketFate::Found { seq, ecn } => self.replay(seq, &packet, rtt, Replayed::Reported(ecn), 0),
                PacketFate::Lost => {
                    self.next_seq += 1;
                    self.sent.number_lost(ordinal, seq);
                    self.lost_up_to = seq;
                }
                _ => {}
            }
        }
    }

    /// Lets the receiving half see a packet at the time it came, or would have.
    fn replay(
        &mut self,
        seq: u64,
        packet: &SentPacket,
        rtt: Option<Duration>,
        replayed: Replayed,
        unreported_before: u32,
    ) {
        let at = self.timeline.place(moment(packet));
        let (kind, ecn) = match replayed {
            Replayed::Reported(ecn) => (PacketKind::Data, ecn),
            Replayed::Unreported => (PacketKind::NonData, Ecn::NotEct),
        };
        let arrival = Arrival {
            seq,
            size: packet.size,
            ecn,
            rtt,
            stamp: Stamp { wants_report: false, ..self.sender.stamp(packet.sent_at) },
            window_counter: 0,
            kind,
            // Those of which nothing will be known are, like packets without data, in no loss
            // interval.
            non_data_before: unreported_before,
        };
        self.receiver.on_packet(at, arrival);
    }
}
