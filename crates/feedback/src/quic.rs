//! Acknowledgements as QUIC has them: the ACK frame, types 0x02 and 0x03 (RFC 9000 §19.3).

use tfrc::Advisor;
use tfrc::advisor::{Ack, Hold, Taken};
use tfrc_units::{Duration, Ecn, Instant, saturating};

use crate::reader::{ByteReader, push_varint};
use crate::{Counts, DecodeError, ErrorKind};

/// The ECN counts of a frame of type 0x03 (§19.3.2): packets received so far with each mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnCounts {
    /// With ECT(0).
    pub ect0: u64,
    /// With ECT(1).
    pub ect1: u64,
    /// With CE.
    pub ce: u64,
}

/// An ACK frame known to be whole.
#[derive(Debug, Clone, Copy)]
pub struct AckFrame<'a> {
    /// The largest packet number acknowledged.
    pub largest: u64,
    /// ACK Delay as it stands in the frame, to be shifted by the peer's ack_delay_exponent to give
    /// microseconds.
    pub delay: u64,
    /// The ECN counts, if the frame has them.
    pub ecn: Option<EcnCounts>,
    /// The first range and the others after it.
    ranges: ByteReader<'a>,
    count: u64,
}

/// Reads one frame from its type on; gives back the bytes behind it too. Work is linear in the
/// bytes read.
///
/// # Errors
/// [`DecodeError`] if it is another frame, is cut short, or acknowledges packets below 0.
pub fn decode(bytes: &[u8]) -> Result<(AckFrame<'_>, &[u8]), DecodeError> {
    let mut at = ByteReader::new(bytes, 0);
    let frame_type = at.varint()?;
    if !matches!(frame_type, 2 | 3) {
        return Err(DecodeError { kind: ErrorKind::OtherFrame(frame_type), offset: 0 });
    }
    let (largest, delay, count) = (at.varint()?, at.varint()?, at.varint()?);
    let ranges = at;
    let mut walk = Ranges { at, next_largest: Some(largest), left: count, gap_first: false };
    while walk.next()?.is_some() {}
    let mut at = walk.at;
    let ecn = match frame_type {
        3 => Some(EcnCounts { ect0: at.varint()?, ect1: at.varint()?, ce: at.varint()? }),
        _ => None,
    };
    Ok((AckFrame { largest, delay, ecn, ranges, count }, at.rest()))
}

impl<'a> AckFrame<'a> {
    /// The ranges of packet numbers acknowledged, (smallest, largest) each, the highest range
    /// first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let mut walk =
            Ranges { at: self.ranges, next_largest: Some(self.largest), left: self.count, gap_first: false };
        // All of it was read once by `decode`, so errors cannot come up here; they would end the
        // frame.
        core::iter::from_fn(move || walk.next().ok().flatten())
    }
}

/// Walks over the ranges (§19.3.1).
struct Ranges<'a> {
    at: ByteReader<'a>,
    /// Where the next range ends, or for one after a gap, the smallest number of the one above;
    /// `None` at the end.
    next_largest: Option<u64>,
    /// Ranges after the first still to come.
    left: u64,
    gap_first: bool,
}

impl Ranges<'_> {
    fn next(&mut self) -> Result<Option<(u64, u64)>, DecodeError> {
        let Some(mut largest) = self.next_largest else { return Ok(None) };
        if self.gap_first {
            let here = self.at;
            let gap = self.at.varint()?;
            largest = largest.checked_sub(gap + 2).ok_or_else(|| here.error(ErrorKind::RangeBelowZero))?;
        }
        let here = self.at;
        let length = self.at.varint()?;
        let smallest = largest.checked_sub(length).ok_or_else(|| here.error(ErrorKind::RangeBelowZero))?;
        self.gap_first = true;
        self.next_largest = (self.left > 0).then_some(smallest);
        self.left = self.left.saturating_sub(1);
        Ok(Some((smallest, largest)))
    }
}

/// The frame for ranges of (smallest, largest), the highest first, with at least one number left
/// out between two; ranges after one that does not lie so, and those of nothing, are left out.
/// `None` without ranges.
#[must_use]
pub fn encode(ranges: &[(u64, u64)], delay: u64, ecn: Option<EcnCounts>) -> Option<Vec<u8>> {
    let (first, rest) = ranges.split_first()?;
    let mut fields = vec![first.1.checked_sub(first.0)?];
    let mut above = first.0;
    for (smallest, largest) in rest {
        let gap = above.checked_sub(*largest).and_then(|d| d.checked_sub(2));
        let (Some(gap), Some(length)) = (gap, largest.checked_sub(*smallest)) else { break };
        fields.extend([gap, length]);
        above = *smallest;
    }
    let mut out = vec![if ecn.is_some() { 3 } else { 2 }];
    let count = saturating::<u64>(fields.len() / 2);
    for field in [first.1, delay, count].into_iter().chain(fields) {
        push_varint(&mut out, field);
    }
    if let Some(ecn) = ecn {
        for count in [ecn.ect0, ecn.ect1, ecn.ce] {
            push_varint(&mut out, count);
        }
    }
    Some(out)
}

/// Takes the frames of one packet number space to an [`Advisor`]. The numbers given to
/// [`Advisor::on_sent`] must be QUIC's packet numbers; packets that carry no data need not be
/// passed. If the transport declares losses by itself, pass them on with [`Advisor::on_lost`]
/// before the frame that revealed them.
///
/// A peer may say that it held a packet for longer than it did. No more than its max_ack_delay is
/// believed (RFC 9002 §5.3), and the Advisor never takes R below the least round trip.
#[derive(Debug, Clone)]
pub struct Adapter {
    ack_delay_exponent: u8,
    max_ack_delay: Duration,
    /// Packets received with CE, and with ECT(0) or ECT(1).
    ce: u64,
    ect: u64,
}

/// max_ack_delay of a peer that states none (RFC 9000 §18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

impl Adapter {
    /// `ack_delay_exponent` is the peer's transport parameter, 3 if it sent none (RFC 9000 §18.2);
    /// at most 20.
    #[must_use]
    pub fn new(ack_delay_exponent: u8) -> Self {
        let ack_delay_exponent = ack_delay_exponent.min(20);
        Self { ack_delay_exponent, max_ack_delay: MAX_ACK_DELAY, ce: 0, ect: 0 }
    }

    /// With the max_ack_delay of the peer's transport parameters; 25 ms without it.
    #[must_use]
    pub const fn with_max_ack_delay(self, max_ack_delay: Duration) -> Self {
        Self { max_ack_delay, ..self }
    }

    /// A frame has come. If its CE count has risen, the highest packet it is first to acknowledge
    /// counts as marked: which ones were is not known, and all of a round-trip time are one loss
    /// event anyway. If the counts of ECT have not risen, all of its packets were marked. Whether
    /// the counts can be true (RFC 9000 §13.4.2) is for the transport to check before.
    pub fn on_ack<const N: usize>(
        &mut self,
        now: Instant,
        frame: &AckFrame<'_>,
        advisor: &mut Advisor<N>,
    ) -> Counts {
        let mut counts = Counts::default();
        let ce = frame.ecn.map_or(self.ce, |ecn| ecn.ce);
        let ecn = if ce > self.ce { Ecn::Ce } else { Ecn::NotEct };
        let ect = frame.ecn.map_or(self.ect, |ecn| ecn.ect0.saturating_add(ecn.ect1));
        let others = if ect > self.ect { Ecn::NotEct } else { ecn };
        let largest = advisor.on_acked(Ack { id: frame.largest, arrived_at: None, ecn });
        counts.add(largest);
        if largest == Taken::New {
            self.ce = self.ce.max(ce);
            self.ect = self.ect.max(ect);
        }
        for (smallest, largest) in frame.ranges() {
            counts.new += advisor.on_acked_range(smallest, largest, others);
        }
        let micros = frame.delay.saturating_mul(1 << self.ack_delay_exponent);
        advisor.on_report(now, Hold::Known(Duration::from_micros(micros).min(self.max_ack_delay)));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: 100..=98 and, after a gap of three numbers, 94..=90; delay 5; CE count 70.
    #[test]
    fn a_frame_by_hand() {
        let bytes = [3, 0x40, 100, 5, 1, 2, 2, 4, 1, 2, 0x40, 70, 0xAA];
        let (ack, rest) = decode(&bytes).expect("well-formed");
        assert_eq!((ack.largest, ack.delay, rest), (100, 5, &[0xAA][..]));
        assert_eq!(ack.ecn, Some(EcnCounts { ect0: 1, ect1: 2, ce: 70 }));
        assert_eq!(ack.ranges().collect::<Vec<_>>(), [(98, 100), (90, 94)]);
        assert_eq!(encode(&[(98, 100), (90, 94)], 5, ack.ecn).as_deref(), bytes.get(..bytes.len() - 1));
    }

    #[test]
    fn errors_say_where() {
        let fail = |bytes: &[u8]| decode(bytes).err().map(|e| (e.kind, e.offset));
        assert_eq!(fail(&[]), Some((ErrorKind::Truncated, 0)));
        assert_eq!(fail(&[6]), Some((ErrorKind::OtherFrame(6), 0)));
        assert_eq!(fail(&[2, 5, 0, 0, 6]), Some((ErrorKind::RangeBelowZero, 4)));
        assert_eq!(fail(&[2, 5, 0, 1, 2, 2, 0]), Some((ErrorKind::RangeBelowZero, 5)));
        assert_eq!(fail(&[2, 5, 0, 9, 0, 0, 0]), Some((ErrorKind::Truncated, 7)));
        assert_eq!(fail(&[3, 5, 0, 0, 0, 1, 1]), Some((ErrorKind::Truncated, 7)));
    }

    #[test]
    fn what_makes_no_frame() {
        assert_eq!(encode(&[], 0, None), None);
        assert_eq!(encode(&[(5, 4)], 0, None), None);
        assert_eq!(encode(&[(9, 9), (8, 8)], 0, None), encode(&[(9, 9)], 0, None), "8 and 9 are one range");
    }

    proptest! {
        #[test]
        fn round_trip(
            top in 1u64 << 20..1 << 61,
            steps in prop::collection::vec((0u64..100, 0u64..3000), 1..60),
            delay in 0u64..1 << 62,
            ce in prop::option::of(0u64..1 << 62),
        ) {
            let mut above = top + 2;
            let ranges: Vec<_> = steps
                .iter()
                .map(|(gap, length)| {
                    let largest = above - 2 - gap;
                    above = largest - length;
                    (above, largest)
                })
                .collect();
            let ecn = ce.map(|ce| EcnCounts { ect0: 1, ect1: 2, ce });
            let bytes = encode(&ranges, delay, ecn).expect("in order");
            let (ack, rest) = decode(&bytes).expect("whole");
            prop_assert!(rest.is_empty());
            prop_assert_eq!((ack.delay, ack.ecn), (delay, ecn));
            prop_assert_eq!(ack.ranges().collect::<Vec<_>>(), ranges);
        }

        #[test]
        fn random_bytes(kind in 2u8..4, mut bytes in prop::collection::vec(any::<u8>(), 0..120), small in any::<bool>()) {
            if small {
                bytes.iter_mut().for_each(|b| *b &= 0x47);
            }
            bytes.insert(0, kind);
            match decode(&bytes) {
                Ok((ack, rest)) => prop_assert!(ack.ranges().count() + rest.len() <= bytes.len()),
                Err(error) => prop_assert!(error.offset <= bytes.len()),
            }
        }
    }
}
