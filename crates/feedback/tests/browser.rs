//! Calls of a browser, as its adapters read them: what Chromium 156 sent and was told, without
//! encryption, over 4 Mbit/s, 50 ms one way and a loss of 2 %, in `tfrc emu`. Each line of the
//! captures is a media packet (`S`: time in ns, its number, bytes) or an RTCP packet (`R`).

use std::collections::BTreeSet;

use tfrc::{Advisor, Config};
use tfrc_feedback::{Counts, rfc8888, rtcp, twcc};
use tfrc_units::{Duration, Instant};

const RFC8888: &str = include_str!("chromium/rfc8888.txt");
const TWCC: &str = include_str!("chromium/twcc.txt");
/// Streams of the first capture: video, and its retransmissions.
const VIDEO: u32 = 0x14f9_aa2e;
const RTX: u32 = 0x5c06_003f;

enum Line {
    Sent(u64, u32),
    Told(Vec<u8>),
}

fn lines(capture: &str) -> impl Iterator<Item = (Instant, Line)> {
    capture.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = Instant::from_nanos(words[1].parse().expect("ns"));
        let line = match words[0] {
            "S" => Line::Sent(words[2].parse().expect("a number"), words[3].parse().expect("bytes")),
            _ => Line::Told(
                (0..words[2].len() / 2)
                    .map(|n| u8::from_str_radix(&words[2][2 * n..2 * n + 2], 16).expect("hexadecimal"))
                    .collect(),
            ),
        };
        (at, line)
    })
}

/// The figures of a call: its reports, those on two streams, news of packets, R in ms.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    reports: u64,
    two_streams: u64,
    counts: Counts,
    rtt_ms: u64,
}

fn milliseconds(rtt: Option<Duration>) -> u64 {
    rtt.map_or(0, |rtt| rtt.as_nanos() / 1_000_000)
}

/// The capture has no times of RTX packets: each is sent here together with the last packet of
/// video before the report that names it.
#[test]
fn chromium_reports_on_video_and_its_retransmissions_together() {
    let mut advisor: Advisor = Advisor::new(&Config::default(), Duration::from_millis(27));
    let mut adapter = rfc8888::Adapter::default();
    let mut figures = Figures { reports: 0, two_streams: 0, counts: Counts::default(), rtt_ms: 0 };
    let (mut id, mut known, mut last) = (0, BTreeSet::new(), Instant::ZERO);
    for (at, line) in lines(RFC8888) {
        let mut send = |advisor: &mut Advisor, at, ssrc, seq: u16, bytes| {
            adapter.on_sent(ssrc, seq, id);
            advisor.on_sent(at, id, bytes);
            id += 1;
        };
        match line {
            Line::Sent(number, bytes) => {
                send(&mut advisor, at, VIDEO, u16::try_from(number & 0xFFFF).expect("16 bits"), bytes);
                last = at;
            }
            Line::Told(bytes) => {
                let Ok(report) = rfc8888::decode(&bytes) else { continue };
                figures.reports += 1;
                figures.two_streams += u64::from(report.blocks().count() > 1);
                for (seq, _) in report.blocks().filter(|b| b.ssrc == RTX).flat_map(|b| b.packets()) {
                    if known.insert(seq) {
                        send(&mut advisor, last, RTX, seq, 300);
                    }
                }
                let counts = adapter.on_report(at, &bytes, &mut advisor).expect("whole");
                figures.counts.new += counts.new;
                figures.counts.duplicate += counts.duplicate;
                figures.counts.unknown += counts.unknown;
            }
        }
    }
    figures.rtt_ms = milliseconds(advisor.rtt());
    assert_eq!(
        figures,
        Figures {
            reports: 194,
            two_streams: 61,
            counts: Counts { new: 1957, duplicate: 0, unknown: 0 },
            rtt_ms: 108
        }
    );
}

#[test]
fn chromium_reports_on_a_transport() {
    let mut advisor: Advisor = Advisor::new(&Config::default(), Duration::from_micros(62_500));
    let mut adapter = twcc::Adapter::default();
    let mut figures = Figures { reports: 0, two_streams: 0, counts: Counts::default(), rtt_ms: 0 };
    for (at, line) in lines(TWCC) {
        match line {
            Line::Sent(number, bytes) => advisor.on_sent(at, number, bytes),
            Line::Told(bytes) => {
                for packet in rtcp::packets(&bytes).map(|packet| packet.expect("whole")) {
                    let Ok(counts) = adapter.on_report(at, packet.bytes, &mut advisor) else { continue };
                    figures.reports += 1;
                    figures.counts.new += counts.new;
                    figures.counts.duplicate += counts.duplicate;
                    figures.counts.unknown += counts.unknown;
                }
            }
        }
    }
    figures.rtt_ms = milliseconds(advisor.rtt());
    assert_eq!(
        figures,
        Figures {
            reports: 90,
            two_streams: 0,
            counts: Counts { new: 1851, duplicate: 0, unknown: 0 },
            rtt_ms: 113
        }
    );
}
