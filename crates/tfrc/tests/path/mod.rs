//! A sender and a receiver over a path of constant delay that drops what it is told to, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tfrc::*;
use tfrc_units::{Duration, Ecn, Instant};

enum Event {
    Data(Arrival),
    Feedback(Feedback),
}

/// What the application has to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Application {
    /// Bytes in a packet.
    pub(crate) size: u32,
    /// A packet is made so often, and those not sent wait; zero if there always is one.
    pub(crate) every: Duration,
}

/// Runs until `end` seconds. `tells` turns a true report into the one the sender gets. `drops` is
/// asked for each packet sent, and `watch` is shown the sender after each report, both with the
/// time in seconds. A sender that stops for good ends the run.
pub(crate) fn run(
    config: &Config,
    application: Application,
    rtt: Duration,
    end: f64,
    tells: impl Fn(Feedback) -> Feedback,
    mut drops: impl FnMut(f64) -> bool,
    mut watch: impl FnMut(f64, &Sender),
) {
    let size = application.size;
    let (mut sender, mut receiver) = (Sender::new(config), Receiver::new(config));
    let mut in_flight: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
    let mut events = Vec::new();
    let mut record = SentRecord::<4096>::starting_at(0);
    let mut now = Instant::ZERO;
    while now.as_secs_f64() < end {
        let made_at = |sent: u64| Instant::ZERO + application.every * sent;
        while sender.next_send(now) == SendDecision::Now && made_at(record.next_seq()) <= now {
            let arrival = Arrival {
                seq: record.on_sent(now),
                size,
                ecn: Ecn::NotEct,
                rtt: sender.rtt(),
                window_counter: 0,
                stamp: sender.stamp(now),
                kind: PacketKind::Data,
                non_data_before: 0,
            };
            sender.on_sent(now, size);
            if !drops(now.as_secs_f64()) {
                in_flight.push(Reverse((now + rtt / 2, events.len())));
                events.push(Some(Event::Data(arrival)));
            }
        }
        let made = made_at(record.next_seq());
        let next = match sender.next_send(now) {
            SendDecision::Now => made,
            SendDecision::At(next) => next.max(made),
            // It has stopped for good.
            SendDecision::Stopped(_) => return,
        };
        let timers = [sender.poll_timeout(), receiver.poll_timeout()].map(|wake| wake.map(|w| w.at));
        let arrival = in_flight.peek().map(|Reverse((at, _))| *at);
        now = timers.into_iter().chain([Some(next), arrival]).flatten().min().expect("a next time");
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while let Some(Reverse((_, i))) = in_flight.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            in_flight.pop();
            match events.get_mut(i).and_then(Option::take) {
                Some(Event::Data(arrival)) => receiver.on_packet(now, arrival),
                Some(Event::Feedback(feedback)) => {
                    sender.on_feedback(now, feedback);
                    watch(now.as_secs_f64(), &sender);
                }
                None => panic!("each event happens once"),
            }
        }
        while let Some(report) = receiver.poll_feedback(now) {
            let feedback = record.feedback(&report).expect("it was sent");
            in_flight.push(Reverse((now + rtt / 2, events.len())));
            events.push(Some(Event::Feedback(tells(feedback))));
        }
    }
}
