//! The rate control with any input: never a panic, never a rate that is not a number.

use tfrc::advisor::{Ack, Hold};
use tfrc::config::QueueDelay;
use tfrc::equation::Friend;
use tfrc::study::{FriendChoice, Profile, Revision, Stamp};
use tfrc::{
    Advisor, Arrival, Config, Feedback, LossReport, PacketCount, PacketKind, Receiver, Sender, Settings,
};
use tfrc_units::{Duration, Ecn, Instant, Probability, Rate, saturating};

/// The bound on the queueing delay, where there is one.
const BOUND: Duration = Duration::from_millis(80);

/// Reads numbers from bytes, zeros after their end.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Numbers of all magnitudes from two bytes.
    fn number(&mut self) -> u64 {
        let (shift, mantissa) = (self.byte().unwrap_or(0), self.byte().unwrap_or(0));
        u64::from(mantissa) << (shift % 57)
    }

    fn ecn(&mut self) -> Ecn {
        match self.byte().unwrap_or(0) % 4 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect0,
            2 => Ecn::Ect1,
            _ => Ecn::Ce,
        }
    }
}

/// The profile `balanced`, its friend and the rule that chooses it, by bits of the first byte.
fn choose(settings: &mut Settings, choice: u8) {
    let choices = settings.algorithm.choices_mut();
    if choice & 8 != 0 {
        Profile::Balanced.choose(choices);
    }
    if choice & 16 != 0 {
        choices.equation.friend = if choice & 8 == 0 { Friend::Cubic } else { Friend::Reno };
    }
    if choice & 32 != 0 {
        choices.friend_choice = FriendChoice::ByShape;
    }
}

/// The first byte chooses the settings; then come operations on a sender, a receiver and an
/// advisor.
pub fn check(data: &[u8]) {
    let mut reader = Reader(data);
    let choice = reader.byte().unwrap_or(0);
    let config = match choice % 4 {
        0 => Config::default(),
        1 => Settings::for_revision(Revision::Rfc3448).validate().unwrap_or_default(),
        2 => Settings::for_revision(Revision::Sigcomm2000).validate().unwrap_or_default(),
        _ => Settings::for_revision(Revision::Ns2).validate().unwrap_or_default(),
    };
    let bound = if choice & 4 == 0 { QueueDelay::Unlimited } else { QueueDelay::AtMost(BOUND) };
    let mut settings = Settings { max_queue_delay: bound, ..*config.settings() };
    choose(&mut settings, choice);
    let config = settings.validate().unwrap_or(config);
    let mut sender = Sender::new(&config);
    let mut receiver = Receiver::new(&config);
    let mut advisor: Advisor<64> = Advisor::with_capacity(&config, Duration::from_millis(50));
    let mut now = Instant::ZERO;
    let mut seq = 1;
    while let Some(operation) = reader.byte() {
        match operation % 12 {
            0 => now += Duration::from_nanos(reader.number()),
            // Clocks may go back.
            1 => now = Instant::from_nanos(now.as_nanos().saturating_sub(reader.number())),
            2 => sender.on_sent(now, saturating::<u32>(reader.number() & 0xFFFF_FFFF)),
            3 => sender.on_feedback(
                now,
                Feedback {
                    newest_sent_at: Instant::from_nanos(reader.number()),
                    elapsed: Duration::from_nanos(reader.number()),
                    receive_rate: Rate::of(1.0, Duration::from_nanos(reader.number())),
                    loss_event_rate: Probability::saturating(1.0 / (1.0 + u64_to_f64(reader.number()))),
                    losses: if operation < 128 { LossReport::NoNewLoss } else { LossReport::NewLossEvent },
                    count: PacketCount::Within {
                        packets: now.as_nanos(),
                        least: u64::from(operation),
                        most: u64::from(operation / 2),
                    },
                },
            ),
            4 => sender.handle_timeout(now),
            5 => sender.on_rtt_sample(now, Duration::from_nanos(reader.number())),
            6 | 7 => {
                seq = if operation % 12 == 6 { seq + reader.number() % 8 } else { reader.number() };
                let arrival = Arrival {
                    seq,
                    size: saturating::<u32>(reader.number() & 0xFFFF_FFFF),
                    ecn: reader.ecn(),
                    rtt: (operation < 128).then(|| Duration::from_nanos(reader.number())),
                    window_counter: operation,
                    kind: if operation < 200 { PacketKind::Data } else { PacketKind::NonData },
                    non_data_before: u32::from(operation % 3),
                };
                let stamp = if operation < 64 {
                    Stamp::sent_at(Instant::from_nanos(reader.number()))
                } else {
                    Stamp::NONE
                }
                .in_round(u32::from(operation));
                receiver.on_stamped_packet(now, arrival, stamp);
            }
            8 => receiver.handle_timeout(now),
            9 => {
                advisor.on_sent(now, reader.number(), u32::from(operation));
            }
            10 => {
                let _ = advisor.on_acked(Ack {
                    id: reader.number(),
                    arrived_at: (operation < 128).then(|| Instant::from_nanos(reader.number())),
                    ecn: reader.ecn(),
                });
                let _ = advisor.on_lost(reader.number());
            }
            _ => {
                advisor.on_report(now, Hold::Known(Duration::from_nanos(reader.number())));
                advisor.handle_timeout(now);
            }
        }
        let _ = receiver.poll_feedback(now);
        assert!(!sender.allowed_rate().bytes_per_sec().is_nan());
        assert!(!advisor.allowed_rate().bytes_per_sec().is_nan());
        assert!((0.0..=1.0).contains(&receiver.loss_event_rate().get()));
        assert!(receiver.loss_intervals().count() <= tfrc::study::MAX_INTERVALS + 1);
        let _ = std::hint::black_box((sender.next_send(now), sender.poll_timeout(), sender.poll_event()));
        let _ = std::hint::black_box((advisor.next_send(now), advisor.poll_timeout(), advisor.poll_event()));
    }
}

fn u64_to_f64(n: u64) -> f64 {
    tfrc_units::f64_from_u64(n)
}
