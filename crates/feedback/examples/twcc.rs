//! A video sender over RTP that takes its rate from transport-wide feedback.
//!
//! Run it with `cargo run -p tfrc-feedback --example twcc`. Time is simulated, so that it ends at once; in a program `now` is read off
//! the host's clock, counted from any epoch, and the parts marked *network* are its sockets.

#![allow(clippy::disallowed_macros, reason = "a program speaks through its output")]

use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::twcc;
use tfrc_testkit::{Fate, Format, Random, Remote, Wire};
use tfrc_units::{Duration, Instant, Rate};

const PAYLOAD: u32 = 1200;

fn main() {
    // The one object: RFC 5348 with its defaults, for a receiver that reports every 100 ms.
    let mut advisor = Advisor::new(&Config::default(), Duration::from_millis(100));
    let mut adapter = twcc::Adapter::default();

    // *Network*: 2 Mbit/s with room for 20 packets, 40 ms there and 40 ms back, and every hundredth packet lost on the radio.
    let wire = Wire::bottleneck(Duration::from_millis(40), Rate::from_bits_per_sec(2e6), 20);
    let mut remote = Remote::new(Format::Twcc(Duration::from_millis(100)), wire, || Fate::Deliver);
    let mut random = Random::new(1);

    let mut now = Instant::ZERO;
    let mut next_seq = 0u64; // the transport-wide sequence number; its low 16 bits go into the RTP header extension
    let mut next_print = Duration::from_secs(1);
    println!("    s    allowed rate   round trip   loss event rate, events, reason");
    while now < Instant::ZERO + Duration::from_secs(20) {
        // Send while the advisor says so, and tell it. An encoder would be given `advisor.allowed_rate()` as its target.
        while advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, next_seq, PAYLOAD);
            let fate = if random.happens(0.01) { Fate::Drop } else { Fate::Deliver };
            remote.send(now, next_seq, PAYLOAD, fate);
            next_seq += 1;
        }

        // Sleep until the next packet, timer or report, whichever is first.
        let next_packet = match advisor.next_send(now) {
            SendDecision::At(at) => Some(at),
            SendDecision::Now | SendDecision::Stopped(_) => None,
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        let wake = [next_packet, timer, remote.poll_timeout()];
        now = wake.into_iter().flatten().min().unwrap_or(now);
        advisor.handle_timeout(now);

        // An RTCP packet has come. One that is no such report is an error that says where, and changes nothing.
        while let Some(rtcp) = remote.poll_report(now) {
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
