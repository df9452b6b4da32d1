//! A sender and a receiver in virtual time, over a path that loses packets independently and does nothing else.

use std::collections::VecDeque;

use tfrc::study::Stamp;
use tfrc::{Arrival, Config, PacketKind, Receiver, Report, SendDecision, Sender, SentRecord, Settings};
use tfrc_units::{Duration, Ecn, Instant, saturating};

/// One path and what is sent over it.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    /// Probability of loss of a packet.
    pub(crate) loss: f64,
    pub(crate) rtt: Duration,
    /// Bytes in each packet.
    pub(crate) segment: u32,
}

/// What came out.
pub(crate) struct Measured {
    /// Mean over the run.
    pub(crate) packets_per_rtt: f64,
    /// Half the width of its 95 % interval, as a share of it, from ten parts of the run.
    pub(crate) uncertainty: f64,
    /// Mean of what the receiver reported.
    pub(crate) loss_event_rate: f64,
}

const PARTS: u32 = 10;
/// More than the sender has in flight at the lowest loss rate looked at.
const MOST_IN_FLIGHT: usize = 1 << 14;
/// Student's t for nine degrees of freedom, two-sided 95 %.
const T_95: f64 = 2.262;

struct Lcg(u64);

impl Lcg {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(saturating::<u32>(self.0 >> 32)) / 4_294_967_296.0
    }
}

/// A packet on its way.
struct OnWay {
    due: Instant,
    seq: u64,
    rtt: Option<Duration>,
    stamp: Stamp,
}

struct Run {
    path: Path,
    sender: Sender,
    receiver: Receiver,
    random: Lcg,
    /// Both directions take the same time for all, so what was sent first arrives first.
    data: VecDeque<OnWay>,
    reports: VecDeque<(Instant, Report)>,
    record: SentRecord<MOST_IN_FLIGHT>,
    sent: u64,
    reported: (f64, f64),
}

/// Sends `packets` packets after a tenth as many that are not counted.
pub(crate) fn run(settings: Settings, path: Path, packets: u64, seed: u64) -> Result<Measured, String> {
    let config: Config = settings.validate().map_err(|error| error.to_string())?;
    let mut run = Run {
        path,
        sender: Sender::new(&config),
        receiver: Receiver::new(&config),
        random: Lcg(seed),
        data: VecDeque::new(),
        reports: VecDeque::new(),
        record: SentRecord::starting_at(0),
        sent: 0,
        reported: (0.0, 0.0),
    };
    let mut now = run.until(Instant::ZERO, packets / 10)?;
    run.reported = (0.0, 0.0);
    let (begin, part) = (now, packets / u64::from(PARTS));
    let mut rates = Vec::new();
    for _ in 0..PARTS {
        let (since, before) = (now, run.sent);
        now = run.until(now, run.sent + part)?;
        rates.push(count(run.sent - before) * path.rtt.as_secs_f64() / seconds(since, now));
    }
    let all = count(part * u64::from(PARTS)) * path.rtt.as_secs_f64() / seconds(begin, now);
    let mean = rates.iter().sum::<f64>() / f64::from(PARTS);
    let variance = rates.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(PARTS - 1);
    Ok(Measured {
        packets_per_rtt: all,
        uncertainty: T_95 * libm::sqrt(variance / f64::from(PARTS)) / mean,
        loss_event_rate: run.reported.0 / run.reported.1.max(1.0),
    })
}

impl Run {
    /// Goes on until so many packets have been sent.
    fn until(&mut self, mut now: Instant, packets: u64) -> Result<Instant, String> {
        loop {
            while self.sender.next_send(now) == SendDecision::Now {
                if self.sent == packets {
                    return Ok(now);
                }
                self.send(now);
            }
            let SendDecision::At(next) = self.sender.next_send(now) else {
                return Err("the sender stopped".to_owned());
            };
            let times = [
                Some(next),
                self.sender.poll_timeout().map(|wake| wake.at),
                self.receiver.poll_timeout().map(|wake| wake.at),
                self.data.front().map(|packet| packet.due),
                self.reports.front().map(|(due, _)| *due),
            ];
            now = times.into_iter().flatten().min().unwrap_or(next);
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
            while let Some(packet) = self.data.pop_front_if(|packet| packet.due <= now) {
                self.receiver.on_packet(now, arrival(&packet, self.path.segment));
            }
            while let Some((_, report)) = self.reports.pop_front_if(|(due, _)| *due <= now) {
                self.take_in(now, &report);
            }
            while let Some(report) = self.receiver.poll_feedback(now) {
                self.reported.0 += report.loss_event_rate.get();
                self.reported.1 += 1.0;
                self.reports.push_back((now + self.path.rtt / 2, report));
            }
        }
    }

    fn send(&mut self, now: Instant) {
        let seq = self.record.on_sent(now);
        self.sent += 1;
        let (rtt, stamp) = (self.sender.rtt(), self.sender.stamp(now));
        self.sender.on_sent(now, self.path.segment);
        if self.random.uniform() >= self.path.loss {
            self.data.push_back(OnWay { due: now + self.path.rtt / 2, seq, rtt, stamp });
        }
    }

    fn take_in(&mut self, now: Instant, report: &Report) {
        if let Some(feedback) = self.record.feedback(report) {
            self.sender.on_feedback(now, feedback);
        }
    }
}

fn arrival(packet: &OnWay, size: u32) -> Arrival {
    Arrival {
        seq: packet.seq,
        size,
        ecn: Ecn::NotEct,
        rtt: packet.rtt,
        window_counter: 0,
        stamp: packet.stamp,
        kind: PacketKind::Data,
        non_data_before: 0,
    }
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_since(from).as_secs_f64()
}

fn count(n: u64) -> f64 {
    tfrc_units::f64_from_u64(n)
}
