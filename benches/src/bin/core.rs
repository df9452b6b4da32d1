//! `core tfrc|receiver|cubic|nothing PACKETS`: the work of one rate control, to be counted by
//! callgrind. `receiver` leaves our sender out: the difference from `tfrc` is the sender alone,
//! which is what the others are.

use std::error::Error;

use tfrc::study::Stamp;
use tfrc::{Arrival, Config, Feedback, LossReport, PacketKind, Receiver, SendDecision, Sender};
use tfrc_benches::{Controller, RTT_NS, SIZE, drive};
use tfrc_units::{Duration, Ecn, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, which, packets] = words.as_slice() else {
        return Err("core tfrc|receiver|cubic|nothing PACKETS".into());
    };
    let packets = packets.parse()?;
    let state = match which.as_str() {
        "tfrc" => drive(&mut Ours::new(), packets),
        "receiver" => {
            drive(&mut ReceiverOnly { receiver: Receiver::new(&Config::default()), reports: 0 }, packets)
        }
        #[cfg(feature = "quinn")]
        "cubic" => drive(&mut tfrc_benches::cubic::Cubic::new()?, packets),
        "nothing" => drive(&mut Nothing(0), packets),
        other => return Err(format!("there is no {other}").into()),
    };
    println!("{which}: {packets} packets, {state}");
    Ok(())
}

/// Controller that only mixes its inputs: the cost of the pattern itself.
struct Nothing(u64);

impl Controller for Nothing {
    fn sent(&mut self, now: u64, number: u64) {
        self.0 ^= now ^ number;
    }

    fn acknowledged(&mut self, now: u64, sent: u64, number: u64, rtt_over: bool) {
        self.0 ^= now ^ sent ^ number ^ u64::from(rtt_over);
    }

    fn lost(&mut self, now: u64, sent: u64, number: u64) {
        self.0 ^= now ^ sent ^ number;
    }

    fn state(&self) -> u64 {
        self.0
    }
}

/// Sender and receiver: every data packet through both, feedback once per round-trip time and at
/// new loss events.
struct Ours {
    sender: Sender,
    receiver: Receiver,
    loss_events: u64,
    /// Send times by number. The record of sent packets is the host's, so that an array stands for
    /// it: sender and receiver alone are counted.
    sent_at: [Instant; 64],
    decisions: u64,
}

impl Ours {
    fn new() -> Self {
        let config = Config::default();
        Self {
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            loss_events: 0,
            sent_at: [Instant::ZERO; 64],
            decisions: 0,
        }
    }
}

impl Controller for Ours {
    fn sent(&mut self, now: u64, number: u64) {
        let now = Instant::from_nanos(now);
        self.sender.handle_timeout(now);
        self.decisions += u64::from(self.sender.next_send(now) == SendDecision::Now);
        self.sent_at[number as usize % 64] = now;
        self.sender.on_sent(now, SIZE);
    }

    fn acknowledged(&mut self, now: u64, _: u64, number: u64, _: bool) {
        // The receiver sees the packet half a round-trip time earlier; passing it later changes no
        // work.
        let now = Instant::from_nanos(now);
        arrive(&mut self.receiver, now, number);
        if let Some(report) = self.receiver.poll_feedback(now) {
            let new = report.loss_events > self.loss_events;
            self.loss_events = report.loss_events;
            let feedback = Feedback {
                newest_sent_at: self.sent_at[report.newest_seq as usize % 64],
                elapsed: report.elapsed,
                receive_rate: report.receive_rate,
                loss_event_rate: report.loss_event_rate,
                losses: if new { LossReport::NewLossEvent } else { LossReport::NoNewLoss },
                count: report.count(),
            };
            self.sender.on_feedback(now, feedback);
        }
    }

    fn lost(&mut self, _: u64, _: u64, _: u64) {}

    fn state(&self) -> u64 {
        self.sender.allowed_rate().bytes_per_sec().to_bits() ^ self.loss_events ^ self.decisions
    }
}

/// A packet at the receiver.
fn arrive(receiver: &mut Receiver, now: Instant, number: u64) {
    receiver.handle_timeout(now);
    receiver.on_packet(
        now,
        Arrival {
            seq: number,
            size: SIZE,
            ecn: Ecn::NotEct,
            rtt: Some(Duration::from_nanos(RTT_NS)),
            window_counter: 0,
            stamp: Stamp::NONE,
            kind: PacketKind::Data,
            non_data_before: 0,
        },
    );
}

/// The receiver of [`Ours`] without its sender: it sees the same and does the same.
struct ReceiverOnly {
    receiver: Receiver,
    reports: u64,
}

impl Controller for ReceiverOnly {
    fn sent(&mut self, _: u64, _: u64) {}

    fn acknowledged(&mut self, now: u64, _: u64, number: u64, _: bool) {
        let now = Instant::from_nanos(now);
        arrive(&mut self.receiver, now, number);
        self.reports += u64::from(self.receiver.poll_feedback(now).is_some());
    }

    fn lost(&mut self, _: u64, _: u64, _: u64) {}

    fn state(&self) -> u64 {
        self.reports ^ self.receiver.loss_events()
    }
}
