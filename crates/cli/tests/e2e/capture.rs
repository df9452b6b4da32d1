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
    port: String,
    _place: Place,
}

fn captured() -> Captured {
    let place = Place::new();
    let file = place.file("session.pcap");
    // A round trip long enough for data to go before the handshake is confirmed, and a queue that
    // overflows.
    let path = place.one_link("rate = \"2Mbit/s\"\ndelay = \"100ms\"\nqueue = \"25p\"");
    let (session, ..) = session_over(&path, &[], &["-n", "500kB", "--pcap", &file]);
    // All our datagrams go to one UDP port, the link's; the frames of the first packet name it.
    let bytes = std::fs::read(&file).expect("written");
    let port = u16::from_be_bytes([bytes[24 + 16 + 36], bytes[24 + 16 + 37]]).to_string();
    Captured { session, file, port, _place: place }
}

impl Captured {
    /// Runs tshark on the capture and returns its output.
    fn tshark(&self, args: &[&str]) -> String {
        let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/dccp_udp.lua");
        let mut command = other("tshark");
        command.args([
            "-X",
            &format!("lua_script:{}", shim.display()),
            "-X",
            &format!("lua_script1:{}", self.port),
        ]);
        command.args(["-o", "dccp.check_checksum:FALSE", "-o", "ip.check_checksum:TRUE"]);
        command.args(["-o", "udp.check_checksum:TRUE", "-r", &self.file]).args(args);
        Program::start(command).succeed().text().to_owned()
    }
}

#[test]
fn a_captured_session_is_dccp_to_wireshark() {
    let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("later").as_secs_f64();
    let captured = captured();
    let fields = [
        "dccp.type",
        "_ws.malformed",
        "_ws.expert.severity",
        "ip.checksum.status",
        "udp.checksum.status",
        "ip.dsfield.ecn",
        "frame.time_epoch",
        "udp.dstport",
    ];
    let args: Vec<&str> = ["-T", "fields", "-E", "separator=,", "-E", "occurrence=a", "-E", "aggregator=+"]
        .into_iter()
        .chain(fields.iter().flat_map(|field| ["-e", field]))
        .collect();
    let table = captured.tshark(&args);
    let (mut kinds, mut last) = ([0_u64; 16], before);
    for line in table.lines() {
        let [kind, malformed, severities, ip, udp, ecn, time, port] =
            line.split(',').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"));
        let kind: usize = kind.parse().unwrap_or_else(|_| panic!("no DCCP packet: {line}"));
        kinds[kind] += 1;
        assert_eq!(malformed, "", "{line}");
        for severity in severities.split('+').filter(|s| !s.is_empty()) {
            assert!(severity.parse::<u64>().expect(line) < ERROR, "an error: {line}");
        }
        // 1 is good.
        assert_eq!((ip, udp), ("1", "1"), "checksums: {line}");
        let data = matches!(kind, 2 | 4);
        assert!(!data || (ecn == "2" && port == captured.port), "data goes there with ECT(0): {line}");
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
    let captured = captured();
    let text = captured.tshark(&["-V"]);
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
