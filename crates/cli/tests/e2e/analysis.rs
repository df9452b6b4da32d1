//! `tfrc capture`: a recording of the kernel, one of our own, and files that have nothing to say.

use std::path::Path;

use crate::e2e::network::{Place, session_over};
use crate::e2e::program::{Program, other, run};

fn kernel() -> String {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/linux-dccp/linux-bidir-50ms.pcap");
    place.display().to_string()
}

#[test]
fn a_call_of_the_kernel_in_words_json_and_a_page() {
    let place = Place::new();
    let page = place.file("page.html");
    let words = run(["capture", &kernel(), "--report", &page]);
    assert_eq!(words.status.code(), Some(0), "{}", words.stderr);
    let text = String::from_utf8_lossy(&words.stdout);
    for part in ["55.0 ms by handshake", "2 data packets, 2 acknowledgements", "follows Linux 6.1", "§8.6"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = std::fs::read_to_string(page).expect("written");
    assert_eq!(page.matches("<svg").count(), 8, "four figures for each direction");

    let json: serde_json::Value = run(["capture", "--json", &kernel()]).json();
    assert!(json["schema_version"].is_number(), "{json}");
    let direction = &json["connections"][0]["directions"][1];
    assert_eq!(direction["losses"]["events"], 2, "{direction}");
    // The tap is at the client: its word is taken only where it differs.
    let asked: serde_json::Value = run(["capture", "--json", "--side", "server", &kernel()]).json();
    assert!(asked["connections"][0]["directions"][1]["losses"].is_null(), "{asked}");
}

/// The beginning of a qlog that quinn wrote, cut within a record.
#[test]
fn capture_reads_a_qlog() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/capture/qlog-quinn");
    let place = Place::new();
    let page = place.file("qlog.html");
    let words = run(["capture", file, "--report", &page]);
    assert_eq!(words.status.code(), Some(0), "{}", words.stderr);
    for wanted in ["qlog 0.3, JSON-SEQ", "client (the first packet", "in seconds", "ends within record"] {
        assert!(words.text().contains(wanted), "{wanted}: {}", words.text());
    }
    assert!(std::fs::read_to_string(&page).is_ok_and(|page| page.contains("QUIC")));
    let json: serde_json::Value = run(["capture", "--json", file]).json();
    assert!(json["quic"][0]["sent"].as_u64().is_some_and(|sent| sent > 0), "{json}");
    let native = run(["capture", file, "--native", &place.file("native.pcap")]);
    assert_eq!(native.status.code(), Some(2), "{}", native.stderr);
    let other = run(["capture", &place.write("other.json", "{\"name\": 1}")]);
    assert_eq!(other.status.code(), Some(2));
    assert!(other.stderr.contains("qlog_version"), "{}", other.stderr);
}

/// Our own capture as DCCP in UDP: every datagram is found, and tshark reads the native form.
#[test]
fn a_session_of_ours_and_its_native_form() {
    let place = Place::new();
    let (file, native) = (place.file("session.pcap"), place.file("native.pcap"));
    let path = place.one_link("rate = \"2Mbit/s\"\ndelay = \"50ms\"\nqueue = \"25p\"");
    let (session, ..) = session_over(&path, &[], &["-n", "300kB", "--pcap", &file, "--pcap-udp"]);
    let found: serde_json::Value = run(["capture", "--json", &file, "--native", &native]).json();
    let connection = &found["connections"][0];
    // On a busy machine the times of the handshake say "middle".
    assert_eq!(connection["carrier"], "udp", "{connection}");
    assert_ne!(connection["tap"], "server", "{connection}");
    assert_eq!(connection["directions"][0]["data_packets"].as_u64(), Some(session.sent()), "{connection}");
    assert_eq!(connection["broken"].as_array().map(Vec::len), Some(0), "{connection}");
    assert!(connection["rtt"]["r_s"].as_f64().is_some_and(|r| r > 0.1 && r < 0.2), "{connection}");

    let mut tshark = other("tshark");
    tshark.args(["-r", &native, "-T", "fields", "-e", "dccp.type", "-e", "dccp.checksum.status"]);
    let table = Program::start(tshark).succeed().text().to_owned();
    assert_eq!(table.lines().count() as u64, connection["packets"].as_u64().expect("a count"));
    // 1 is good.
    assert!(table.lines().all(|line| line.ends_with("\t1")), "{table}");
}

#[test]
fn files_without_anything_to_say() {
    let place = Place::new();
    let refused = run(["capture", &place.write("text", "Dear reader")]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("44 65 61") && refused.stderr.contains("hint:"), "{}", refused.stderr);
    assert_eq!(run(["capture", &place.write("empty", "")]).status.code(), Some(2));

    // A capture with one frame of ARP.
    let mut arp =
        vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0];
    arp.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0, 42, 0, 0, 0]);
    let ether_type = arp.len() + 12;
    arp.resize(arp.len() + 42, 0);
    arp[ether_type..ether_type + 8].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4]);
    let without = run(["capture", &place.write("arp", arp)]);
    assert_eq!(without.status.code(), Some(1), "{}", without.stderr);
    assert!(without.stderr.contains("seen: 1 ARP"), "{}", without.stderr);

    // A capture is never written over.
    let kept = place.write("kept.pcap", std::fs::read(kernel()).expect("a capture"));
    let refused = run(["capture", &kept, "--native", &kept]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stderr);
}
