//! RTP congestion control feedback (RFC 8888 §3.1): RTCP PT 205, FMT 11.
//!
//! For each stream of a transport the receiver says which RTP packets came, with their marks, and
//! how long before the report.

use std::collections::VecDeque;
use std::ops::Range;

use tfrc::Advisor;
use tfrc::advisor::{Ack, Hold, Taken};
use tfrc_units::{Duration, Ecn, Instant, saturating};

use crate::reader::ByteReader;
use crate::rtcp::{self, RtcpPacket};
use crate::unwrapping::{Clock, Numbers};
use crate::{Counts, DecodeError, ErrorKind};

/// FMT.
const FORMAT: u8 = 11;
/// The most packets in one block (§3.1).
const MOST: u16 = 16_384;
/// The two offsets that are not times.
const OVER_RANGE: u16 = 0x1FFE;
const UNAVAILABLE: u16 = 0x1FFF;

/// How long before the report a packet came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// In units of 1/1024 s, up to 8189.
    Units(u16),
    /// Longer ago than the field can say.
    OverRange,
    /// Not known, or after the report's time.
    Unavailable,
}

/// Metric block of one packet: whether it arrived, with which mark and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// It has not come so far.
    NotReceived,
    /// The packet arrived.
    Received {
        /// The mark it came with.
        ecn: Ecn,
        /// Time between its arrival and the report.
        offset: Offset,
    },
}

impl Metric {
    fn from_bits(bits: u16) -> Self {
        if bits & 0x8000 == 0 {
            return Self::NotReceived;
        }
        let ecn = Ecn::from_bits(bits.to_be_bytes()[0] >> 5);
        let offset = match bits & 0x1FFF {
            OVER_RANGE => Offset::OverRange,
            UNAVAILABLE => Offset::Unavailable,
            units => Offset::Units(units),
        };
        Self::Received { ecn, offset }
    }

    fn bits(self) -> u16 {
        match self {
            Self::NotReceived => 0,
            Self::Received { ecn, offset } => {
                let offset = match offset {
                    Offset::Units(units) => units.min(OVER_RANGE),
                    Offset::OverRange => OVER_RANGE,
                    Offset::Unavailable => UNAVAILABLE,
                };
                0x8000 | (u16::from(ecn.bits()) << 13) | offset
            }
        }
    }
}

/// A report known to be whole.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// SSRC of the sender of the report.
    pub sender_ssrc: u32,
    /// When it was made: the middle 32 bits of an NTP time, in 1/65536 s.
    pub timestamp: u32,
    blocks: ByteReader<'a>,
}

/// The part of a report about one stream.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// SSRC of the stream.
    pub ssrc: u32,
    /// The RTP sequence number of the first packet.
    pub begin_seq: u16,
    metrics: ByteReader<'a>,
}

/// Reads one RTCP packet. `num_reports` is taken as the number of metrics, as the text around the
/// range in §3.1 and everybody's code have it, not as one less.
///
/// # Errors
/// [`DecodeError`] if it is another message, is cut short, or a block is larger than allowed.
pub fn decode(bytes: &[u8]) -> Result<Report<'_>, DecodeError> {
    let mut at = RtcpPacket::feedback(bytes, FORMAT)?;
    let sender_ssrc = at.u32()?;
    let offset = at.offset();
    let length = at.rest().len().checked_sub(4).ok_or_else(|| at.error(ErrorKind::Truncated))?;
    let blocks = ByteReader::new(at.take(length)?, offset);
    let mut walk = blocks;
    while !walk.rest().is_empty() {
        next_block(&mut walk)?;
    }
    Ok(Report { sender_ssrc, timestamp: at.u32()?, blocks })
}

fn next_block<'a>(at: &mut ByteReader<'a>) -> Result<Block<'a>, DecodeError> {
    let (ssrc, begin_seq) = (at.u32()?, at.u16()?);
    let count_at = *at;
    let count = at.u16()?;
    if count > MOST {
        return Err(count_at.error(ErrorKind::TooManyPackets(count)));
    }
    let offset = at.offset();
    let metrics = ByteReader::new(at.take(2 * usize::from(count))?, offset);
    at.take(2 * usize::from(count % 2))?;
    Ok(Block { ssrc, begin_seq, metrics })
}

impl<'a> Report<'a> {
    /// The streams reported on.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let mut at = self.blocks;
        // All of it was read once by `decode`, so errors cannot come up here; they would end the
        // report.
        core::iter::from_fn(move || next_block(&mut at).ok())
    }
}

impl<'a> Block<'a> {
    /// The packets in order of sequence.
    pub fn packets(&self) -> impl Iterator<Item = (u16, Metric)> + use<'a> {
        let (mut at, mut seq) = (self.metrics, self.begin_seq);
        core::iter::from_fn(move || {
            let packet = (seq, Metric::from_bits(at.u16().ok()?));
            seq = seq.wrapping_add(1);
            Some(packet)
        })
    }
}

/// The report on streams of (SSRC, first sequence number, metrics); metrics beyond 16384 of a
/// stream are left out.
#[must_use]
pub fn encode(sender_ssrc: u32, streams: &[(u32, u16, &[Metric])], timestamp: u32) -> Vec<u8> {
    let mut body = Vec::new();
    for (ssrc, begin_seq, metrics) in streams {
        let count = saturating::<u16>(metrics.len()).min(MOST);
        body.extend(ssrc.to_be_bytes());
        body.extend(begin_seq.to_be_bytes());
        body.extend(count.to_be_bytes());
        for metric in metrics.iter().take(usize::from(count)) {
            body.extend(metric.bits().to_be_bytes());
        }
        if count % 2 == 1 {
            body.extend([0, 0]);
        }
    }
    body.extend(timestamp.to_be_bytes());
    rtcp::frame(FORMAT, sender_ssrc, &body)
}

/// Takes the reports on a transport to an [`Advisor`]: on all streams that share it, such as sound,
/// video and its retransmissions (RTX), which the receiver reports on together and one rate is for.
///
/// [`Adapter::on_sent`] learns which packet of which stream has which of the numbers that
/// [`Advisor::on_sent`] was given. Fewer than 32768 packets of a stream may be on their way.
///
/// Reports may come in any order, twice, and not at all: after the last of them p is the one of the
/// same reports in order. Reports on a stream follow each other without gaps (§3.1), so packets
/// between the end of all reports so far and the beginning of a later one are those of a report
/// that is lost or still on its way: they count neither as arrived nor as lost until it comes. So
/// do the packets of other streams that were sent between them and that no report has covered.
#[derive(Debug, Clone, Default)]
pub struct Adapter {
    /// The report's time, which goes round after 18 hours.
    clock: Clock<32>,
    streams: Vec<Stream>,
}

/// The packets of a stream that were sent.
#[derive(Debug, Clone)]
struct Stream {
    ssrc: u32,
    /// RTP sequence numbers, counted on, with the numbers that the Advisor knows.
    sent: VecDeque<(u64, u64)>,
    /// The packet that the next report begins with, if no report is lost; the first, before all
    /// reports.
    expected: u64,
    /// A report has covered packets.
    is_known: bool,
}

/// Packets of a stream that are remembered: those whose 16 bits are not used again.
const REMEMBERED: usize = 1 << 15;
/// Numbers begin a turn above zero, so that those before the first have one too.
const TURN: u64 = 1 << 16;

impl Stream {
    fn new(ssrc: u32, seq: u16) -> Self {
        Self { ssrc, sent: VecDeque::new(), expected: TURN + u64::from(seq), is_known: false }
    }

    fn newest(&self) -> u64 {
        self.sent.back().map_or(self.expected, |(number, _)| *number)
    }

    /// Remembers a packet. One that goes again under its number takes the place of the first.
    fn push(&mut self, seq: u16, id: u64) {
        let Some(number) = Numbers::from(seq, self.newest()).at(0) else { return };
        match self.sent.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(place) => {
                if let Some(sent) = self.sent.get_mut(place) {
                    sent.1 = id;
                }
            }
            Err(place) => self.sent.insert(place, (number, id)),
        }
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
    }

    fn id(&self, number: u64) -> Option<u64> {
        let place = self.sent.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.sent.get(place).map(|(_, id)| *id)
    }

    /// The Advisor's numbers of the packets from one sequence number to before another.
    fn ids(&self, numbers: Range<u64>) -> impl Iterator<Item = u64> {
        let from = self.sent.partition_point(|(number, _)| *number < numbers.start);
        self.sent.range(from..).take_while(move |(number, _)| *number < numbers.end).map(|(_, id)| *id)
    }
}

impl Adapter {
    /// A packet of a stream is sent. `id` is the number given to [`Advisor::on_sent`], of one count
    /// over all streams.
    pub fn on_sent(&mut self, ssrc: u32, seq: u16, id: u64) {
        let place = self.streams.iter().position(|stream| stream.ssrc == ssrc).unwrap_or_else(|| {
            self.streams.push(Stream::new(ssrc, seq));
            self.streams.len() - 1
        });
        if let Some(stream) = self.streams.get_mut(place) {
            stream.push(seq, id);
        }
    }

    /// One RTCP packet has come. Packets it calls not received are not lost yet: the Advisor finds
    /// that out itself. A block without metrics says nothing of any packet; blocks on streams that
    /// nothing was sent on are passed over.
    ///
    /// # Errors
    /// [`DecodeError`] if it is no such report; then nothing has been taken in.
    pub fn on_report<const N: usize>(
        &mut self,
        now: Instant,
        packet: &[u8],
        advisor: &mut Advisor<N>,
    ) -> Result<Counts, DecodeError> {
        let report = decode(packet)?;
        let made_at = self.clock.read(report.timestamp);
        for block in report.blocks() {
            self.cover(&block, advisor);
        }
        let (mut counts, mut newest) = (Counts::default(), None::<(u64, Hold)>);
        for block in report.blocks() {
            let Some(stream) = self.streams.iter().find(|stream| stream.ssrc == block.ssrc) else { continue };
            let numbers = Numbers::from(block.begin_seq, stream.newest());
            for ((_, metric), place) in block.packets().zip(0..) {
                let Metric::Received { ecn, offset } = metric else { continue };
                let Some(id) = numbers.at(place).and_then(|number| stream.id(number)) else {
                    counts.unknown += 1;
                    continue;
                };
                let (arrived_at, hold) = match offset {
                    // 1/1024 s are 64 of the units of the report's time.
                    Offset::Units(units) => (Some(instant(made_at - i64::from(units) * 64)), known(units)),
                    // At least so long.
                    Offset::OverRange => (None, known(OVER_RANGE)),
                    Offset::Unavailable => (None, Hold::Unknown),
                };
                let taken = advisor.on_acked(Ack { id, arrived_at, ecn });
                counts.add(taken);
                if taken == Taken::New && newest.is_none_or(|(highest, _)| id > highest) {
                    newest = Some((id, hold));
                }
            }
        }
        advisor.on_report(now, newest.map_or(Hold::Unknown, |(_, hold)| hold));
        Ok(counts)
    }

    /// Tells the Advisor which packets a block covers, and which lie between it and all reports
    /// before.
    fn cover<const N: usize>(&mut self, block: &Block<'_>, advisor: &mut Advisor<N>) {
        let Some(place) = self.streams.iter().position(|stream| stream.ssrc == block.ssrc) else { return };
        let Some(stream) = self.streams.get(place) else { return };
        let count = saturating::<u64>(block.packets().count());
        let newest = stream.newest();
        let Some((first, last)) = Numbers::from(block.begin_seq, newest).range(count, newest) else { return };
        if stream.is_known && stream.expected < first {
            let between: Vec<u64> = stream.ids(stream.expected..first).collect();
            let others = between.iter().min().zip(between.iter().max()).map(|(from, to)| *from..=*to);
            let others = others.into_iter().flat_map(|range| {
                let others = self.streams.iter().filter(|other| other.ssrc != block.ssrc);
                others
                    .flat_map(|other| other.ids(other.expected..u64::MAX))
                    .filter(move |id| range.contains(id))
            });
            for (from, to) in runs(between.iter().copied().chain(others).collect()) {
                advisor.on_unreported(from, to);
            }
        }
        for (from, to) in runs(stream.ids(first..last + 1).collect()) {
            advisor.on_covered(from, to);
        }
        if let Some(stream) = self.streams.get_mut(place) {
            stream.expected = if stream.is_known { stream.expected.max(last + 1) } else { last + 1 };
            stream.is_known = true;
        }
    }
}

/// The first and the last of each run of consecutive numbers.
fn runs(mut ids: Vec<u64>) -> Vec<(u64, u64)> {
    ids.sort_unstable();
    let by_one = ids.chunk_by(|a, b| b - a <= 1);
    by_one.filter_map(|run| Some((*run.first()?, *run.last()?))).collect()
}

/// An offset in 1/1024 s as the hold of a packet.
fn known(units: u16) -> Hold {
    Hold::Known(Duration::from_nanos(u64::from(units) * 1_000_000_000 / 1024))
}

/// A time in 1/65536 s.
fn instant(units: i64) -> Instant {
    let nanos = i128::from(units) * 1_000_000_000 / 65_536;
    Instant::from_nanos(saturating::<u64>(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Put together by hand from Figure 1 of §3.1: one stream, three packets from 0xFFFF on, and
    /// padding.
    #[test]
    fn a_report_by_hand() {
        let bytes = [
            0x8B, 205, 0, 6, 0, 0, 0, 1, // header, SSRC of the reporter
            0, 0, 0, 2, 0xFF, 0xFF, 0, 3, // SSRC of the stream, first sequence number, count
            0x82, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0,
            0, // half a second ago; missing; CE, time not known; padding
            0, 1, 0x80, 0, // 1.5 s
        ];
        let report = decode(&bytes).expect("well-formed");
        assert_eq!((report.sender_ssrc, report.timestamp), (1, 0x0001_8000));
        let blocks: Vec<_> = report.blocks().map(|b| (b.ssrc, b.packets().collect::<Vec<_>>())).collect();
        let half = Metric::Received { ecn: Ecn::NotEct, offset: Offset::Units(512) };
        let marked = Metric::Received { ecn: Ecn::Ce, offset: Offset::Unavailable };
        assert_eq!(blocks, [(2, vec![(0xFFFF, half), (0, Metric::NotReceived), (1, marked)])]);
    }

    #[test]
    fn errors_say_where() {
        let fail = |bytes: &[u8]| decode(bytes).err().map(|e| (e.kind, e.offset));
        assert_eq!(fail(&[0x8B, 205, 0, 1, 0, 0, 0, 1]), Some((ErrorKind::Truncated, 8)));
        let long = [0x8B, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x40, 1, 0, 0, 0, 0];
        assert_eq!(fail(&long), Some((ErrorKind::TooManyPackets(16_385), 14)));
        let cut = [0x8B, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(fail(&cut), Some((ErrorKind::Truncated, 16)));
        assert_eq!(fail(&encode(1, &[], 7)), None);
    }

    fn metric() -> impl Strategy<Value = Metric> {
        prop_oneof![
            Just(Metric::NotReceived),
            (0u8..4, 0u16..0x2000)
                .prop_map(|(ecn, offset)| { Metric::from_bits(0x8000 | (u16::from(ecn) << 13) | offset) }),
        ]
    }

    proptest! {
        #[test]
        fn round_trip(
            timestamp in any::<u32>(),
            streams in prop::collection::vec((any::<u32>(), any::<u16>(), prop::collection::vec(metric(), 0..40)), 0..4),
        ) {
            let borrowed: Vec<_> = streams.iter().map(|(ssrc, seq, m)| (*ssrc, *seq, m.as_slice())).collect();
            let bytes = encode(9, &borrowed, timestamp);
            let report = decode(&bytes).expect("whole");
            prop_assert_eq!(report.timestamp, timestamp);
            let got: Vec<_> = report
                .blocks()
                .map(|b| (b.ssrc, b.begin_seq, b.packets().map(|(_, m)| m).collect::<Vec<_>>()))
                .collect();
            prop_assert_eq!(got, streams);
        }

        #[test]
        fn random_bytes(head in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let mut bytes = bytes;
            if head {
                let words = saturating::<u8>(bytes.len() / 4);
                bytes.splice(0..0, [0x8B, 205, 0, words]);
            }
            match decode(&bytes) {
                Ok(report) => prop_assert!(report.blocks().flat_map(|b| b.packets()).count() <= bytes.len()),
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }
}
