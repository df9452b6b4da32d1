//! A sender and a receiver over a path of constant delay that drops what it is told to, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tfrc::*;
use tfrc_units::{Duration, Ecn, Instant};

enum Event {
    Data(Arrival),
    Feedback(Feedback),
}

/// Newest loss event rate and allowed rate, at each report taken in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    /// Bytes a second.
    pub(crate) allowed: f64,
    /// 1/p; infinite before the first loss.
    pub(crate) interval: f64,
}

/// Runs until `end` seconds with packets of 1000 bytes. `drops` is asked for each packet with the time in seconds.
pub(crate) fn run(
    config: &Config,
    rtt: Duration,
    end: f64,
    mut drops: impl FnMut(f64) -> bool,
) -> Vec<Sample> {
    const SIZE: u32 = 1000;
    let (mut sender, mut receiver) = (Sender::new(config), Receiver::new(config));
    let mut in_flight: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
    let mut events = Vec::new();
    let mut sent_at: Vec<Instant> = Vec::new();
    let mut losses_told = 0;
    let mut samples = Vec::new();
    let mut now = Instant::ZERO;
    while now.as_secs_f64() < end {
        while sender.next_send(now) == SendDecision::Now {
            let arrival = Arrival {
                seq: u64::try_from(sent_at.len()).expect("fits"),
                size: SIZE,
                ecn: Ecn::NotEct,
                rtt: sender.rtt(),
                window_counter: 0,
                sent_at: Some(now),
                round: sender.round(),
                kind: PacketKind::Data,
                non_data_before: 0,
            };
            sent_at.push(now);
            sender.on_sent(now, SIZE);
            if !drops(now.as_secs_f64()) {
                in_flight.push(Reverse((now + rtt / 2, events.len())));
                events.push(Some(Event::Data(arrival)));
            }
        }
        let SendDecision::At(next) = sender.next_send(now) else { panic!("the sender always names a time") };
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
                    samples.push(Sample {
                        seconds: now.as_secs_f64(),
                        allowed: sender.allowed_rate().bytes_per_sec(),
                        interval: 1.0 / sender.loss_event_rate().get(),
                    });
                }
                None => panic!("each event happens once"),
            }
        }
        while let Some(report) = receiver.poll_feedback(now) {
            let new_loss = report.loss_events > losses_told;
            losses_told = report.loss_events;
            let newest = usize::try_from(report.newest_seq).expect("fits");
            in_flight.push(Reverse((now + rtt / 2, events.len())));
            events.push(Some(Event::Feedback(Feedback {
                newest_sent_at: *sent_at.get(newest).expect("was sent"),
                elapsed: report.elapsed,
                receive_rate: report.receive_rate,
                loss_event_rate: report.loss_event_rate,
                losses: if new_loss { LossReport::NewLossEvent } else { LossReport::NoNewLoss },
            })));
        }
    }
    samples
}

/// The sample in force at a time.
pub(crate) fn at(samples: &[Sample], seconds: f64) -> Sample {
    *samples.iter().rev().find(|s| s.seconds <= seconds).expect("a report before that time")
}
