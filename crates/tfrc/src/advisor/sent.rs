//! Record of the packets sent: the last `N`, by the application's own numbers.

use tfrc_units::{Ecn, Instant, saturating};

use crate::ring::Ring;
use crate::sender::Coverage;

/// A packet that was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentPacket {
    pub(crate) id: u64,
    pub(crate) sent_at: Instant,
    pub(crate) size: u32,
    /// Coverage once this packet had gone: [`Coverage::NotDataLimited`] if the rate then held the
    /// sender back.
    pub(crate) coverage: Coverage,
    pub(crate) fate: PacketFate,
}

/// Fate of a packet, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketFate {
    /// Nothing is known yet.
    InFlight,
    /// The report now being read says that it arrived.
    Reported { arrived_at: Option<Instant>, ecn: Ecn },
    /// The transport says that it is lost, which is still to be taken into account.
    Lost,
    /// It counts as lost, with this number of the receiving half's.
    Missing { seq: u64 },
    /// It counts as lost, and the report now being read says that it arrived.
    Found { seq: u64, ecn: Ecn },
    /// It arrived, and that has been taken into account: when, on the sender's clock, and its mark.
    Done { at: Instant, ecn: Ecn },
    /// No report has covered it, though later ones have come.
    Unreported,
}

/// Outcome of an acknowledgement or a loss that the application passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Not known before.
    New,
    /// Known before: an acknowledgement of a packet acknowledged already, or a loss of a packet
    /// whose fate is known.
    Duplicate,
    /// No such packet was sent, or it was sent so long ago that it has been forgotten.
    Unknown,
}

/// The last `N` packets. Their ordinals count 1, 2, 3… without the gaps that the application's
/// numbers may have.
#[derive(Debug, Clone)]
pub(crate) struct SentPackets<const N: usize> {
    ring: Ring<SentPacket, N>,
    /// The ordinal of the next packet.
    next: u64,
    /// The ordinals of the lowest and highest packet of the report now being read.
    reported: Option<(u64, u64)>,
    /// The least and the greatest number of the packets declared lost since the last report was
    /// read.
    lost: Option<(u64, u64)>,
    /// No packet above this ordinal is [`PacketFate::Unreported`].
    unreported_up_to: u64,
    /// The fate of a packet that was [`PacketFate::Unreported`] has become known since the last
    /// report was read.
    revealed: bool,
}

impl<const N: usize> SentPackets<N> {
    pub(crate) const fn new() -> Self {
        const { assert!(N > 0, "an Advisor must remember at least one packet") };
        Self { ring: Ring::new(), next: 1, reported: None, lost: None, unreported_up_to: 0, revealed: false }
    }

    /// Remembers a packet, if its number is above all before. Gives back one forgotten for it, with
    /// its ordinal.
    pub(crate) fn push(&mut self, packet: SentPacket) -> Option<(u64, SentPacket)> {
        if self.ring.last().is_some_and(|last| packet.id <= last.id) {
            return None;
        }
        let base = self.base();
        let out = self.ring.push(packet);
        self.next += 1;
        out.map(|packet| (base, packet))
    }

    /// Returns true if no packet has been remembered yet.
    pub(crate) const fn is_untouched(&self) -> bool {
        self.next == 1
    }

    pub(crate) fn oldest(&self) -> Option<SentPacket> {
        self.ring.get(0)
    }

    pub(crate) fn newest(&self) -> Option<SentPacket> {
        self.ring.last()
    }

    /// The packet with this ordinal.
    pub(crate) fn get(&self, ordinal: u64) -> Option<SentPacket> {
        self.ring.get(self.index_of(ordinal)?)
    }

    /// The ordinal of the packet that the application calls `id`.
    pub(crate) fn ordinal(&self, id: u64) -> Option<u64> {
        let index = self.first_at_or_above(id);
        self.ring.get(index).filter(|packet| packet.id == id).and_then(|_| self.ordinal_at(index))
    }

    /// The report now being read says that this packet arrived.
    pub(crate) fn report(&mut self, id: u64, arrived_at: Option<Instant>, ecn: Ecn) -> Taken {
        let index = self.first_at_or_above(id);
        let Some(ordinal) = self.ordinal_at(index) else { return Taken::Unknown };
        match self.ring.get_mut(index) {
            Some(packet) if packet.id == id => {
                self.revealed |= packet.fate == PacketFate::Unreported;
                packet.fate = match packet.fate {
                    PacketFate::InFlight | PacketFate::Lost | PacketFate::Unreported => {
                        PacketFate::Reported { arrived_at, ecn }
                    }
                    PacketFate::Missing { seq } => PacketFate::Found { seq, ecn },
                    _ => return Taken::Duplicate,
                };
            }
            _ => return Taken::Unknown,
        }
        extend(&mut self.reported, ordinal);
        Taken::New
    }

    /// The transport says that this packet is lost.
    pub(crate) fn lose(&mut self, id: u64) -> Taken {
        let Some(ordinal) = self.ordinal(id) else { return Taken::Unknown };
        match self.index_of(ordinal).and_then(|index| self.ring.get_mut(index)) {
            Some(packet) if packet.fate == PacketFate::InFlight => packet.fate = PacketFate::Lost,
            _ => return Taken::Duplicate,
        }
        extend(&mut self.lost, ordinal);
        Taken::New
    }

    /// The ordinals of the lowest and highest packet declared lost since the last call.
    pub(crate) const fn take_lost(&mut self) -> Option<(u64, u64)> {
        self.lost.take()
    }

    /// The receiving half knows this lost packet by `seq`.
    pub(crate) fn number_lost(&mut self, ordinal: u64, seq: u64) {
        if let Some(packet) = self.index_of(ordinal).and_then(|index| self.ring.get_mut(index)) {
            packet.fate = PacketFate::Missing { seq };
        }
    }

    /// Takes in, as [`Self::report`], that all packets with numbers from `first` to `last` arrived;
    /// returns how many of them are news.
    pub(crate) fn report_range(&mut self, first: u64, last: u64, ecn: Ecn) -> u64 {
        let mut news = 0;
        let mut index = self.first_at_or_above(first);
        while let Some(packet) = self.ring.get(index).filter(|packet| packet.id <= last) {
            news += u64::from(self.report(packet.id, None, ecn) == Taken::New);
            index += 1;
        }
        news
    }

    /// No report will cover the packets in this range whose fate is unknown.
    pub(crate) fn pass_over(&mut self, first: u64, last: u64) {
        let mut index = self.first_at_or_above(first);
        while let Some(packet) = self.ring.get_mut(index).filter(|packet| packet.id <= last) {
            if packet.fate == PacketFate::InFlight {
                packet.fate = PacketFate::Unreported;
                self.unreported_up_to = self.unreported_up_to.max(self.ordinal_at(index).unwrap_or(0));
            }
            index += 1;
        }
    }

    /// A report covers the packets in this range: those of them that were passed over are in flight
    /// again.
    pub(crate) fn cover(&mut self, first: u64, last: u64) {
        let mut index = self.first_at_or_above(first);
        if self.ordinal_at(index).is_none_or(|ordinal| ordinal > self.unreported_up_to) {
            return;
        }
        while let Some(packet) = self.ring.get_mut(index).filter(|packet| packet.id <= last) {
            if packet.fate == PacketFate::Unreported {
                packet.fate = PacketFate::InFlight;
                self.revealed = true;
            }
            index += 1;
        }
    }

    /// Returns true if the fate of a packet passed over has become known since the last call.
    pub(crate) const fn take_revealed(&mut self) -> bool {
        let revealed = self.revealed;
        self.revealed = false;
        revealed
    }

    /// No packet above this ordinal has been passed over.
    pub(crate) const fn unreported_up_to(&self) -> u64 {
        self.unreported_up_to
    }

    /// The losses of packets sent at `since` or later are taken back: the packets arrived, nothing
    /// more is known. Returns their number.
    pub(crate) fn take_back(&mut self, since: Instant) -> u64 {
        let (mut index, mut count) = (self.ring.len(), 0);
        while let Some(below) = index.checked_sub(1) {
            let Some(packet) = self.ring.get_mut(below).filter(|packet| packet.sent_at >= since) else {
                break;
            };
            index = below;
            packet.fate = match packet.fate {
                PacketFate::Lost => PacketFate::Reported { arrived_at: None, ecn: Ecn::NotEct },
                PacketFate::Missing { seq } => PacketFate::Found { seq, ecn: Ecn::NotEct },
                _ => continue,
            };
            count += 1;
            if let Some(ordinal) = self.ordinal_at(below) {
                extend(&mut self.reported, ordinal);
            }
        }
        count
    }

    /// Ends the report: the ordinals of its lowest and highest packet.
    pub(crate) fn take_reported(&mut self) -> Option<(u64, u64)> {
        self.reported.take()
    }

    /// The packet arrived then, and that has been taken into account.
    pub(crate) fn settle(&mut self, ordinal: u64, at: Instant, ecn: Ecn) {
        if let Some(packet) = self.index_of(ordinal).and_then(|index| self.ring.get_mut(index)) {
            packet.fate = PacketFate::Done { at, ecn };
        }
    }

    /// Was the sender data-limited all the time in (`after`, newest packet `ordinal`]?
    /// (RFC 5348 §8.2.1) Reads back from that packet, until it finds one after which it was not.
    pub(crate) fn coverage(&self, ordinal: u64, after: Option<Instant>) -> Coverage {
        let newest = self.index_of(ordinal).map_or(0, |index| index + 1);
        let held_back = (0..newest)
            .rev()
            .filter_map(|index| self.ring.get(index))
            .take_while(|packet| Some(packet.sent_at) > after)
            .any(|packet| packet.coverage == Coverage::NotDataLimited);
        if held_back { Coverage::NotDataLimited } else { Coverage::DataLimited }
    }

    /// The ordinal of the oldest packet remembered.
    fn base(&self) -> u64 {
        self.next - saturating::<u64>(self.ring.len())
    }

    fn index_of(&self, ordinal: u64) -> Option<usize> {
        ordinal.checked_sub(self.base()).and_then(|index| usize::try_from(index).ok())
    }

    fn ordinal_at(&self, index: usize) -> Option<u64> {
        u64::try_from(index).ok().map(|index| self.base() + index)
    }

    /// The index of the first packet with a number of at least `id`; the length if there is none.
    fn first_at_or_above(&self, id: u64) -> usize {
        let (mut low, mut high) = (0, self.ring.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.ring.get(middle).is_some_and(|packet| packet.id < id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Takes an ordinal into the range from the lowest to the highest.
fn extend(range: &mut Option<(u64, u64)>, ordinal: u64) {
    let (low, high) = range.unwrap_or((ordinal, ordinal));
    *range = Some((low.min(ordinal), high.max(ordinal)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent<const N: usize>(ids: &[u64]) -> SentPackets<N> {
        let mut packets = SentPackets::new();
        for (id, second) in ids.iter().zip(0u64..) {
            packets.push(SentPacket {
                id: *id,
                sent_at: Instant::from_nanos(second * 1_000_000_000),
                size: 100,
                coverage: if id % 2 == 0 { Coverage::DataLimited } else { Coverage::NotDataLimited },
                fate: PacketFate::InFlight,
            });
        }
        packets
    }

    #[test]
    fn ordinals_have_no_gaps() {
        let packets = sent::<8>(&[10, 11, 15, 15, 3, 90]);
        assert_eq!(packets.ordinal(10), Some(1));
        assert_eq!(packets.ordinal(15), Some(3));
        assert_eq!(packets.ordinal(90), Some(4), "15 again and 3 are not above all before");
        for unknown in [0, 3, 12, 91, u64::MAX] {
            assert_eq!(packets.ordinal(unknown), None);
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut packets = sent::<4>(&[1, 2, 3, 4]);
        assert_eq!(packets.report(1, None, Ecn::NotEct), Taken::New);
        assert_eq!(packets.take_reported(), Some((1, 1)));
        packets.settle(1, Instant::ZERO, Ecn::NotEct);
        for (id, out) in [(5, 1), (6, 2), (6, 0)] {
            let pushed = packets.push(SentPacket { id, ..packets.newest().expect("there are four") });
            assert_eq!(pushed.map(|(ordinal, _)| ordinal), (out > 0).then_some(out));
        }
        assert_eq!(packets.report(2, None, Ecn::NotEct), Taken::Unknown);
        assert_eq!((packets.ordinal(3), packets.ordinal(6)), (Some(3), Some(6)));
        assert_eq!(packets.get(2).map(|p| p.id), None);
        assert_eq!(packets.get(6).map(|p| p.id), Some(6));
    }

    #[test]
    fn reports_are_taken_once() {
        let mut packets = sent::<8>(&[1, 2, 3, 7, 8]);
        assert_eq!(packets.report_range(0, u64::MAX, Ecn::NotEct), 5);
        assert_eq!(packets.report_range(2, 7, Ecn::NotEct), 0);
        assert_eq!(packets.report(3, None, Ecn::Ce), Taken::Duplicate);
        assert_eq!(packets.take_reported(), Some((1, 5)));
        assert_eq!(packets.take_reported(), None);
    }

    /// RFC 5348 §8.2.1: the interval is half-open. Packets 1, 3, 5 went at 0, 2, 4 s and left the
    /// sender held back.
    #[test]
    fn coverage_looks_at_the_interval() {
        let packets = sent::<8>(&[1, 2, 3, 4, 5, 6]);
        let after = |s: u64| Some(Instant::from_nanos(s * 1_000_000_000));
        assert_eq!(packets.coverage(6, after(4)), Coverage::DataLimited);
        assert_eq!(packets.coverage(6, after(3)), Coverage::NotDataLimited);
        assert_eq!(packets.coverage(2, after(0)), Coverage::DataLimited);
        assert_eq!(packets.coverage(2, None), Coverage::NotDataLimited);
    }
}
