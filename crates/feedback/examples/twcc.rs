//! A video sender over RTP that takes its rate from transport-wide feedback.
//!
//! Run it with `cargo run -p tfrc-feedback --example twcc`. Time is simulated, so that it ends at once; in a program `now` is read off
//! the host's clock, counted from any epoch, and the parts marked *network* are its sockets.

#![allow(clippy::disallowed_macros, reason = "a program speaks through its output")]

#[path = "path/mod.rs"]
mod path;

use path::{Path, Wire};
use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::twcc;
use tfrc_units::{Duration, Instant, Rate};

const PAYLOAD: u32 = 1200;

fn main() {
    // The one object: RFC 5348 with its defaults, for a receiver that reports every 100 ms.
    let mut advisor = Advisor::new(&Config::default(), Duration::from_millis(100));
    let mut adapter = twcc::Adapter::default();

    // *Network*: 2 Mbit/s with room for 20 packets, 40 ms there and 40 ms back, and every hundredth packet lost on the radio.
    let bottleneck = Some((Rate::from_bits_per_sec(2e6), 20));
    let mut there = Path::new(Duration::from_millis(40), 0.01, bottleneck, 1);
    let (mut packets, mut reports) = (Wire::default(), Wire::default());
    let mut receiver = Receiver::default();

    let mut now = Instant::ZERO;
    let mut next_seq = 0u64; // the transport-wide sequence number; its low 16 bits go into the RTP header extension
    let mut next_print = Duration::from_secs(1);
    println!("    s    allowed rate   round trip   loss event rate, events, reason");
    while now < Instant::ZERO + Duration::from_secs(20) {
        // Send while the advisor says so, and tell it. An encoder would be given `advisor.allowed_rate()` as its target.
        while advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, next_seq, PAYLOAD);
            if let Some(arrival) = there.send(now, PAYLOAD) {
                packets.push(arrival, next_seq);
            }
            next_seq += 1;
        }

        // Sleep until the next packet, timer or report, whichever is first.
        let next_packet = match advisor.next_send(now) {
            SendDecision::At(at) => Some(at),
            SendDecision::Now | SendDecision::Stopped(_) => None,
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        let wake = [next_packet, timer, packets.next(), reports.next(), Some(receiver.next_report)];
        now = wake.into_iter().flatten().min().unwrap_or(now);
        advisor.handle_timeout(now);

        // *Network*: the other end.
        while let Some((arrival, seq)) = packets.pop(now) {
            receiver.on_packet(arrival, seq);
        }
        if let Some(rtcp) = receiver.poll_report(now) {
            reports.push(now + Duration::from_millis(40), rtcp);
        }

        // An RTCP packet has come. One that is no such report is an error that says where, and changes nothing.
        while let Some((_, rtcp)) = reports.pop(now) {
            if let Err(error) = adapter.on_report(now, &rtcp, &mut advisor) {
                println!("a bad report: {error}");
            }
        }

        // Every change of the rate comes with its reason; here only the state once a second is shown.
        while advisor.poll_event().is_some() {}
        if now.saturating_since(Instant::ZERO) >= next_print {
            println!(
                "{:5.1}  {:>14}  {:>8.0} ms   {:.2} %, {} so far, by {:?}",
                now.as_secs_f64(),
                advisor.allowed_rate().to_string(),
                advisor.rtt().map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3),
                advisor.loss_event_rate().get() * 100.0,
                advisor.loss_events(),
                advisor.sender().rate_reason(),
            );
            next_print += Duration::from_secs(1);
        }
    }
}

/// The receiving end: remembers what came and reports every 100 ms.
struct Receiver {
    /// Arrival times in units of 250 µs of all packets since the last report, from `base_seq` on.
    arrivals: Vec<Option<i64>>,
    base_seq: u64,
    next_report: Instant,
    reports: u8,
}

impl Default for Receiver {
    fn default() -> Self {
        let next_report = Instant::ZERO + Duration::from_millis(100);
        Self { arrivals: Vec::new(), base_seq: 0, next_report, reports: 0 }
    }
}

impl Receiver {
    fn on_packet(&mut self, now: Instant, seq: u64) {
        let place = (seq - self.base_seq) as usize;
        self.arrivals.resize(place + 1, None);
        self.arrivals[place] = Some((now.as_nanos() / 250_000) as i64);
    }

    fn poll_report(&mut self, now: Instant) -> Option<Vec<u8>> {
        if now < self.next_report {
            return None;
        }
        self.next_report = now + Duration::from_millis(100);
        if self.arrivals.is_empty() {
            return None;
        }
        let ssrcs = twcc::Ssrcs { sender: 0x2222_2222, media: 0x1111_1111 };
        let report = twcc::encode(ssrcs, self.reports, self.base_seq as u16, &self.arrivals);
        self.reports = self.reports.wrapping_add(1);
        self.base_seq += self.arrivals.len() as u64;
        self.arrivals.clear();
        report.ok()
    }
}
