//! A video encoder whose rate is a part of the target rate, and whose packets leave picture by
//! picture, under a bound on the queueing delay.

use std::collections::VecDeque;

use tfrc::advisor::{Ack, Hold};
use tfrc::config::QueueDelay;
use tfrc::study::Profile;
use tfrc::{Advisor, SendDecision, Settings};
use tfrc_units::{Duration, Ecn, Instant, Rate};

const SIZE: u32 = 1200;
const MS: Duration = Duration::from_millis(1);
/// The time between two pictures, and the way there or back.
const PICTURE: u64 = 40;
const WAY: Duration = Duration::from_millis(20);
/// The queue takes half a second of the first rate.
const QUEUE: Duration = Duration::from_millis(500);

/// An encoder of 25 pictures a second on a path.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// Part of the estimate that the encoder makes.
    part: f64,
    /// The bound in milliseconds.
    bound: u64,
    /// Milliseconds between two reports.
    feedback: u64,
    /// Rates of the path in bit/s, up to 20 s, up to 40 s and from then on.
    rates: [f64; 3],
    /// The most that the encoder makes in the first 20 s, bit/s.
    most: f64,
    /// One packet in this many is lost; zero for none.
    lost_one_in: u64,
}

/// Parts of the path's rate used in 10 to 20 s, 30 to 40 s and 50 to 60 s, 95th percentiles of the
/// queueing delay in milliseconds there, and packets that the queue did not take.
#[derive(Debug, Default)]
struct Run {
    used: [f64; 3],
    p95: [u64; 3],
    dropped: u32,
}

/// A number, and the time of arrival.
type Packet = (u64, Instant);

fn run(case: Case) -> Run {
    let Case { part, bound, feedback, rates, most, lost_one_in } = case;
    let max_queue_delay = if bound == 0 { QueueDelay::Unlimited } else { QueueDelay::AtMost(MS * bound) };
    let settings = Settings { max_queue_delay, ..Settings::for_profile(Profile::Balanced) };
    let config = settings.validate().expect("sound");
    let mut advisor: Advisor = Advisor::new(&config, MS * feedback);
    let mut run = Run::default();
    let mut delays: [Vec<Duration>; 3] = Default::default();
    let (mut free, mut backlog, mut id) = (Instant::ZERO, 0.0, 0);
    let mut flying: VecDeque<Packet> = VecDeque::new();
    let mut reports: VecDeque<(Instant, Duration, Vec<Packet>)> = VecDeque::new();
    for ms in 0..60_000u64 {
        let now = Instant::ZERO + MS * ms;
        let phase = (ms / 20_000) as usize;
        let counts = ms % 20_000 >= 10_000;
        if advisor.poll_timeout().is_some_and(|wake| wake.at <= now) {
            advisor.handle_timeout(now);
        }
        if ms % PICTURE == 0 {
            let target = advisor.target_rate().bits_per_sec().clamp(1e5, 1e7) * part;
            let target = if phase == 0 { target.min(most) } else { target };
            backlog = f64::min(backlog + target / 8e3 * PICTURE as f64, 1e6);
        }
        while backlog >= f64::from(SIZE) && advisor.next_send(now) == SendDecision::Now {
            backlog -= f64::from(SIZE);
            id += 1;
            advisor.on_sent(now, id, SIZE);
            let waits = free.max(now).saturating_since(now);
            if lost_one_in > 0 && id % lost_one_in == 0 {
                continue;
            }
            if waits > QUEUE {
                run.dropped += 1;
                continue;
            }
            free = free.max(now) + Rate::from_bits_per_sec(rates[phase]).time_for(f64::from(SIZE));
            flying.push_back((id, free + WAY));
            if counts {
                delays[phase].push(waits);
                run.used[phase] += f64::from(SIZE) * 8.0 / 1e4 / rates[phase] * 1e3;
            }
        }
        if ms % feedback == 7 {
            let mut arrived = Vec::new();
            while let Some(packet) = flying.pop_front_if(|(_, at)| *at <= now) {
                arrived.push(packet);
            }
            if let Some((_, newest)) = arrived.last() {
                reports.push_back((now + WAY, now.saturating_since(*newest), arrived));
            }
        }
        while let Some((_, hold, arrived)) = reports.pop_front_if(|(at, ..)| *at <= now) {
            for (id, at) in arrived {
                advisor.on_acked(Ack { id, arrived_at: Some(at), ecn: Ecn::NotEct });
            }
            advisor.on_report(now, Hold::Known(hold));
        }
    }
    for (sample, p95) in delays.iter_mut().zip(&mut run.p95) {
        sample.sort_unstable();
        *p95 = sample.get(sample.len() * 19 / 20).map_or(0, |delay| delay.as_nanos() / 1_000_000);
    }
    run
}

/// The path halves at 20 s and has its rate again from 40 s on.
const HALVING: Case =
    Case { part: 1.0, bound: 100, feedback: 40, rates: [2e6, 1e6, 2e6], most: f64::INFINITY, lost_one_in: 0 };

/// From three quarters of the estimate on the encoder has seven tenths of the line, below in
/// proportion, and the queue is within the bound, also after a halving.
#[test]
fn an_encoder_that_makes_less_than_it_is_told_keeps_its_rate() {
    for bound in [50, 100] {
        for feedback in [20, 40, 100] {
            for part in [0.6, 0.7, 0.78, 0.8, 0.9, 1.0] {
                let run = run(Case { part, bound, feedback, ..HALVING });
                assert!(
                    run.used.iter().all(|used| *used >= 0.7 * f64::min(part / 0.75, 1.0)),
                    "{bound} {feedback} {part}: {run:?}"
                );
                assert!(run.p95.iter().all(|p95| *p95 <= bound), "{bound} {feedback} {part}: {run:?}");
                assert_eq!(run.dropped, 0, "{bound} {feedback} {part}");
            }
        }
    }
}

/// An encoder at 0.7 Mbit/s has its room when the path halves, and when it has a third of its rate;
/// then it makes what the path carries.
#[test]
fn a_path_that_narrows_below_what_is_offered_is_followed() {
    for narrow in [1e6, 6e5] {
        for feedback in [20, 40, 100] {
            let case = Case { most: 7e5, feedback, part: 0.8, rates: [2e6, narrow, 2e6], ..HALVING };
            let run = run(case);
            let found = format!("{narrow} {feedback}: {run:?}");
            assert!((0.33..0.36).contains(&run.used[0]) && run.used[1] >= 0.75, "{found}");
            assert!(run.p95.iter().all(|p95| *p95 <= 100) && run.dropped == 0, "{found}");
        }
    }
}

/// Loss that is not the queue's takes no more rate with the bound than without.
#[test]
fn an_encoder_on_a_lossy_path_has_what_it_has_without_the_bound() {
    for lost_one_in in [200, 50, 4] {
        for part in [0.7, 0.9] {
            let case = Case { lost_one_in, part, rates: [4e6; 3], ..HALVING };
            let [without, with] = [0, 100].map(|bound| run(Case { bound, ..case }));
            let found = format!("{lost_one_in} {part}: {without:?} {with:?}");
            assert!(
                with.used.iter().zip(without.used).all(|(with, without)| *with >= 0.8 * without),
                "{found}"
            );
        }
    }
}
