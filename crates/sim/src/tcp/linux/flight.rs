//! Segments that are sent and not acknowledged cumulatively, each with its last transmission and
//! with what the sender believes of it.

use std::collections::VecDeque;

use tfrc_units::{Instant, saturating};

use super::delivery::Snapshot;
use crate::tcp::ranges::Ranges;
use crate::tcp::segment::SackBlock;

/// Belief of the sender about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// In the network, sent again after a loss.
    Again,
    /// Lost, and not sent again yet.
    Lost,
    /// In the network.
    Out,
    /// Received, by a selective acknowledgement.
    Sacked,
    /// In the network twice: sent again as a probe, not known to be lost.
    Twice,
}

impl Mark {
    /// 1 for a segment whose retransmission is in the network, otherwise 0.
    const fn again(self) -> u32 {
        match self {
            Self::Lost | Self::Out | Self::Sacked => 0,
            Self::Again | Self::Twice => 1,
        }
    }

    /// Copies in the network.
    const fn copies(self) -> u32 {
        match self {
            Self::Lost | Self::Sacked => 0,
            Self::Again | Self::Out => 1,
            Self::Twice => 2,
        }
    }
}

/// A segment that was sent once or more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Time of the last transmission.
    pub(super) at: Instant,
    /// Number of the last transmission among all of the connection.
    pub(super) serial: u64,
    pub(super) mark: Mark,
    pub(super) times: Times,
    /// Segments delivered before the last transmission.
    pub(super) delivered: u64,
    /// State of deliveries at the last transmission, where a model of the path asks for it.
    pub(super) snapshot: Snapshot,
}

/// Number of a transmission that no other overtakes.
const NEVER_LATE: u64 = 0;

/// Transmissions of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    Once,
    More,
}

/// A transmission, for the order in which losses are looked for.
#[derive(Debug, Clone, Copy)]
struct Transmission {
    seq: u32,
    serial: u64,
}

/// All segments from the first that is missing to the last that was sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Flight {
    first: u32,
    segments: VecDeque<Sent>,
    sacked: Ranges,
    /// Transmissions in the order of time; those of segments sent again, received or lost are
    /// stale.
    order: VecDeque<Transmission>,
    sent: u64,
    in_flight: u32,
    lost: u32,
    sacked_count: u32,
    /// Retransmissions in the network.
    again: u32,
    /// Segments delivered since the start, with those that arrived twice.
    delivered: u64,
    /// No segment below is [`Mark::Lost`].
    lost_from: u32,
}

impl Flight {
    /// The first segment that is not acknowledged cumulatively.
    pub(super) const fn first(&self) -> u32 {
        self.first
    }

    /// Number of segments that are not acknowledged cumulatively.
    pub(super) fn len(&self) -> u32 {
        saturating::<u32>(self.segments.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments thought to be in the network.
    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Segments received beyond the first that is missing.
    pub(super) const fn sacked(&self) -> u32 {
        self.sacked_count
    }

    /// Retransmissions thought to be in the network.
    pub(super) const fn again(&self) -> u32 {
        self.again
    }

    /// Segments delivered since the start, with those that arrived twice.
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The receiver has reported this many duplicates.
    pub(super) fn duplicates(&mut self, segments: u32) {
        self.delivered += u64::from(segments);
    }

    pub(super) const fn has_lost(&self) -> bool {
        self.lost > 0
    }

    pub(super) fn head(&self) -> Option<Sent> {
        self.segments.front().copied()
    }

    fn place(&self, seq: u32) -> Option<usize> {
        seq.checked_sub(self.first).map(saturating::<usize>)
    }

    pub(super) fn get(&self, seq: u32) -> Option<Sent> {
        self.segments.get(self.place(seq)?).copied()
    }

    pub(super) fn set(&mut self, seq: u32, mark: Mark) {
        let Some(sent) = self.place(seq).and_then(|place| self.segments.get_mut(place)) else { return };
        let before = core::mem::replace(&mut sent.mark, mark);
        self.leave(before);
        self.in_flight += mark.copies();
        self.again += mark.again();
        self.lost += u32::from(mark == Mark::Lost);
        self.sacked_count += u32::from(mark == Mark::Sacked);
        if mark == Mark::Lost {
            self.lost_from = self.lost_from.min(seq);
        }
    }

    fn leave(&mut self, mark: Mark) {
        self.in_flight -= mark.copies();
        self.again -= mark.again();
        self.lost -= u32::from(mark == Mark::Lost);
        self.sacked_count -= u32::from(mark == Mark::Sacked);
    }

    /// The first segment that is lost and not sent again.
    pub(super) fn next_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        let from = self.lost_from.max(self.first);
        let lost = self.segments.iter().skip(self.place(from)?).position(|sent| sent.mark == Mark::Lost)?;
        self.lost_from = from.saturating_add(saturating::<u32>(lost));
        Some(self.lost_from)
    }

    /// Adds the next segment, which is sent for the first time.
    pub(super) fn send(&mut self, at: Instant) -> u32 {
        let seq = self.first.saturating_add(self.len());
        let serial = self.transmission(seq);
        let snapshot = Snapshot::START;
        let (mark, times, delivered) = (Mark::Out, Times::Once, self.delivered);
        self.segments.push_back(Sent { at, serial, mark, times, delivered, snapshot });
        self.in_flight += 1;
        seq
    }

    /// A segment is sent again.
    pub(super) fn resend(&mut self, seq: u32, at: Instant, mark: Mark) {
        self.set(seq, mark);
        let (serial, delivered) = (self.transmission(seq), self.delivered);
        if let Some(sent) = self.place(seq).and_then(|place| self.segments.get_mut(place)) {
            (sent.at, sent.serial, sent.times, sent.delivered) = (at, serial, Times::More, delivered);
        }
    }

    /// Nothing is lost after all. As in the kernel, segments that were taken for lost are not
    /// looked at again before they are sent again or a timeout.
    pub(super) fn find_all_lost(&mut self) {
        let (mut seq, high) = (self.first, self.first.saturating_add(self.len()));
        while seq < high {
            match self.get(seq).map(|sent| sent.mark) {
                Some(Mark::Lost) => {
                    self.set(seq, Mark::Out);
                    if let Some(sent) = self.place(seq).and_then(|place| self.segments.get_mut(place)) {
                        sent.serial = NEVER_LATE;
                    }
                }
                Some(Mark::Again) => self.set(seq, Mark::Twice),
                Some(Mark::Out | Mark::Sacked | Mark::Twice) | None => {}
            }
            seq += 1;
        }
    }

    /// Keeps what was known when the segment was sent.
    pub(super) fn note(&mut self, seq: u32, snapshot: Snapshot) {
        if let Some(sent) = self.place(seq).and_then(|place| self.segments.get_mut(place)) {
            sent.snapshot = snapshot;
        }
    }

    fn transmission(&mut self, seq: u32) -> u64 {
        self.sent += 1;
        self.order.push_back(Transmission { seq, serial: self.sent });
        self.sent
    }

    /// Everything below `next` is acknowledged; `each` is called for the segments in order.
    pub(super) fn acknowledge(&mut self, next: u32, mut each: impl FnMut(u32, Sent)) {
        while self.first < next
            && let Some(sent) = self.segments.pop_front()
        {
            self.delivered += u64::from(sent.mark != Mark::Sacked);
            each(self.first, sent);
            self.leave(sent.mark);
            self.first += 1;
        }
        if !self.sacked.is_empty() {
            self.sacked.advance(self.first);
        }
    }

    /// Takes blocks of a selective acknowledgement in; `each` is called for the segments that are
    /// new among them.
    pub(super) fn report(&mut self, blocks: &[SackBlock; 3], mut each: impl FnMut(u32, Sent)) {
        let high = self.first.saturating_add(self.len());
        for block in blocks.iter().take_while(|block| !block.is_empty()) {
            let block = SackBlock { start: block.start.max(self.first), end: block.end.min(high) };
            let mut seq = self.sacked.next_hole(block.start);
            while seq < block.end {
                if let Some(sent) = self.get(seq) {
                    self.delivered += 1;
                    each(seq, sent);
                }
                self.set(seq, Mark::Sacked);
                seq = self.sacked.next_hole(seq + 1);
            }
            self.sacked.insert(block);
        }
    }

    /// Segments in the network in the order of their last transmission, up to the one numbered
    /// `before`, which is left out.
    pub(super) fn sent_before(&mut self, before: u64) -> impl Iterator<Item = (u32, Sent)> {
        while let Some(oldest) = self.order.front().copied()
            && self.current(oldest).is_none()
        {
            self.order.pop_front();
        }
        let this = &*self;
        this.order
            .iter()
            .take_while(move |transmission| transmission.serial < before)
            .filter_map(|transmission| Some((transmission.seq, this.current(*transmission)?)))
    }

    /// The segment of a transmission, if that is its last and it is in the network.
    fn current(&self, transmission: Transmission) -> Option<Sent> {
        let sent = self.get(transmission.seq)?;
        (sent.serial == transmission.serial && sent.mark.copies() > 0).then_some(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The counts are those of the segments, whatever happens.
        #[test]
        fn counts(steps in prop::collection::vec((0_u32..8, 0_u32..40, 1_u32..5), 1..200)) {
            let mut flight = Flight::default();
            for (now, (what, seq, len)) in (1_u64..).zip(steps) {
                let at = Instant::from_nanos(now);
                let seq = flight.first() + seq;
                match (what, flight.get(seq).map(|sent| sent.mark)) {
                    (0 | 1, _) => { flight.send(at); }
                    (2, Some(Mark::Out | Mark::Again | Mark::Twice)) => flight.set(seq, Mark::Lost),
                    (3, Some(Mark::Lost)) => flight.resend(seq, at, Mark::Again),
                    (4, _) => {
                        let block = SackBlock { start: seq, end: seq + len };
                        flight.report(&[block, SackBlock::default(), SackBlock::default()], |_, _| {});
                    }
                    (6, Some(Mark::Again)) => flight.find_all_lost(),
                    (5, _) => flight.acknowledge(flight.first() + len.min(flight.len()), |_, _| {}),
                    _ => {}
                }
                let count = |wanted: fn(Mark) -> bool| {
                    flight.segments.iter().filter(|sent| wanted(sent.mark)).count()
                };
                prop_assert_eq!(saturating::<usize>(flight.lost), count(|mark| mark == Mark::Lost));
                prop_assert_eq!(saturating::<usize>(flight.sacked_count), count(|mark| mark == Mark::Sacked));
                let copies: u32 = flight.segments.iter().map(|sent| sent.mark.copies()).sum();
                prop_assert_eq!(flight.in_flight, copies);
                prop_assert_eq!(
                    saturating::<usize>(flight.again),
                    count(|mark| matches!(mark, Mark::Again | Mark::Twice))
                );
                let first_lost = flight.segments.iter().position(|sent| sent.mark == Mark::Lost);
                let first_lost = first_lost.map(|place| flight.first + saturating::<u32>(place));
                let late = |sent: &&Sent| sent.mark.copies() > 0 && sent.serial != NEVER_LATE;
                let out = flight.segments.iter().filter(late).count();
                prop_assert_eq!(flight.next_lost(), first_lost);
                prop_assert_eq!(flight.sent_before(u64::MAX).count(), out);
            }
        }
    }
}
