//! Reports of TWCC, RFC 8888 and QUIC: no report breaks a decoder or an Advisor, and a packet is
//! news once.

use tfrc::{Advisor, Config};
use tfrc_feedback::{Counts, quic, rfc8888, rtcp, twcc};
use tfrc_units::{Duration, Instant};

/// The stream that RFC 8888 reports on.
const SSRC: u32 = 2;
/// The default of QUIC (RFC 9000 §18.2).
const ACK_DELAY_EXPONENT: u8 = 3;
/// Packets numbered from here: near the turn of 16 bits.
const FIRST: u64 = 65_500;

/// FMT of transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1).
const TWCC: u8 = 15;
/// FMT of RFC 8888 (§3.1).
const RFC8888: u8 = 11;
/// Version 2 and payload type of transport-layer feedback (RFC 4585 §6.1).
const VERSION: u8 = 0x80;
const FEEDBACK: u8 = 205;

/// The body as a transport-layer feedback message of this FMT, padded to whole words.
fn framed(format: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![VERSION | format, FEEDBACK];
    let words: u16 = tfrc_units::saturating(body.len().div_ceil(4));
    packet.extend(words.to_be_bytes());
    packet.extend(body);
    packet.resize(4 + 4 * usize::from(words), 0);
    packet
}

/// Operations of a byte each. The low three bits are its kind: 0 to 2 send packets, 3 and 4 are a
/// report of either format behind a right header, 5 and 6 the same as raw bytes, 7 an ACK of QUIC.
/// The other five are the milliseconds since the operation before, and when sending the packets
/// less one. The length of a report and its bytes follow.
pub fn check(data: &[u8]) {
    for packet in rtcp::packets(data).map_while(Result::ok) {
        let _ =
            std::hint::black_box((twcc::decode(packet.bytes).is_ok(), rfc8888::decode(packet.bytes).is_ok()));
    }
    // Few packets are remembered, so that some are forgotten within one input.
    let mut advisor: Advisor<64> = Advisor::with_capacity(&Config::default(), Duration::from_millis(50));
    let (mut on_twcc, mut on_8888, mut on_quic) =
        (twcc::Adapter::default(), rfc8888::Adapter::default(), quic::Adapter::new(ACK_DELAY_EXPONENT));
    let (mut sent, mut news, mut now) = (0u64, 0u64, Instant::ZERO + Duration::from_secs(1));
    let mut rest = data;
    while let Some((operation, after)) = rest.split_first() {
        rest = after;
        let (kind, count) = (operation & 7, operation >> 3);
        now += Duration::from_millis(u64::from(count));
        advisor.handle_timeout(now);
        if kind < 3 {
            for _ in 0..=count {
                on_8888.on_sent(SSRC, tfrc_units::saturating((FIRST + sent) & 0xFFFF), FIRST + sent);
                advisor.on_sent(now, FIRST + sent, 1200);
                sent += 1;
            }
            continue;
        }
        let Some((length, after)) = rest.split_first() else { break };
        let (report, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let mut take = || match kind {
            3 => on_twcc.on_report(now, &framed(TWCC, report), &mut advisor).ok(),
            4 => on_8888.on_report(now, &framed(RFC8888, report), &mut advisor).ok(),
            5 => on_twcc.on_report(now, report, &mut advisor).ok(),
            6 => on_8888.on_report(now, report, &mut advisor).ok(),
            _ => quic::decode(report).ok().map(|(frame, _)| on_quic.on_ack(now, &frame, &mut advisor)),
        };
        news += take().map_or(0, |Counts { new, .. }| new);
        assert!(news <= sent, "{news} packets are news, and {sent} were sent");
        let again = take().map_or(0, |Counts { new, .. }| new);
        assert_eq!(again, 0, "the same report brings news twice");
        let rate = advisor.allowed_rate().bytes_per_sec();
        assert!(rate.is_finite() && rate > 0.0, "{rate}");
        assert!((0.0..=1.0).contains(&advisor.loss_event_rate().get()));
    }
}
