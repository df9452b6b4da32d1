//! The bound on the queueing delay: its formulas, and X with it against X without.

use proptest::prelude::*;
use tfrc_testkit::at;
use tfrc_units::Probability;

use super::*;
use crate::config::BurstCredit;
use crate::study::Reschedule;
use crate::{Feedback, LossReport, PacketCount, RateReason, SendDecision, Sender, Settings};

const MS: fn(u64) -> Duration = Duration::from_millis;
/// D.
const MOST: Duration = Duration::from_millis(80);
/// R without a queue.
const RTT: u64 = 100;
/// X_recv unless a test says otherwise.
const PASSED: f64 = 100_000.0;

fn rate(bytes_per_sec: f64) -> Rate {
    Rate::from_bytes_per_sec(bytes_per_sec)
}

/// A bound that has seen an empty queue for half a second.
fn bound() -> DelayBound {
    let pacing = Pacing::new(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always);
    let mut bound = DelayBound::new(QueueDelay::AtMost(MOST), pacing).expect("a bound");
    for ms in (0..500).step_by(100) {
        assert!(report(&mut bound, ms, 0, PASSED).is_infinite());
    }
    bound
}

/// A report at `ms` with a queueing delay of `queue` milliseconds, and the limit then.
fn report(bound: &mut DelayBound, ms: u64, queue: u64, receive_rate: f64) -> Rate {
    report_of(bound, ms, queue, receive_rate, Coverage::NotDataLimited)
}

fn report_of(bound: &mut DelayBound, ms: u64, queue: u64, receive_rate: f64, coverage: Coverage) -> Rate {
    let sample = MS(RTT + queue);
    bound.on_report(
        at(ms),
        DelayReport {
            sample: Some(sample),
            grain: Duration::ZERO,
            rtt: MS(RTT),
            receive_rate: rate(receive_rate),
            newest_sent_at: at(ms) - sample,
            coverage,
            initial_rate: rate(4000.0),
        },
    );
    bound.limit()
}

fn close(limit: Rate, expected: f64) {
    let limit = limit.bytes_per_sec();
    assert!((limit - expected).abs() < 1e-6 * expected, "{limit} is not {expected}");
}

/// No limit up to half of the bound; from there on 1 + g·(1 − q/(D/2)) of X_recv, with
/// g = min(1/4, D/(4R)) = 0.2.
#[test]
fn the_limit_begins_at_half_of_the_bound() {
    assert!(report(&mut bound(), 500, 40, PASSED).is_infinite());
    for (queue, factor) in [(41, 0.995), (60, 0.9), (80, 0.8)] {
        close(report(&mut bound(), 500, queue, PASSED), factor * PASSED);
    }
    let mut held = bound();
    report(&mut held, 500, 41, PASSED);
    for (ms, queue, factor) in [(600, 20, 1.1), (700, 0, 1.2), (800, 40, 1.0)] {
        close(report(&mut held, ms, queue, PASSED), factor * PASSED);
    }
}

/// On a short path the gain is a quarter.
#[test]
fn the_gain_is_at_most_a_quarter() {
    let mut held = bound();
    report(&mut held, 500, 41, PASSED);
    let sample = MS(RTT);
    let report = DelayReport {
        sample: Some(sample),
        grain: Duration::ZERO,
        rtt: MS(20),
        receive_rate: rate(PASSED),
        newest_sent_at: at(450),
        coverage: Coverage::NotDataLimited,
        initial_rate: rate(4000.0),
    };
    held.on_report(at(520), report);
    close(held.limit(), 1.25 * PASSED);
}

/// Above the bound three quarters of X_recv, until the queue is an eighth of the bound; then the
/// highest X_recv since the second report.
#[test]
fn a_queue_above_the_bound_is_drained() {
    let mut bound = bound();
    close(report(&mut bound, 500, 81, 2.0 * PASSED), 1.5 * PASSED);
    for (ms, queue, receive_rate) in [(600, 60, PASSED), (700, 30, 0.9 * PASSED), (800, 11, 0.9 * PASSED)] {
        let highest = if ms < 800 { 2.0 * PASSED } else { PASSED };
        close(report(&mut bound, ms, queue, receive_rate), 0.75 * highest);
    }
    close(report(&mut bound, 900, 10, 0.75 * PASSED), (1.0 + 0.2 * 0.75) * PASSED);
}

/// A path that is longer by 200 ms from 500 ms on: the limit falls for 4q + 2R, then R_min is that
/// of the new path.
#[test]
fn a_longer_path_is_learnt() {
    let mut bound = bound();
    close(report(&mut bound, 500, 200, PASSED), 0.75 * PASSED);
    // 500 + 4·200 + 2·300.
    for ms in (600..1900).step_by(100) {
        report(&mut bound, ms, 200, PASSED);
        assert_eq!(bound.least_rtt, Some(MS(RTT)), "{ms}");
    }
    report(&mut bound, 1899, 201, PASSED);
    assert_eq!(bound.least_rtt, Some(MS(RTT)));
    close(report(&mut bound, 1900, 201, PASSED), (1.0 + 0.2 * (1.0 - 1.0 / 40.0)) * PASSED);
    assert_eq!(bound.least_rtt, Some(MS(RTT + 200)));
}

/// The queue grows for two round trips after the limit is made: the time to drain it begins then.
/// A queue that grows later is not this flow's.
#[test]
fn the_longest_queue_counts() {
    // The limit is made at 500, with a round trip of 200 ms.
    for (longest_at, ends) in
        [(800, 800 + 4 * 200 + 2 * 300), (900, 900 + 4 * 200 + 2 * 300), (1000, 600 + 4 * 190 + 2 * 290)]
    {
        let mut bound = bound();
        report(&mut bound, 500, 100, PASSED);
        let queue = |ms| if ms == longest_at { 200 } else { 190 };
        let end = (600..).step_by(10).find(|ms| {
            report(&mut bound, *ms, queue(*ms), PASSED);
            bound.least_rtt != Some(MS(RTT))
        });
        assert_eq!(end, Some(ends), "{longest_at}");
    }
}

/// After a draining that was too short R_min is too high: the next one goes on while it falls.
#[test]
fn a_draining_goes_on_while_the_round_trip_falls() {
    let mut bound = bound();
    bound.least_rtt = Some(MS(RTT + 60));
    close(report(&mut bound, 500, 60 + 81, PASSED), 0.75 * PASSED);
    for (ms, queue) in [(600, 55), (700, 45), (800, 30)] {
        close(report(&mut bound, ms, queue, PASSED), 0.75 * PASSED);
        assert_eq!(bound.least_rtt, Some(MS(RTT + queue)));
    }
    close(report(&mut bound, 900, 30, PASSED), 1.2 * PASSED);
}

/// Nine round-trip times without a queue, and X alone counts.
#[test]
fn the_limit_ends_without_a_queue() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    let first = (600..).step_by(100).find(|ms| report(&mut bound, *ms, 10, PASSED).is_infinite());
    assert_eq!(first, Some(1500), "more than 800 ms after 600");
    // A queue in between begins the time anew.
    report(&mut bound, 1600, 41, PASSED);
    report(&mut bound, 1700, 10, PASSED);
    report(&mut bound, 2400, 11, PASSED);
    let first = (2500..).step_by(100).find(|ms| report(&mut bound, *ms, 0, PASSED).is_infinite());
    assert_eq!(first, Some(3400));
}

/// A queue of 20 ms that is never gone: after ten seconds it is drained, to measure R_min.
#[test]
fn the_least_round_trip_is_measured_again() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    let first = (600..).step_by(100).find(|ms| report(&mut bound, *ms, 20, PASSED) < rate(PASSED));
    assert_eq!(first, Some(10_600));
    report(&mut bound, 10_700, 10, PASSED);
    let first = (10_800..).step_by(100).find(|ms| report(&mut bound, *ms, 20, PASSED) < rate(PASSED));
    assert_eq!(first, Some(20_800));
}

/// A single report that is two seconds late costs a round-trip time at three quarters.
#[test]
fn a_late_report_costs_little() {
    let mut bound = bound();
    close(report(&mut bound, 2500, 2000, PASSED), 0.75 * PASSED);
    close(report(&mut bound, 2600, 0, PASSED), 1.2 * PASSED);
}

/// An application that sends little keeps the limit of the time in which it sent much.
#[test]
fn a_data_limited_time_keeps_the_limit() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    let limit = |bound: &mut DelayBound, ms, coverage| report_of(bound, ms, 20, 5000.0, coverage);
    close(limit(&mut bound, 600, Coverage::DataLimited), 1.1 * PASSED);
    close(limit(&mut bound, 5000, Coverage::DataLimited), 1.1 * PASSED);
    // What it sent while the bound held it back is no longer little.
    bound.set_pace(rate(1000.0), Some(MS(RTT)));
    for ms in (5000..6000).step_by(100) {
        bound.on_sent(at(ms), 1000);
        limit(&mut bound, ms + 50, Coverage::DataLimited);
    }
    close(bound.limit(), 1.1 * 5000.0);
}

/// W_init/R is the least limit, and reports without a rate or a round-trip time change nothing.
#[test]
fn the_least_limit() {
    let mut bound = bound();
    close(report(&mut bound, 500, 100, 1000.0), 4000.0);
    assert_eq!(report(&mut bound, 600, 0, 0.0), rate(4000.0));
    let without = DelayReport {
        sample: None,
        grain: Duration::ZERO,
        rtt: MS(RTT),
        receive_rate: rate(PASSED),
        newest_sent_at: at(700),
        coverage: Coverage::NotDataLimited,
        initial_rate: rate(4000.0),
    };
    bound.on_report(at(700), without);
    assert_eq!((bound.limit(), bound.least_rtt), (rate(4000.0), Some(MS(RTT))));
}

/// Samples that differ by one grain of the clock are no queue.
#[test]
fn a_grain_is_not_a_queue() {
    let mut bound = bound();
    let grain = MS(100);
    for (ms, sample) in [(500, MS(200)), (600, MS(100)), (700, MS(200)), (800, MS(0)), (900, MS(100))] {
        let report = DelayReport {
            sample: Some(sample),
            grain,
            rtt: MS(RTT),
            receive_rate: rate(PASSED),
            newest_sent_at: at(ms) - sample,
            coverage: Coverage::NotDataLimited,
            initial_rate: rate(4000.0),
        };
        bound.on_report(at(ms), report);
        assert!(bound.limit().is_infinite(), "at {ms} ms");
    }
}

/// Input of a sender.
#[derive(Debug, Clone, Copy)]
enum Input {
    Sent { size: u32 },
    Report { ago: u64, elapsed: u64, receive_rate: f64, p: f64, losses: LossReport },
    Timeout,
}

fn input() -> impl Strategy<Value = Input> {
    let time = prop_oneof![0u64..400_000, 0u64..5_000_000];
    let report =
        (time.clone(), 0u64..100_000, 0.0..1e6f64, prop_oneof![Just(0.0), 0.0..0.3f64], any::<bool>());
    prop_oneof![
        4 => (1u32..2000).prop_map(|size| Input::Sent { size }),
        4 => report.prop_map(|(ago, elapsed, receive_rate, p, loss)| {
            let losses = if loss { LossReport::NewLossEvent } else { LossReport::NoNewLoss };
            Input::Report { ago, elapsed, receive_rate: receive_rate.max(0.0), p, losses }
        }),
        1 => Just(Input::Timeout),
    ]
}

fn put(sender: &mut Sender, now: Instant, input: Input) {
    match input {
        Input::Sent { size } => sender.on_sent(now, size),
        Input::Timeout => sender.handle_timeout(now),
        Input::Report { ago, elapsed, receive_rate, p, losses } => sender.on_feedback(
            now,
            Feedback {
                newest_sent_at: now - Duration::from_micros(ago),
                elapsed: Duration::from_micros(elapsed),
                receive_rate: rate(receive_rate),
                loss_event_rate: Probability::saturating(p),
                losses,
                count: PacketCount::Unknown,
            },
        ),
    }
}

proptest! {
    /// Equal inputs: X with the bound is never above X without, no packet may go earlier, and no
    /// timer differs.
    #[test]
    fn never_a_higher_rate_with_the_bound(
        most in 1u64..500,
        inputs in prop::collection::vec((0u64..200_000, input()), 1..300),
    ) {
        let bounded = Settings { max_queue_delay: QueueDelay::AtMost(MS(most)), ..Settings::default() };
        let mut with = Sender::new(&bounded.validate().expect("sound"));
        let mut without = Sender::new(&Settings::default().validate().expect("sound"));
        let mut now = at(1000);
        for (us, input) in inputs {
            now += Duration::from_micros(us);
            put(&mut with, now, input);
            put(&mut without, now, input);
            let (x, plain) = (with.allowed_rate(), without.allowed_rate());
            prop_assert!(x <= plain, "{} above {}", x, plain);
            prop_assert!(with.sending_rate() <= without.sending_rate());
            prop_assert_eq!(with.poll_timeout(), without.poll_timeout());
            prop_assert_eq!(x < plain, with.rate_reason() == RateReason::QueueDelay);
            let time = |decision| match decision {
                SendDecision::At(at) => at,
                _ => now,
            };
            prop_assert!(time(with.next_send(now)) >= time(without.next_send(now)));
        }
    }
}

/// While the limit is below X, packets leave at the limit.
#[test]
fn packets_leave_at_the_limit() {
    let settings = Settings { max_queue_delay: QueueDelay::AtMost(MOST), ..Settings::default() };
    let mut sender = Sender::new(&settings.validate().expect("sound"));
    sender.on_sent(at(0), 1000);
    for (ms, ago) in [(100, 100), (200, 100), (300, 100), (400, 100), (1000, 300)] {
        let (elapsed, receive_rate, losses) = (0, 50_000.0, LossReport::NoNewLoss);
        put(&mut sender, at(ms), Input::Report { ago: ago * 1000, elapsed, receive_rate, p: 0.0001, losses });
    }
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (rate(37_500.0), RateReason::QueueDelay));
    while sender.next_send(at(1000)) == SendDecision::Now {
        sender.on_sent(at(1000), 1000);
    }
    let SendDecision::At(first) = sender.next_send(at(1000)) else { panic!("it waits") };
    sender.on_sent(first, 1000);
    let SendDecision::At(second) = sender.next_send(first) else { panic!("it waits") };
    assert_eq!(second.saturating_since(first), rate(37_500.0).time_for(1000.0));
}

/// A guarantee is kept whatever the queue.
#[test]
fn a_guarantee_stands_above_the_bound() {
    let settings = Settings {
        max_queue_delay: QueueDelay::AtMost(MOST),
        guarantee: Some(crate::config::Promise::of(rate(80_000.0))),
        ..Settings::default()
    };
    let mut sender = Sender::new(&settings.validate().expect("sound"));
    sender.on_sent(at(0), 1000);
    let report = |ago| Input::Report {
        ago,
        elapsed: 0,
        receive_rate: 50_000.0,
        p: 0.0001,
        losses: LossReport::NoNewLoss,
    };
    for ms in (100..1000).step_by(100) {
        put(&mut sender, at(ms), report(100_000));
    }
    put(&mut sender, at(1000), report(300_000));
    assert_eq!((sender.computed_rate(), sender.allowed_rate()), (rate(37_500.0), rate(80_000.0)));
    assert_eq!(sender.rate_reason(), RateReason::Guarantee);
    assert_eq!(sender.sending_rate(), rate(80_000.0));
}
