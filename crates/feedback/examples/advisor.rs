//! A sender that takes its rate from the reports of RTP or QUIC: the whole loop around an
//! [`Advisor`].
//!
//! ```text
//! cargo run -p tfrc-feedback --example advisor -- twcc
//! ```
//!
//! | argument | reports | path | application |
//! | --- | --- | --- | --- |
//! | `twcc` | transport-wide, every 100 ms | 2 Mbit/s, room for 20 packets, 1 % lost | greedy |
//! | `rfc8888` | RFC 8888, every 50 ms | each 50th packet marked, from 10 s each 200th | greedy |
//! | `quic` | after two packets or 25 ms | 2 % lost | idle from 10 to 15 s, then slow |
//!
//! Time is simulated, so that it ends at once. In a program `now` is read off the host's clock,
//! counted from any epoch, and the parts marked *network* are its sockets.

#![expect(clippy::disallowed_macros, reason = "a program speaks through its output")]

use std::error::Error;

use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::{DecodeError, quic, rfc8888, twcc};
use tfrc_testkit::{ACK_DELAY_EXPONENT, Fate, Format, Random, Remote, SSRC, Wire, at, ms};
use tfrc_units::{Duration, Instant, Rate};

const PAYLOAD: u32 = 1200;

/// The one thing needed besides the advisor: the memory between reports.
enum Adapter {
    Twcc(twcc::Adapter),
    Rfc8888(rfc8888::Adapter),
    Quic(quic::Adapter),
}

impl Adapter {
    /// Hands a report to the advisor. A malformed one changes nothing; the error has the place.
    fn take(&mut self, now: Instant, bytes: &[u8], advisor: &mut Advisor) -> Result<(), DecodeError> {
        match self {
            Self::Twcc(adapter) => adapter.on_report(now, bytes, advisor)?,
            Self::Rfc8888(adapter) => adapter.on_report(now, bytes, advisor)?,
            Self::Quic(adapter) => adapter.on_ack(now, &quic::decode(bytes)?.0, advisor),
        };
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (format, mut adapter) = match std::env::args().nth(1).as_deref() {
        Some("twcc") => (Format::Twcc(ms(100)), Adapter::Twcc(twcc::Adapter::default())),
        Some("rfc8888") => (Format::Rfc8888(ms(50)), Adapter::Rfc8888(rfc8888::Adapter::default())),
        Some("quic") => (Format::Quic(2), Adapter::Quic(quic::Adapter::new(ACK_DELAY_EXPONENT))),
        _ => return Err("the argument is twcc, rfc8888 or quic".into()),
    };
    // RFC 5348 with its defaults, and the longest time between two reports.
    let mut advisor = Advisor::new(&Config::default(), format.interval());

    // *Network*: the path there and back, and the receiver.
    let wire = match format {
        Format::Twcc(_) => Wire::bottleneck(ms(40), Rate::from_bits_per_sec(2e6), 20),
        Format::Rfc8888(_) => Wire::new(ms(30)),
        Format::Quic(_) => Wire::new(ms(25)),
    };
    let mut remote = Remote::new(format, wire, || Fate::Deliver);
    let mut random = Random::new(1);
    let mut fate = |now: Instant, number: u64| match format {
        Format::Twcc(_) if random.happens(0.01) => Fate::Drop,
        Format::Quic(_) if random.happens(0.02) => Fate::Drop,
        Format::Rfc8888(_) if number.is_multiple_of(if now < at(10_000) { 50 } else { 200 }) => Fate::Mark,
        _ => Fate::Deliver,
    };

    let (mut now, mut next_data, mut next_print) = (Instant::ZERO, Instant::ZERO, at(1000));
    // The low 16 bits are what an RTP packet carries.
    let mut number = 0u64;
    println!("    s    allowed rate   round trip   loss event rate, events, reason");
    while now < at(20_000) {
        // Send while the advisor says so, and call `on_sent`. An encoder would be given
        // `advisor.allowed_rate()` as its target.
        while now >= next_data && advisor.next_send(now) == SendDecision::Now {
            if let Adapter::Rfc8888(adapter) = &mut adapter {
                // RTP's 16 bits, of each stream apart.
                adapter.on_sent(SSRC, u16::try_from(number & 0xFFFF)?, number);
            }
            advisor.on_sent(now, number, PAYLOAD);
            remote.send(now, number, PAYLOAD, fate(now, number));
            number += 1;
            next_data = next_packet(format, now);
        }

        // Sleep until the next packet, timer or report, whichever is first.
        let next = match advisor.next_send(now) {
            SendDecision::At(time) => time.max(next_data),
            SendDecision::Now => next_data,
            SendDecision::Stopped(_) => break,
        };
        let timer = advisor.poll_timeout().map(|wake| wake.at);
        now = [timer, remote.poll_timeout()].into_iter().flatten().fold(next, Instant::min);
        advisor.handle_timeout(now);

        // *Network*: reports have come.
        while let Some(report) = remote.poll_report(now) {
            if let Err(error) = adapter.take(now, &report, &mut advisor) {
                println!("a bad report: {error}");
            }
        }

        // Every change of the rate comes with its reason; here the state is shown once a second.
        while advisor.poll_event().is_some() {}
        if now >= next_print {
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
    Ok(())
}

/// The time of the application's next packet, after one at `now`.
fn next_packet(format: Format, now: Instant) -> Instant {
    match format {
        Format::Quic(_) if now >= at(15_000) => now + ms(20),
        Format::Quic(_) if now >= at(10_000) => at(15_000),
        _ => now,
    }
}
