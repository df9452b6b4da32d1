//! A path that becomes longer, without a queue: R, and the rate under a bound on the queueing
//! delay, by reports at once and by reports each 100 ms.

use super::*;
use crate::config::QueueDelay;
use std::collections::VecDeque;
use std::vec::Vec;
use tfrc_testkit::at;

const MS: fn(u64) -> Duration = Duration::from_millis;
const SIZE: u32 = 1200;
/// Bytes per second of the application.
const CAP: f64 = 500_000.0;

/// Mbit/s in each second, and R in milliseconds at its end. At 30 s the way there becomes longer
/// by `there` and the way back by `back` milliseconds than the 20 ms that each takes.
fn run(there: u64, back: u64, bound: QueueDelay, every: u64) -> Vec<(f64, u64)> {
    let settings = Settings {
        max_queue_delay: bound,
        cap: RateCap::AtMost(Rate::from_bytes_per_sec(CAP)),
        ..Settings::default()
    };
    let mut advisor = Advisor::<8192>::with_capacity(&settings.validate().expect("sound"), MS(every));
    let (mut ahead, mut held) = (VecDeque::<(u64, Instant)>::new(), Vec::new());
    let mut reports = VecDeque::<(Instant, Vec<(u64, Instant)>)>::new();
    let (mut id, mut out, mut sent, mut latest) = (0, Vec::new(), 0_u32, Instant::ZERO);
    for step in 1..=50_000_u64 {
        let now = at(step);
        let more = |ms| MS(if step < 30_000 { 20 } else { 20 + ms });
        while let Some(packet) = ahead.pop_front_if(|(_, arrives)| *arrives <= now) {
            held.push(packet);
        }
        if !held.is_empty() && (every == 0 || step.is_multiple_of(every)) {
            reports.push_back((now + more(back), std::mem::take(&mut held)));
        }
        while let Some((_, report)) = reports.pop_front_if(|(comes, _)| *comes <= now) {
            for (id, arrived) in report {
                let arrived_at = (every > 0).then_some(arrived);
                advisor.on_acked(Ack { id, arrived_at, ecn: Ecn::NotEct });
            }
            advisor.on_report(now, if every > 0 { Hold::Unknown } else { Hold::Known(Duration::ZERO) });
        }
        advisor.handle_timeout(now);
        while advisor.next_send(now) == SendDecision::Now {
            advisor.on_sent(now, id, SIZE);
            latest = latest.max(now + more(there));
            ahead.push_back((id, latest));
            (id, sent) = (id + 1, sent + SIZE);
        }
        if step.is_multiple_of(1000) {
            let rtt = advisor.rtt().unwrap_or(Duration::ZERO).as_nanos() / 1_000_000;
            out.push((f64::from(std::mem::take(&mut sent)) * 8e-6, rtt));
        }
    }
    assert!(advisor.competed(at(50_000)).is_zero(), "nobody else is there");
    out
}

/// The bound costs no second below 2 of 4 Mbit/s, and little from the eighth second on, for the
/// drainings that make the new length certain.
#[test]
fn a_longer_path_costs_a_second_under_the_bound() {
    for every in [0, 100] {
        for (there, back) in [(30, 30), (60, 0), (0, 60), (20, 20), (45, 45)] {
            let seconds = run(there, back, QueueDelay::AtMost(MS(80)), every);
            let rates: Vec<f64> = seconds.iter().map(|(rate, _)| *rate).collect();
            let (_, after) = rates.split_at(30);
            assert!(after.iter().all(|rate| *rate >= 2.0), "{every} {there} {back}: {rates:?}");
            assert!(after.iter().skip(7).all(|rate| *rate >= 3.2), "{every} {there} {back}: {rates:?}");
        }
    }
}

/// With reports each 100 ms, of which nobody knows how long a packet was held, R is that of the
/// path within four seconds, whichever way has become longer.
#[test]
fn a_longer_way_back_is_seen_by_the_reports_that_took_it() {
    for (there, back) in [(60, 0), (0, 60), (30, 30), (0, 150)] {
        let seconds = run(there, back, QueueDelay::Unlimited, 100);
        let path = 40 + there + back;
        let reads: Vec<u64> = seconds.iter().map(|(_, rtt)| *rtt).collect();
        let (before, after) = reads.split_at(30);
        assert!(before.iter().skip(5).all(|rtt| *rtt <= 42), "{reads:?}");
        assert!(after.iter().skip(5).all(|rtt| rtt.abs_diff(path) <= path / 10), "{there} {back}: {reads:?}");
    }
}
