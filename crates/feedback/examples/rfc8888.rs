//! An RTP sender with RFC 8888 feedback every 50 ms, over a path whose router marks instead of dropping: CE counts as loss.
//!
//! `cargo run -p tfrc-feedback --example rfc8888`

#![allow(clippy::disallowed_macros, reason = "a program speaks through its output")]

#[path = "path/mod.rs"]
mod path;

use path::Wire;
use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::rfc8888::{Adapter, Metric, Offset, encode};
use tfrc_units::{Duration, Ecn, Instant};

const PAYLOAD: u32 = 1000;
const SSRC: u32 = 0x1111_1111;
const ONE_WAY: Duration = Duration::from_millis(30);
const INTERVAL: Duration = Duration::from_millis(50);

fn main() {
    let mut advisor = Advisor::new(&Config::default(), INTERVAL);
    let mut adapter = Adapter::new(SSRC);
    let (mut packets, mut reports) = (Wire::default(), Wire::default());
    let (mut now, mut next_seq) = (Instant::ZERO, 0u64);
    let (mut come, mut reported, mut next_report) = (Vec::new(), 0u64, Instant::ZERO + INTERVAL);
    let mut next_print = Duration::from_secs(2);
    while now < Instant::ZERO + Duration::from_secs(20) {
        while advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, next_seq, PAYLOAD);
            // The router: a mark on every 50th packet, later on every 200th.
            let every = if now < Instant::ZERO + Duration::from_secs(10) { 50 } else { 200 };
            packets.push(now + ONE_WAY, if next_seq % every == 0 { Ecn::Ce } else { Ecn::Ect0 });
            next_seq += 1;
        }
        let next_packet = match advisor.next_send(now) {
            SendDecision::At(at) => Some(at),
            SendDecision::Now | SendDecision::Stopped(_) => None,
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        let wake = [next_packet, timer, packets.next(), reports.next(), Some(next_report)];
        now = wake.into_iter().flatten().min().unwrap_or(now);
        advisor.handle_timeout(now);

        // The receiver: no packet is lost here, so numbers follow each other.
        while let Some(packet) = packets.pop(now) {
            come.push(packet);
        }
        if now >= next_report {
            next_report = now + INTERVAL;
            let metrics: Vec<_> = come
                .drain(..)
                .map(|(arrival, ecn)| {
                    let ago = now.saturating_since(arrival).as_secs_f64();
                    Metric::Received { ecn, offset: Offset::Units((ago * 1024.0) as u16) }
                })
                .collect();
            let timestamp = (now.as_secs_f64() * 65536.0) as u32;
            reports.push(now + ONE_WAY, encode(7, &[(SSRC, reported as u16, &metrics)], timestamp));
            reported += metrics.len() as u64;
        }

        while let Some((_, rtcp)) = reports.pop(now) {
            if let Err(error) = adapter.on_report(now, &rtcp, &mut advisor) {
                println!("a bad report: {error}");
            }
        }
        if now.saturating_since(Instant::ZERO) >= next_print {
            println!(
                "{:5.1} s: {}, p = {:.4}, by {:?}",
                now.as_secs_f64(),
                advisor.allowed_rate(),
                advisor.loss_event_rate().get(),
                advisor.sender().rate_reason(),
            );
            next_print += Duration::from_secs(2);
        }
    }
}
