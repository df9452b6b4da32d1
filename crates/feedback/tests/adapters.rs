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

/// Report 1 is lost, then the missing packet 8 of report 2 is a loss and those of report 1 are
/// none.
#[test]
fn twcc_knows_lost_reports_by_their_numbers() {
    let mut advisor = sent(0, 30);
    let mut adapter = twcc::Adapter::default();
    let mut take = |number, base, came| {
        adapter.on_report(at(1100), &twcc_report(number, base, came), &mut advisor).expect("whole");
        advisor.loss_events()
    };
    assert_eq!(take(0, 0, "1111"), 0);
    assert_eq!(take(2, 8, "1111"), 0, "4 to 7 were in report 1");
    assert_eq!(take(1, 4, "1111"), 0, "overtaken");
    assert_eq!(take(3, 14, "1111"), 1, "12 and 13 were in no report and none is missing");
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
fn rfc8888_takes_its_stream_only() {
    let mut advisor = sent(0, 30);
    let mut adapter = rfc8888::Adapter::new(7);
    let came = |units| rfc8888::Metric::Received { ecn: Ecn::Ect0, offset: rfc8888::Offset::Units(units) };
    let (mine, other) = ([came(256), came(128)], [rfc8888::Metric::NotReceived; 3]);
    let report = rfc8888::encode(1, &[(8, 0, &other), (7, 0, &mine)], 1 << 20);
    let counts = adapter.on_report(at(1226), &report, &mut advisor);
    assert_eq!(counts, Ok(Counts { new: 2, ..Counts::default() }));
    assert_eq!(advisor.rtt(), Some(Duration::from_millis(100)), "125 ms of 225 were held");
    let again = adapter.on_report(at(1300), &report, &mut advisor);
    assert_eq!(again, Ok(Counts { duplicate: 2, ..Counts::default() }));
}

/// Packets 2 to 9 would have been in a lost report; the next says that 11 is missing.
#[test]
fn rfc8888_passes_over_what_no_report_tells() {
    let mut advisor = sent(0, 30);
    let mut adapter = rfc8888::Adapter::new(7);
    let mut take = |seq: u16, came: &str| {
        let received = rfc8888::Metric::Received { ecn: Ecn::NotEct, offset: rfc8888::Offset::Unavailable };
        let metrics: Vec<_> =
            came.bytes().map(|c| if c == b'1' { received } else { rfc8888::Metric::NotReceived }).collect();
        let report = rfc8888::encode(1, &[(7, seq, &metrics)], 1 << 20);
        adapter.on_report(at(1100), &report, &mut advisor).expect("whole");
        advisor.loss_events()
    };
    assert_eq!(take(0, "11"), 0);
    assert_eq!(take(10, "1011"), 0, "two packets after 11 have come");
    assert_eq!(take(12, "111"), 1, "overlapping reports are fine");
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
    // 89 and 97 ms, each less 8 ms of delay: the first report, and the one with the mark.
    assert_eq!(advisor.rtt(), Some(Duration::from_micros(89_800)));
}
