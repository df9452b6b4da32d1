//! The estimator over a path in virtual time.

use super::*;

const FIRST: Rate = Rate::from_bits_per_sec(350e3);

fn limits() -> Limits {
    Limits {
        profile: Profile::Rfc5348,
        least: Rate::from_bits_per_sec(1e3),
        most: Rate::from_bits_per_sec(20e6),
        first: FIRST,
        queue_delay: QueueDelay::Unlimited,
    }
}

fn at(ms: f64) -> Instant {
    // Not at zero, as no clock is.
    Instant::ZERO + Duration::from_secs(1000) + Duration::from_secs_f64(ms / 1e3)
}

/// Runs a greedy sender for 30 s over a path without a bottleneck that loses each `period`-th
/// packet, with feedback every 50 ms; the mean rate of the last 20 s, and R in ms.
fn run(round_trip_ms: f64, period: Option<u32>) -> (f64, f64) {
    let mut estimator = Estimator::new(limits()).expect("sound");
    let (mut sent, mut seqnum, mut next) = (Vec::new(), 65_000_u16, 0.0);
    let (mut sum, mut feedbacks) = (0.0, 0.0);
    for feedback in 1..600 {
        let now = f64::from(feedback) * 50.0;
        while next < now {
            estimator.on_departure(at(next));
            sent.push((next, seqnum));
            seqnum = seqnum.wrapping_add(1);
            next += estimator.rate().time_for(1200.0).as_secs_f64() * 1e3;
        }
        // Feedback that comes now covers all that left a round trip ago.
        let covered = sent.iter().take_while(|(left, _)| left + round_trip_ms <= now).count();
        let reports: Vec<PacketReport> = sent
            .drain(..covered)
            .map(|(left, seqnum)| PacketReport {
                seqnum,
                departure: at(left),
                size: 1200,
                arrival: period
                    .is_none_or(|period| u32::from(seqnum) % period != 0)
                    .then(|| at(left + round_trip_ms / 2.0 + 77_000.0)),
            })
            .collect();
        estimator.on_reports(at(now), &reports);
        estimator.handle_timeout(at(now + 5.0));
        if now > 10_000.0 {
            sum += estimator.rate().bits_per_sec();
            feedbacks += 1.0;
        }
    }
    (sum / feedbacks, estimator.advisor.rtt().expect("reports came").as_secs_f64() * 1e3)
}

/// The round-trip time is that of the path, not the interval of feedback, and the rate that of the
/// equation of RFC 5348 §3.1 for it: computed by `tfrc equation`, 1200 bytes, p = 1 %.
#[test]
fn the_rate_is_the_equations_although_departures_are_told_late() {
    for (round_trip_ms, bits_per_sec) in [(50.0, 2.157e6), (200.0, 0.539e6)] {
        let (rate, rtt) = run(round_trip_ms, Some(100));
        assert!((round_trip_ms..round_trip_ms + 51.0).contains(&rtt), "{rtt} ms");
        let expected = bits_per_sec * round_trip_ms / rtt;
        assert!((0.8..1.25).contains(&(rate / expected)), "{rate} at {rtt} ms, not {expected}");
    }
}

#[test]
fn without_losses_the_rate_grows_to_the_cap() {
    let (rate, _) = run(50.0, None);
    assert!((19.9e6..=20e6).contains(&rate), "{rate}");
}

#[test]
fn the_first_rate_is_halved_until_feedback_comes() {
    let mut estimator = Estimator::new(limits()).expect("sound");
    assert_eq!((estimator.rate(), estimator.poll_timeout()), (FIRST, None));
    estimator.on_departure(at(0.0));
    assert_eq!(estimator.poll_timeout(), Some(at(2000.0)));
    estimator.handle_timeout(at(1999.0));
    assert_eq!(estimator.rate(), FIRST);
    estimator.handle_timeout(at(2000.0));
    assert!((estimator.rate().bits_per_sec() - 175e3).abs() < 1.0);
    let arrival = Some(at(0.0));
    let report = PacketReport { seqnum: 1, departure: at(2000.0), size: 1200, arrival };
    estimator.on_reports(at(2040.0), &[report]);
    assert_eq!(estimator.poll_timeout(), Some(at(2045.0)));
    estimator.handle_timeout(at(2045.0));
    // Four packets of 1200 bytes less: 4380 bytes in a round-trip time (RFC 5348 §4.2).
    let rate = estimator.rate().bits_per_sec();
    assert!((0.8..1.25).contains(&(rate / (4380.0 * 8.0 / 0.04))), "{rate}");
}

/// Five feedback packets of one packet each, held back and then sent together.
#[test]
fn feedback_that_comes_together_is_one_report() {
    let mut estimator = Estimator::new(limits()).expect("sound");
    for number in 0..5 {
        let departure = at(f64::from(number) * 40.0);
        let arrival = Some(at(f64::from(number) * 40.0 + 20.0));
        let report = PacketReport { seqnum: number, departure, size: 1200, arrival };
        estimator.on_reports(at(200.0 + f64::from(number) / 10.0), &[report]);
    }
    assert_eq!(estimator.rate(), FIRST, "no effect yet");
    estimator.handle_timeout(at(205.0));
    // The newest one left at 160 ms.
    let rtt = estimator.advisor.rtt().expect("reports came").as_secs_f64();
    assert!((0.040..0.0405).contains(&rtt), "{rtt}");
}

#[test]
fn limits_change_while_it_runs() {
    let mut estimator = Estimator::new(limits()).expect("sound");
    let [low, high] = [500e3, 600e3].map(Rate::from_bits_per_sec);
    estimator.set_limits(low, high).expect("sound");
    assert_eq!(estimator.rate(), low);
    assert!(estimator.set_limits(low, Rate::ZERO).is_err());
    assert!(Estimator::new(Limits { most: Rate::ZERO, ..limits() }).is_err());
}

#[test]
fn numbers_do_not_wrap() {
    let mut numbers = Numbers::default();
    let unwrapped = [65_534, 65_535, 0, 65_533, 1].map(|seqnum| numbers.unwrap(seqnum));
    assert_eq!(unwrapped, [131_070, 131_071, 131_072, 131_069, 131_073]);
}
