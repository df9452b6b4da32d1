//! Instructions of a data packet, as `cost.c` has them, without the border to C.

#![expect(clippy::disallowed_macros, reason = "a program prints")]

use std::collections::VecDeque;

use tfrc::{Arrival, Config, PacketKind, Receiver, SendDecision, Sender, SentRecord};
use tfrc_units::{Duration, Ecn, Instant};

const WAY: Duration = Duration::from_millis(25);

fn main() {
    let packets: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let config = Config::default();
    let (mut sender, mut receiver) = (Sender::new(&config), Receiver::new(&config));
    let mut record: SentRecord<65536> = SentRecord::starting_at(0);
    let mut line = VecDeque::with_capacity(64);
    let (mut now, mut sent, mut reports) = (Instant::ZERO, 0, 0);
    while sent < packets {
        let next = match sender.next_send(now) {
            SendDecision::At(at) => at,
            SendDecision::Now | SendDecision::Stopped(_) => now,
        };
        let timer = sender.poll_timeout().map(|wake| wake.at);
        let back = line.front().map(|(at, _)| *at);
        if let Some(due) = timer.into_iter().chain(back).min().filter(|due| *due <= next) {
            now = now.max(due);
            if back == Some(due)
                && let Some((_, report)) = line.pop_front()
                && let Some(feedback) = record.feedback(&report)
            {
                sender.on_feedback(now, feedback);
            }
            sender.handle_timeout(now);
            continue;
        }
        now = now.max(next);
        sent += 1;
        let (rtt, arrived) = (sender.rtt(), now + WAY);
        sender.on_sent(now, 1200);
        let seq = record.on_sent(now);
        if seq % 100 == 99 {
            continue;
        }
        if receiver.poll_timeout().is_some_and(|wake| wake.at <= arrived) {
            receiver.handle_timeout(arrived);
        }
        receiver.on_packet(
            arrived,
            Arrival {
                seq,
                size: 1200,
                ecn: Ecn::NotEct,
                rtt,
                window_counter: 0,
                kind: PacketKind::Data,
                non_data_before: 0,
            },
        );
        while let Some(report) = receiver.poll_feedback(arrived) {
            line.push_back((arrived + WAY, report));
            reports += 1;
        }
    }
    let rate = sender.allowed_rate().bits_per_sec();
    println!("{packets} packets, {reports} reports, {rate:.0} bit/s, bits {:016x}", rate.to_bits());
}
