//! A sender and a receiver over a path that loses every hundredth packet, without the standard
//! library and without a heap: what the programs for hosts and for devices run.

#![no_std]
#![forbid(unsafe_code)]

use tfrc::{Arrival, Config, Feedback, PacketKind, Receiver, SendDecision, Sender, SentRecord};
use tfrc_units::{Duration, Ecn, Instant};

/// One way.
const DELAY: Duration = Duration::from_millis(50);
/// Every packet with a number of this multiple is lost.
const LOST: u64 = 100;
/// Bytes of a packet.
pub const SIZE: u32 = 1460;

/// The allowed rate after this time, bytes per second (RFC 5348 §4.3).
#[must_use]
pub fn allowed_rate_after(time: Duration) -> f64 {
    let config = Config::default();
    let (mut sender, mut record) = (Sender::new(&config), SentRecord::new());
    let mut receiver = Receiver::new(&config);
    // Reports on their way; there is about one for each round-trip time.
    let mut on_the_way: [Option<(Instant, Feedback)>; 8] = [None; 8];
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + time {
        for slot in &mut on_the_way {
            if let Some((at, feedback)) = *slot
                && at <= now
            {
                sender.on_feedback(now, feedback);
                *slot = None;
            }
        }
        if sender.poll_timeout().is_some_and(|wake| wake.at <= now) {
            sender.handle_timeout(now);
        }
        // The receiver lives 50 ms ahead: all that reaches it has been sent by now.
        let there = now + DELAY;
        while sender.next_send(now) == SendDecision::Now {
            sender.on_sent(now, SIZE);
            let seq = record.on_sent(now);
            if seq % LOST != LOST - 1 {
                receiver.on_packet(there, arrival(seq, sender.rtt()));
            }
        }
        if receiver.poll_timeout().is_some_and(|wake| wake.at <= there) {
            receiver.handle_timeout(there);
        }
        if let Some(report) = receiver.poll_feedback(there)
            && let Some(feedback) = record.feedback(&report)
            && let Some(slot) = on_the_way.iter_mut().find(|slot| slot.is_none())
        {
            *slot = Some((there + DELAY, feedback));
        }
        now += Duration::from_millis(1);
    }
    sender.allowed_rate().bytes_per_sec()
}

fn arrival(seq: u64, rtt: Option<Duration>) -> Arrival {
    Arrival {
        seq,
        size: SIZE,
        ecn: Ecn::NotEct,
        rtt,
        window_counter: 0,
        kind: PacketKind::Data,
        non_data_before: 0,
    }
}
