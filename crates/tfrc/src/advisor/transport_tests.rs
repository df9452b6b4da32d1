//! Tests of the Advisor under transports that do by themselves what it could do: they pace and
//! report a departure only along with its fate, as WebRTC stacks and GStreamer's `RTPTWCCPackets`
//! do, or they find the losses and the round-trip time, as QUIC does.

use super::tests::{acked, report, sent};
use super::*;
use crate::equation::Equation;
use crate::guard::{BreakerLimits, CircuitBreaker, Trip};
use std::collections::VecDeque;
use std::vec::Vec;
use tfrc_testkit::at;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SIZE: u32 = 1200;

/// A packet as the transport reports it: number, departure, and arrival if it has one.
type Fate = (u64, Instant, Option<Instant>);

/// A pacer of the transport's own that sends at the Advisor's rate but at most at `limit`, in
/// bytes per second, over a path that loses one packet in `lose` at random, none for 0; a report
/// every `every`.
fn run(rtt: Duration, every: Duration, lose: u64, limit: f64, seconds: u64) -> Advisor<4096> {
    let mut advisor = Advisor::<4096>::with_capacity(&Config::default(), every);
    let (mut flight, mut reports) = (VecDeque::<Fate>::new(), VecDeque::<(Instant, Vec<Fate>)>::new());
    let (mut credit, mut id, mut seed) = (0.0, 0u64, 1u64);
    for ms in 1..=seconds * 1000 {
        let now = at(ms);
        credit =
            (credit + advisor.target_rate().bytes_per_sec().min(limit) * 1e-3).min(3.0 * f64::from(SIZE));
        while credit >= f64::from(SIZE) {
            credit -= f64::from(SIZE);
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let arrives = lose == 0 || !(seed >> 33).is_multiple_of(lose);
            flight.push_back((id, now, arrives.then(|| now + rtt / 2)));
            id += 1;
        }
        let newest = flight.iter().rposition(|(.., arrival)| arrival.is_some_and(|at| at <= now));
        if let Some(newest) = newest.filter(|_| now.as_nanos().is_multiple_of(every.as_nanos())) {
            reports.push_back((now + rtt / 2, flight.drain(..=newest).collect()));
        }
        while let Some((_, report)) = reports.pop_front_if(|(at, _)| *at <= now) {
            for (id, departure, _) in &report {
                advisor.on_sent(*departure, *id, SIZE);
            }
            for (id, _, arrival) in report {
                let Some(arrival) = arrival else { continue };
                let arrived_at = Some(arrival + Duration::from_secs(99));
                assert_eq!(advisor.on_acked(Ack { id, arrived_at, ecn: Ecn::NotEct }), Taken::New);
            }
            advisor.on_report(now, Hold::Unknown);
        }
        advisor.handle_timeout(now);
    }
    assert_eq!(advisor.forgotten(), 0);
    advisor
}

/// R is that of the path, and X that of the equation, at every round-trip time and every interval
/// between reports. (A clock clamped to the latest report gave R = the report interval.)
#[test]
fn the_round_trip_time_is_the_paths() {
    for rtt in [20, 50, 100, 200, 500] {
        for every in [20, 50, 100, 200] {
            let advisor = run(MS(rtt), MS(every), 100, f64::INFINITY, 60);
            let measured = advisor.rtt().expect("there were reports");
            let p = advisor.loss_event_rate();
            let fair = Equation::default().rate(f64::from(SIZE), MS(rtt), p).bytes_per_sec();
            let share = advisor.target_rate().bytes_per_sec() / fair;
            let case = std::format!(
                "{rtt} ms, a report every {every} ms: R = {measured:?}, p = {}, {share:.2} of the fair rate",
                p.get()
            );
            assert!(measured >= MS(rtt) && measured <= MS(rtt + 4), "{case}");
            assert!((0.8..=1.05).contains(&share), "{case}");
        }
    }
}

/// An encoder below its share, no loss: the rate allowed is twice what arrives, as with departures
/// passed in time.
#[test]
fn an_encoder_told_late_is_bounded_by_what_it_sends() {
    let advisor = run(MS(50), MS(50), 0, 62_500.0, 30);
    let share = advisor.target_rate().bytes_per_sec() / 62_500.0;
    assert!((1.8..=2.6).contains(&share), "{share}");
}

/// An advisor that is passed losses and has sent packets 1 to `n`, one every 10 ms from 10 ms on.
fn told<const N: usize>(n: u64) -> Advisor<N> {
    let mut advisor = Advisor::with_capacity(&Config::default(), Duration::ZERO);
    advisor.set_losses(Losses::ByTransport);
    for id in 1..=n {
        advisor.on_sent(at(10 * id), id, SIZE);
    }
    advisor
}

/// A packet of which the transport says nothing, one that only acknowledges, is not lost; one that
/// it says is lost is, and alone.
#[test]
fn only_what_the_transport_says_is_lost() {
    let mut advisor = told::<1024>(20);
    advisor.set_losses(Losses::ByOrder); // too late
    report(&mut advisor, 120, [1, 2, 4, 5, 6, 7, 8]);
    assert_eq!(advisor.loss_events(), 0, "3 is not acknowledged, and not lost");
    assert_eq!(
        (advisor.on_lost(9), advisor.on_lost(9), advisor.on_lost(99)),
        (Taken::New, Taken::Duplicate, Taken::Unknown)
    );
    report(&mut advisor, 130, [10]);
    assert_eq!(advisor.loss_events(), 1);
    assert_eq!(advisor.receiver.loss_intervals().next().map(|open| open.loss_length), Some(1), "9 alone");
    // It was only late, and another one really is lost.
    report(&mut advisor, 140, [9, 11]);
    assert_eq!((advisor.loss_events(), advisor.sender().loss_event_rate().get()), (0, 0.0));
    assert_eq!(advisor.on_lost(9), Taken::Duplicate, "it has come");
    assert_eq!((advisor.on_lost(12), advisor.on_acked(acked(12))), (Taken::New, Taken::New));
    advisor.on_report(at(150), Hold::Unknown);
    assert_eq!(advisor.loss_events(), 0, "lost and found within one report");
    // With nothing acknowledged in the same report, it counts with the next one.
    advisor.on_lost(13);
    advisor.on_report(at(160), Hold::Unknown);
    assert_eq!(advisor.loss_events(), 0);
    report(&mut advisor, 170, [14]);
    assert_eq!(advisor.loss_events(), 1);
}

/// Every fiftieth packet is declared lost, every second one is never acknowledged: p is 1/25 of the
/// acknowledged ones.
#[test]
fn losses_told_give_their_rate() {
    let mut advisor = told::<64>(0);
    for id in 1..=20_000u64 {
        advisor.on_sent(at(20 * id), id, SIZE);
        if id > 10 && id % 2 == 0 {
            match (id - 10) % 50 {
                0 => assert_eq!(advisor.on_lost(id - 10), Taken::New),
                _ => assert_eq!(advisor.on_acked(acked(id - 10)), Taken::New),
            }
            advisor.on_report(at(20 * id), Hold::RoundTrip(MS(15)));
        }
    }
    assert!(
        (advisor.loss_event_rate().get() * 25.0 - 1.0).abs() < 0.02,
        "{}",
        advisor.loss_event_rate().get()
    );
    assert_eq!(advisor.rtt(), Some(MS(15)));
}

/// The loss of a packet that has fallen out of the record counts.
#[test]
fn a_forgotten_loss_is_a_loss() {
    let mut advisor = told::<4>(10);
    assert_eq!((advisor.on_lost(2), advisor.on_acked(acked(10))), (Taken::Unknown, Taken::New));
    advisor.on_report(at(150), Hold::Unknown);
    assert_eq!(advisor.loss_events(), 1);
}

/// The transport's round-trip time is the sample, shorter or longer than the packet is ago.
#[test]
fn the_transports_round_trip_time_is_taken() {
    for rtt in [30, 140, 148] {
        let mut advisor = sent(5);
        advisor.on_acked(acked(1));
        advisor.on_report(at(150), Hold::RoundTrip(MS(rtt)));
        assert_eq!(advisor.rtt(), Some(MS(rtt)), "packet 1 went 140 ms ago");
        advisor.on_acked(acked(2));
        advisor.on_report(at(160), Hold::RoundTrip(MS(rtt)));
        assert_eq!(advisor.rtt(), Some(MS(rtt)));
    }
}

/// The circuit breaker stops an Advisor that hears of no arrival, and `resume` lets it go on.
#[test]
fn a_stop_is_told_and_left() {
    let settings =
        Settings { circuit_breaker: CircuitBreaker::Always(BreakerLimits::default()), ..Settings::default() };
    let mut advisor = Advisor::new(&settings.validate().expect("sound"), MS(50));
    assert!(advisor.resume(at(0)).is_err(), "there was no stop");
    let mut now = at(0);
    for id in 0..2000 {
        now = at(20 * id);
        advisor.handle_timeout(now);
        if advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, id, SIZE);
        }
        // A report comes back for the first second.
        if (5..50).contains(&id) {
            advisor.on_acked(acked(id - 5));
            advisor.on_report(now, Hold::Unknown);
        }
    }
    let stopped = advisor.stopped().expect("nothing has come back for a long time");
    assert_eq!(stopped.trip, Trip::FeedbackTimeout);
    assert_eq!(advisor.next_send(now), SendDecision::Stopped(stopped.trip));
    assert!(advisor.allowed_rate().is_zero() && advisor.target_rate().is_zero());
    now = now.max(stopped.resume_at);
    assert_eq!(advisor.resume(now), Ok(()));
    assert_eq!((advisor.stopped(), advisor.next_send(now)), (None, SendDecision::Now));
    assert!(!advisor.target_rate().is_zero());
}
