//! The Advisor, told by other protocols' reports, against the receiver-feedback front end on the same path.

#![allow(missing_docs, reason = "a test")]

#[path = "../examples/path/mod.rs"]
mod path;

use path::{Path, Wire};
use tfrc::study::Stamp;
use tfrc::{Advisor, Arrival, Config, PacketKind, Receiver, SendDecision, Sender, SentRecord};
use tfrc_feedback::{quic, rfc8888, twcc};
use tfrc_units::{Duration, Ecn, Instant, Rate};

const SIZE: u32 = 1200;
const MS: fn(u64) -> Duration = Duration::from_millis;

/// A path both ways: half of the round-trip time each.
#[derive(Clone, Copy)]
struct Setting {
    rtt: Duration,
    loss: f64,
    bottleneck: Option<(Rate, usize)>,
    seconds: u64,
    seed: u64,
    /// The chance that a report is lost.
    report_loss: f64,
}

const CLEAR: Setting = Setting {
    rtt: Duration::from_millis(100),
    loss: 0.0,
    bottleneck: None,
    seconds: 0,
    seed: 1,
    report_loss: 0.0,
};

/// What was sent in the measured part, all but the first tenth.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    rate: f64,
    loss_event_rate: f64,
}

struct Meter {
    from: Instant,
    end: Instant,
    bytes: u64,
    packets: u64,
    events_before: Option<u64>,
}

impl Meter {
    fn new(setting: Setting) -> Self {
        let from = Instant::ZERO + Duration::from_secs(setting.seconds / 10);
        let end = Instant::ZERO + Duration::from_secs(setting.seconds);
        Self { from, end, bytes: 0, packets: 0, events_before: None }
    }

    fn on_sent(&mut self, now: Instant, events: u64) {
        if now >= self.from {
            self.events_before.get_or_insert(events);
            self.bytes += u64::from(SIZE);
            self.packets += 1;
        }
    }

    fn outcome(&self, events: u64) -> Outcome {
        let packets = self.packets as f64;
        Outcome {
            rate: self.bytes as f64 / self.end.saturating_since(self.from).as_secs_f64(),
            loss_event_rate: (events - self.events_before.unwrap_or(0)) as f64 / packets,
        }
    }
}

/// RFC 5348 as written: the receiver computes p and X_recv.
fn receiver_feedback(setting: Setting) -> Outcome {
    let config = Config::default();
    let (mut sender, mut receiver) = (Sender::new(&config), Receiver::new(&config));
    let mut path = Path::new(setting.rtt / 2, setting.loss, setting.bottleneck, setting.seed);
    let mut meter = Meter::new(setting);
    let (mut out, mut back) = (Wire::default(), Wire::default());
    let (mut now, mut record) = (Instant::ZERO, SentRecord::<16_384>::starting_at(0));
    while now < meter.end {
        while sender.next_send(now) == SendDecision::Now {
            let rtt = sender.rtt();
            let seq = record.on_sent(now);
            meter.on_sent(now, receiver.loss_events());
            sender.on_sent(now, SIZE);
            if let Some(at) = path.send(now, SIZE) {
                let (ecn, kind) = (Ecn::NotEct, PacketKind::Data);
                let arrival = Arrival {
                    seq,
                    size: SIZE,
                    ecn,
                    rtt,
                    window_counter: 0,
                    stamp: Stamp::NONE,
                    kind,
                    non_data_before: 0,
                };
                out.push(at, arrival);
            }
        }
        let next = [
            next_send(sender.next_send(now)),
            sender.poll_timeout().map(|w| w.at),
            receiver.poll_timeout().map(|w| w.at),
            out.next(),
            back.next(),
        ];
        now = next.into_iter().flatten().min().expect("the sender always names a time");
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        while let Some((at, arrival)) = out.pop(now) {
            receiver.on_packet(at, arrival);
        }
        while let Some(report) = receiver.poll_feedback(now) {
            back.push(now + setting.rtt / 2, report);
        }
        while let Some((_, report)) = back.pop(now) {
            sender.on_feedback(now, record.feedback(&report).expect("it was sent"));
        }
    }
    meter.outcome(receiver.loss_events())
}

fn next_send(decision: SendDecision) -> Option<Instant> {
    match decision {
        SendDecision::At(at) => Some(at),
        SendDecision::Now | SendDecision::Stopped(_) => None,
    }
}

/// What reports go back.
#[derive(Clone, Copy, Debug)]
enum Format {
    /// Every so often, if packets have come.
    Twcc(Duration),
    /// The same.
    Rfc8888(Duration),
    /// After so many packets, or 25 ms after the first of them.
    Quic(usize),
}

/// The receiver: collects packets and makes reports.
struct Reporter {
    format: Format,
    /// Sequence numbers and times of the packets to report, in order.
    come: Vec<(u64, Instant)>,
    /// All that have come, in ranges, the newest last (QUIC).
    ranges: Vec<(u64, u64)>,
    next_seq: u64,
    timer: Option<Instant>,
    reports: u8,
}

/// The receiver's clock is this far ahead of the sender's.
const AHEAD: Duration = Duration::from_secs(12_345);

impl Reporter {
    fn new(format: Format) -> Self {
        let timer = match format {
            Format::Twcc(interval) | Format::Rfc8888(interval) => Some(Instant::ZERO + interval),
            Format::Quic(_) => None,
        };
        Self { format, come: Vec::new(), ranges: Vec::new(), next_seq: 0, timer, reports: 0 }
    }

    fn interval(&self) -> Duration {
        match self.format {
            Format::Twcc(interval) | Format::Rfc8888(interval) => interval,
            Format::Quic(_) => MS(25),
        }
    }

    fn on_packet(&mut self, now: Instant, seq: u64) {
        self.come.push((seq, now));
        if let Format::Quic(_) = self.format {
            self.timer.get_or_insert(now + MS(25));
            match self.ranges.last_mut() {
                Some((_, last)) if *last + 1 == seq => *last = seq,
                _ => self.ranges.push((seq, seq)),
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Vec<u8>> {
        let due = self.timer.is_some_and(|at| at <= now);
        match self.format {
            Format::Twcc(interval) | Format::Rfc8888(interval) => {
                if !due {
                    return None;
                }
                self.timer = Some(now + interval);
                let (newest, _) = *self.come.last()?;
                let first = self.next_seq;
                self.next_seq = newest + 1;
                let come: Vec<_> = self.come.drain(..).collect();
                let at = |seq| come.iter().find(|(s, _)| *s == seq).map(|(_, at)| *at);
                Some(match self.format {
                    Format::Twcc(_) => {
                        let ticks = |at: Instant| ((at + AHEAD).as_nanos() / 250_000) as i64;
                        let arrivals: Vec<_> = (first..=newest).map(|seq| at(seq).map(ticks)).collect();
                        self.reports = self.reports.wrapping_add(1);
                        let ssrcs = twcc::Ssrcs { sender: 1, media: 2 };
                        twcc::encode(ssrcs, self.reports, first as u16, &arrivals).expect("fits")
                    }
                    _ => {
                        let metric = |seq| match at(seq) {
                            None => rfc8888::Metric::NotReceived,
                            Some(at) => rfc8888::Metric::Received {
                                ecn: Ecn::Ect0,
                                offset: rfc8888::Offset::Units(
                                    (now.saturating_since(at).as_secs_f64() * 1024.0).round() as u16,
                                ),
                            },
                        };
                        let metrics: Vec<_> = (first..=newest).map(metric).collect();
                        let timestamp = ((now + AHEAD).as_secs_f64() * 65536.0) as u64 as u32;
                        rfc8888::encode(1, &[(2, first as u16, &metrics)], timestamp)
                    }
                })
            }
            Format::Quic(every) => {
                if !due && self.come.len() < every {
                    return None;
                }
                self.timer = None;
                let (_, arrived) = *self.come.last()?;
                self.come.clear();
                let ranges: Vec<_> = self.ranges.iter().rev().take(20).copied().collect();
                quic::encode(&ranges, now.saturating_since(arrived).as_micros() / 8, None)
            }
        }
    }
}

/// The Advisor with such reports.
fn advised(setting: Setting, format: Format) -> Outcome {
    let mut reporter = Reporter::new(format);
    let mut advisor = Advisor::new(&Config::default(), reporter.interval());
    let mut path = Path::new(setting.rtt / 2, setting.loss, setting.bottleneck, setting.seed);
    let mut way_back = Path::new(setting.rtt / 2, setting.report_loss, None, setting.seed + 99);
    let mut meter = Meter::new(setting);
    let (mut out, mut back) = (Wire::default(), Wire::default());
    let (mut on_twcc, mut on_8888, mut on_quic) =
        (twcc::Adapter::default(), rfc8888::Adapter::new(2), quic::Adapter::new(3));
    let (mut now, mut seq) = (Instant::ZERO, 0u64);
    while now < meter.end {
        while advisor.next_send(now) == SendDecision::Now {
            meter.on_sent(now, advisor.loss_events());
            advisor.on_sent(now, seq, SIZE);
            if let Some(at) = path.send(now, SIZE) {
                out.push(at, seq);
            }
            seq += 1;
        }
        let next = [
            next_send(advisor.next_send(now)),
            advisor.poll_timeout().map(|w| w.at),
            reporter.timer,
            out.next(),
            back.next(),
        ];
        now = next.into_iter().flatten().min().expect("the advisor always names a time");
        advisor.handle_timeout(now);
        while let Some((at, seq)) = out.pop(now) {
            reporter.on_packet(at, seq);
        }
        if let Some(report) = reporter.poll(now)
            && let Some(at) = way_back.send(now, 0)
        {
            back.push(at, report);
        }
        while let Some((_, bytes)) = back.pop(now) {
            let counts = match format {
                Format::Twcc(_) => on_twcc.on_report(now, &bytes, &mut advisor).expect("well-formed"),
                Format::Rfc8888(_) => on_8888.on_report(now, &bytes, &mut advisor).expect("well-formed"),
                Format::Quic(_) => {
                    let (frame, _) = quic::decode(&bytes).expect("well-formed");
                    on_quic.on_ack(now, &frame, &mut advisor)
                }
            };
            assert_eq!(counts.unknown, 0);
        }
    }
    assert_eq!(advisor.forgotten(), 0);
    meter.outcome(advisor.loss_events())
}

/// The rate against the receiver-feedback front end's, and the share of packets that begin a loss event, both as ratios, means over the
/// seeds. Packets are lost by their number, so both front ends meet the same losses.
fn against_reference(setting: Setting, seeds: u64, format: Format) -> (f64, f64) {
    let (mut rate, mut events) = (0.0, 0.0);
    for seed in 1..=seeds {
        let setting = Setting { seed, ..setting };
        let (reference, got) = (receiver_feedback(setting), advised(setting, format));
        rate += got.rate / reference.rate / seeds as f64;
        events += got.loss_event_rate / reference.loss_event_rate / seeds as f64;
    }
    (rate, events)
}

/// The must-show of issue 3: within 5 % of the receiver-feedback front end. Measured: within 1.1 %, and the loss event rate within 0.3 %.
#[test]
fn twcc_gives_the_rate_of_receiver_feedback() {
    for (loss, scale) in [(0.005, 4), (0.02, 8), (0.05, 12)] {
        for rtt in [50, 100, 200] {
            for interval in [50, 100] {
                let setting = Setting { rtt: MS(rtt), loss, seconds: rtt * scale, ..CLEAR };
                let (rate, events) = against_reference(setting, 3, Format::Twcc(MS(interval)));
                let what = format!("loss {loss}, RTT {rtt} ms, a report every {interval} ms");
                assert!((0.95..1.05).contains(&rate), "{what}: {rate} of the rate");
                assert!((0.98..1.02).contains(&events), "{what}: {events} of the loss event rate");
            }
        }
    }
}

/// The other formats, reports much rarer than round-trip times, and rates of less than a packet in one.
#[test]
fn other_formats_and_harder_paths() {
    let formats = [Format::Rfc8888(MS(50)), Format::Quic(2), Format::Quic(10), Format::Twcc(MS(250))];
    for (loss, rtt, seconds) in
        [(0.01, 20, 60), (0.05, 20, 300), (0.02, 100, 600), (0.1, 50, 600), (0.2, 20, 1000), (0.2, 200, 6000)]
    {
        for format in formats {
            let setting = Setting { rtt: MS(rtt), loss, seconds, ..CLEAR };
            let (rate, events) = against_reference(setting, 2, format);
            let what = format!("loss {loss}, RTT {rtt} ms, {format:?}");
            assert!((0.95..1.05).contains(&rate), "{what}: {rate} of the rate");
            assert!((0.97..1.03).contains(&events), "{what}: {events} of the loss event rate");
        }
    }
}

/// A bottleneck makes the losses: both fill it, and both pay the same losses for it (within 10 %; measured within 6 %, of 170 loss
/// events in the run where they are fewest).
#[test]
fn a_drop_tail_bottleneck_is_shared_alike() {
    for (mbit, packets, rtt, interval) in
        [(1.0, 10, 50, 50), (1.0, 10, 100, 100), (1.0, 40, 50, 100), (5.0, 25, 50, 50), (5.0, 25, 50, 100)]
    {
        let bottleneck = Some((Rate::from_bits_per_sec(mbit * 1e6), packets));
        let setting = Setting { rtt: MS(rtt), bottleneck, seconds: 600, ..CLEAR };
        let (rate, events) = against_reference(setting, 1, Format::Twcc(MS(interval)));
        let what = format!("{mbit} Mbit/s, {packets} packets, RTT {rtt} ms, a report every {interval} ms");
        assert!((0.99..1.01).contains(&rate), "{what}: {rate} of the rate");
        assert!((0.9..1.1).contains(&events), "{what}: {events} of the loss event rate");
    }
}

/// One report in five is lost, with all it would have said. What it leaves untold is not taken for loss: the rate stays within 10 %
/// (measured: at most 6 % lower, since losses that are not told cannot join a loss event).
#[test]
fn lost_reports_are_not_lost_packets() {
    for format in [Format::Twcc(MS(50)), Format::Twcc(MS(100)), Format::Rfc8888(MS(100))] {
        for (loss, rtt, seconds) in [(0.005, 50, 200), (0.05, 200, 2400)] {
            let setting = Setting { rtt: MS(rtt), loss, seconds, report_loss: 0.2, ..CLEAR };
            let (rate, _) = against_reference(setting, 3, format);
            assert!((0.9..1.1).contains(&rate), "loss {loss}, RTT {rtt} ms, {format:?}: {rate} of the rate");
        }
    }
}
