//! Captures of the kernel's CCID 3, with figures worked out by hand (`testdata/linux-dccp`).

use std::collections::BTreeSet;

use tfrc_capture::document::{Direction, ReportSeen};
use tfrc_capture::{Options, Recording, Tap, read};

pub(crate) fn path(name: &str) -> String {
    format!("{}/../../testdata/linux-dccp/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

fn recording(name: &str, options: &Options) -> Recording {
    let file = std::fs::File::open(path(name)).expect("a capture of testdata");
    read(file, options).expect("a capture")
}

fn report_at(direction: &Direction, time: f64) -> &ReportSeen {
    let near = |report: &&ReportSeen| (report.time_s - time).abs() < 0.006;
    direction.reports.series.iter().find(near).expect("a report at that time")
}

fn lost(numbers: &[u64]) -> Options {
    Options { lost: Some(numbers.iter().copied().collect::<BTreeSet<_>>()), ..Options::default() }
}

/// Two of four gaps are acknowledgements; 1/p by RFC 5348 and by the kernel at five times.
#[test]
fn a_call_in_both_directions() {
    let recording = recording("linux-bidir-50ms", &Options::default());
    let [connection] = recording.connections.as_slice() else { panic!("{recording:?}") };
    assert_eq!((recording.packets, connection.packets), (814, 814));
    assert_eq!((connection.tap, connection.service.as_deref()), (Tap::Client, Some("SC:TRAC")));
    let rtt = &connection.rtt;
    assert!(rtt.r_s.is_some_and(|r| (r - 0.0550).abs() < 0.0001), "{rtt:?}");
    assert!(rtt.acknowledgement_s.is_some_and(|r| (r - 0.0507).abs() < 0.0005), "{rtt:?}");

    let [to_server, to_client] = connection.directions.as_slice() else { panic!("{connection:?}") };
    assert_eq!(to_server.losses, None, "the tap sees the client's data before the path");
    assert_eq!((to_client.data_packets, to_client.data_bytes, to_client.ccid), (318, 63_600, Some(3)));
    let losses = to_client.losses.as_ref().expect("the tap is at the receiver");
    assert_eq!((losses.gaps, losses.data, losses.acknowledgements, losses.events), (4, 2, 2, 2));
    assert_eq!(losses.first_gaps.iter().map(|gap| gap.at).collect::<Vec<_>>(), [6, 43, 87, 227]);
    assert_eq!(losses.first_events.iter().map(|event| event.at).collect::<Vec<_>>(), [6, 43]);

    // By hand 91.0 at 4.72 s: an acknowledgement is missing just before, which was taken for data
    // until three later packets had come. Its NDP Count is known with the next packet.
    for (time, by_rfc, by_kernel) in [
        (0.97, 31.0, 40.0),
        (1.24, 21.0, 37.0),
        (2.07, 37.5, 55.0),
        (4.72, 90.5, 188.0),
        (7.87, 153.5, 349.0),
    ] {
        let report = report_at(to_client, time);
        assert_eq!(report.inverse_p, Some(by_kernel), "{report:?}");
        let by_arrivals = report.inverse_p_rfc5348.expect("loss events");
        assert!((by_arrivals - by_rfc).abs() < 0.01, "{report:?}");
        let by_rule = report.inverse_p_linux.expect("loss events");
        assert!((by_rule - by_kernel).abs() <= 2.0, "{report:?}");
    }
    assert_eq!(to_client.reports.count, 90);
    assert!(
        to_client.reports.rule.as_deref().is_some_and(|rule| rule.starts_with("Linux 6.1")),
        "{:?}",
        to_client.reports.rule
    );
    assert!(
        to_client.rates.share_median.is_some_and(|share| (share - 0.498).abs() < 0.05),
        "{:?}",
        to_client.rates.share_median
    );
    assert_eq!(to_client.rates.above, 0);
}

/// A tap at the sender, with the list of the path's drops: the kernel's rule, and RFC 5348's with
/// the kernel's own first interval.
#[test]
fn five_and_twelve_drops_by_both_rules() {
    let five: &[u64] = &[100, 180, 300, 330, 500];
    let twelve: &[u64] = &[100, 140, 190, 250, 320, 400, 490, 510, 540, 580, 630, 690];
    for (name, drops, ack, kernel, by_linux, by_rfc) in [
        ("linux-five-drops", five, 773, 148.0, 148.2, 136.9),
        ("linux-twelve-drops", twelve, 861, 68.0, 68.2, 68.2),
    ] {
        let recording = recording(name, &lost(drops));
        let direction = recording.connections.first().and_then(|c| c.directions.first()).expect("data");
        let report = direction.reports.series.iter().find(|r| r.acknowledges == ack).expect("that report");
        // Figures by hand have one digit after the point.
        let is_near = |value: Option<f64>, by_hand: f64| value.is_some_and(|v| (v - by_hand).abs() <= 0.051);
        assert_eq!(report.inverse_p, Some(kernel), "{report:?}");
        assert!(is_near(report.inverse_p_linux, by_linux), "{report:?}");
        assert!(is_near(report.inverse_p_same_first, by_rfc), "{report:?}");
        assert!(
            direction.reports.rule.as_deref().is_some_and(|rule| rule.starts_with("Linux 6.1")),
            "{name}: {:?}",
            direction.reports
        );
    }
}
/// Connections of ten kinds one after another: reset codes, a wrong checksum, all kept apart.
#[test]
fn connections_one_after_another() {
    let options = Options { tap: Some(Tap::Client), ..Options::default() };
    let recording = recording("raw-client-to-linux", &options);
    assert!(recording.connections.len() >= 8, "{}", recording.connections.len());
    assert_eq!(recording.connections.iter().map(|c| c.packets).sum::<u64>(), recording.packets);
    let ends: BTreeSet<_> = recording.connections.iter().filter_map(|c| c.end.clone()).collect();
    for code in ["Reset 1, Closed", "Reset 8, Bad Service Code", "Reset 6, Mandatory Error"] {
        assert!(ends.iter().any(|end| end.starts_with(code)), "{code}: {ends:?}");
    }
    let broken: Vec<_> = recording.connections.iter().flat_map(|c| &c.broken).collect();
    let wrong = broken.iter().filter(|broken| broken.section == "RFC 4340 §9").collect::<Vec<_>>();
    assert_eq!(wrong.iter().map(|broken| broken.times).sum::<u64>(), 1, "{wrong:?}");
}

/// A file without its first `packets` packets, behind its own head.
fn after(name: &str, packets: usize) -> Vec<u8> {
    let whole = std::fs::read(path(name)).expect("a capture of testdata");
    let mut at = 24;
    for _ in 0..packets {
        let kept = whole[at + 8..at + 12].try_into().map(u32::from_le_bytes).expect("four bytes");
        at += 16 + kept as usize;
    }
    [&whole[..24], &whole[at..]].concat()
}

/// Data of one end alone, without the handshake: the other end is answered once, when it closes,
/// which says nothing of the tap's place.
#[test]
fn a_part_with_data_of_one_end() {
    for name in ["linux-five-drops", "linux-twelve-drops"] {
        let part = after(name, 60);
        let recording = read(part.as_slice(), &Options::default()).expect("a capture");
        let [connection] = recording.connections.as_slice() else { panic!("{recording:?}") };
        assert_eq!(connection.tap, Tap::Client, "{}", connection.tap_found_by);
        assert!(connection.rtt.r_s.is_some_and(|r| (r - 0.051).abs() < 0.001), "{:?}", connection.rtt);
        assert_eq!(connection.directions[0].losses, None, "losses are after the tap");
    }
}

/// A capture that begins and ends in the middle: R from acknowledgements, p of the rest.
#[test]
fn a_part_of_a_capture() {
    // Cut within the last packet.
    let mut part = after("linux-bidir-50ms", 200);
    part.truncate(part.len() - 10);
    let recording = read(part.as_slice(), &Options::default()).expect("a capture");
    assert_eq!(recording.packets, 813 - 200);
    assert!(
        recording.fault.as_deref().is_some_and(|fault| fault.contains("after packet 613")),
        "{:?}",
        recording.fault
    );
    let [connection] = recording.connections.as_slice() else { panic!("{recording:?}") };
    // The sender of the first packet is taken for the client.
    assert_eq!((connection.tap, connection.service.as_deref()), (Tap::Client, None));
    let rtt = &connection.rtt;
    assert_eq!(rtt.r_by.as_deref(), Some("acknowledgements"));
    assert!(rtt.r_s.is_some_and(|r| (r - 0.0507).abs() < 0.001), "{rtt:?}");
    assert!(connection.directions.iter().all(|direction| direction.ccid == Some(3)));
}
