//! qlog of QUIC in each form and with the habits of two writers: the answer is the same.

use std::fmt::Write;
use std::io::Read;

use tfrc_capture::document::QuicConnection;
use tfrc_capture::{CaptureError, Options, Recording, read, text};

/// Habits of a writer.
#[derive(Clone, Copy, PartialEq)]
enum Writer {
    /// As the draft of 0.3 has it.
    Draft,
    /// quinn 0.11: seconds, no frames, nobody's vantage point, the group's name changes.
    Quinn,
    /// noq 1.4: names of later drafts, ranges that end before their last number.
    Noq,
}

/// Milliseconds of the round trip.
const RTT: f64 = 50.0;
const SIZE: u64 = 1200;

/// A client that sends a packet each 5 ms for 10 s, of which each 100th is lost, and the file's
/// first record.
fn events(writer: Writer) -> (String, Vec<String>) {
    let mut events = Vec::new();
    let group = |name: &str| match writer {
        Writer::Quinn => format!(r#","group_id":"{name}""#),
        _ => String::new(),
    };
    let category = if writer == Writer::Noq { ["quic", "quic"] } else { ["transport", "recovery"] };
    let length = |size: u64| match writer {
        Writer::Draft => (String::new(), format!(r#","raw":{{"length":{size}}}"#)),
        _ => (format!(r#","length":{size}"#), String::new()),
    };
    let packet = |time: f64, name: &str, kind: &str, n: u64, size: u64, more: &str, group: &str| {
        let (header, raw) = length(size);
        let [transport, recovery] = category;
        let category = if name == "packet_lost" { recovery } else { transport };
        let header = format!(r#""header":{{"packet_type":"{kind}","packet_number":{n}{header}}}"#);
        format!(r#"{{"time":{time},"name":"{category}:{name}","data":{{{header}{raw}{more}}}{group}}}"#)
    };
    let ack = |first: u64, last: u64, ce: u64| match writer {
        Writer::Quinn => String::new(),
        _ => {
            let last = if writer == Writer::Noq { last + 1 } else { last };
            format!(
                r#","frames":[{{"frame_type":"ack","acked_ranges":[[{first},{last}]],"ect0":9,"ce":{ce}}}]"#
            )
        }
    };
    let metrics = |time: f64, rtt: f64, in_flight: u64, group: &str| {
        let unit = if writer == Writer::Quinn { 1e-3 } else { 1.0 };
        let name =
            if writer == Writer::Noq { "quic:recovery_metrics_updated" } else { "recovery:metrics_updated" };
        let rtt = rtt * unit;
        let times = format!(r#""smoothed_rtt":{rtt},"latest_rtt":{rtt},"min_rtt":{rtt}"#);
        let bytes = format!(r#""congestion_window":24000,"bytes_in_flight":{in_flight}"#);
        format!(r#"{{"time":{time},"name":"{name}","data":{{{times},{bytes}}}{group}}}"#)
    };
    let (old, new) = (group("aa"), group("bb"));
    events.push(packet(0.0, "packet_sent", "initial", 0, SIZE, "", &old));
    events.push(metrics(0.0, 333.0, SIZE, &old));
    events.push(packet(RTT, "packet_received", "initial", 0, SIZE, &ack(0, 0, 0), &old));
    events.push(packet(RTT, "packet_received", "handshake", 0, SIZE, "", &new));
    events.push(metrics(RTT, RTT, 0, &new));
    let mut in_flight = 0;
    for n in 0..2000_u64 {
        let time = RTT + 1.0 + n as f64 * 5.0;
        // An acknowledgement of the packet that left ten packets ago, unless that one is lost, and
        // the loss, three packets later.
        if let Some(acked) = n.checked_sub(10) {
            if acked % 100 == 53 {
                events.push(packet(
                    time - 0.5,
                    "packet_lost",
                    "1RTT",
                    acked - 3,
                    SIZE,
                    r#","trigger":"reordering_threshold""#,
                    &new,
                ));
                in_flight -= SIZE;
            }
            if acked % 100 != 50 {
                let marks = ack(acked, acked, u64::from(acked > 1000));
                events.push(packet(time - 0.5, "packet_received", "1RTT", acked, 40, &marks, &new));
                in_flight -= SIZE;
                events.push(metrics(time - 0.5, RTT, in_flight, &new));
            }
        }
        events.push(packet(time, "packet_sent", "1RTT", n, SIZE, "", &new));
        in_flight += SIZE;
    }
    let trace = match writer {
        Writer::Quinn => r#""vantage_point":{"type":"unknown"}"#,
        _ => r#""vantage_point":{"type":"client"},"common_fields":{"group_id":"bb"}"#,
    };
    let head = match writer {
        Writer::Noq => r#""file_schema":"urn:ietf:params:qlog:file:sequential""#,
        _ => r#""qlog_version":"0.3""#,
    };
    (format!(r#"{head},"trace":{{{trace}}}"#), events)
}

fn sequence(writer: Writer, divider: &str) -> String {
    let (head, events) = events(writer);
    let mut file = format!("{divider}{{{head}}}\n");
    for event in events {
        let _ = writeln!(file, "{divider}{event}");
    }
    file
}

/// A file as the draft has it.
pub(crate) fn draft() -> String {
    sequence(Writer::Draft, "\u{1e}")
}

/// One JSON document; times as the trace says.
fn document(times: &str, events: &[String]) -> String {
    let trace = format!(r#""vantage_point":{{"type":"client"}},"common_fields":{{"group_id":"bb"{times}}}"#);
    let events = events.join(",");
    let head = r#""qlog_version":"0.3","qlog_format":"JSON","summary":{"x":[1,{}]}"#;
    format!(r#"{{{head},"traces":[{{{trace},"events":[{events}]}}]}}"#)
}

fn recording(file: &str) -> Recording {
    read(file.as_bytes(), &Options::default()).expect("a qlog")
}

fn only(recording: &Recording) -> &QuicConnection {
    let [connection] = recording.quic.as_slice() else { panic!("{recording:?}") };
    connection
}

/// Losses, loss events and R of the path as it was made, whoever wrote the file.
#[test]
fn three_writers() {
    for writer in [Writer::Draft, Writer::Quinn, Writer::Noq] {
        let found = recording(&sequence(writer, "\u{1e}"));
        let seen = only(&found);
        assert_eq!((seen.side.as_str(), seen.name.as_str()), ("client", "bb"), "{:?}", seen.notes);
        assert_eq!((seen.sent, seen.sent_bytes, seen.lost, seen.spurious), (2001, 2001 * SIZE, 20, 0));
        assert_eq!(seen.lost_by.get("reordering_threshold"), Some(&20));
        // Losses are half a second apart, ten round trips. The mark counts where it is known.
        let marks = u64::from(writer != Writer::Quinn);
        assert_eq!((seen.events, seen.marked), (20 + marks, (marks > 0).then_some(1)), "{:?}", seen.notes);
        assert_eq!(seen.first_events.iter().map(|e| e.at).take(2).collect::<Vec<_>>(), [50, 150]);
        assert!(seen.smoothed_s.is_some_and(|r| (r - RTT / 1e3).abs() < 1e-9), "{:?}", seen.smoothed_s);
        assert!(seen.inverse_p.is_some_and(|n| (85.0..=110.0).contains(&n)), "{:?}", seen.inverse_p);
        let sent = seen.rates.series.last().expect("stretches").sent_bps;
        assert!((sent / (SIZE as f64 * 8.0 / 5e-3) - 1.0).abs() < 0.12, "{sent}");
        let in_seconds = seen.notes.iter().any(|note| note.contains("in seconds"));
        let ends_open = seen.notes.iter().any(|note| note.contains("acked_ranges"));
        assert_eq!((in_seconds, ends_open), (writer == Writer::Quinn, writer == Writer::Noq));
        assert_eq!(text::text(&found).contains("    note "), writer != Writer::Draft);
    }
}

/// The equation of RFC 5348 §3.1 with p of one packet in 100, and R.
#[test]
fn allowed_is_that_of_the_equation() {
    let found = recording(&sequence(Writer::Draft, "\u{1e}"));
    let rates = &only(&found).rates;
    let last = rates.series.last().expect("stretches");
    // 9600 bit / (0.05 s · (√(2p/3) + 12 √(3p/8) · p · (1 + 32 p²))), p = 0.01.
    let by_hand = 9600.0 / (0.05 * (0.081_650 + 0.734_847 * 0.01 * 1.0032));
    let equation = last.equation_bps.expect("losses");
    assert!((equation / by_hand - 1.0).abs() < 0.1, "{equation} {by_hand}");
    assert_eq!((last.window_bytes, last.equation_bps), (Some(24_000), Some(last.allowed_bps)), "{last:?}");
    assert!(rates.series.iter().filter_map(|row| row.lost).sum::<u64>() > 0);
}

/// Sequences, lines, and documents with times of each kind say the same.
#[test]
fn every_form() {
    let (_, events) = events(Writer::Draft);
    let wanted = recording(&sequence(Writer::Draft, "\u{1e}"));
    let mut before = 0.0;
    let deltas: Vec<String> = events
        .iter()
        .map(|event| {
            let (time, rest) =
                event.strip_prefix(r#"{"time":"#).and_then(|e| e.split_once(',')).expect("an event");
            let time: f64 = time.parse().expect("a time");
            let delta = time - std::mem::replace(&mut before, time);
            format!(r#"{{"time":{delta},{rest}"#)
        })
        .collect();
    for (form, file) in [
        ("lines", sequence(Writer::Draft, "")),
        ("JSON", document("", &events)),
        ("JSON", document(r#","time_format":"delta""#, &deltas)),
    ] {
        let found = recording(&file);
        assert!(found.format.ends_with(form), "{}", found.format);
        let (found, wanted) = (only(&found), only(&wanted));
        assert_eq!(
            (found.sent, found.lost, found.events),
            (wanted.sent, wanted.lost, wanted.events),
            "{form}"
        );
        assert!((found.duration_s - wanted.duration_s).abs() < 1e-6, "{form}");
    }
}

/// A record that is cut off or damaged is reported with its place, and the others are used.
#[test]
fn cut_and_damaged() {
    let whole = sequence(Writer::Draft, "\u{1e}");
    let cut = recording(&whole[..whole.len() - 30]);
    assert!(cut.fault.as_ref().is_some_and(|fault| fault.contains("ends within record")), "{:?}", cut.fault);
    assert_eq!(only(&cut).sent, 2000);
    let damaged = recording(&whole.replacen(r#""packet_number":77"#, r#""packet_number":?7"#, 1));
    assert!(damaged.fault.as_ref().is_some_and(|fault| fault.contains("byte")), "{:?}", damaged.fault);
    assert_eq!(only(&damaged).sent, 2000);
    let (_, events) = events(Writer::Draft);
    let document = document("", &events);
    let cut = recording(&document[..document.len() / 2]);
    assert!(cut.fault.as_ref().is_some_and(|fault| fault.contains("after event")), "{:?}", cut.fault);
    assert!((900..1100).contains(&only(&cut).sent), "{}", only(&cut).sent);
}

/// Without the beginning the units are found by the times, and the side is unknown.
#[test]
fn without_its_beginning() {
    let (head, events) = events(Writer::Quinn);
    let mut file = format!("\u{1e}{{{head}}}\n");
    for event in events.iter().skip(1000) {
        let _ = writeln!(file, "\u{1e}{event}");
    }
    let found = recording(&file);
    let seen = only(&found);
    assert_eq!((seen.side.as_str(), seen.name.as_str()), ("unknown", "bb"));
    assert!(seen.smoothed_s.is_some_and(|r| (r - RTT / 1e3).abs() < 1e-9), "{:?}", seen.smoothed_s);
    assert!(seen.notes.iter().any(|note| note.contains("begins in the middle")), "{:?}", seen.notes);
    // The bytes in flight at the beginning are of packets that are not in the file.
    assert!(seen.lost > 10 && seen.events.abs_diff(seen.lost) <= 1, "{} {}", seen.lost, seen.events);
    let headless = recording(file.split_once('\n').expect("lines").1);
    assert_eq!(headless.format, "qlog without its first record, JSON-SEQ");
    assert_eq!((only(&headless).sent, only(&headless).events), (seen.sent, seen.events));
}

#[test]
fn json_that_is_no_qlog() {
    let error = |file: &str| read(file.as_bytes(), &Options::default()).expect_err("no qlog").to_string();
    assert!(error(r#"{"name":"x"}"#).contains("qlog_version"), "{}", error(r#"{"name":"x"}"#));
    assert!(error("{\"a\":1}\n{\"a\":2}\n").contains("at byte 0"));
    assert!(error("{\"a\":").contains("EOF"), "{}", error("{\"a\":"));
    let nested = "{\"traces\":".to_owned() + &"[".repeat(100_000);
    assert!(matches!(read(nested.as_bytes(), &Options::default()), Err(CaptureError::NotQlog { .. })));
}

/// A record without an end is given up after 1 MiB, in both forms.
#[test]
fn a_record_without_an_end() {
    for head in [
        "\u{1e}{\"qlog_version\":\"0.3\"}\n\u{1e}{\"name\":\"",
        "{\"qlog_version\":\"0.3\",\"traces\":[{\"events\":[{\"name\":\"",
    ] {
        let endless = head.as_bytes().chain(std::io::repeat(b'x').take(1 << 26));
        let found = read(endless, &Options::default()).expect("a qlog");
        assert!(found.fault.is_some(), "{found:?}");
    }
}
