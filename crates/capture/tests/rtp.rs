//! RTP and its feedback, of a browser and encrypted.

use tfrc_capture::{Options, Recording, read, text};

use crate::forms::pcap;

/// A UDP datagram in IPv4 from port 1000 to 2000, or back.
fn udp(out: bool, payload: &[u8]) -> Vec<u8> {
    let (near, far) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    let (from, to) = if out { (near, far) } else { (far, near) };
    let ports: [u16; 2] = if out { [1000, 2000] } else { [2000, 1000] };
    let mut ip = vec![0x45, 0];
    ip.extend_from_slice(&((payload.len() + 28) as u16).to_be_bytes());
    ip.extend_from_slice(&[0, 0, 0, 0, 64, 17, 0, 0]);
    ip.extend_from_slice(&from);
    ip.extend_from_slice(&to);
    for field in [ports[0], ports[1], (payload.len() + 8) as u16, 0xFFFF] {
        ip.extend_from_slice(&field.to_be_bytes());
    }
    ip.extend_from_slice(payload);
    ip
}

/// An RTP packet of one stream with a transport-wide number, `size` bytes long.
fn rtp(seq: u16, wide: u16, size: usize) -> Vec<u8> {
    let mut bytes = vec![0x90, 96];
    bytes.extend_from_slice(&seq.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, 0x14, 0xF9, 0xAA, 0x2E, 0xBE, 0xDE, 0, 1, 0x41]);
    bytes.extend_from_slice(&wide.to_be_bytes());
    bytes.push(0);
    bytes.resize(size.max(bytes.len()), 7);
    bytes
}

/// A packet each 10 ms, of which every 20th is lost, 40 ms on its way, and a report each 60 ms,
/// 40 ms on its way back. From 3 s on a queue adds 30 ms.
pub(crate) fn call(encode: impl Fn(&[(u16, Option<u64>)], u64) -> Vec<u8>) -> Vec<(u64, Vec<u8>)> {
    const MS: u64 = 1_000_000;
    let came = |n: u64| {
        let queue = if n >= 300 { 30 } else { 0 };
        (n % 20 != 19).then_some((n * 10 + 40 + queue) * MS)
    };
    let mut frames: Vec<(u64, Vec<u8>)> = (0..600)
        .map(|n| (n * 10 * MS, udp(true, &rtp(65_500_u16.wrapping_add(n as u16), n as u16, 1000))))
        .collect();
    for report in 0..98 {
        let packets: Vec<_> = (report * 6..report * 6 + 6).map(|n| (n as u16, came(n))).collect();
        let made = (report * 60 + 50 + 80) * MS;
        frames.push((made + 40 * MS, udp(false, &encode(&packets, made))));
    }
    frames.sort_by_key(|(at, _)| *at);
    frames
}

fn recording(frames: Vec<(u64, Vec<u8>)>) -> Recording {
    read(pcap(101, 65_535, frames.into_iter()).as_slice(), &Options::default()).expect("a capture")
}

/// Transport-wide feedback as the browser of `inputs` writes it: arrivals in 250 µs.
pub(crate) fn twcc(packets: &[(u16, Option<u64>)], _made: u64) -> Vec<u8> {
    let ticks = |at: u64| at / 250_000;
    let base = packets.iter().find_map(|(_, at)| *at).map_or(0, ticks) / 256;
    let mut bytes = vec![0x8F, 205, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
    bytes.extend_from_slice(&packets[0].0.to_be_bytes());
    bytes.extend_from_slice(&(packets.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&(base as u32).to_be_bytes()[1..]);
    bytes.push(0);
    // A vector of two-bit symbols: not received, or a delta of two bytes.
    let symbols = packets.iter().fold(0u16, |all, (_, at)| all << 2 | if at.is_some() { 2 } else { 0 });
    bytes.extend_from_slice(&(0xC000 | symbols << (14 - 2 * packets.len())).to_be_bytes());
    let mut last = base * 256;
    for at in packets.iter().filter_map(|(_, at)| *at) {
        bytes.extend_from_slice(&((ticks(at) - last) as u16).to_be_bytes());
        last = ticks(at);
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words = (bytes.len() / 4 - 1) as u16;
    bytes[2..4].copy_from_slice(&words.to_be_bytes());
    bytes
}

pub(crate) fn rfc8888(packets: &[(u16, Option<u64>)], made: u64) -> Vec<u8> {
    use tfrc_feedback::rfc8888::{Metric, Offset, encode};
    let metrics: Vec<Metric> = packets
        .iter()
        .map(|(_, at)| match at {
            None => Metric::NotReceived,
            Some(at) => {
                let offset = Offset::Units(((made - at) * 1024 / 1_000_000_000) as u16);
                Metric::Received { ecn: tfrc_units::Ecn::NotEct, offset }
            }
        })
        .collect();
    let timestamp = (u128::from(made) * 65_536 / 1_000_000_000) as u32;
    encode(1, &[(0x14F9_AA2E, 65_500_u16.wrapping_add(packets[0].0), &metrics)], timestamp)
}

/// Both kinds of feedback show the losses, the queue of 30 ms and the time to the report. An offset
/// of RFC 8888 is in 1/1024 s, so that a delay is known to 1 ms.
#[test]
fn feedback_shows_losses_and_delays_after_the_tap() {
    let calls = [("transport-wide feedback", call(twcc)), ("RFC 8888", call(rfc8888))];
    for (kind, frames) in calls {
        let found = recording(frames);
        let [flow] = found.rtp.as_slice() else { panic!("{kind}: {found:?}") };
        assert_eq!((flow.feedback.as_deref(), flow.reports, flow.packets), (Some(kind), 98, 600));
        assert_eq!((flow.reported, flow.lost, flow.unreadable_rtcp), (588, Some(29), 0), "{kind}");
        assert_eq!((flow.streams.len(), flow.streams[0].missing_before_tap), (1, 0));
        let queueing = flow.queueing.as_ref().expect("feedback");
        assert!(queueing.most_s.is_some_and(|most| (most - 0.030).abs() < 0.0012), "{kind}: {queueing:?}");
        let early = flow.series.iter().filter(|row| row.time_s < 2.9);
        assert!(early.filter_map(|row| row.queueing_s).all(|delay| delay < 0.0012), "{kind}");
        // 1008 bytes of UDP are 1000 of RTP here, each 10 ms.
        assert!(flow.rate_bps.is_some_and(|rate| (rate / 800e3 - 1.0).abs() < 0.01), "{flow:?}");
        assert!(flow.answered_s.is_some_and(|time| (0.1..0.2).contains(&time)), "{flow:?}");
        // RTCP is read, too.
        assert_eq!(found.other.get("UDP"), None);
        assert!(text::text(&found).contains("29 of 588 packets after the tap, 4.93 %"));
    }
}

/// SRTP: RTCP ends with bytes that are no RTCP; gaps and rates are there.
#[test]
fn encrypted_feedback_leaves_headers_and_gaps() {
    let sealed = |packets: &[(u16, Option<u64>)], made: u64| {
        let mut bytes = twcc(packets, made);
        bytes[12..].iter_mut().for_each(|byte| *byte ^= 0x5A);
        bytes.extend_from_slice(&[0x80, 0, 0, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        bytes
    };
    let mut frames = call(sealed);
    let mut data = 0;
    frames.retain(|(_, ip)| {
        data += u32::from(ip[15] == 1);
        ip[15] != 1 || data % 50 != 25
    });
    let found = recording(frames);
    let [flow] = found.rtp.as_slice() else { panic!("{found:?}") };
    assert_eq!((flow.feedback.as_ref(), flow.lost, flow.unreadable_rtcp), (None, None, 98));
    assert_eq!(flow.streams[0].missing_before_tap, 12);
    assert!(text::text(&found).contains("encrypted (SRTCP)"));
}

/// Datagrams whose first bits are those of RTP by chance are no flow.
#[test]
fn other_datagrams_are_no_rtp() {
    let mut random = 1_u64;
    let frames = (0..400_u64).map(|n| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut payload: Vec<u8> = random.to_be_bytes().repeat(4);
        payload[0] = 0x80;
        payload[8..12].fill(3);
        (n * 1_000_000, udp(true, &payload))
    });
    let found = recording(frames.collect());
    assert!(found.rtp.is_empty(), "{:?}", found.rtp);
    assert_eq!(found.other.get("UDP"), Some(&400));
}
