//! Reports that others have overtaken: the loss history is worked out anew from the packets that
//! such a report covers on, so that it is the one of reports in order.

use tfrc_units::{Duration, Instant};

use super::replay::{InOrder, arrival};
use super::sent::{PacketFate, SentPacket};
use super::{Advisor, moment};
use crate::history::LossHistory;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::study::Stamp;

/// Loss history of the packets before the first one that no report has covered.
#[derive(Debug, Clone)]
pub(super) struct Checkpoint {
    history: LossHistory,
    /// The ordinal of the first packet that is not in it.
    next: u64,
    order: InOrder,
    /// The newest packet in it: when it left, and its place on the timeline.
    newest: (Instant, Instant),
}

/// The parts of the Advisor that say how a packet looks to the receiving half.
#[derive(Clone, Copy)]
struct Sides<'a> {
    receiver: &'a Receiver,
    sender: &'a Sender,
    rtt: Option<Duration>,
}

impl Checkpoint {
    /// Takes in the packet `next`.
    fn take(&mut self, packet: SentPacket, sides: Sides<'_>) {
        let step = self.order.step(self.next, packet);
        self.next += 1;
        let Some((seq, packet, replayed, before)) = step else { return };
        let (sent_at, latest) = self.newest;
        let at = match packet.fate {
            PacketFate::Done { at, .. } => at.max(latest),
            // Nothing has arrived: it would have taken as long as the packet before it.
            _ => latest + packet.sent_at.saturating_since(sent_at),
        };
        self.newest = (packet.sent_at, at);
        let stamp = Stamp { wants_report: false, ..sides.sender.stamp(packet.sent_at) };
        let arrival = arrival(seq, &packet, sides.rtt, replayed, before);
        sides.receiver.work_out(&mut self.history, at, &arrival, stamp);
    }
}

impl<const N: usize> Advisor<N> {
    /// The receiving half has seen the packets before `next`, of which no report has said anything.
    pub(super) fn set_checkpoint(&mut self, next: u64) {
        if self.checkpoint.is_some() {
            return;
        }
        let history = self.receiver.history().clone();
        let (seq, at) = history.highest().unwrap_or((0, self.latest));
        let sent_at = self.sent.get(seq).map(|packet| packet.sent_at).or(self.first_sent).unwrap_or(at);
        self.checkpoint =
            Some(Checkpoint { history, next, order: InOrder::default(), newest: (sent_at, at) });
    }

    /// Packets that no report had covered have a fate now; those of them that arrived, from
    /// `lowest` to `highest`, are not replayed yet. Replays them, and works the history out anew up
    /// to the newest packet before this report.
    pub(super) fn rework(&mut self, arrived: Option<(u64, u64)>, now: Instant, rtt: Option<Duration>) {
        let newest = self.newest.map_or(0, |(ordinal, _)| ordinal);
        if self.checkpoint.is_none() {
            return;
        }
        if let Some((lowest, highest)) = arrived {
            for ordinal in lowest..=highest.min(newest) {
                let Some(packet) = self.sent.get(ordinal) else { continue };
                let PacketFate::Reported { ecn, .. } = packet.fate else { continue };
                let at = self.timeline.late_place(moment(&packet));
                self.sent.settle(ordinal, at, ecn);
                self.receiver.on_late_data(self.timeline.latest(), packet.size);
                self.fill_checkpoint(ordinal, at, rtt);
            }
        }
        let Some(mut checkpoint) = self.checkpoint.take() else { return };
        let sides = Sides { receiver: &self.receiver, sender: &self.sender, rtt };
        let unreported =
            |ordinal| self.sent.get(ordinal).is_some_and(|packet| packet.fate == PacketFate::Unreported);
        while checkpoint.next <= newest && !unreported(checkpoint.next) {
            match self.sent.get(checkpoint.next) {
                Some(packet) => checkpoint.take(packet, sides),
                None => checkpoint.next += 1,
            }
        }
        let mut whole = checkpoint.clone();
        while let Some(packet) = self.sent.get(whole.next).filter(|_| whole.next <= newest) {
            whole.take(packet, sides);
        }
        self.receiver.replace_history(now, whole.history);
        self.checkpoint = Some(checkpoint).filter(|checkpoint| checkpoint.next <= newest);
    }

    /// A packet that arrived late is in the checkpoint too, if that is already beyond it.
    pub(super) fn fill_checkpoint(&mut self, ordinal: u64, at: Instant, rtt: Option<Duration>) {
        let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| ordinal < checkpoint.next) else {
            return;
        };
        let Some(packet) = self.sent.get(ordinal) else { return };
        let PacketFate::Done { ecn, .. } = packet.fate else { return };
        let stamp = Stamp { wants_report: false, ..self.sender.stamp(packet.sent_at) };
        let arrival = arrival(ordinal, &packet, rtt, super::replay::Replayed::Reported(ecn), 0);
        self.receiver.work_out(&mut checkpoint.history, at, &arrival, stamp);
    }

    /// A packet is forgotten: its fate stays as it is.
    pub(super) fn pass_checkpoint(&mut self, ordinal: u64, packet: SentPacket) {
        let rtt = self.sender.rtt();
        let sides = Sides { receiver: &self.receiver, sender: &self.sender, rtt };
        let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| ordinal == checkpoint.next)
        else {
            return;
        };
        checkpoint.take(packet, sides);
        if checkpoint.next > self.sent.unreported_up_to() {
            self.checkpoint = None;
        }
    }
}
