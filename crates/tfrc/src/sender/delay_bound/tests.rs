//! The bound on the queueing delay: its formulas, and X with it against X without.

mod at_the_sender;

use proptest::prelude::*;
use tfrc_testkit::at;
use tfrc_units::Probability;

use super::*;
use crate::config::BurstCredit;
use crate::study::Reschedule;
use crate::{Feedback, Limit, LossReport, PacketCount, RateReason, SendDecision, Sender, Settings};

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

fn fresh() -> DelayBound {
    let pacing = Pacing::new(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always);
    DelayBound::new(QueueDelay::AtMost(MOST), pacing).expect("a bound")
}

/// A bound that has seen an empty queue for half a second.
fn bound() -> DelayBound {
    let mut bound = fresh();
    for ms in (0..500).step_by(100) {
        assert!(report(&mut bound, ms, 0, PASSED).is_infinite());
    }
    bound
}

/// A report at `ms` with a queueing delay of `queue` milliseconds of packets that waited for the
/// limit, and the limit then.
fn report(bound: &mut DelayBound, ms: u64, queue: u64, receive_rate: f64) -> Rate {
    let sample = MS(RTT + queue);
    bound.limited.on_not_limited(at(ms) - sample);
    report_of_little(bound, ms, queue, receive_rate)
}

/// A report of packets of an application that sends little.
fn report_of_little(bound: &mut DelayBound, ms: u64, queue: u64, receive_rate: f64) -> Rate {
    report_losing(bound, ms, queue, receive_rate, false)
}

/// As [`report`], of packets of which one was lost, or none.
fn report_loss(bound: &mut DelayBound, ms: u64, queue: u64, receive_rate: f64, lost: bool) -> Rate {
    bound.limited.on_not_limited(at(ms) - MS(RTT + queue));
    report_losing(bound, ms, queue, receive_rate, lost)
}

fn report_losing(bound: &mut DelayBound, ms: u64, queue: u64, receive_rate: f64, lost: bool) -> Rate {
    let sample = MS(RTT + queue);
    bound.on_report(
        at(ms),
        DelayReport {
            sample: Some(sample),
            grain: Duration::ZERO,
            rtt: MS(RTT),
            receive_rate: rate(receive_rate),
            newest_sent_at: at(ms) - sample,
            initial_rate: rate(4000.0),
            lost,
        },
    );
    bound.limit()
}

/// The limit while the queue is held, written plainly: the queue, the round-trip time and the time
/// without a queue in milliseconds.
fn held(queue: u64, round_trip: u64, empty: u64, passed: f64) -> f64 {
    let [queue, round_trip, empty] = [queue, round_trip, empty].map(|ms| MS(ms).as_secs_f64() * 1e3);
    let goal = 40.0 * (0.25 + 0.75 * libm::pow(12_500.0 / passed, 0.25).min(1.0));
    let growth = (goal - queue) / (2.0 * round_trip) * (1.0 + empty / round_trip);
    passed * (1.0 + growth.min(0.25))
}

fn close(limit: Rate, expected: f64) {
    let limit = limit.bytes_per_sec();
    assert!((limit - expected).abs() < 1e-6 * expected, "{limit} is not {expected}");
}

/// Equal inputs give equal limits at any time of the host's clock, from the second report on.
#[test]
fn the_origin_of_the_clock_does_not_matter() {
    for origin in [0, 3_600_000] {
        let mut bound = fresh();
        bound.on_sent(at(origin), 1000);
        assert!(report(&mut bound, origin + RTT, 0, PASSED).is_infinite());
        let limit = report(&mut bound, origin + RTT + 41, 41, PASSED);
        close(limit, held(41, RTT + 41, 0, PASSED));
    }
}

/// No limit up to half of the bound; from there on the formula.
#[test]
fn the_limit_begins_at_half_of_the_bound() {
    assert!(report(&mut bound(), 500, 40, PASSED).is_infinite());
    for queue in [41, 60, 80] {
        let expected = held(queue, RTT + queue, 0, PASSED);
        close(report(&mut bound(), 500, queue, PASSED), expected);
    }
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    for (ms, queue, empty) in [(600, 20, 0), (700, 10, 0), (800, 0, 100), (900, 40, 0)] {
        close(report(&mut bound, ms, queue, PASSED), held(queue, RTT + queue, empty, PASSED));
    }
}

/// The longer there is no queue, the faster the limit grows, up to a quarter.
#[test]
fn the_gain_is_at_most_a_quarter() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    for ms in (600..2000).step_by(100) {
        let expected = held(0, RTT, ms - 600, PASSED);
        assert!(expected <= 1.25 * PASSED);
        close(report(&mut bound, ms, 0, PASSED), expected);
    }
    close(Rate::from_bytes_per_sec(1.25 * PASSED), held(0, RTT, 1300, PASSED));
}

/// An application that spaces its packets by the limit itself is behind one that has grown: at
/// three quarters of the limit it uses it. Below, the limit does not grow.
#[test]
fn a_flow_near_its_limit_uses_it() {
    for (part, grows) in [(0.9, true), (0.7, false)] {
        let mut bound = fresh();
        bound.on_sent(at(0), 1000);
        report(&mut bound, 400, 0, PASSED);
        let first = report(&mut bound, 500, 41, PASSED).bytes_per_sec();
        let mut limit = first;
        for ms in (1000..6000).step_by(250) {
            // Nothing waits for the bound.
            bound.on_sent(at(ms - 10), 1000);
            limit = report(&mut bound, ms, 0, part * limit).bytes_per_sec();
        }
        assert_eq!(limit > 1.5 * first, grows, "{part}: {limit} of {first}");
    }
}

/// Of two flows with one queue the slower one grows and the faster one shrinks; at 100 kbit/s and
/// below the goal is half of the bound.
#[test]
fn a_slower_flow_is_content_with_a_longer_queue() {
    for (passed, queue, grows) in
        [(10_000.0, 39, true), (PASSED, 39, false), (1e7, 17, false), (PASSED, 27, true)]
    {
        let mut bound = bound();
        report(&mut bound, 500, 41, passed);
        for ms in (600..1000).step_by(100) {
            report(&mut bound, ms, queue, passed);
        }
        assert_eq!(bound.limit() > rate(passed), grows, "{passed} at {queue} ms: {}", bound.limit());
    }
}

/// Two thirds, which a queue is drained with.
const DRAINED: f64 = 2.0 / 3.0;

/// Above the bound two thirds of the highest X_recv, until the queue is an eighth of the bound.
#[test]
fn a_queue_above_the_bound_is_drained() {
    let mut bound = bound();
    for (ms, queue, receive_rate) in
        [(500, 81, PASSED), (600, 60, PASSED), (700, 30, 0.9 * PASSED), (800, 11, 0.9 * PASSED)]
    {
        close(report(&mut bound, ms, queue, receive_rate), DRAINED * PASSED);
    }
    let limit = report(&mut bound, 900, 10, DRAINED * PASSED);
    close(limit, held(10, 110, 0, PASSED));
}

/// A queue of more than four bounds is drained by a third: it is gone in half of the time.
#[test]
fn a_long_queue_is_drained_faster() {
    for (queue, part, ends) in
        [(320, DRAINED, 500 + 3 * 320 + 2 * 420), (321, DRAINED / 2.0, 500 + 481 + 2 * 421)]
    {
        let mut bound = bound();
        close(report(&mut bound, 500, queue, PASSED), part * PASSED);
        let end = (501..100_000).find(|ms| {
            report(&mut bound, *ms, queue, PASSED);
            bound.least_rtt != Some(MS(RTT))
        });
        assert_eq!(end, Some(ends + u64::from(queue == 321)), "{queue}");
    }
}

/// Reports of packets sent before a draining show what the path carries: less than four fifths
/// while the queue grows, and it has become slower; more than five quarters, and it has not.
#[test]
fn what_the_path_carries_is_seen_while_the_queue_grows() {
    let mut bound = bound();
    close(report(&mut bound, 500, 100, PASSED), DRAINED * PASSED);
    for (ms, queue, arrives, carries) in [
        (550, 100, 0.5, 1.0),
        (600, 110, 0.8, 1.0),
        (610, 120, 0.79, 0.79),
        (620, 130, 0.7, 0.79),
        (630, 140, 0.1, 0.1),
        (640, 150, 0.124, 0.1),
        (650, 160, 0.9, 0.9),
    ] {
        close(report(&mut bound, ms, queue, arrives * PASSED), DRAINED * carries * PASSED);
    }
}

/// Later 15/16 of two thirds must arrive, of this report or of the one before, if the queue grows.
#[test]
fn a_slower_path_is_drained_at_its_rate() {
    let mut bound = bound();
    close(report(&mut bound, 500, 100, PASSED), DRAINED * PASSED);
    for (ms, queue, arrives) in [(800, 100, 0.5), (810, 101, 0.63), (820, 102, 0.5)] {
        close(report(&mut bound, ms, queue, arrives * PASSED), DRAINED * PASSED);
    }
    close(report(&mut bound, 830, 103, 0.5 * PASSED), DRAINED * 0.5 * PASSED);
    // The time to drain begins anew.
    for ms in (1000..1500).step_by(100) {
        close(report(&mut bound, ms, 100, 0.5 * PASSED), DRAINED * 0.5 * PASSED);
    }
    assert_eq!(bound.least_rtt, Some(MS(RTT)));
}

/// The first report of a queue may show it already that the path is slower; a receive rate over a
/// pause shows nothing.
#[test]
fn a_pause_is_no_slower_path() {
    for (pause, expected) in [(false, 0.1), (true, 1.0)] {
        let mut bound = bound();
        bound.on_sent(at(500), 1000);
        report(&mut bound, 500, 41, PASSED);
        if pause {
            bound.on_sent(at(5000), 1000);
        } else {
            for ms in (550..5000).step_by(50) {
                bound.on_sent(at(ms), 1000);
                if ms % 100 == 0 {
                    report(&mut bound, ms, 20, PASSED);
                }
            }
        }
        close(report(&mut bound, 5080, 81, 0.1 * PASSED), DRAINED * expected * PASSED);
        // Nor does one within the draining.
        bound.on_sent(at(5300), 1000);
        close(report(&mut bound, 5460, 100, 0.1 * PASSED), DRAINED * expected * PASSED);
    }
}

/// A path that is longer by 200 ms from 500 ms on: the limit falls for 3q + 2R, then R_min is that
/// of the new path.
#[test]
fn a_longer_path_is_learnt() {
    let mut bound = bound();
    close(report(&mut bound, 500, 200, PASSED), DRAINED * PASSED);
    // 500 + 3·200 + 2·300.
    for ms in (600..1700).step_by(100) {
        report(&mut bound, ms, 200, PASSED);
        assert_eq!(bound.least_rtt, Some(MS(RTT)), "{ms}");
    }
    report(&mut bound, 1699, 201, PASSED);
    assert_eq!(bound.least_rtt, Some(MS(RTT)));
    close(report(&mut bound, 1700, 201, PASSED), held(1, 301, 0, PASSED));
    assert_eq!(bound.least_rtt, Some(MS(RTT + 200)));
}

/// The queue grows while reports are of packets sent before the limit was made, here at 500: the
/// time to drain it begins then. A queue that grows later is not this flow's.
#[test]
fn the_longest_queue_counts() {
    for (longest_at, ends) in
        [(700, 700 + 3 * 200 + 2 * 300), (800, 800 + 3 * 200 + 2 * 300), (810, 780 + 3 * 190 + 2 * 290)]
    {
        let mut bound = bound();
        report(&mut bound, 500, 100, PASSED);
        let queue = |ms| match ms {
            _ if ms == longest_at => 200,
            _ if ms < longest_at => 100 + (ms - 500) * 90 / 280,
            _ => 190,
        };
        let end = (600..100_000).step_by(10).find(|ms| {
            report(&mut bound, *ms, queue(*ms), PASSED);
            bound.least_rtt != Some(MS(RTT))
        });
        assert!(end.is_some_and(|end| end.abs_diff(ends) <= 90), "{longest_at}: {end:?}, {ends}");
    }
}

/// Both ways become longer, one after the other: R_min is that of packets sent after the limit was
/// made, not the round trip in between. Nobody else is there, and the flow does not compete.
#[test]
fn a_path_that_becomes_longer_in_two_steps_is_learnt_at_once() {
    let mut bound = bound();
    let length = |ms| {
        if ms < 500 {
            0
        } else if ms < 590 {
            90
        } else {
            180
        }
    };
    for ms in (400..10_000).step_by(10) {
        report(&mut bound, ms, length(ms), PASSED);
        assert!(!bound.competes(), "{ms}");
        assert!(ms < 2000 || bound.least_rtt == Some(MS(RTT + 180)), "{ms}: {:?}", bound.least_rtt);
    }
    close(bound.limit(), held(0, RTT + 180, 8000, PASSED));
}

/// A path that is longer by 60 ms, less than D: the limit falls by a quarter, and nothing changes;
/// two thirds for 3q + 2r, and nothing changes: it is the path. Then all is as before.
#[test]
fn a_delay_that_does_not_answer_is_the_path() {
    for more in [45, 60, 80] {
        let mut bound = bound();
        report(&mut bound, 500, 41, PASSED);
        report(&mut bound, 510, 0, PASSED);
        let mut limit = rate(PASSED);
        let mut least = PASSED;
        for ms in (600..4000).step_by(50) {
            // What is sent arrives, as far as the application has it.
            limit = report(&mut bound, ms, more, limit.bytes_per_sec().min(PASSED));
            least = least.min(limit.bytes_per_sec());
            assert!(!bound.competes());
        }
        assert_eq!(bound.least_rtt, Some(MS(RTT + more)), "{more}");
        assert!(least > 0.4 * PASSED && limit.bytes_per_sec() >= PASSED, "{more}: {least}, {limit}");
    }
}

/// A queue of this flow answers: it is never drained, however long the limit falls.
#[test]
fn a_queue_that_falls_with_the_limit_is_held() {
    let mut bound = bound();
    report(&mut bound, 500, 70, PASSED);
    let (mut queue, mut limit) = (70_u64, rate(PASSED));
    for ms in (600..3000).step_by(50) {
        queue = queue.saturating_sub(2).max(30);
        limit = report(&mut bound, ms, queue, limit.bytes_per_sec().min(PASSED));
        assert!(queue == 30 || matches!(bound.state, State::Held { .. }), "{ms}");
    }
}

/// A queue below the bound that a draining shortens by D/16, here 5 ms, is not the path's alone:
/// R_min stays.
#[test]
fn a_queue_that_answers_is_not_the_path() {
    for (shortest, path) in [(55, true), (54, false)] {
        let mut bound = bound();
        report(&mut bound, 500, 41, PASSED);
        let (mut ms, mut limit) = (600, rate(PASSED));
        while !matches!(bound.state, State::Draining { .. }) {
            limit = report(&mut bound, ms, 60, limit.bytes_per_sec());
            ms += 50;
        }
        let begins = ms;
        while matches!(bound.state, State::Draining { .. }) {
            let queue = if ms > begins + 200 { shortest } else { 60 };
            report(&mut bound, ms, queue, DRAINED * PASSED);
            ms += 50;
        }
        let expected = if path { RTT + shortest } else { RTT };
        assert_eq!(bound.least_rtt, Some(MS(expected)), "{shortest}");
    }
}

/// A packet that is lost of those sent at less than the limit before, while the queue is longer
/// than D, tells of somebody who fills the buffer, in a draining...
#[test]
fn a_loss_that_is_not_ones_own_is_of_others() {
    for (name, ms, queue, arrives, competes) in [
        ("others", 791, 150, 0.5, true),
        ("a packet sent too early for that", 790, 150, 0.5, false),
        ("a queue of D at most", 791, 80, 0.5, false),
        ("less than half arrives: the path is slower", 791, 150, 0.49, false),
    ] {
        let mut bound = bound();
        report(&mut bound, 500, 81, PASSED);
        report(&mut bound, ms - 10, queue.min(80), PASSED);
        report_loss(&mut bound, ms, queue, arrives * PASSED, true);
        assert_eq!(bound.competes(), competes, "{name}");
        let again = report_loss(&mut bound, ms + 1, queue, arrives * PASSED, false);
        assert_eq!(again.is_infinite(), competes, "{name}");
    }
}

/// ...while the limit falls...
#[test]
fn a_loss_while_the_limit_falls_is_of_others() {
    for (lost, ms, competes) in [(true, 891, true), (false, 891, false), (true, 890, false)] {
        let mut bound = bound();
        report(&mut bound, 500, 41, PASSED);
        report(&mut bound, 600, 60, PASSED);
        report_loss(&mut bound, ms, 150, 0.9 * PASSED, lost);
        assert_eq!(bound.competes(), competes, "{lost} {ms}");
        assert_eq!(matches!(bound.state, State::Draining { .. }), !competes, "{lost} {ms}");
    }
}

/// ...and where R_min was raised by a queue of others: the round trip sinks below it after a loss.
#[test]
fn a_queue_that_sinks_below_its_least_is_of_others() {
    for (lost, before, sinks, competes) in
        [(true, 200, 150, true), (false, 200, 150, false), (true, 200, 195, false), (true, 80, 60, false)]
    {
        let mut bound = bound();
        let now = drain_in_vain(&mut bound, 500, before);
        assert!(matches!(bound.state, State::Held { .. }), "{:?}", bound.state);
        report_loss(&mut bound, now, before, PASSED, lost);
        report(&mut bound, now + 10, sinks, PASSED);
        assert_eq!(bound.competes(), competes, "{lost} {before} {sinks}");
    }
}

/// A flow that has competed lately does so again where the queue does not answer.
#[test]
fn a_flow_that_has_competed_takes_less_to_do_so_again() {
    for (patience, competes) in [(FIRST_PATIENCE, false), (FIRST_PATIENCE * 2, true)] {
        let mut bound = bound();
        report(&mut bound, 500, 41, PASSED);
        bound.patience = patience;
        let (mut ms, mut limit) = (600, rate(PASSED));
        while matches!(bound.state, State::Held { .. }) {
            limit = report(&mut bound, ms, 60, limit.bytes_per_sec());
            ms += 50;
        }
        assert_eq!(bound.competes(), competes);
    }
}

/// At the least limit, which cannot fall, a queue that does not answer is tested too.
#[test]
fn the_least_limit_is_no_end() {
    let mut bound = fresh();
    for ms in (0..500).step_by(100) {
        report(&mut bound, ms, 0, 5000.0);
    }
    report(&mut bound, 500, 41, 5000.0);
    let first = (600..5000).step_by(50).find(|ms| {
        report(&mut bound, *ms, 60, 5000.0);
        matches!(bound.state, State::Draining { .. })
    });
    assert_eq!(first, Some(950));
}

/// Packets that X or the application's cap spaces have not waited for the bound: what arrives of
/// them says nothing about the path, and the rate of before a pause is kept.
#[test]
fn what_x_holds_back_is_no_news_of_the_path() {
    for (allowed, passed) in [(900.0, PASSED), (2000.0, 1000.0)] {
        let mut bound = bound();
        report(&mut bound, 500, 41, PASSED);
        bound.set_pace(rate(allowed), rate(1000.0), Some(MS(RTT)));
        for ms in (2000..4000).step_by(100) {
            bound.on_sent(at(ms), 1000);
            report_of_little(&mut bound, ms + 50, 20, 1000.0);
        }
        close(bound.passed.maximum(), passed);
    }
}

/// After a draining that was too short R_min is too high: the next one goes on while it falls.
#[test]
fn a_draining_goes_on_while_the_round_trip_falls() {
    let mut bound = bound();
    bound.least_rtt = Some(MS(RTT + 60));
    close(report(&mut bound, 500, 60 + 81, PASSED), DRAINED * PASSED);
    for (ms, queue) in [(600, 55), (700, 45), (800, 30)] {
        close(report(&mut bound, ms, queue, PASSED), DRAINED * PASSED);
        assert_eq!(bound.least_rtt, Some(MS(RTT + queue)));
    }
    close(report(&mut bound, 900, 30, PASSED), held(0, 130, 0, PASSED));
}

/// Drains a queue of `queue` milliseconds in vain from `ms` on; returns the time of the end.
fn drain_in_vain(bound: &mut DelayBound, ms: u64, queue: u64) -> u64 {
    let mut now = ms;
    let limit = ms + 60_000;
    while now < limit && !matches!(bound.state, State::Draining { .. }) {
        report(bound, now, queue, PASSED);
        now += 100;
    }
    while now < limit && matches!(bound.state, State::Draining { .. }) {
        report(bound, now, queue, PASSED);
        now += 100;
    }
    now
}

/// A bound whose flow competes from the returned time on, in milliseconds, next to others that keep
/// 300 ms of queue.
fn competing() -> (DelayBound, u64) {
    let mut bound = bound();
    let now = drain_in_vain(&mut bound, 500, 200);
    assert_eq!((bound.least_rtt, bound.patience), (Some(MS(RTT + 200)), FIRST_PATIENCE));
    let now = drain_in_vain(&mut bound, now, 300);
    assert!(matches!(bound.state, State::Competing { .. }), "{:?}", bound.state);
    (bound, now)
}

/// A queue that drainings do not drain is that of others: the first one might be a longer path, the
/// second one is not. The flow takes what X allows, until the queue is gone.
#[test]
fn two_drainings_in_vain_are_others() {
    let (mut bound, now) = competing();
    assert_eq!((bound.least_rtt, bound.patience), (Some(MS(RTT)), FIRST_PATIENCE * 2));
    assert!(bound.limit().is_infinite());
    // 440 ms without a queue, four round trips, and they are gone.
    for (ms, queue) in [(100, 10), (200, 11), (300, 10), (740, 10)] {
        report(&mut bound, now + ms, queue, PASSED);
        assert!(matches!(bound.state, State::Competing { .. }), "{ms}");
    }
    close(report(&mut bound, now + 741, 10, PASSED), held(10, 110, 0, PASSED));
    assert_eq!(bound.patience, FIRST_PATIENCE);
    // It began with the last report of the second draining.
    assert_eq!((bound.competed(at(now)), bound.competed(at(now + 60_000))), (MS(841), MS(841)));
}

/// Next to others the limit is nine tenths of the highest X_recv, here of two round trips, from the
/// moment when the queue falls by D/4, here 20 ms, until it rises by as much.
#[test]
fn a_queue_that_falls_is_not_filled() {
    let (mut bound, now) = competing();
    for (i, (queue, receive_rate, limit)) in [
        (320, 1.0, None),
        (300, 2.0, None),
        (299, 3.0, Some(3.0)),
        (200, 4.0, Some(3.0)),
        (220, 5.0, Some(3.0)),
        (150, 6.0, Some(3.0)),
        (170, 7.0, Some(3.0)),
        (171, 8.0, None),
        (151, 9.0, None),
        (150, 10.0, Some(10.0)),
    ]
    .into_iter()
    .enumerate()
    {
        let ms = now + 100 * u64::try_from(i).expect("few");
        let found = report(&mut bound, ms, queue, receive_rate * PASSED);
        assert_eq!(found, limit.map_or(Rate::INFINITY, |limit| rate(limit * PASSED) * 0.9), "{queue}");
    }
}

/// The flow looks again at growing times, up to 20 s.
#[test]
fn a_competing_flow_looks_again() {
    let (mut bound, mut now) = competing();
    for (queue, seconds) in [300, 340, 380, 420].into_iter().zip([5, 10, 20, 20]) {
        // Queues that differ are those of others.
        let since = now - 100;
        let first = (now..now + 60_000).step_by(100).find(|ms| {
            report(&mut bound, *ms, queue, PASSED);
            matches!(bound.state, State::Draining { .. })
        });
        let waited = MS(first.expect("it drains") - since);
        assert!(
            waited > Duration::from_secs(seconds) && waited <= Duration::from_secs(seconds) + MS(600),
            "{waited:?}"
        );
        now = drain_in_vain(&mut bound, first.expect("it drains") + 100, queue);
    }
}

/// A queue that others hold below the bound, and that drainings do not drain, is theirs to keep:
/// the flow does not compete.
#[test]
fn a_queue_below_the_bound_is_no_reason_to_compete() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    let now = drain_in_vain(&mut bound, 600, 30);
    assert_eq!(bound.least_rtt, Some(MS(RTT + 30)));
    drain_in_vain(&mut bound, now, 80);
    assert_eq!(bound.least_rtt, Some(MS(RTT + 80)));
    assert!(matches!(bound.state, State::Held { .. }), "{:?}", bound.state);
}

/// Drainings that end at one round-trip time: the path is longer, and nobody else is there. A path
/// that became longer twice is taken for others once, until the flow's own queue has drained.
#[test]
fn a_longer_path_is_not_taken_for_others() {
    let mut bound = bound();
    let now = drain_in_vain(&mut bound, 500, 200);
    let mut now = drain_in_vain(&mut bound, now, 300);
    for turn in 0..2 {
        assert_eq!(matches!(bound.state, State::Competing { .. }), turn == 0);
        // A queue of 150 ms of this flow, which drains.
        while !matches!(bound.state, State::Draining { .. }) {
            report(&mut bound, now, 450, PASSED);
            now += 100;
        }
        let mut queue = 450;
        while matches!(bound.state, State::Draining { .. }) {
            queue = (queue - 30).max(302);
            report(&mut bound, now, queue, PASSED);
            now += 100;
        }
    }
    assert!(matches!(bound.state, State::Held { .. }), "{:?}", bound.state);
    assert_eq!((bound.least_rtt, bound.former), (Some(MS(RTT + 302)), None));
}

/// A path that became longer once, and on which nobody else is: the second draining ends where the
/// first one did, and the third one makes it certain.
#[test]
fn a_longer_path_becomes_certain() {
    let mut bound = bound();
    let mut now = drain_in_vain(&mut bound, 500, 200);
    for unsure in [true, true, false] {
        assert_eq!(bound.former.is_some(), unsure);
        if unsure {
            now = drain_in_vain(&mut bound, now, 202);
        }
        assert!(matches!(bound.state, State::Held { .. }), "{:?}", bound.state);
    }
    assert_eq!(bound.least_rtt, Some(MS(RTT + 202)));
}

/// The queue of others is measured from R_min before the first draining in vain, however often
/// R_min has been raised since.
#[test]
fn a_queue_that_others_raise_step_by_step_is_theirs() {
    let mut bound = bound();
    let mut now = drain_in_vain(&mut bound, 500, 81);
    assert_eq!(bound.former.map(|former| former.least_rtt), Some(MS(RTT)));
    now = drain_in_vain(&mut bound, now, 70);
    assert!(matches!(bound.state, State::Held { .. }), "below the bound");
    assert_eq!(bound.former.map(|former| former.least_rtt), Some(MS(RTT)));
    drain_in_vain(&mut bound, now, 95);
    assert!(matches!(bound.state, State::Competing { .. }), "{:?}", bound.state);
    assert_eq!(bound.least_rtt, Some(MS(RTT)));
}

/// A competing flow that looks again stops after 2R + 3D if its queue has not fallen by D/4, here
/// 20 ms, and drains on if it has.
#[test]
fn a_look_is_short_if_it_changes_nothing() {
    for (fallen, goes_on) in [(19, false), (20, true)] {
        let (mut bound, mut now) = competing();
        while !matches!(bound.state, State::Draining { .. }) {
            report(&mut bound, now, 300, PASSED);
            now += 100;
        }
        // 2·400 + 3·80 from the report before.
        for ms in (0..900).step_by(100) {
            report(&mut bound, now + ms, 300 - fallen, PASSED);
            assert!(matches!(bound.state, State::Draining { .. }), "{ms}");
        }
        report(&mut bound, now + 940, 300 - fallen, PASSED);
        assert_eq!(matches!(bound.state, State::Draining { .. }), goes_on, "{:?}", bound.state);
        assert_eq!(matches!(bound.state, State::Competing { .. }), !goes_on);
    }
}

/// A pause ages nothing: the receive rates of before count for two round trips behind it.
#[test]
fn a_pause_keeps_what_was_learnt() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    bound.on_sent(at(510), 1000);
    report(&mut bound, 600, 30, PASSED);
    bound.on_sent(at(60_000), 1000);
    let limit = report(&mut bound, 60_200, 20, 5000.0);
    close(limit, held(20, 120, 0, PASSED));
    // Nor does it count as time with a queue.
    for ms in (60_300..69_000).step_by(100) {
        bound.on_sent(at(ms), 1000);
        report(&mut bound, ms, 20, PASSED);
        assert!(matches!(bound.state, State::Held { .. }), "{ms}");
    }
}

/// While reports are overdue the limit is halved again and again: after 2(r + D), here 360 ms.
#[test]
fn silence_halves_the_limit() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    let limit = report(&mut bound, 600, 0, PASSED);
    for (ms, part) in [(700, 1.0), (1060, 1.0), (1061, 0.5), (1421, 0.5), (1422, 0.25)] {
        bound.on_sent(at(ms), 1000);
        close(bound.limit(), limit.bytes_per_sec() * part);
    }
    for ms in (2000..9000).step_by(10) {
        bound.on_sent(at(ms), 1000);
    }
    assert_eq!(bound.limit(), rate(4000.0), "at least the initial rate");
}

/// A queue of 20 ms that is never gone: after ten seconds it is drained, to measure R_min.
#[test]
fn the_least_round_trip_is_measured_again() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    let first = (600..100_000).step_by(100).find(|ms| report(&mut bound, *ms, 20, PASSED) < rate(PASSED));
    assert_eq!(first, Some(10_600));
    report(&mut bound, 10_700, 10, PASSED);
    let first = (10_800..100_000).step_by(100).find(|ms| report(&mut bound, *ms, 20, PASSED) < rate(PASSED));
    assert_eq!(first, Some(20_800));
}

/// A single report that is two seconds late costs a round-trip time at a third.
#[test]
fn a_late_report_costs_little() {
    let mut bound = bound();
    close(report(&mut bound, 2500, 2000, PASSED), DRAINED / 2.0 * PASSED);
    close(report(&mut bound, 2600, 0, PASSED), held(0, 100, 0, PASSED));
}

/// An application that sends little keeps the limit of the time in which it sent much, without
/// growth.
#[test]
fn a_data_limited_time_keeps_the_limit() {
    let mut bound = bound();
    report(&mut bound, 500, 41, PASSED);
    for ms in [600, 5000] {
        close(report_of_little(&mut bound, ms, 20, 5000.0), PASSED);
    }
    // What it sent while the bound held it back is no longer little.
    bound.set_pace(rate(2000.0), rate(1000.0), Some(MS(RTT)));
    for ms in (5000..6000).step_by(100) {
        bound.on_sent(at(ms), 1000);
        report_of_little(&mut bound, ms + 50, 20, 5000.0);
    }
    close(bound.limit(), held(20, 120, 0, 5000.0));
}

/// W_init/R is the least limit, but for a queue that drains; reports without a rate or a round-trip
/// time change nothing.
#[test]
fn the_least_limit() {
    let mut bound = bound();
    for ms in [500, 600, 700] {
        close(report(&mut bound, ms, 81, 1000.0), DRAINED * 1000.0);
    }
    close(report(&mut bound, 800, 10, 1000.0), 4000.0);
    assert_eq!(report(&mut bound, 850, 0, 0.0), rate(4000.0));
    let without = DelayReport {
        sample: None,
        grain: Duration::ZERO,
        rtt: MS(RTT),
        receive_rate: rate(PASSED),
        newest_sent_at: at(900),
        initial_rate: rate(4000.0),
        lost: false,
    };
    bound.on_report(at(900), without);
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
            initial_rate: rate(4000.0),
            lost: false,
        };
        bound.on_report(at(ms), report);
        assert!(bound.limit().is_infinite(), "at {ms} ms");
    }
}
