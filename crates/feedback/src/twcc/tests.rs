//! Tests of decoding and encoding transport-wide feedback.

use super::*;
use proptest::prelude::*;
use tfrc_units::saturating;

const SSRCS: Ssrcs = Ssrcs { sender: 0x0102_0304, media: 0x0506_0708 };

fn arrivals(bytes: &[u8]) -> Option<(i64, Vec<Option<i64>>)> {
    let report = decode(bytes).ok()?;
    let base = i64::from(report.reference_time) * TICKS_PER_REFERENCE;
    Some((base, report.packets().map(|p| p.arrival).collect()))
}

/// Put together by hand from the draft's figures: base 0xFFFE, five packets, reference 0x000102,
/// report 9; a run of two small ones, then a vector of 2-bit symbols: not received, large, small.
#[test]
fn a_report_by_hand() {
    let bytes = [
        0x8F,
        205,
        0,
        7,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8, // header and SSRCs
        0xFF,
        0xFE,
        0,
        5,
        0,
        1,
        2,
        9, // base, count, reference, number
        0x20,
        0x02, // run of two small
        0b1100_1001,
        0, // vector: 00 10 01 …
        1,
        255,
        0xFF,
        0xFE,
        3,
        0,
        0,
        0,
    ];
    let report = decode(&bytes).expect("well-formed");
    assert_eq!((report.sender_ssrc, report.media_ssrc), (SSRCS.sender, SSRCS.media));
    assert_eq!((report.base_seq, report.count), (0xFFFE, 5));
    assert_eq!((report.reference_time, report.feedback_count), (0x0102, 9));
    let packets: Vec<_> = report.packets().map(|p| (p.seq, p.arrival)).collect();
    let expected = [(0xFFFE, Some(1)), (0xFFFF, Some(256)), (0, None), (1, Some(254)), (2, Some(257))];
    assert_eq!(packets, expected);
}

/// A 1-bit vector: 1 0 1 1 …; only four of its fourteen symbols count.
#[test]
fn a_vector_of_bits() {
    let bytes = [
        0x8F,
        205,
        0,
        6,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        7,
        0,
        4,
        0,
        0,
        0,
        0,
        0b1010_1100,
        0,
        10,
        20,
        30,
        0,
        0,
        0,
    ];
    let (_, arrivals) = arrivals(&bytes).expect("well-formed");
    assert_eq!(arrivals, [Some(10), None, Some(30), Some(60)]);
}

#[test]
fn errors_say_where() {
    let good = encode(SSRCS, 1, 10, &[Some(5), Some(400), None]).expect("fits");
    let fail = |bytes: &[u8]| decode(bytes).err().map(|e| (e.kind, e.offset));
    assert_eq!(fail(&good), None);
    let mut reserved = good.clone();
    if let Some(chunk) = reserved.get_mut(20) {
        *chunk |= 0x30; // the first symbol of the vector becomes 11
    }
    assert_eq!(fail(&reserved), Some((ErrorKind::ReservedSymbol, 20)));
    for (length, words, offset) in [(24, 5, 22), (20, 4, 20), (16, 3, 16)] {
        let mut cut = good.clone();
        cut.truncate(length);
        if let Some(field) = cut.get_mut(3) {
            *field = words;
        }
        assert_eq!(fail(&cut), Some((ErrorKind::Truncated, offset)));
    }
    let mut other = good;
    if let Some(first) = other.first_mut() {
        *first = 0x8B;
    }
    let kind = ErrorKind::OtherMessage { packet_type: 205, format: 11 };
    assert_eq!(fail(&other), Some((kind, 0)));
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(encode(SSRCS, 0, 0, &[Some(0), Some(40_000)]), Err(EncodeError::TooFarApart { index: 1 }));
    assert_eq!(encode(SSRCS, 0, 0, &vec![None; 65_536]), Err(EncodeError::TooManyPackets(65_536)));
    let all = encode(SSRCS, 0, 0, &vec![None; 65_535]).expect("fits");
    assert_eq!(all.len(), 20 + 2 * 9 + 2);
    assert_eq!(decode(&all).map(|r| r.packets().count()), Ok(65_535));
}

proptest! {
    #[test]
    fn round_trip(
        base in any::<u16>(),
        start in -100_000i64..1 << 31,
        steps in prop::collection::vec((any::<bool>(), prop_oneof![0i64..300, -8000i64..8000]), 0..200),
        run in 0usize..60,
    ) {
        let mut now = start;
        let mut expected: Vec<Option<i64>> = steps.iter().map(|(came, step)| came.then(|| { now += step; now })).collect();
        expected.extend((0..run).map(|_| { now += 3; Some(now) }));
        let bytes = encode(SSRCS, 3, base, &expected).expect("fits");
        prop_assert_eq!(bytes.len() % 4, 0);
        let (reference, got) = arrivals(&bytes).expect("whole");
        let turn = TICKS_PER_REFERENCE << 24;
        prop_assert!(expected.iter().flatten().next().is_none_or(|first| (first - reference).rem_euclid(turn) < TICKS_PER_REFERENCE));
        let turned = expected.iter().flatten().next().map_or(0, |first| (first.div_euclid(TICKS_PER_REFERENCE)) * TICKS_PER_REFERENCE);
        let expected: Vec<_> = expected.iter().map(|a| a.map(|a| a - turned)).collect();
        prop_assert_eq!(got, expected);
    }

    /// Whatever comes, `packets` gives as many as it said, or it is an error at a byte within the
    /// input.
    #[test]
    fn random_bytes(head in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let mut bytes = bytes;
        if head {
            let words = saturating::<u8>(bytes.len() / 4);
            bytes.splice(0..0, [0x8F, 205, 0, words]);
        }
        match decode(&bytes) {
            Ok(report) => prop_assert_eq!(report.packets().count(), usize::from(report.count)),
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
    }
}
