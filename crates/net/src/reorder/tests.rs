//! Tests of putting datagrams in order.

use super::*;

const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn drain(order: &mut InOrder, ms: u64) -> Vec<u8> {
    std::iter::from_fn(|| order.pop(at(ms), RTT)).flatten().collect()
}

#[test]
fn in_order_goes_straight_through() {
    let mut order = InOrder::new(5);
    for n in 5..9u8 {
        order.push(at(0), u64::from(n), vec![n]);
        assert_eq!(drain(&mut order, 0), [n]);
    }
}

#[test]
fn a_swapped_pair_is_put_right() {
    let mut order = InOrder::new(0);
    order.push(at(0), 1, vec![1]);
    assert_eq!(drain(&mut order, 99), [0u8; 0]);
    assert_eq!(order.poll_timeout(RTT), Some(at(100)));
    order.push(at(99), 0, vec![0]);
    assert_eq!(drain(&mut order, 99), [0, 1]);
    assert_eq!(order.late(), 0);
}

#[test]
fn three_later_packets_or_a_round_trip_end_the_wait() {
    let mut order = InOrder::new(0);
    for n in 1..4u8 {
        order.push(at(0), u64::from(n), vec![n]);
    }
    assert_eq!(drain(&mut order, 0), [1, 2, 3]);
    order.push(at(10), 5, vec![5]);
    assert_eq!(drain(&mut order, 109), [0u8; 0]);
    assert_eq!(drain(&mut order, 110), [5]);
    order.push(at(111), 0, vec![0]);
    order.push(at(111), 4, vec![4]);
    assert_eq!((drain(&mut order, 500), order.late()), (vec![], 2));
}

#[test]
fn at_the_end_nothing_stays_behind() {
    let mut order = InOrder::new(0);
    order.push(at(0), 3, vec![3]);
    order.push(at(0), 7, vec![7]);
    assert_eq!((order.take(), order.take(), order.take()), (Some(vec![3]), Some(vec![7]), None));
}

/// A datagram that comes half a second late has its place, however many came behind it.
#[test]
fn who_is_patient_waits_for_what_is_far_behind() {
    for (least, in_order, late) in [(1000, vec![0, 1, 2, 3, 4, 5, 6], 0), (499, vec![1, 2, 3, 4, 5, 6], 1)] {
        let mut order = InOrder::new(0).patient(Duration::from_millis(least));
        for n in 1..6u8 {
            order.push(at(0), u64::from(n), vec![n]);
        }
        let mut out = drain(&mut order, 499);
        order.push(at(500), 0, vec![0]);
        order.push(at(500), 6, vec![6]);
        out.extend(drain(&mut order, 500));
        assert_eq!((out, order.late()), (in_order, late), "{least} ms");
    }
    let mut lost = InOrder::new(0).patient(Duration::from_millis(1000));
    lost.push(at(0), 1, vec![1]);
    assert_eq!(lost.poll_timeout(RTT), Some(at(1000)));
    assert_eq!(drain(&mut lost, 1000), [1]);
}

/// The output of a stream with some datagrams delayed and some lost.
struct ReorderOutcome {
    late: u64,
    /// Counts datagrams as late only after this many had been sent.
    late_after: u64,
    /// Longest time that a datagram was held back, in µs: in the second half, but for the last 50,
    /// of which fewer than three may follow a gap.
    held_us: u64,
}

/// 20 Mbit/s of 1316 bytes over a path of 40 ms: a datagram each 526 µs. `fate` says of each by how
/// many µs it comes later than the others, or that it is lost.
fn stream(count: u64, learning: u64, mut fate: impl FnMut(u64) -> Option<u64>) -> ReorderOutcome {
    const GAP_US: u64 = 526;
    const RTT_US: u64 = 40_000;
    let rtt = Duration::from_nanos(RTT_US * 1000);
    let mut arrivals: Vec<(u64, u64)> =
        (0..count).filter_map(|n| fate(n).map(|more| (n * GAP_US + RTT_US / 2 + more, n))).collect();
    arrivals.sort_unstable();
    let at_us = |us: u64| Instant::from_nanos(us * 1000);
    let mut order = InOrder::new(0);
    let came: BTreeMap<u64, u64> = arrivals.iter().map(|(at, n)| (*n, *at)).collect();
    let (mut outcome, mut last) = (ReorderOutcome { late: 0, late_after: 0, held_us: 0 }, None);
    for (i, (at, number)) in arrivals.iter().enumerate() {
        // Timers before the next arrival.
        let before = order.late();
        order.push(at_us(*at), *number, number.to_le_bytes().to_vec());
        outcome.late_after += (order.late() - before) * u64::from(*number >= learning);
        let until = arrivals.get(i + 1).map_or(u64::MAX, |(next, _)| *next);
        let mut now = *at;
        loop {
            while let Some(bytes) = order.pop(at_us(now), rtt) {
                let n = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
                assert!(last.is_none_or(|last| last < n), "{n} after {last:?}");
                last = Some(n);
                if (count / 2..count - 50).contains(&n) {
                    outcome.held_us = outcome.held_us.max(now - came[&n]);
                }
            }
            match order.poll_timeout(rtt).map(|at| at.as_nanos().div_ceil(1000)) {
                Some(at) if at < until => now = at,
                _ => break,
            }
        }
    }
    outcome.late = order.late();
    outcome
}

/// Numbers without a pattern, below 1000.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 1000
    }
}

/// One datagram in twenty comes 30 ms late. Those on their way when the first comes are given up,
/// in the mean three; the other 72 of 1520 are put in their places, by waits of at most 37.5 ms.
#[test]
fn the_wait_adapts_to_reordering() {
    for seed in 1..=20 {
        let mut next = noise(seed);
        let outcome = stream(1520, 200, |_| Some(if next() < 50 { 30_000 } else { 0 }));
        assert_eq!(outcome.late_after, 0, "seed {seed}");
        assert!((1..=9).contains(&outcome.late), "{} late, seed {seed}", outcome.late);
        assert!((25_000..=37_500).contains(&outcome.held_us), "{} µs, seed {seed}", outcome.held_us);
    }
}

/// Reordering that varies, with losses: few are late, and no datagram waits longer than the
/// longest reordering and a quarter more.
#[test]
fn losses_beside_reordering_cost_a_bounded_wait() {
    for seed in 1..=20 {
        let mut next = noise(seed);
        let outcome = stream(4000, 1000, |_| match next() {
            0..50 => Some(20 * next()),
            50..100 => None,
            _ => Some(0),
        });
        assert!(outcome.late_after <= 2, "{} late, seed {seed}", outcome.late_after);
        assert!((15_000..=25_000).contains(&outcome.held_us), "{} µs, seed {seed}", outcome.held_us);
    }
}

/// Plain loss: as before, three later packets end the wait.
#[test]
fn plain_loss_costs_three_packets() {
    for seed in 1..=20 {
        let mut next = noise(seed);
        let outcome = stream(4000, 0, |_| (next() >= 20).then_some(0));
        assert_eq!(outcome.late, 0);
        // Three arrivals, losses among them.
        assert!((2 * 526..=6 * 526).contains(&outcome.held_us), "{} µs, seed {seed}", outcome.held_us);
    }
}

/// The end of reordering is noticed within 2048 numbers.
#[test]
fn reordering_that_has_ended_is_forgotten() {
    let mut next = noise(7);
    let outcome = stream(8000, 0, |n| match next() {
        0..20 => None,
        20..60 if n < 1500 => Some(30_000),
        _ => Some(0),
    });
    assert!(outcome.late > 0);
    assert!((2 * 526..=6 * 526).contains(&outcome.held_us), "{} µs", outcome.held_us);
}

/// However late something comes, nobody waits for more than four round-trip times or 4096
/// datagrams.
#[test]
fn the_wait_is_bounded() {
    let mut order = InOrder::new(0);
    order.push(at(0), 1, vec![1]);
    assert_eq!(drain(&mut order, 100), [1]);
    order.push(at(100_000), 0, vec![0]);
    assert_eq!(order.late(), 1);
    order.push(at(100_000), 3, vec![3]);
    assert_eq!(order.poll_timeout(RTT), Some(at(100_400)));
    assert_eq!(drain(&mut order, 100_399), [0u8; 0]);
    for n in 0..5000u64 {
        order.push(at(100_001), 4 + n, Vec::new());
        while order.pop(at(100_001), RTT).is_some() {}
        assert!(order.held.len() < MOST_HELD);
    }
    for n in 0..1000u64 {
        order.push(at(100_002), 10_000 + 2 * n, Vec::new());
    }
    assert_eq!(order.gaps.len(), MOST_GAPS);
}
