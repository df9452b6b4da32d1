//! RTP congestion control feedback (RFC 8888 §3.1): RTCP PT 205, FMT 11.
//!
//! For each stream of a transport the receiver says which RTP packets came, with their marks, and
//! how long before the report.

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

/// Takes the reports on one stream to an [`Advisor`]. The numbers given to [`Advisor::on_sent`]
/// must be the RTP sequence numbers of that stream, counted on beyond their 16 bits, and fewer than
/// 32768 packets may be on their way.
///
/// Reports may come in any order, twice, and not at all: after the last of them p is the one of the
/// same reports in order. Reports on a stream follow each other without gaps (§3.1), so packets
/// between the end of all reports so far and the beginning of a later one are those of a report
/// that is lost or still on its way: they count neither as arrived nor as lost until it comes.
#[derive(Debug, Clone)]
pub struct Adapter {
    ssrc: u32,
    /// The report's time, which goes round after 18 hours.
    clock: Clock<32>,
    /// The packet that the next report begins with, if no report is lost.
    expected: Option<u64>,
}

impl Adapter {
    /// For the stream with this SSRC; others are passed over.
    #[must_use]
    pub fn new(ssrc: u32) -> Self {
        Self { ssrc, clock: Clock::default(), expected: None }
    }

    /// One RTCP packet has come. Packets it calls not received are not lost yet: the Advisor finds
    /// that out itself. A block without metrics says nothing of any packet.
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
        let newest_sent = advisor.newest_sent().unwrap_or(0);
        let mine = || report.blocks().filter(|block| block.ssrc == self.ssrc);
        let numbers = |block: &Block<'_>| Numbers::from(block.begin_seq, newest_sent);
        let mut expected = self.expected;
        for block in mine() {
            let count = saturating::<u64>(block.packets().count());
            let Some((first, last)) = numbers(&block).range(count, newest_sent) else { continue };
            if let Some(expected) = expected.filter(|expected| *expected < first) {
                advisor.on_unreported(expected, first - 1);
            }
            advisor.on_covered(first, last);
            expected = expected.max(Some(last + 1));
        }
        let packets = mine().flat_map(|block| {
            let numbers = numbers(&block);
            block.packets().zip(0..).map(move |((_, metric), place)| (numbers.at(place), metric))
        });
        let mut counts = Counts::default();
        let mut newest: Option<(u64, Hold)> = None;
        for (id, metric) in packets {
            let Metric::Received { ecn, offset } = metric else { continue };
            let Some(id) = id else {
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
        self.expected = expected;
        advisor.on_report(now, newest.map_or(Hold::Unknown, |(_, hold)| hold));
        Ok(counts)
    }
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
