//! The congestion circuit breaker (RFC 8083 §4.3) through sender and receiver: a flow that keeps to
//! its guarantee on a path that loses packets independently.

use std::fmt::Write as _;

use tfrc::config::{BrokenPromise, Guarantee, RateCap, SegmentSize, Target};
use tfrc::equation::{Equation, EquationForm};
use tfrc::guard::{BreakerLimits, CircuitBreaker};
use tfrc::*;
use tfrc_testkit::{Fate, Flow, Random, Wire};
use tfrc_units::{Duration, Instant, Probability, Rate};

const RTT: Duration = Duration::from_millis(100);
const SIZE: u32 = 1000;
const PACKETS: [u32; 8] = [1, 2, 5, 10, 20, 50, 100, 200];
const LOSS: [f64; 9] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9];

/// Information that the sender gets on the losses.
#[derive(Debug, Clone, Copy)]
enum Told {
    Everything,
    /// X_recv is true, but nothing was ever lost.
    NoLoss,
    /// The fields of RFC 5348 §3.2.2 and no count.
    NoCount,
}

impl Told {
    fn of(self, truth: Feedback) -> Feedback {
        match (self, truth.count) {
            (Self::NoLoss, PacketCount::Exact { packets, .. }) => Feedback {
                loss_event_rate: Probability::ZERO,
                losses: LossReport::NoNewLoss,
                count: PacketCount::Exact { packets, lost: 0 },
                ..truth
            },
            (Self::NoCount, _) => Feedback { count: PacketCount::Unknown, ..truth },
            _ => truth,
        }
    }
}

/// The second in which a flow of `packets` in each round-trip time stops, within 60 s.
fn stops(form: EquationForm, packets: u32, loss: f64, told: Told) -> Option<f64> {
    let rate = Rate::of(f64::from(packets * SIZE), RTT);
    let target = Target { rate, broken: BrokenPromise::Ignore };
    let limits = BreakerLimits { form, ..BreakerLimits::default() };
    let settings = Settings {
        guarantee: Guarantee::FromFirstRtt(target),
        circuit_breaker: CircuitBreaker::WithGuarantee(limits),
        // Where the equation would allow more, the flow keeps to its rate all the same.
        cap: RateCap::AtMost(rate),
        segment: SegmentSize::Fixed(SIZE),
        ..Settings::default()
    };
    let config = settings.validate().expect("sound");
    let mut random = Random::new(7);
    let rule = move |_| Fate::drop_if(random.happens(loss));
    let mut flow = Flow::new(&config, SIZE, Wire::new(RTT / 2), rule);
    flow.tells = Box::new(move |truth| told.of(truth));
    while flow.next(Instant::ZERO + Duration::from_secs(60)).is_some() {}
    flow.sender.stopped().map(|_| flow.now.as_secs_f64())
}

/// A row for each number of packets, a column for each loss rate.
fn table(form: EquationForm, told: Told) -> String {
    let mut text = String::from("| packets per R |");
    for loss in LOSS {
        write!(text, " {:.0} % |", loss * 100.0).expect("a string takes all");
    }
    text.push_str("\n| ---: |");
    text.push_str(&" ---: |".repeat(LOSS.len()));
    text.push('\n');
    for packets in PACKETS {
        write!(text, "| {packets} |").expect("a string takes all");
        for loss in LOSS {
            match stops(form, packets, loss, told) {
                Some(at) => write!(text, " {at:.0} s |").expect("a string takes all"),
                None => text.push_str(" - |"),
            }
        }
        text.push('\n');
    }
    text
}

/// The page shows what this test finds.
#[test]
fn tables_of_the_page() {
    let page = include_str!("../../../docs/models/circuit-breaker.md");
    for form in [EquationForm::Tfrc, EquationForm::SquareRoot] {
        let table = table(form, Told::Everything);
        assert!(page.contains(&table), "docs/models/circuit-breaker.md should have, for {form:?}:\n{table}");
    }
}

/// RFC 8083 §4.3 by hand: a flow stops if it sends more than ten times the equation's packets at
/// the fraction lost. Cells within a quarter of the bound are left to chance.
#[test]
fn the_bound_is_ten_times_tcp() {
    let mut judged = 0;
    for form in [EquationForm::Tfrc, EquationForm::SquareRoot] {
        let equation = Equation { form, ..Equation::default() };
        for (packets, loss) in PACKETS.into_iter().flat_map(|packets| LOSS.map(|loss| (packets, loss))) {
            let tcp =
                equation.rate(1.0, Duration::from_secs(1), Probability::saturating(loss)).bytes_per_sec();
            let times = f64::from(packets) / tcp;
            if !(8.0..12.5).contains(&times) {
                let stopped = stops(form, packets, loss, Told::Everything);
                assert_eq!(stopped.is_some(), times > 10.0, "{form:?}: {packets} packets, {loss} lost");
                judged += 1;
            }
        }
    }
    assert!(judged > 120, "{judged}");
}

/// A receiver that denies all losses but reports a true X_recv disarms nothing from 20 % on: the
/// sender's record shows them. One whose reports hold no count is measured by the record too.
#[test]
fn losses_denied_are_seen_by_the_record() {
    for told in [Told::NoLoss, Told::NoCount] {
        for (packets, loss) in [(5, 0.5), (10, 0.5), (20, 0.3), (50, 0.2), (100, 0.2), (200, 0.2)] {
            let stopped = stops(EquationForm::Tfrc, packets, loss, told);
            assert!(stopped.is_some_and(|at| at < 45.0), "{told:?}, {packets} packets, {loss}: {stopped:?}");
        }
    }
}

/// Without loss nothing stops, whatever a report says, also with a frame of packets at a time.
#[test]
fn no_loss_no_stop() {
    for told in [Told::Everything, Told::NoLoss, Told::NoCount] {
        for packets in PACKETS {
            assert_eq!(stops(EquationForm::Tfrc, packets, 0.0, told), None, "{told:?}, {packets} packets");
        }
    }
}

/// The second in which a flow with a guarantee of 200 kbit/s stops, if it does, within `seconds`.
fn greedy_stop<'a>(
    wire: Wire<tfrc_testkit::FlowPacket>,
    cap: RateCap,
    seconds: u64,
    rule: impl FnMut(Instant) -> Fate + 'a,
    report_rule: impl FnMut(Instant) -> Fate + 'a,
) -> Option<f64> {
    let target = Target { rate: Rate::from_bits_per_sec(200_000.0), broken: BrokenPromise::Ignore };
    let guarantee = Guarantee::FromFirstRtt(target);
    let segment = SegmentSize::Fixed(SIZE);
    let settings = Settings { guarantee, cap, segment, ..Settings::default() };
    let mut flow = Flow::new(&settings.validate().expect("sound"), SIZE, wire, rule);
    flow.report_rule = Box::new(report_rule);
    while flow.next(Instant::ZERO + Duration::from_secs(seconds)).is_some() {}
    assert!(flow.sent() > 1000, "{}", flow.sent());
    flow.sender.stopped().map(|_| flow.now.as_secs_f64())
}

/// 10 Mbit/s and 100 ms, with a queue of 400 packets.
fn link() -> Wire<tfrc_testkit::FlowPacket> {
    Wire::bottleneck(RTT / 2, Rate::from_bits_per_sec(10e6), 400)
}

/// Half of the packets are lost for 0.3 s, wherever that lies in the reporting intervals.
#[test]
fn a_short_burst_of_losses_stops_nothing() {
    let mut stops = Vec::new();
    for phase in 0..13 {
        let began = Instant::ZERO + Duration::from_millis(42_000 + phase * 400);
        let burst = began..began + Duration::from_millis(300);
        let mut random = Random::new(phase);
        let rule = move |at| Fate::drop_if(burst.contains(&at) && random.happens(0.5));
        stops.push(greedy_stop(link(), RateCap::Unlimited, 90, rule, |_| Fate::Deliver));
    }
    assert_eq!(stops, [None; 13]);
}

/// Reports are lost; data is not, because the flow keeps below the link's rate.
#[test]
fn a_lost_report_is_no_lost_data() {
    let mut stops = Vec::new();
    let cap = RateCap::AtMost(Rate::from_bits_per_sec(9e6));
    for (seed, share) in [(1, 0.3), (2, 0.5), (3, 0.5), (4, 0.5), (5, 0.7)] {
        let mut random = Random::new(seed);
        let lost = move |_| Fate::drop_if(random.happens(share));
        stops.push(greedy_stop(link(), cap, 240, |_| Fate::Deliver, lost));
    }
    assert_eq!(stops, [None; 5]);
}

/// Slow start fills the queue of a long path once, and loses hundreds of packets in two seconds.
#[test]
fn an_overshoot_of_slow_start_stops_nothing() {
    let wire = Wire::bottleneck(RTT * 3, Rate::from_bits_per_sec(10e6), 750);
    assert_eq!(greedy_stop(wire, RateCap::Unlimited, 120, |_| Fate::Deliver, |_| Fate::Deliver), None);
}
