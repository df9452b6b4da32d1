//! An RTP sender with RFC 8888 feedback every 50 ms, over a path whose router marks instead of dropping: CE counts as loss.
//!
//! `cargo run -p tfrc-feedback --example rfc8888`

#![allow(clippy::disallowed_macros, reason = "a program speaks through its output")]

use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::rfc8888::Adapter;
use tfrc_testkit::{Fate, Format, Remote, SSRC, Wire};
use tfrc_units::{Duration, Instant};

const PAYLOAD: u32 = 1000;
const ONE_WAY: Duration = Duration::from_millis(30);
const INTERVAL: Duration = Duration::from_millis(50);

fn main() {
    let mut advisor = Advisor::new(&Config::default(), INTERVAL);
    let mut adapter = Adapter::new(SSRC);
    let mut remote = Remote::new(Format::Rfc8888(INTERVAL), Wire::new(ONE_WAY), || Fate::Deliver);
    let (mut now, mut next_seq) = (Instant::ZERO, 0u64);
    let mut next_print = Duration::from_secs(2);
    while now < Instant::ZERO + Duration::from_secs(20) {
        while advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, next_seq, PAYLOAD);
            // The router: a mark on every 50th packet, later on every 200th.
            let every = if now < Instant::ZERO + Duration::from_secs(10) { 50 } else { 200 };
            let fate = if next_seq.is_multiple_of(every) { Fate::Mark } else { Fate::Deliver };
            remote.send(now, next_seq, PAYLOAD, fate);
            next_seq += 1;
        }
        let next_packet = match advisor.next_send(now) {
            SendDecision::At(at) => Some(at),
            SendDecision::Now | SendDecision::Stopped(_) => None,
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        let wake = [next_packet, timer, remote.poll_timeout()];
        now = wake.into_iter().flatten().min().unwrap_or(now);
        advisor.handle_timeout(now);

        while let Some(rtcp) = remote.poll_report(now) {
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
