//! `tfrc send --pcap`, read by another implementation: Wireshark's dissector.

use std::path::Path;
use std::time::SystemTime;

use crate::e2e::network::{Place, Session, session_over};
use crate::e2e::program::{Program, other};

/// Wireshark's number for the severity "error".
const ERROR: u64 = 0x0080_0000;

struct Captured {
    session: Session,
    file: String,
    _place: Place,
}

fn captured(form: &[&str]) -> Captured {
    let place = Place::new();
    let file = place.file("session.pcap");
    // A round trip long enough for data to go before the handshake is confirmed, and a queue that
    // overflows.
    let path = place.one_link("rate = \"2Mbit/s\"\ndelay = \"100ms\"\nqueue = \"25p\"");
    let (session, ..) = session_over(&path, &[], &[&["-n", "500kB", "--pcap", &file], form].concat());
    Captured { session, file, _place: place }
}

/// Runs tshark with all checksums verified and returns its output.
fn tshark(file: &str, args: &[&str]) -> String {
    let mut command = other("tshark");
    for protocol in ["ip", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.args(["-r", file]).args(args);
    Program::start(command).succeed().text().to_owned()
}

#[test]
fn a_captured_session_is_dccp_to_wireshark() {
    let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("later").as_secs_f64();
    let captured = captured(&[]);
    let fields = [
        "dccp.type",
        "_ws.malformed",
        "_ws.expert.severity",
        "ip.checksum.status",
        "dccp.checksum.status",
        "ip.dsfield.ecn",
        "frame.time_epoch",
    ];
    let args: Vec<&str> = ["-T", "fields", "-E", "separator=,", "-E", "occurrence=a", "-E", "aggregator=+"]
        .into_iter()
        .chain(fields.iter().flat_map(|field| ["-e", field]))
        .collect();
    let table = tshark(&captured.file, &args);
    let (mut kinds, mut last) = ([0_u64; 16], before);
    for line in table.lines() {
        let [kind, malformed, severities, ip, dccp, ecn, time] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"));
        let kind: usize = kind.parse().unwrap_or_else(|_| panic!("no DCCP packet: {line}"));
        kinds[kind] += 1;
        assert_eq!(malformed, "", "{line}");
        for severity in severities.split('+').filter(|s| !s.is_empty()) {
            assert!(severity.parse::<u64>().expect(line) < ERROR, "an error: {line}");
        }
        // 1 is good.
        assert_eq!((ip, dccp), ("1", "1"), "checksums: {line}");
        assert!(!matches!(kind, 2 | 4) || ecn == "2", "data goes there with ECT(0): {line}");
        let time: f64 = time.parse().expect(line);
        // Kernel receive times may be a little older than the sending before.
        assert!(time > last - 0.1, "back in time: {line}");
        last = time;
    }
    let [request, response, data, ack, data_ack, close_req, close, reset, ..] = kinds;
    let few = [request, response, data_ack, close, reset];
    assert!(few.iter().all(|count| *count >= 1) && ack >= 3 && data > 100, "{kinds:?}");
    assert_eq!((close_req, &kinds[8..]), (0, &[0; 8][..]), "{kinds:?}");
    assert_eq!(data + data_ack, captured.session.sent());
    let after = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("later").as_secs_f64();
    assert!(last <= after, "from the future: {last}");
}

#[test]
fn wireshark_names_our_options_and_features() {
    let captured = captured(&[]);
    let text = tshark(&captured.file, &["-V"]);
    for name in [
        "CCID3 Loss Event Rate",
        "CCID3 Loss Intervals",
        "CCID3 Receive Rate",
        "Elapsed Time",
        "NDP Count",
        "Feature Number: Congestion Control ID (CCID)",
        "Feature Number: Sequence Window",
        "Feature Number: Send Loss Event Rate",
        "Reset Code: Closed",
        "Service Code: not specified",
    ] {
        assert!(text.contains(name), "no {name:?} in {text:.3000}");
    }
    // What Wireshark reads in the last feedback is what the sender used: X_recv in bytes/s and p as
    // its inverse.
    let number = |name: &str| -> Vec<f64> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(name));
        lines.filter_map(|rest| rest.split_whitespace().next()?.parse().ok()).collect()
    };
    let rates = number("CCID3 Receive Rate: ");
    assert!(
        rates.len() > 5 && rates.iter().all(|rate| *rate <= 500_000.0),
        "2 Mbit/s, with room for a busy machine: {rates:?}"
    );
    let inverses = number("CCID3 Loss Event Rate: ");
    assert!(inverses.last().is_some_and(|inverse| (2.0..2000.0).contains(inverse)), "{inverses:?}");
    // The text of the closing Reset.
    assert!(text.contains("received"), "the receiver's counts");
}

/// The form of the network, with the script that shows it as DCCP.
#[test]
fn dccp_in_udp_is_dccp_to_the_script() {
    let captured = captured(&["--pcap-udp"]);
    // All our datagrams go to one UDP port, the link's; the frame of the first packet names it.
    let bytes = std::fs::read(&captured.file).expect("written");
    let port = u16::from_be_bytes([bytes[24 + 16 + 36], bytes[24 + 16 + 37]]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/dccp_udp.lua");
    let (script, port) = (format!("lua_script:{}", script.display()), format!("lua_script1:{port}"));
    let shim = ["-X", &script, "-X", &port, "-o", "dccp.check_checksum:FALSE"];
    let fields = ["-T", "fields", "-e", "dccp.type", "-e", "udp.checksum.status", "-e", "_ws.malformed"];
    let table = tshark(&captured.file, &[&shim[..], &fields].concat());
    let data = table.lines().filter(|line| matches!(line.split('\t').next(), Some("2" | "4"))).count();
    assert_eq!(data as u64, captured.session.sent());
    assert!(table.lines().all(|line| line.ends_with("\t1\t") && !line.starts_with('\t')), "{table:.2000}");
}
