//! Tests of RIO, RED with one curve per drop precedence.

use super::*;
use crate::Seed;
use crate::queue::test_arrival::{at_ms, busy, idle};
use Precedence::{High, Low, Medium};

const IN: RioCurve = RioCurve { min: 20.0, max: 40.0, max_p: Probability::saturating(0.02) };
const OUT: RioCurve = RioCurve { min: 10.0, max: 20.0, max_p: Probability::saturating(0.1) };

fn rio(coupling: Coupling, weight: f64) -> RioProcess {
    RioProcess::new(Rio { weight, ..Rio::two(Limit::Packets(50), coupling, IN, OUT) })
}

/// Appends a packet to the queue.
fn push(rio: &mut RioProcess, precedence: Precedence, start_ms: u64) {
    rio.accepted(precedence, at_ms(start_ms));
}

fn meet(rio: &mut RioProcess, precedence: Precedence, waiting: u64, stream: &mut Stream) -> QueueVerdict {
    rio.arrive(&Arrival { precedence, ..busy(at_ms(1), waiting) }, stream)
}

fn averages(rio: &RioProcess) -> [f64; 3] {
    rio.tracks.map(|track| track.average)
}

#[test]
fn coupled_averages_count_lower_precedences_too() {
    let mut stream = Seed(1).stream("rio");
    let mut rio = rio(Coupling::Coupled, 1.0);
    for precedence in [Low, Medium, Low, High] {
        push(&mut rio, precedence, 100);
    }
    meet(&mut rio, Low, 4, &mut stream);
    assert_eq!(averages(&rio), [2.0, 3.0, 4.0]);
    // A packet of high precedence updates only its own.
    push(&mut rio, Medium, 101);
    meet(&mut rio, High, 5, &mut stream);
    assert_eq!(averages(&rio), [2.0, 3.0, 5.0]);
    // The first two have gone.
    meet(&mut rio, Low, 3, &mut stream);
    assert_eq!(averages(&rio), [1.0, 2.0, 3.0]);
}

#[test]
fn decoupled_averages_count_their_own() {
    let mut stream = Seed(1).stream("rio");
    let mut rio = rio(Coupling::Decoupled, 1.0);
    for precedence in [Low, Medium, Low, High] {
        push(&mut rio, precedence, 100);
    }
    for precedence in [Low, Medium, High] {
        meet(&mut rio, precedence, 4, &mut stream);
    }
    assert_eq!(averages(&rio), [2.0, 1.0, 1.0]);
}

#[test]
fn out_of_profile_goes_first() {
    let mut stream = Seed(1).stream("rio");
    let mut rio = rio(Coupling::Coupled, 1.0);
    for _ in 0..25 {
        push(&mut rio, Medium, 100);
    }
    // In profile sees an average of 0, out of profile 25, above its upper threshold 20.
    assert_eq!(meet(&mut rio, Low, 25, &mut stream), QueueVerdict::Pass);
    assert_eq!(meet(&mut rio, Medium, 25, &mut stream), QueueVerdict::Drop(DropCause::Early));
    assert_eq!(meet(&mut rio, High, 25, &mut stream), QueueVerdict::Drop(DropCause::Early));
    // A full queue takes neither.
    assert_eq!(meet(&mut rio, Low, 50, &mut stream), QueueVerdict::Drop(DropCause::Queue));
}

#[test]
fn the_curve_of_each_precedence() {
    // 15 packets: out of profile 0.1·(15 − 10)/10 = 0.05, in intervals uniform over 1 … 19.
    let mut stream = Seed(1).stream("rio");
    let mut rio = rio(Coupling::Coupled, 1.0);
    for _ in 0..15 {
        push(&mut rio, Low, 100);
    }
    let mut drops = 0;
    for _ in 0..42_000 {
        drops += u32::from(meet(&mut rio, Medium, 15, &mut stream) != QueueVerdict::Pass);
        assert_eq!(meet(&mut rio, Low, 15, &mut stream), QueueVerdict::Pass);
    }
    // 42,000 / 10 = 4200, standard deviation 5.48/10·√4200 = 36.
    assert!((4022..=4378).contains(&drops), "{drops}");
}

#[test]
fn idle_time_of_a_precedence() {
    let mut stream = Seed(1).stream("rio");
    let mut rio = rio(Coupling::Coupled, 0.5);
    push(&mut rio, Low, 10);
    push(&mut rio, Medium, 11);
    meet(&mut rio, Low, 2, &mut stream);
    assert_eq!(averages(&rio), [0.5, 1.0, 1.0]);
    // The packet in profile left at 10 ms; at 13 ms three packets of 1000 B could have passed. One
    // still waits.
    let arrival = Arrival { precedence: Low, ..busy(at_ms(13), 1) };
    rio.arrive(&arrival, &mut stream);
    assert_eq!(averages(&rio), [0.0625, 1.0, 1.0]);
    // A line idle since 14 ms, four packets ago; the last one left the queue a packet earlier.
    rio.restamp([at_ms(13)].into_iter());
    rio.arrive(&idle(at_ms(18), at_ms(14)), &mut stream);
    assert!(averages(&rio).iter().skip(1).all(|a| (a - 0.03125).abs() < 1e-12), "{:?}", averages(&rio));
}

#[test]
fn refuses_parameters_without_sense() {
    let good = Rio::two(Limit::Packets(50), Coupling::Coupled, IN, OUT);
    assert_eq!(good.fault(), None);
    assert!(Rio { weight: 0.0, ..good }.fault().is_some());
    assert!(Rio { mean_packet: 0, ..good }.fault().is_some());
    assert!(Rio { curves: [IN, RioCurve { max: 10.0, ..OUT }, OUT], ..good }.fault().is_some());
}
