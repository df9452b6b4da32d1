//! TCP over a path that loses, repeats and reorders at will: everything arrives, once, and it ends.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tfrc_sim::tcp::study::{
    Duplicates, EcnAtOne, FastConvergence, Increase, InitialWindow, LimitedTransmit, LostSyn, PartialAck,
    PartialAckTimer, Pipe, Precision, ReceiveBuffer, RecoveryExit, Repeat, RttArithmetic, SackAtTimeout,
    Shrink, TimestampBackoff,
};
use tfrc_sim::tcp::{
    Ack, AckKind, Acks, ConnectionId, Data, EcnEcho, EcnMode, SackBlock, Sender, Settings, Sink, Stack,
    SynMode, Timestamps, Transfer, Variant,
};
use tfrc_sim::{Seed, Stream};
use tfrc_units::Ecn;
use tfrc_units::{Duration, Instant};

/// Two values of every enum, chosen by the bits of a number.
fn settings(variant: Variant, bits: u32, window: u32, max_burst: Option<u32>) -> Settings {
    fn pick<T>(bits: u32, bit: u32, no: T, yes: T) -> T {
        if bits & 1 << bit == 0 { no } else { yes }
    }
    Settings {
        window,
        ecn: pick(bits, 11, EcnMode::Off, EcnMode::On),
        timestamps: pick(bits, 12, Timestamps::Off, Timestamps::On),
        syn: pick(bits, 13, SynMode::Off, SynMode::On),
        acks: pick(bits, 14, Acks::Each, Acks::Delayed(Duration::from_millis(200))),
        ..Settings::rfc(variant)
    }
    .with(|c| {
        c.max_burst = max_burst;
        c.increase = pick(bits, 0, Increase::PerAck, Increase::Counted(2));
        c.initial_window = pick(bits, 1, InitialWindow::Rfc3390, InitialWindow::Segments(10));
        c.limited_transmit = pick(bits, 2, LimitedTransmit::Off, LimitedTransmit::On);
        c.shrink = pick(bits, 3, Shrink::InUse, Shrink::Window);
        c.precision = pick(bits, 4, Precision::Fraction, Precision::Whole);
        c.repeat = pick(bits, 5, Repeat::Avoided, Repeat::Allowed);
        c.partial_ack = pick(bits, 6, PartialAck::Deflate, PartialAck::Collapse);
        c.partial_ack_timer = pick(bits, 7, PartialAckTimer::First, PartialAckTimer::Each);
        c.recovery_exit = pick(bits, 8, RecoveryExit::Outstanding, RecoveryExit::Threshold);
        c.pipe = pick(bits, 9, Pipe::Scoreboard, Pipe::Counter);
        c.sack_at_timeout = pick(bits, 10, SackAtTimeout::Expunge, SackAtTimeout::Keep);
        c.fast_convergence = pick(bits, 16, FastConvergence::On, FastConvergence::Off);
        c.rtt_arithmetic = pick(bits, 15, RttArithmetic::Exact, RttArithmetic::FixedPoint);
        c.timestamp_backoff = pick(bits, 19, TimestampBackoff::AnySample, TimestampBackoff::NewData);
        c.ecn_at_one = pick(bits, 17, EcnAtOne::Wait, EcnAtOne::BackOff);
        c.lost_syn = pick(bits, 18, LostSyn::Forgotten, LostSyn::AsSegment);
        c.duplicates = pick(bits, 20, Duplicates::All, Duplicates::NewlyReporting);
        c.receive_buffer = pick(bits, 21, ReceiveBuffer::Fixed, ReceiveBuffer::Tuned);
    })
}

/// The window before an input, and how often it had been cut.
struct PropertyWatch {
    cuts: u64,
    restores: u64,
    timeouts: u64,
    cwnd: f64,
    ssthresh: f64,
}

impl PropertyWatch {
    fn new(sender: &Sender) -> Self {
        let stats = sender.stats();
        let (cuts, restores, timeouts) = (stats.window_cuts, stats.window_restores, stats.timeouts);
        Self { cuts, restores, timeouts, cwnd: sender.cwnd(), ssthresh: sender.ssthresh() }
    }

    /// A reduction reduces: it leaves no window and no ssthresh above what the window was, or two
    /// segments. Nothing else raises ssthresh, and the window grows in bounded steps.
    fn check(&self, sender: &Sender, settings: &Settings) -> Result<(), TestCaseError> {
        let (top, cwnd) = (self.cwnd.max(2.0), sender.cwnd());
        if settings.stack == Stack::Linux {
            // A reduction for nothing is taken back once.
            let (cuts, restores) = (sender.stats().window_cuts, sender.stats().window_restores);
            prop_assert!(restores <= cuts, "{restores} of {cuts} reductions taken back");
            if restores > self.restores {
                return Ok(());
            }
            // PRR and the timer set the window by what is in flight, so only ssthresh has a bound.
            // BBR has none.
            let cut = settings.variant != Variant::Bbr && sender.stats().window_cuts > self.cuts;
            // A recovery may end, at the threshold, with the acknowledgement that begins another.
            let bound = if cut { top.max(self.ssthresh) } else { self.ssthresh };
            prop_assert!(sender.ssthresh() <= bound, "ssthresh {} from {top}", sender.ssthresh());
            return Ok(());
        }
        // Fast recovery adds the duplicate acknowledgements that began it (RFC 5681 §3.2 step 3).
        let inflation = match settings.variant {
            Variant::NewReno | Variant::Reno => f64::from(settings.algorithm.choices().dup_threshold),
            _ => 0.0,
        };
        if sender.stats().window_cuts > self.cuts {
            // A repeated timeout of a segment holds ssthresh (RFC 5681 §3.1).
            let ssthresh = sender.ssthresh();
            prop_assert!(ssthresh <= top.max(self.ssthresh), "ssthresh {ssthresh} from {}", self.cwnd);
            prop_assert!(ssthresh <= top || sender.stats().timeouts > self.timeouts, "ssthresh {ssthresh}");
            prop_assert!(cwnd <= top + inflation, "window {cwnd} from {}", self.cwnd);
            return Ok(());
        }
        prop_assert!(sender.ssthresh() <= self.ssthresh, "ssthresh {} without a cut", sender.ssthresh());
        // Two segments in slow start with a limit of two; CUBIC half of its window (RFC 9438 §4.4).
        let step = match (settings.variant, settings.algorithm.choices().increase) {
            (Variant::Cubic, Increase::PerAck) => f64::INFINITY,
            (Variant::Cubic, _) => f64::max(2.0, 0.5 * self.cwnd),
            _ => f64::max(2.0, inflation),
        };
        // The end of fast recovery sets the window to ssthresh (RFC 6582 §3.2 step 3).
        let after_recovery = if inflation > 0.0 { self.ssthresh } else { 0.0 };
        prop_assert!(cwnd <= (self.cwnd + step).max(after_recovery), "window {cwnd} from {}", self.cwnd);
        Ok(())
    }
}

/// The least window, in segments.
fn least(settings: &Settings) -> f64 {
    match settings.algorithm.choices().ecn_at_one {
        EcnAtOne::BackOff => 0.5,
        _ => 1.0,
    }
}

/// Linux's, with two values of what may be set.
fn linux_settings(variant: Variant, bits: u32, window: u32) -> Settings {
    Settings {
        stack: Stack::Linux,
        acks: if bits & 1 << 14 == 0 { Acks::Each } else { Acks::Linux },
        ..settings(variant, bits, window, None)
    }
}

fn any_linux_variant() -> impl Strategy<Value = Variant> {
    prop::sample::select(vec![Variant::Bbr, Variant::Cubic, Variant::Reno, Variant::Sack])
}

fn any_variant() -> impl Strategy<Value = Variant> {
    prop::sample::select(vec![Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic])
}

enum TransmissionWay {
    Forth(Data, Ecn),
    Back(Ack),
}

struct PropertyPath {
    stream: Stream,
    loss: f64,
    repeat: f64,
    mark: f64,
    jitter: Duration,
    under_way: BTreeMap<(Instant, u64), TransmissionWay>,
    order: u64,
    /// Countdown of packets; while it is above zero, a packet may be lost, repeated, delayed or
    /// marked.
    left: u32,
}

impl PropertyPath {
    fn put(&mut self, now: Instant, way: impl Fn() -> TransmissionWay) {
        self.left = self.left.saturating_sub(1);
        let bad = self.left > 0;
        let copies = if !bad {
            1
        } else if self.stream.uniform() < self.loss {
            0
        } else if self.stream.uniform() < self.repeat {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let delay = Duration::from_millis(20)
                + if bad { self.jitter.mul_f64(self.stream.uniform()) } else { Duration::ZERO };
            self.order += 1;
            let way = match way() {
                TransmissionWay::Forth(data, Ecn::Ect0) if bad && self.stream.uniform() < self.mark => {
                    TransmissionWay::Forth(data, Ecn::Ce)
                }
                way => way,
            };
            self.under_way.insert((now + delay, self.order), way);
        }
    }
}

#[derive(Debug)]
struct Case {
    variant: Variant,
    bits: u32,
    window: u32,
    max_burst: Option<u32>,
    bytes: u64,
    seed: u64,
    loss: f64,
    repeat: f64,
    mark: f64,
    jitter_ms: u64,
}

impl Case {
    fn run(self) -> Result<(), TestCaseError> {
        let settings = settings(self.variant, self.bits, self.window, self.max_burst);
        self.run_with(&settings)
    }

    fn run_with(self, settings: &Settings) -> Result<(), TestCaseError> {
        let Self { window, bytes, seed, loss, repeat, mark, jitter_ms, .. } = self;
        let mut sender = Sender::new(settings, ConnectionId::default(), Transfer::Bytes(bytes));
        let mut sink = Sink::new(settings, ConnectionId::default());
        let mut path = PropertyPath {
            stream: Seed(seed).stream("path"),
            loss,
            repeat,
            mark,
            jitter: Duration::from_millis(jitter_ms),
            under_way: BTreeMap::new(),
            order: 0,
            left: 600,
        };
        let mut now = Instant::ZERO;
        let (mut highest_ack, mut steps) = (0, 0);
        sender.start(now);
        loop {
            while let Some((data, ecn)) = sender.poll_transmit(now) {
                prop_assert!(data.seq < highest_ack + window, "beyond the receiver's window");
                prop_assert!(data.len <= settings.segment);
                path.put(now, || TransmissionWay::Forth(data, ecn));
            }
            prop_assert!(sender.cwnd() >= least(settings) && sender.ssthresh() >= 2.0);
            let packet = path.under_way.keys().next().copied();
            let next = [packet.map(|k| k.0), sender.poll_timeout(), sink.poll_timeout()];
            let Some(next) = next.into_iter().flatten().min() else { break };
            now = next;
            match packet.filter(|key| key.0 == now).and_then(|key| path.under_way.remove(&key)) {
                Some(TransmissionWay::Forth(data, ecn)) => {
                    if let Some(ack) = sink.on_data(now, &data, ecn) {
                        path.put(now, || TransmissionWay::Back(ack));
                    }
                }
                Some(TransmissionWay::Back(ack)) => {
                    highest_ack = highest_ack.max(ack.next);
                    let watch = PropertyWatch::new(&sender);
                    sender.on_ack(now, &ack);
                    watch.check(&sender, settings)?;
                }
                None => {
                    let watch = PropertyWatch::new(&sender);
                    sender.handle_timeout(now);
                    watch.check(&sender, settings)?;
                    if let Some(ack) = sink.handle_timeout(now) {
                        path.put(now, || TransmissionWay::Back(ack));
                    }
                }
            }
            steps += 1;
            prop_assert!(steps < 50_000, "it does not end: {sender:?}");
        }
        prop_assert!(sender.is_done(), "{sender:?}");
        prop_assert_eq!(sink.stats().delivered_bytes, bytes);
        prop_assert_eq!(u64::from(sink.in_order()), bytes.div_ceil(u64::from(settings.payload())));
        prop_assert_eq!(sink.is_complete(), bytes > 0);
        prop_assert!(sender.stats().sent_bytes - sender.stats().retransmitted_bytes == bytes);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_arrives_once_and_it_ends(
        variant in any_variant(), bits in 0_u32..1 << 23, window in 1_u32..80,
        max_burst in prop::option::of(1_u32..5),
        bytes in 0_u64..200_000, seed in any::<u64>(),
        loss in 0.0..0.6, repeat in 0.0..0.3, mark in 0.0..0.3, jitter_ms in 0_u64..300,
    ) {
        Case { variant, bits, window, max_burst, bytes, seed, loss, repeat, mark, jitter_ms }.run()?;
    }

    #[test]
    fn all_arrives_once_and_it_ends_with_linux(
        variant in any_linux_variant(), bits in 0_u32..1 << 22, window in 1_u32..80,
        bytes in 0_u64..200_000, seed in any::<u64>(),
        loss in 0.0..0.6, repeat in 0.0..0.3, mark in 0.0..0.3, jitter_ms in 0_u64..300,
    ) {
        let case = Case { variant, bits, window, max_burst: None, bytes, seed, loss, repeat, mark, jitter_ms };
        case.run_with(&linux_settings(variant, bits, window))?;
    }

    /// Acknowledgements of any content: no panic, windows stay sensible, nothing beyond the
    /// receiver's window.
    #[test]
    fn any_acknowledgement_is_borne(
        variant in any_variant(), bits in 0_u32..1 << 24,
        acks in prop::collection::vec(
            (0_u32..40, prop::array::uniform6(0_u32..50), any::<bool>(), 0_u64..500, any::<bool>()), 0..60),
    ) {
        let stack = if bits & 1 << 23 == 0 { Stack::Rfc } else { Stack::Linux };
        let settings = Settings { stack, ..settings(variant, bits, 20, None) };
        let connection = ConnectionId::default();
        let mut sender = Sender::new(&settings, connection, Transfer::Unlimited);
        let mut now = Instant::ZERO;
        sender.start(now);
        let mut highest = 0;
        for (next, [a, b, c, d, e, f], syn, ms, echo) in acks {
            let mut budget = 100;
            while let Some((data, _)) = sender.poll_transmit(now) {
                highest = highest.max(data.seq + 1);
                budget -= 1;
                prop_assert!(budget > 0, "no end of sending");
            }
            now += Duration::from_millis(ms);
            sender.handle_timeout(now);
            let block = |start, end| SackBlock { start, end };
            sender.on_ack(now, &Ack {
                connection,
                kind: if syn { AckKind::SynAck } else { AckKind::Ack },
                next,
                sack: [block(a, b), block(c, d), block(e, f)],
                echo: None,
                ecn: if echo { EcnEcho::Congestion } else { EcnEcho::None },
            });
            prop_assert!(sender.cwnd() >= least(&settings) && sender.cwnd().is_finite());
            prop_assert!(sender.stats().acked_segments <= u64::from(highest));
        }
    }
}

/// A fast retransmit at a window of one segment that an echo had stopped: no timer ran, and nothing
/// was sent.
#[test]
fn a_stopped_sender_answers_a_loss() {
    let case = Case {
        variant: Variant::Tahoe,
        bits: 63_492,
        window: 3,
        max_burst: None,
        bytes: 18_981,
        seed: 18_124_711_836_922_550_653,
        loss: 0.598_857_428_937_685_9,
        repeat: 0.259_314_718_618_006_6,
        mark: 0.126_681_059_043_286_1,
        jitter_ms: 1,
    };
    case.run().unwrap();
}

/// An echo in the middle of a recovery that an echo before it had paid for: the end of the recovery
/// gave back the window of before both (found by `all_arrives_once_and_it_ends`).
#[test]
fn an_echo_in_a_recovery_is_not_undone_by_its_end() -> Result<(), TestCaseError> {
    Case {
        variant: Variant::NewReno,
        bits: 2_706_691,
        window: 12,
        max_burst: None,
        bytes: 23_361,
        seed: 4_964_873_132_202_798_423,
        loss: 0.023_618_147_412_712_853,
        repeat: 0.191_760_116_163_878_09,
        mark: 0.297_777_347_023_338_9,
        jitter_ms: 1,
    }
    .run()
}
