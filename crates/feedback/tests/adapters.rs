//! Odd reports, as each adapter reads them.

use tfrc::{Advisor, Config};
use tfrc_feedback::{Counts, ErrorKind, quic, rfc8888, twcc};
use tfrc_testkit::at;
use tfrc_units::{Duration, Ecn};

/// An advisor that has sent packets `first..=last`, one a millisecond from 1000 ms on.
fn sent(first: u64, last: u64) -> Advisor {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    for (id, ms) in (first..=last).zip(1000..) {
        advisor.on_sent(at(ms), id, 1200);
    }
    advisor
}

/// Such an advisor of a stream with SSRC 7, with its adapter.
fn sent_on_7(first: u64, last: u64) -> (Advisor, rfc8888::Adapter) {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    let mut adapter = rfc8888::Adapter::default();
    for (number, ms) in (first..=last).zip(1000..) {
        adapter.on_sent(7, low_16(number), number);
        advisor.on_sent(at(ms), number, 1200);
    }
    (advisor, adapter)
}

fn low_16(number: u64) -> u16 {
    u16::try_from(number & 0xFFFF).expect("16 bits")
}

/// The report numbered `number` on packets from `base` on; a `1` came, a `0` did not.
fn twcc_report(number: u8, base: u16, came: &str) -> Vec<u8> {
    let arrivals: Vec<_> =
        came.bytes().zip(0i64..).map(|(c, i)| (c == b'1').then_some(4_000 + i * 4)).collect();
    twcc::encode(twcc::Ssrcs { sender: 1, media: 2 }, number, base, &arrivals).expect("fits")
}

#[test]
fn twcc_numbers_go_round_and_unsent_ones_are_counted() {
    let mut advisor = sent(65_530, 65_545);
    let mut adapter = twcc::Adapter::default();
    let counts = adapter.on_report(at(1100), &twcc_report(255, 65_530, "1111111111"), &mut advisor);
    assert_eq!(counts, Ok(Counts { new: 10, ..Counts::default() }));
    let counts = adapter.on_report(at(1110), &twcc_report(0, 2, "11111111111"), &mut advisor);
    assert_eq!(counts, Ok(Counts { new: 6, duplicate: 2, unknown: 3 }));
    assert_eq!(advisor.loss_events(), 0);
}

#[test]
fn twcc_without_any_packet_sent() {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    let counts = twcc::Adapter::default().on_report(at(1), &twcc_report(0, 65_000, "101"), &mut advisor);
    assert_eq!(counts, Ok(Counts { unknown: 2, ..Counts::default() }));
    assert_eq!(advisor.rtt(), None);
}

/// Report 1 is late, then the missing packet 8 of report 2 is a loss and those of report 1 are
/// none.
#[test]
fn twcc_knows_missing_reports_by_their_numbers() {
    let mut advisor = sent(0, 30);
    let mut adapter = twcc::Adapter::default();
    let mut take = |number, base, came| {
        let counts = adapter.on_report(at(1100), &twcc_report(number, base, came), &mut advisor);
        (counts.expect("whole"), advisor.loss_events())
    };
    let new = |new| Counts { new, ..Counts::default() };
    assert_eq!(take(0, 0, "1111"), (new(4), 0));
    assert_eq!(take(2, 8, "1111"), (new(4), 0), "4 to 7 were in report 1");
    assert_eq!(take(1, 4, "1111"), (new(4), 0), "overtaken, with news");
    assert_eq!(take(1, 4, "1111"), (Counts { duplicate: 4, ..Counts::default() }, 0), "the same again");
    assert_eq!(take(3, 14, "1111"), (new(4), 1), "12 and 13 were in no report and none is missing");
}

/// The first report to come is the second or the hundredth: the packets before it were in others.
/// Before the first of all reports they are missing.
#[test]
fn twcc_reports_before_the_first_one() {
    for (number, losses) in [(0, 1), (1, 0), (100, 0), (255, 0)] {
        let mut advisor = sent(0, 30);
        let mut adapter = twcc::Adapter::default();
        adapter.on_report(at(1100), &twcc_report(number, 8, "1111"), &mut advisor).expect("whole");
        assert_eq!(advisor.loss_events(), losses, "report {number}");
    }
}

/// The numbers of reports go round: some hundreds are lost, and those after them are no older than
/// the last one.
#[test]
fn twcc_reports_go_round() {
    for lost in [1, 127, 128, 200, 254, 300] {
        let mut advisor = sent(0, 1000);
        let mut adapter = twcc::Adapter::default();
        let mut take = |number: u64, base: u64, first: u64| {
            // A report every 20 ms, on two packets each.
            let arrivals: Vec<_> = (0..first).map(|n| Some(4_000 + number_i64(80 * number + n))).collect();
            let ssrcs = twcc::Ssrcs { sender: 1, media: 2 };
            let number = u8::try_from(number % 256).expect("a byte");
            let base = u16::try_from(base).expect("few");
            let bytes = twcc::encode(ssrcs, number, base, &arrivals).expect("fits");
            adapter.on_report(at(9000), &bytes, &mut advisor).expect("whole");
            advisor.loss_events()
        };
        assert_eq!(take(0, 0, 2), 0);
        let base = 2 * (lost + 1);
        assert_eq!(take(lost + 1, base, 2), 0, "{lost} reports were lost");
        assert_eq!(take(lost + 3, base + 4, 4), 0, "another one was");
        assert_eq!(take(lost + 4, base + 9, 4), 1, "none was, and a packet is missing");
    }
}

fn number_i64(number: u64) -> i64 {
    i64::try_from(number).expect("few")
}

/// The packets of a report follow its first one: those that were never sent are not taken for
/// packets of a turn of the numbers ago.
#[test]
fn twcc_reports_on_more_than_half_of_the_numbers() {
    let mut advisor = sent(0, 39_999);
    let report = twcc::encode(twcc::Ssrcs { sender: 1, media: 2 }, 0, 39_700, &[Some(4000); 65_535]);
    let counts = twcc::Adapter::default().on_report(at(42_000), &report.expect("fits"), &mut advisor);
    assert_eq!(counts, Ok(Counts { new: 300, unknown: 65_235, ..Counts::default() }));
}

#[test]
fn a_bad_report_changes_nothing() {
    let mut advisor = sent(0, 30);
    let mut report = twcc_report(0, 0, "1111011111011");
    report.truncate(24);
    report[3] = 5;
    let result = twcc::Adapter::default().on_report(at(1100), &report, &mut advisor);
    assert_eq!(result.map_err(|e| e.kind), Err(ErrorKind::Truncated));
    assert_eq!((advisor.rtt(), advisor.loss_events()), (None, 0));
}

#[test]
fn rfc8888_passes_over_streams_that_nothing_was_sent_on() {
    let (mut advisor, mut adapter) = sent_on_7(0, 30);
    let came = |units| rfc8888::Metric::Received { ecn: Ecn::Ect0, offset: rfc8888::Offset::Units(units) };
    let (mine, other) = ([came(256), came(128)], [rfc8888::Metric::NotReceived; 3]);
    let report = rfc8888::encode(1, &[(8, 0, &other), (7, 0, &mine)], 1 << 20);
    let counts = adapter.on_report(at(1226), &report, &mut advisor);
    assert_eq!(counts, Ok(Counts { new: 2, ..Counts::default() }));
    assert_eq!(advisor.rtt(), Some(Duration::from_millis(225)), "no hold leaves less than the least");
    let again = adapter.on_report(at(1300), &report, &mut advisor);
    assert_eq!(again, Ok(Counts { duplicate: 2, ..Counts::default() }));
}

/// The metrics of packets that came without a known time; a `1` came, a `c` with a mark.
fn metrics(came: &str) -> Vec<rfc8888::Metric> {
    let offset = rfc8888::Offset::Unavailable;
    let metric = |c| match c {
        b'1' => rfc8888::Metric::Received { ecn: Ecn::NotEct, offset },
        b'c' => rfc8888::Metric::Received { ecn: Ecn::Ce, offset },
        _ => rfc8888::Metric::NotReceived,
    };
    came.bytes().map(metric).collect()
}

/// Packets 2 to 9 are in a report that comes late, and 5 is missing there; the one before it says
/// that 11 is missing.
#[test]
fn rfc8888_passes_over_packets_that_no_report_covers() {
    let (mut advisor, mut adapter) = sent_on_7(0, 30);
    let mut take = |seq: u16, came: &str| {
        let report = rfc8888::encode(1, &[(7, seq, &metrics(came))], 1 << 20);
        let counts = adapter.on_report(at(1100), &report, &mut advisor).expect("whole");
        (counts.new, counts.duplicate, advisor.loss_events())
    };
    assert_eq!(take(0, "11"), (2, 0, 0));
    assert_eq!(take(10, "1011"), (3, 0, 0), "two packets after 11 have come");
    assert_eq!(take(12, "111"), (1, 2, 1), "overlapping reports are fine");
    assert_eq!(take(2, "11101111"), (7, 0, 1), "overtaken; R is 94 ms, so 5 and 11 are one event");
    assert_eq!(take(2, "11101111"), (0, 7, 1), "the same again");
}

/// Sound (7), video (8) and its RTX (9) share a path and a rate. Packets have their streams' own
/// numbers; a loss of any of them is one of the path.
#[test]
fn rfc8888_takes_all_streams_of_a_transport() {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    let mut adapter = rfc8888::Adapter::default();
    let order = [(7, 65_535), (8, 100), (8, 101), (9, 5), (7, 0), (8, 102), (8, 103), (8, 104)];
    for ((ssrc, seq), id) in order.into_iter().zip(0..) {
        adapter.on_sent(ssrc, seq, id);
        advisor.on_sent(at(1000 + id), id, 1200);
    }
    let mut take = |blocks: &[(u32, u16, &str)]| {
        let metrics: Vec<_> = blocks.iter().map(|(ssrc, seq, came)| (*ssrc, *seq, metrics(came))).collect();
        let blocks: Vec<_> = metrics.iter().map(|(ssrc, seq, came)| (*ssrc, *seq, came.as_slice())).collect();
        let counts = adapter.on_report(at(1100), &rfc8888::encode(1, &blocks, 1 << 20), &mut advisor);
        (counts.expect("whole"), advisor.loss_events())
    };
    let new = |new| Counts { new, ..Counts::default() };
    // The RTX packet is in no report, and three sent behind it have come.
    assert_eq!(take(&[(8, 100, "11"), (7, 65_535, "11"), (10, 1, "1")]), (new(4), 0));
    assert_eq!(take(&[(8, 102, "111")]), (new(3), 1));
    assert_eq!(take(&[(9, 5, "1")]), (new(1), 0), "it was late");
    assert_eq!(take(&[(9, 6, "1")]), (Counts { unknown: 1, ..Counts::default() }, 0));
}

/// The report on 8's packets 1 and 2, and on 9's one, is lost or late: none of them counts as lost.
#[test]
fn rfc8888_passes_over_other_streams_of_a_report_that_is_missing() {
    let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
    let mut adapter = rfc8888::Adapter::default();
    let order = [(8, 0), (9, 0), (8, 1), (9, 1), (8, 2), (8, 3), (8, 4), (8, 5), (8, 6)];
    for ((ssrc, seq), id) in order.into_iter().zip(0..) {
        adapter.on_sent(ssrc, seq, id);
        advisor.on_sent(at(1000 + id), id, 1200);
    }
    let mut take = |blocks: &[(u32, u16, &[rfc8888::Metric])]| {
        let counts = adapter.on_report(at(1100), &rfc8888::encode(1, blocks, 1 << 20), &mut advisor);
        (counts.expect("whole").new, advisor.loss_events())
    };
    let (one, two, four) = (metrics("1"), metrics("11"), metrics("1111"));
    assert_eq!(take(&[(8, 0, &one), (9, 0, &one)]), (2, 0));
    assert_eq!(take(&[(8, 3, &four)]), (4, 0));
    assert_eq!(take(&[(8, 1, &two), (9, 1, &one)]), (3, 0));
}

/// Blocks without metrics say nothing: those that repeat the highest number, and those with any
/// other. Several blocks of a stream are as one.
#[test]
fn rfc8888_blocks_without_metrics_have_no_effect() {
    for begin in [0, 9, 40_000] {
        let (mut advisor, mut adapter) = sent_on_7(60_000, 60_030);
        let (first, second, third) = (metrics("1110"), metrics("1c1"), metrics("111"));
        let blocks = [(7, 60_000, first.as_slice()), (8, 4, &third), (7, 60_004, &second)];
        adapter.on_report(at(1100), &rfc8888::encode(1, &blocks, 1 << 20), &mut advisor).expect("whole");
        assert_eq!(advisor.loss_events(), 1, "the mark, and 60003 before it");
        let empty = rfc8888::encode(1, &[(7, begin, &[])], 1 << 21);
        let counts = adapter.on_report(at(1110), &empty, &mut advisor);
        assert_eq!((counts, advisor.loss_events()), (Ok(Counts::default()), 1));
        let next = rfc8888::encode(1, &[(7, 60_007, &metrics("0111"))], 1 << 21);
        adapter.on_report(at(1300), &next, &mut advisor).expect("whole");
        let open = advisor.loss_events();
        assert_eq!(open, 1, "60007 was sent 4 ms after 60003, and is in its event");
    }
}

/// An offset beyond the range is at least 8190/1024 s, so that of 10.124 s at most 2.126 are R; one
/// that is not known says nothing of the hold. R was 100 ms before.
#[test]
fn rfc8888_offsets_that_are_no_times() {
    for (offset, rtt) in [(rfc8888::Offset::OverRange, 302), (rfc8888::Offset::Unavailable, 1102)] {
        let (mut advisor, mut adapter) = sent_on_7(0, 1);
        let mut take = |ms, seq, offset| {
            let metric = rfc8888::Metric::Received { ecn: Ecn::NotEct, offset };
            let report = rfc8888::encode(1, &[(7, seq, &[metric])], 1 << 20);
            adapter.on_report(at(ms), &report, &mut advisor).expect("whole");
        };
        take(1100, 0, rfc8888::Offset::Units(0));
        take(11_125, 1, offset);
        let measured = advisor.rtt().expect("a report");
        assert_eq!(measured.as_nanos() / 1_000_000, rtt, "{measured}");
    }
}

/// The reports of a flow in which every 200th packet is lost, with all pairs of them swapped: p is
/// 1/200 whenever a pair is complete.
#[test]
fn swapped_reports_have_the_loss_event_rate_of_order() {
    for rfc in [false, true] {
        let (mut advisor, mut on_8888) = sent_on_7(0, 0);
        let mut on_twcc = twcc::Adapter::default();
        for id in 1..30_000 {
            on_8888.on_sent(7, low_16(id), id);
            advisor.on_sent(at(1000 + 5 * id), id, 1200);
            if id % 20 != 0 {
                continue;
            }
            for first in [id - 10, id - 20] {
                let came = |place| (first + place) % 200 != 0;
                let now = at(1000 + 5 * id + 60 + (id - 10 - first) / 10);
                let low = low_16(first);
                let counts = if rfc {
                    let word: String = (0..10).map(|place| if came(place) { '1' } else { '0' }).collect();
                    let report = rfc8888::encode(1, &[(7, low, &metrics(&word))], 1 << 20);
                    on_8888.on_report(now, &report, &mut advisor)
                } else {
                    let ticks = |place| 4 * number_i64(1050 + 5 * (first + place));
                    let arrivals: Vec<_> = (0..10).map(|place| came(place).then(|| ticks(place))).collect();
                    let number = u8::try_from(first / 10 % 256).expect("a byte");
                    let ssrcs = twcc::Ssrcs { sender: 1, media: 2 };
                    let report = twcc::encode(ssrcs, number, low, &arrivals).expect("fits");
                    on_twcc.on_report(now, &report, &mut advisor)
                };
                let news = 10 - u64::from(!(first..first + 10).all(|id| id % 200 != 0));
                assert_eq!(counts, Ok(Counts { new: news, ..Counts::default() }));
            }
            if id > 4000 {
                let p = advisor.loss_event_rate().get();
                assert!((0.0049..=0.0051).contains(&p), "packet {id}: {p}");
            }
        }
    }
}

#[test]
fn quic_counts_marks_by_their_rise() {
    let mut advisor = sent(0, 30);
    let mut adapter = quic::Adapter::new(3);
    let mut take = |ms, ranges: &[(u64, u64)], ce| {
        let ecn = Some(quic::EcnCounts { ect0: 1, ect1: 0, ce });
        let bytes = quic::encode(ranges, 1000, ecn).expect("in order");
        let (frame, _) = quic::decode(&bytes).expect("whole");
        let counts = adapter.on_ack(at(ms), &frame, &mut advisor);
        (counts.new, advisor.loss_events())
    };
    assert_eq!(take(1100, &[(0, 3)], 0), (4, 0));
    assert_eq!(take(1110, &[(0, 5)], 1), (2, 1));
    assert_eq!(take(1120, &[(0, 6)], 1), (1, 1));
    // A range far beyond what was sent costs no more than another.
    assert_eq!(take(1130, &[(0, (1 << 62) - 1)], 1), (24, 1));
    // 97 ms, and 105 ms less 8 ms of delay: the first report, and the one with the mark.
    assert_eq!(advisor.rtt(), Some(Duration::from_millis(97)));
}

/// A peer that says 80 ms of 130 for each packet, on a path of 100 ms: 25 ms are believed, or the
/// peer's max_ack_delay, and never so much that R is below the least round trip.
#[test]
fn a_delay_is_believed_up_to_max_ack_delay() {
    for (most, expected) in [(None, 105), (Some(10), 120), (Some(60), 100)] {
        let mut advisor = Advisor::new(&Config::default(), Duration::ZERO);
        let mut adapter = quic::Adapter::new(3);
        if let Some(most) = most {
            adapter = adapter.with_max_ack_delay(Duration::from_millis(most));
        }
        for n in 0..200 {
            let bytes = quic::encode(&[(0, n)], 10_000, None).expect("in order");
            let (frame, _) = quic::decode(&bytes).expect("whole");
            advisor.on_sent(at(200 * n), n, 1200);
            let later = if n == 0 { 100 } else { 130 };
            adapter.on_ack(at(200 * n + later), &frame, &mut advisor);
        }
        let rtt = advisor.rtt().map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3);
        assert!((rtt - f64::from(expected)).abs() < 1.0, "{rtt} ms with {most:?}");
    }
}

/// Frames whose counts of CE rise by all their packets: the path marks everything. With one ECT
/// packet in each the marks are congestion.
#[test]
fn quic_finds_a_path_that_marks_everything() {
    for (unmarked, found) in [(0, true), (1, false)] {
        let mut advisor = sent(0, 400);
        let mut adapter = quic::Adapter::new(3);
        for n in 1..=100 {
            let ecn = quic::EcnCounts { ect0: n * unmarked, ect1: 0, ce: n * (2 - unmarked) };
            let bytes = quic::encode(&[(0, 2 * n - 1)], 0, Some(ecn)).expect("in order");
            let (frame, _) = quic::decode(&bytes).expect("whole");
            adapter.on_ack(at(1100 + 2 * n), &frame, &mut advisor);
        }
        assert_eq!(advisor.ecn_fault().is_some(), found);
        assert_eq!(advisor.loss_event_rate().is_zero(), found);
    }
}

/// A receiver that sees CE on every packet, and says so.
#[test]
fn rfc8888_finds_a_path_that_marks_everything() {
    let (mut advisor, mut adapter) = sent_on_7(0, 60);
    let marked = rfc8888::Metric::Received { ecn: Ecn::Ce, offset: rfc8888::Offset::Units(0) };
    for n in 0..10u16 {
        let report = rfc8888::encode(1, &[(7, 5 * n, &[marked; 5])], (1 << 20) + u32::from(n) * 655);
        adapter.on_report(at(1100 + 10 * u64::from(n)), &report, &mut advisor).expect("whole");
    }
    assert_eq!(advisor.ecn_fault(), Some(tfrc::EcnFault::AllMarked));
    assert!(advisor.loss_event_rate().is_zero());
}
