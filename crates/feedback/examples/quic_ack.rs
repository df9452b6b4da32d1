//! A QUIC-like sender: acknowledgement ranges after every second packet or 25 ms, no arrival times. The application is idle from the
//! 10th to the 15th second and slow after that.
//!
//! `cargo run -p tfrc-feedback --example quic_ack`

#![allow(clippy::disallowed_macros, reason = "a program speaks through its output")]

#[path = "path/mod.rs"]
mod path;

use path::{Path, Wire};
use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::quic::{Adapter, decode, encode};
use tfrc_units::{Duration, Instant};

const PAYLOAD: u32 = 1350;
const ONE_WAY: Duration = Duration::from_millis(25);
/// RFC 9000 §18.2: max_ack_delay and ack_delay_exponent as they are by default.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
const EXPONENT: u8 = 3;

fn main() {
    // Every second packet is acknowledged, at the latest after 25 ms: the longest time between reports.
    let mut advisor = Advisor::new(&Config::default(), MAX_ACK_DELAY);
    let mut adapter = Adapter::new(EXPONENT);
    let mut there = Path::new(ONE_WAY, 0.02, None, 3);
    let (mut packets, mut frames) = (Wire::default(), Wire::default());
    let mut receiver = Receiver::default();
    let (mut now, mut next_number) = (Instant::ZERO, 0u64);
    let mut next_data = Instant::ZERO;
    let mut next_print = Duration::from_secs(1);
    while now < Instant::ZERO + Duration::from_secs(20) {
        while now >= next_data && advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, next_number, PAYLOAD);
            if let Some(arrival) = there.send(now, PAYLOAD) {
                packets.push(arrival, next_number);
            }
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
        let wake = [next_packet, timer, packets.next(), frames.next(), receiver.timer];
        now = wake.into_iter().flatten().min().unwrap_or(now);
        advisor.handle_timeout(now);

        while let Some((arrival, number)) = packets.pop(now) {
            receiver.on_packet(arrival, number);
        }
        if let Some(frame) = receiver.poll_ack(now) {
            frames.push(now + ONE_WAY, frame);
        }
        while let Some((_, frame)) = frames.pop(now) {
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

/// The receiving end.
#[derive(Default)]
struct Receiver {
    /// (smallest, largest), the highest last.
    ranges: Vec<(u64, u64)>,
    last_arrival: Instant,
    unacknowledged: u32,
    timer: Option<Instant>,
}

impl Receiver {
    fn on_packet(&mut self, now: Instant, number: u64) {
        match self.ranges.last_mut() {
            Some((_, largest)) if *largest + 1 == number => *largest = number,
            _ => self.ranges.push((number, number)),
        }
        self.last_arrival = now;
        self.unacknowledged += 1;
        self.timer.get_or_insert(now + MAX_ACK_DELAY);
    }

    fn poll_ack(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.unacknowledged < 2 && self.timer.is_none_or(|at| now < at) {
            return None;
        }
        self.unacknowledged = 0;
        self.timer = None;
        let newest: Vec<_> = self.ranges.iter().rev().take(8).copied().collect();
        let delay = now.saturating_since(self.last_arrival).as_micros() >> EXPONENT;
        encode(&newest, delay, None)
    }
}
