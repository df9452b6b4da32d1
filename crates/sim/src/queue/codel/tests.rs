//! The controller on a line that takes a packet each millisecond, with the delay under the test's
//! control.

use super::*;
use crate::engine::arena::Arena;

fn at_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn slot() -> Slot {
    Arena::with_room(0).put(()).expect("an empty arena has room")
}

/// Serves one packet per millisecond over `range`, each of which has waited `delay_us`, always with
/// others behind it. Gives the times in microseconds at which packets were dropped or marked.
fn run(hold: &mut Hold, range: core::ops::Range<u64>, delay_us: u64, capable: bool) -> Vec<u64> {
    let mut struck = Vec::new();
    for ms in range {
        let now = at_us(ms * 1000);
        let arrived = Instant::from_nanos(now.as_nanos() - delay_us * 1000);
        hold.packets.clear();
        hold.bytes = 0;
        for _ in 0..10 {
            hold.push(Held { packet: slot(), serial: 0, size: 1000, cost: 1000, arrived, capable });
        }
        let next = hold.next(now);
        struck.extend(hold.dropped.drain(..).map(|_| ms * 1000));
        if let Some(Next::Marked(_)) = next {
            struck.push(ms * 1000);
        }
    }
    struck
}

#[test]
fn the_control_law() {
    let mut hold = Hold::new(CoDel::new(Limit::Unlimited));
    assert_eq!(run(&mut hold, 1000..2000, 4999, false), [0; 0]); // below the target
    // Above from 2000 ms on: the first drop 100 ms later, then after 100 ms / √1, √2, √3, … on an
    // ideal clock; the line asks each millisecond, so each drop comes at the next whole one.
    let struck = run(&mut hold, 2000..2600, 6000, false);
    let mut ideal = vec![2_100_000.0];
    let mut next = 2_100_000.0;
    for count in 1..=7_u32 {
        next += 100_000.0 / libm::sqrt(f64::from(count));
        ideal.push(next);
    }
    let ideal: Vec<u64> =
        ideal.iter().map(|t| tfrc_units::u64_from_f64(libm::ceil(t / 1000.0)) * 1000).collect();
    assert_eq!(struck.iter().take(8).copied().collect::<Vec<_>>(), ideal);
}

#[test]
fn one_short_delay_ends_it() {
    let mut hold = Hold::new(CoDel::new(Limit::Unlimited));
    run(&mut hold, 1000..1250, 6000, false);
    assert_eq!(hold.control.phase, Phase::Dropping);
    assert_eq!(run(&mut hold, 1250..1251, 4000, false), [0; 0]);
    assert_eq!(hold.control.phase, Phase::Waiting);
    // A full interval must pass anew.
    let struck = run(&mut hold, 1251..1352, 6000, false);
    assert_eq!(struck, [1_351_000]);
}

#[test]
fn a_soon_return_resumes_the_pace() {
    let mut hold = Hold::new(CoDel::new(Limit::Unlimited));
    run(&mut hold, 1000..1500, 6000, false);
    let count = hold.control.count;
    assert!(count > 4);
    run(&mut hold, 1500..1501, 0, false);
    run(&mut hold, 1501..1602, 6000, false);
    // Entering again, the count starts from what this cycle added to the last one's.
    assert_eq!((hold.control.count, hold.control.last_count), (count - 1, count - 1));
    // After a long calm it starts from 1.
    run(&mut hold, 1602..1603, 0, false);
    run(&mut hold, 9000..9101, 6000, false);
    assert_eq!(hold.control.count, 1);
}

#[test]
fn a_short_backlog_is_never_too_long() {
    let mut hold = Hold::new(CoDel { mtu: 9000, ..CoDel::new(Limit::Unlimited) });
    assert_eq!(run(&mut hold, 1000..2000, 6000, false), [0; 0]); // 9000 bytes wait behind each
    let mut hold = Hold::new(CoDel { mtu: 8999, ..CoDel::new(Limit::Unlimited) });
    assert!(!run(&mut hold, 1000..2000, 6000, false).is_empty());
}

#[test]
fn marks_at_the_times_it_would_drop() {
    let codel = CoDel { marking: Marking::On, ..CoDel::new(Limit::Unlimited) };
    let marked = run(&mut Hold::new(codel), 1000..2000, 6000, true);
    let dropped = run(&mut Hold::new(codel), 1000..2000, 6000, false);
    assert_eq!(marked, dropped);
    assert!(marked.len() > 10);
}

#[test]
fn a_large_backlog_may_lose_several_at_once() {
    // Where the pace asks for more than one drop between two services, they come together, until no
    // more than one packet waits behind the one that goes.
    let mut hold = Hold::new(CoDel::new(Limit::Unlimited));
    run(&mut hold, 1000..1101, 6000, false);
    hold.control.count = 1_000_000; // a drop each 0.1 ms
    hold.control.schedule(at_us(1_101_000));
    let struck = run(&mut hold, 1102..1103, 6000, false);
    assert_eq!(struck.len(), 8, "{struck:?}");
}

#[test]
fn an_empty_queue_has_nothing() {
    let mut hold = Hold::new(CoDel::new(Limit::Unlimited));
    assert_eq!(hold.next(at_us(5)), None);
}
