//! A QUIC-like sender: acknowledgement ranges after every second packet or 25 ms, no arrival times. The application is idle from the
//! 10th to the 15th second and slow after that.
//!
//! `cargo run -p tfrc-feedback --example quic_ack`

#![allow(clippy::disallowed_macros, reason = "a program speaks through its output")]

use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::quic::{Adapter, decode};
use tfrc_testkit::{ACK_DELAY_EXPONENT, Fate, Format, MAX_ACK_DELAY, Random, Remote, Wire};
use tfrc_units::{Duration, Instant};

const PAYLOAD: u32 = 1350;
const ONE_WAY: Duration = Duration::from_millis(25);

fn main() {
    // Every second packet is acknowledged, at the latest after 25 ms: the longest time between reports.
    let mut advisor = Advisor::new(&Config::default(), MAX_ACK_DELAY);
    let mut adapter = Adapter::new(ACK_DELAY_EXPONENT);
    let mut remote = Remote::new(Format::Quic(2), Wire::new(ONE_WAY), || Fate::Deliver);
    let mut random = Random::new(3);
    let (mut now, mut next_number) = (Instant::ZERO, 0u64);
    let mut next_data = Instant::ZERO;
    let mut next_print = Duration::from_secs(1);
    while now < Instant::ZERO + Duration::from_secs(20) {
        while now >= next_data && advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, next_number, PAYLOAD);
            let fate = if random.happens(0.02) { Fate::Drop } else { Fate::Deliver };
            remote.send(now, next_number, PAYLOAD, fate);
            next_number += 1;
            next_data = match now.as_secs_f64() {
                s if s < 10.0 => now,
                s if s < 15.0 => Instant::ZERO + Duration::from_secs(15),
                _ => now + Duration::from_millis(20),
            };
        }
        let next_packet = match advisor.next_send(now) {
            SendDecision::At(at) => Some(at.max(next_data)),
            SendDecision::Now | SendDecision::Stopped(_) => Some(next_data),
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        let wake = [next_packet, timer, remote.poll_timeout()];
        now = wake.into_iter().flatten().min().unwrap_or(now);
        advisor.handle_timeout(now);

        while let Some(frame) = remote.poll_report(now) {
            match decode(&frame) {
                Ok((ack, _)) => {
                    adapter.on_ack(now, &ack, &mut advisor);
                }
                Err(error) => println!("a bad frame: {error}"),
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
            next_print += Duration::from_secs(1);
        }
    }
}
