//! The Advisor, fed with other protocols' reports, against the receiver-feedback front end on the
//! same path.

use tfrc::{Advisor, Config, SendDecision};
use tfrc_feedback::{quic, rfc8888, twcc};
use tfrc_testkit::{ACK_DELAY_EXPONENT, Fate, Flow, FlowEvent, Format, Random, Remote, SSRC, Wire};
use tfrc_units::{Duration, Instant, Rate, f64_from_u64};

const SIZE: u32 = 1200;
const MS: fn(u64) -> Duration = Duration::from_millis;

/// A path both ways: half of the round-trip time each.
#[derive(Clone, Copy)]
struct Setting {
    rtt: Duration,
    loss: f64,
    bottleneck: Option<(Rate, u64)>,
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

impl Setting {
    fn wire<T: Clone>(self) -> Wire<T> {
        match self.bottleneck {
            None => Wire::new(self.rtt / 2),
            Some((rate, packets)) => Wire::bottleneck(self.rtt / 2, rate, packets),
        }
    }
}

fn low_16(number: u64) -> u16 {
    u16::try_from(number & 0xFFFF).expect("16 bits")
}

/// Loses packets independently.
fn bernoulli(p: f64, seed: u64) -> impl FnMut() -> Fate {
    let mut random = Random::new(seed);
    move || Fate::drop_if(random.happens(p))
}

/// Sending rate and loss event rate in the measured part, all but the first tenth of a run.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    rate: f64,
    loss_event_rate: f64,
}

struct Meter {
    from: Instant,
    end: Instant,
    packets: u64,
    events_before: Option<u64>,
}

impl Meter {
    fn new(setting: Setting) -> Self {
        let from = Instant::ZERO + Duration::from_secs(setting.seconds / 10);
        let end = Instant::ZERO + Duration::from_secs(setting.seconds);
        Self { from, end, packets: 0, events_before: None }
    }

    fn on_sent(&mut self, now: Instant, events: u64) {
        if now >= self.from {
            self.events_before.get_or_insert(events);
            self.packets += 1;
        }
    }

    fn outcome(&self, events: u64) -> Outcome {
        let events = f64_from_u64(events - self.events_before.unwrap_or(0));
        let seconds = self.end.saturating_since(self.from).as_secs_f64();
        let packets = f64_from_u64(self.packets);
        Outcome { rate: packets * f64::from(SIZE) / seconds, loss_event_rate: events / packets }
    }
}

/// RFC 5348 as written: the receiver computes p and X_recv.
fn receiver_feedback(setting: Setting) -> Outcome {
    let mut fate = bernoulli(setting.loss, setting.seed);
    let mut flow = Flow::new(&Config::default(), SIZE, setting.wire(), move |_| fate());
    let mut meter = Meter::new(setting);
    while let Some(happening) = flow.next(meter.end) {
        if happening == FlowEvent::Sent {
            meter.on_sent(flow.now, flow.receiver.loss_events());
        }
    }
    meter.outcome(flow.receiver.loss_events())
}

/// The Advisor with such reports.
fn advised(setting: Setting, format: Format) -> Outcome {
    let mut advisor = Advisor::new(&Config::default(), format.interval());
    let mut fate = bernoulli(setting.loss, setting.seed);
    let mut remote = Remote::new(format, setting.wire(), bernoulli(setting.report_loss, setting.seed + 99));
    let mut meter = Meter::new(setting);
    let (mut on_twcc, mut on_8888, mut on_quic) =
        (twcc::Adapter::default(), rfc8888::Adapter::default(), quic::Adapter::new(ACK_DELAY_EXPONENT));
    let (mut now, mut number) = (Instant::ZERO, 0u64);
    while now < meter.end {
        while advisor.next_send(now) == SendDecision::Now {
            meter.on_sent(now, advisor.loss_events());
            on_8888.on_sent(SSRC, low_16(number), number);
            advisor.on_sent(now, number, SIZE);
            remote.send(now, number, SIZE, fate());
            number += 1;
        }
        let SendDecision::At(next) = advisor.next_send(now) else { panic!("a sender names a time") };
        let timers = [advisor.poll_timeout().map(|wake| wake.at), remote.poll_timeout()];
        now = timers.into_iter().flatten().fold(next, Instant::min);
        advisor.handle_timeout(now);
        while let Some(bytes) = remote.poll_report(now) {
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

/// The rate against the receiver-feedback front end's, and the share of packets that begin a loss
/// event, both as ratios, means over the seeds. Packets are lost by their number, so both front
/// ends meet the same losses.
fn against_reference(setting: Setting, seeds: u64, format: Format) -> (f64, f64) {
    let (mut rate, mut events) = (0.0, 0.0);
    for seed in 1..=seeds {
        let setting = Setting { seed, ..setting };
        let (reference, got) = (receiver_feedback(setting), advised(setting, format));
        rate += got.rate / reference.rate / f64_from_u64(seeds);
        events += got.loss_event_rate / reference.loss_event_rate / f64_from_u64(seeds);
    }
    (rate, events)
}

/// The must-show of issue 3: within 5 % of the receiver-feedback front end. Measured: within 1.1 %,
/// and the loss event rate within 0.3 %.
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

/// The other formats, reports much rarer than round-trip times, and rates of less than a packet in
/// one.
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

/// A bottleneck makes the losses: both fill it, and both pay the same losses for it (within 10 %;
/// measured within 6 %, of 170 loss events in the run where they are fewest).
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

/// One report in five is lost, with all it would have said. What it leaves unreported is not taken
/// for loss: the rate stays within 10 % (measured: at most 6 % lower, since unreported losses
/// cannot join a loss event).
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
