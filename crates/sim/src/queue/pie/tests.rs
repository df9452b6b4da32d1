//! Tests of PIE (RFC 8033).

use tfrc_units::Ecn;

use super::*;
use crate::Seed;
use crate::queue::test_arrival::{at_ms, busy};

fn stream() -> Stream {
    Seed(1).stream("pie")
}

fn process(change: impl FnOnce(&mut Pie)) -> PieProcess {
    let mut pie = Pie::new(Limit::Unlimited);
    change(&mut pie);
    PieProcess::new(pie)
}

/// With the drop probability and the old delay given, and no burst to let through.
fn at_work(change: impl FnOnce(&mut Pie), probability: f64, old_delay: f64) -> PieProcess {
    PieProcess { probability, old_delay, burst_left: Duration::ZERO, ..process(change) }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

#[test]
fn one_update_by_hand() {
    // Delay 35 ms after 25 ms: 0.125·(0.035 − 0.015) + 1.25·(0.035 − 0.025) = 0.015, scaled by the
    // probability.
    for (p, scale) in
        [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.2, 1.0)]
    {
        let mut pie = at_work(|_| {}, p, 0.025);
        pie.update(0.035);
        close(pie.probability, p + 0.015 / scale);
        close(pie.old_delay, 0.035);
    }
}

#[test]
fn steps_are_capped_when_asked() {
    // Delay 0.2 s after 0.1 s: 0.125·0.185 + 1.25·0.1 = 0.148125.
    let step = |step, p| {
        let mut pie = at_work(|c| c.step = step, p, 0.1);
        pie.update(0.2);
        pie.probability - p
    };
    close(step(StepLimit::Uncapped, 0.1), 0.148_125);
    close(step(StepLimit::Capped, 0.1), 0.02);
    close(step(StepLimit::Capped, 0.09), 0.148_125 / 2.0);
}

#[test]
fn an_empty_queue_decays_the_probability() {
    let mut pie = at_work(|_| {}, 0.5, 0.0);
    pie.update(0.0);
    close(pie.probability, (0.5 - 0.125 * 0.015) * 0.98);
    let mut pie = at_work(|_| {}, 0.0, 0.0);
    pie.update(0.0);
    close(pie.probability, 0.0);
}

#[test]
fn updates_are_made_up_for_at_their_times() {
    // A line free at 100 ms and no arrivals: the delays at 15, 30, 45 … ms are 85, 70, 55 … ms.
    let mut lazy = at_work(|_| {}, 0.3, 0.1);
    let mut plain = at_work(|_| {}, 0.3, 0.1);
    lazy.settle(at_ms(1000), at_ms(100));
    for i in 1..=66_u64 {
        plain.update(at_ms(100).saturating_since(at_ms(15 * i)).as_secs_f64());
    }
    close(lazy.probability, plain.probability);
    assert_eq!(lazy.next_update, at_ms(67 * 15));
    // A long silence costs no more than the time to come to rest, and ends at the right phase.
    lazy.settle(at_ms(15 * 1_000_000_000), at_ms(100));
    close(lazy.probability, 0.0);
    assert_eq!(lazy.next_update, at_ms(15 * 1_000_000_001));
}

#[test]
fn a_burst_passes_unharmed() {
    let mut pie = process(|_| {});
    pie.probability = 1.0;
    let mut stream = stream();
    let mut verdict = |ms| {
        let verdict = pie.arrive(&busy(at_ms(ms), 100), &mut stream);
        pie.probability = 1.0;
        verdict
    };
    // MAX_BURST is 150 ms, ten updates: the tenth is at 150 ms.
    assert_eq!(verdict(0), QueueVerdict::Pass);
    assert_eq!(verdict(149), QueueVerdict::Pass);
    assert_eq!(verdict(150), QueueVerdict::Drop(DropCause::Early));
}

#[test]
fn work_conserving() {
    let drops = |p, old_delay, packets| {
        let mut pie = at_work(|_| {}, p, old_delay);
        let mut stream = stream();
        (0..1000).filter(|_| pie.arrive(&busy(at_ms(1), packets), &mut stream) != QueueVerdict::Pass).count()
    };
    assert_eq!(drops(0.19, 0.007, 20), 0); // low delay
    assert!(drops(0.2, 0.007, 20) > 100); // but not at a high probability
    assert_eq!(drops(1.0, 0.1, 2), 0); // two typical packets
    assert_eq!(drops(1.0, 0.1, 3), 1000);
}

#[test]
fn drops_at_the_probability() {
    let mut pie = at_work(|_| {}, 0.05, 0.02);
    let mut stream = stream();
    let drops =
        (0..100_000).filter(|_| pie.arrive(&busy(at_ms(1), 20), &mut stream) != QueueVerdict::Pass).count();
    assert!((4655..=5345).contains(&drops), "{drops}"); // five standard deviations of 69
}

#[test]
fn bounded_randomness() {
    let mut pie = at_work(|c| c.randomness = Randomness::Bounded, 0.05, 0.02);
    let mut stream = stream();
    let mut gaps = Vec::new();
    let mut gap = 0;
    while gaps.len() < 3000 {
        gap += 1;
        if pie.arrive(&busy(at_ms(1), 20), &mut stream) != QueueVerdict::Pass {
            gaps.push(gap);
            gap = 0;
        }
    }
    // None before 0.85/0.05 = 17, for certain at 8.5/0.05 = 170 (one more for rounding).
    assert!(gaps.iter().all(|n| (17..=171).contains(n)), "{:?}", (gaps.iter().min(), gaps.iter().max()));
    let mean = f64::from(gaps.iter().sum::<u32>()) / 3000.0;
    // 16 passes, then geometric with mean 20: five standard errors of 19.5/√3000.
    assert!((mean - 36.0).abs() < 1.8, "mean {mean}");
}

#[test]
fn marks_below_the_threshold() {
    let verdict = |p| {
        let below = Marking::Below(Probability::saturating(0.1));
        let mut pie = at_work(|c| c.marking = below, p, 0.02);
        let mut stream = stream();
        let arrival = Arrival { ecn: Ecn::Ect0, ..busy(at_ms(1), 20) };
        (0..1000).map(|_| pie.arrive(&arrival, &mut stream)).find(|v| *v != QueueVerdict::Pass)
    };
    assert_eq!(verdict(0.09), Some(QueueVerdict::Mark));
    assert_eq!(verdict(0.11), Some(QueueVerdict::Drop(DropCause::Early)));
}

#[test]
fn active_from_a_third_full_until_calm() {
    let mut pie = process(|c| {
        c.limit = Limit::Packets(60);
        c.activation = Activation::ThirdFull;
    });
    let mut stream = stream();
    pie.arrive(&busy(at_ms(1), 19), &mut stream);
    assert_eq!(pie.active, Working::No);
    pie.arrive(&busy(at_ms(2), 20), &mut stream);
    assert_eq!(
        (pie.active, pie.next_update, pie.burst_left),
        (Working::Yes, at_ms(17), Duration::from_millis(150))
    );
    // No probability, no delay now nor at the last update: off.
    pie.old_delay = 0.0;
    pie.arrive(&busy(at_ms(3), 0), &mut stream);
    assert_eq!(pie.active, Working::No);
}

#[test]
fn a_full_queue_drops() {
    let mut pie = process(|c| c.limit = Limit::Packets(3));
    assert_eq!(pie.arrive(&busy(at_ms(1), 2), &mut stream()), QueueVerdict::Pass);
    assert_eq!(pie.arrive(&busy(at_ms(1), 3), &mut stream()), QueueVerdict::Drop(DropCause::Queue));
}
