//! Reports of TWCC, RFC 8888 and QUIC: no report breaks a decoder or an Advisor, and a packet is
//! news once.

use tfrc::{Advisor, Config};
use tfrc_feedback::{Counts, quic, rfc8888, rtcp, twcc};
use tfrc_units::{Duration, Instant};

/// The stream that RFC 8888 reports on.
const SSRC: u32 = 2;
/// Packets numbered from here: near the turn of 16 bits.
const FIRST: u64 = 65_500;

/// Formats of RTCP by their FMT.
const TWCC: u8 = 15;
const RFC8888: u8 = 11;

/// A format, after its four bytes of header, by FMT.
fn framed(format: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x80 | format, 205];
    let words: u16 = tfrc_units::saturating(body.len().div_ceil(4));
    packet.extend(words.to_be_bytes());
    packet.extend(body);
    packet.resize(4 + 4 * usize::from(words), 0);
    packet
}

/// Operations of a byte each: packets sent, or a report with its length and its bytes.
pub fn check(data: &[u8]) {
    for packet in rtcp::packets(data).map_while(Result::ok) {
        let _ =
            std::hint::black_box((twcc::decode(packet.bytes).is_ok(), rfc8888::decode(packet.bytes).is_ok()));
    }
    let mut advisor: Advisor<64> = Advisor::with_capacity(&Config::default(), Duration::from_millis(50));
    let (mut on_twcc, mut on_8888, mut on_quic) =
        (twcc::Adapter::default(), rfc8888::Adapter::new(SSRC), quic::Adapter::new(3));
    let (mut sent, mut news, mut now) = (0u64, 0u64, Instant::ZERO + Duration::from_secs(1));
    let mut rest = data;
    while let Some((operation, after)) = rest.split_first() {
        rest = after;
        now += Duration::from_millis(u64::from(operation >> 3));
        if operation & 7 < 3 {
            for _ in 0..=operation >> 3 {
                advisor.on_sent(now, FIRST + sent, 1200);
                sent += 1;
            }
            continue;
        }
        let Some((length, after)) = rest.split_first() else { break };
        let (report, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let counts = match operation & 7 {
            3 => on_twcc.on_report(now, &framed(TWCC, report), &mut advisor).ok(),
            4 => on_8888.on_report(now, &framed(RFC8888, report), &mut advisor).ok(),
            5 => on_twcc.on_report(now, report, &mut advisor).ok(),
            6 => on_8888.on_report(now, report, &mut advisor).ok(),
            _ => quic::decode(report).ok().map(|(frame, _)| on_quic.on_ack(now, &frame, &mut advisor)),
        };
        news += counts.map_or(0, |Counts { new, .. }| new);
        assert!(news <= sent, "{news} packets are news, and {sent} were sent");
        advisor.handle_timeout(now);
        let rate = advisor.allowed_rate().bytes_per_sec();
        assert!(rate.is_finite() && rate > 0.0, "{rate}");
        assert!((0.0..=1.0).contains(&advisor.loss_event_rate().get()));
    }
}
