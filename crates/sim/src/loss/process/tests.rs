//! Tests of the loss models at work.

use super::*;
use crate::loss::LossPlace;
use crate::packet::{FlowId, Precedence};
use crate::{Address, NodeId};
use tfrc_units::saturating;

fn p(x: f64) -> Probability {
    Probability::saturating(x)
}

fn header(flow: u32, size: u32, ecn: Ecn) -> Header {
    let nowhere = Address { node: NodeId(0), port: 0 };
    Header {
        serial: 0,
        sent: Instant::ZERO,
        size,
        flow: FlowId(flow),
        src: nowhere,
        dst: nowhere,
        ecn,
        precedence: Precedence::Low,
    }
}

fn seconds(s: f64) -> Instant {
    Instant::ZERO + tfrc_units::Duration::from_secs_f64(s)
}

/// Which of `packets` packets of `size` bytes, one each 10 ms from 10 ms on, are hit.
fn hits(model: Loss, packets: u32, size: u32) -> Vec<bool> {
    let mut process = LossProcess::new(&model.into(), Seed(3), "test");
    let mut packet = header(0, size, Ecn::NotEct);
    (1..=packets)
        .map(|i| process.meet(Instant::from_nanos(u64::from(i) * 10_000_000), &mut packet) == Hit::Dropped)
        .collect()
}

fn losses(model: &Loss, packets: u32) -> Vec<bool> {
    hits(model.clone(), packets, 1000)
}

fn count(lost: &[bool]) -> f64 {
    f64::from(saturating::<u32>(lost.iter().filter(|x| **x).count()))
}

fn numbers(lost: &[bool]) -> Vec<usize> {
    (1..).zip(lost).filter_map(|(i, x)| x.then_some(i)).collect()
}

#[test]
fn bernoulli_rate_and_independence() {
    let lost = losses(&Loss::Bernoulli(p(0.05)), 200_000);
    // Five standard deviations of the binomial: sqrt(n p q) = 97.5.
    assert!((count(&lost) - 10_000.0).abs() < 490.0);
    // Pairs of consecutive losses: n p² = 500, standard deviation about 23.
    let pairs: Vec<bool> = lost.windows(2).map(|w| matches!(w, [true, true])).collect();
    assert!((count(&pairs) - 500.0).abs() < 120.0);
}

#[test]
fn certain_and_impossible_losses() {
    assert!(losses(&Loss::Bernoulli(Probability::ONE), 100).iter().all(|x| *x));
    assert!(losses(&Loss::Bernoulli(Probability::ZERO), 100).iter().all(|x| !*x));
    assert!(losses(&Loss::BernoulliPerByte(Probability::ONE), 100).iter().all(|x| *x));
    assert!(losses(&Loss::BernoulliPerByte(Probability::ZERO), 100).iter().all(|x| !*x));
    assert!(hits(Loss::BernoulliPerByte(Probability::ONE), 100, 0).iter().all(|x| !*x));
    assert!(losses(&Loss::None, 100).iter().all(|x| !*x));
}

#[test]
fn per_byte_rate_follows_the_size() {
    // 1 − 0.9999^1500 = 0.139295, 1 − 0.9999^40 = 0.003992. Five standard deviations: 775 and 141.
    let large = hits(Loss::BernoulliPerByte(p(1e-4)), 200_000, 1500);
    assert!((count(&large) - 27_859.0).abs() < 775.0);
    let small = hits(Loss::BernoulliPerByte(p(1e-4)), 200_000, 40);
    assert!((count(&small) - 798.4).abs() < 141.0);
}

#[test]
fn gilbert_rate_and_burst_length() {
    let model = Loss::GilbertElliott { to_bad: p(0.02), to_good: p(0.25), in_good: p(0.0), in_bad: p(1.0) };
    let lost = losses(&model, 400_000);
    // Share of the bad state 0.02/0.27 = 0.0741; mean burst 1/0.25 = 4 packets (the chain's
    // stationary law).
    let rate = count(&lost) / 400_000.0;
    assert!((rate - 0.074_07).abs() < 0.003, "rate {rate}");
    let starts: Vec<bool> = lost.windows(2).map(|w| matches!(w, [false, true])).collect();
    let burst = count(&lost) / count(&starts);
    assert!((burst - 4.0).abs() < 0.15, "burst {burst}");
}

#[test]
fn gilbert_elliott_mixes_both_states() {
    let model = Loss::GilbertElliott { to_bad: p(0.1), to_good: p(0.3), in_good: p(0.01), in_bad: p(0.4) };
    let rate = count(&losses(&model, 400_000)) / 400_000.0;
    // 0.75 · 0.01 + 0.25 · 0.4 = 0.1075
    assert!((rate - 0.1075).abs() < 0.003, "rate {rate}");
}

#[test]
fn scripted_losses_are_the_numbers_given() {
    assert_eq!(numbers(&losses(&Loss::Scripted(vec![7, 1, 3, 3, 0]), 10)), [1, 3, 7]);
}

#[test]
fn scripted_times_take_the_next_packet_each() {
    // Packets come at 10, 20, 30 ms …: 15 ms takes the second, 30 ms the third; of two times before
    // 60 ms each takes one.
    let times = [0.055, 0.015, 0.030, 0.051].map(seconds).to_vec();
    assert_eq!(numbers(&losses(&Loss::ScriptedTimes(times), 10)), [2, 3, 6, 7]);
}

#[test]
fn periodic_phases_start_the_count_anew() {
    let every = |at, n| Period { at: seconds(at), every: NonZeroU64::new(n), first: None };
    // Every third from packet 2 (20 ms) on, every second from packet 9 (90 ms) on, none from packet
    // 13 (130 ms) on.
    let model = Loss::Periodic(vec![every(0.02, 3), every(0.09, 2), every(0.13, 0)]);
    assert_eq!(numbers(&losses(&model, 20)), [4, 7, 10, 12]);
}

#[test]
fn a_phase_may_name_its_first_loss() {
    let phase = Period { at: seconds(0.02), every: NonZeroU64::new(4), first: NonZeroU64::new(2) };
    assert_eq!(numbers(&losses(&Loss::Periodic(vec![phase]), 15)), [3, 7, 11, 15]);
}

#[test]
fn the_script_of_sigcomm_2000_figure_2() {
    // 1 % until 6 s, 10 % until 9 s, then 0.5 %: one packet each 10 ms.
    let every = |at, n| Period { at: seconds(at), every: NonZeroU64::new(n), first: None };
    let lost = losses(&Loss::Periodic(vec![every(0.0, 100), every(6.0, 10), every(9.0, 200)]), 1600);
    let between = |a: usize, b: usize| numbers(&lost).iter().filter(|n| (a..b).contains(n)).count();
    assert_eq!((between(1, 600), between(600, 900), between(900, 1600)), (5, 30, 3));
}

#[test]
fn time_varying_steps() {
    let step = |at, x| Step { at: seconds(at), p: p(x) };
    let model = Loss::TimeVarying(vec![step(0.05, 1.0), step(0.08, 0.0), step(0.1, 1.0), step(0.11, 0.0)]);
    assert_eq!(numbers(&losses(&model, 20)), [5, 6, 7, 10]);
    let half = losses(&Loss::TimeVarying(vec![step(0.0, 0.1), step(1000.0, 0.3)]), 200_000);
    let (early, late) = half.split_at(99_999);
    // Five standard deviations: 474 and 725.
    assert!((count(early) - 10_000.0).abs() < 475.0 && (count(late) - 30_000.0).abs() < 725.0);
}

#[test]
fn other_flows_are_neither_hit_nor_counted() {
    let rule = LossRule { flows: Flows::Only(vec![FlowId(7)]), ..Loss::Scripted(vec![2]).into() };
    let mut process = LossProcess::new(&rule, Seed(1), "test");
    let flows = [7, 1, 1, 7, 7];
    let hit = flows.map(|flow| process.meet(Instant::ZERO, &mut header(flow, 100, Ecn::NotEct)));
    assert_eq!(hit, [Hit::Missed, Hit::Missed, Hit::Missed, Hit::Dropped, Hit::Missed]);
}

#[test]
fn marks_what_is_capable_and_drops_the_rest() {
    let rule = LossRule {
        action: LossAction::Mark,
        place: LossPlace::AfterLine,
        ..Loss::Bernoulli(Probability::ONE).into()
    };
    let mut process = LossProcess::new(&rule, Seed(1), "test");
    let mut capable = header(0, 100, Ecn::Ect0);
    assert_eq!(process.meet(Instant::ZERO, &mut capable), Hit::Marked);
    assert_eq!(capable.ecn, Ecn::Ce);
    assert_eq!(process.meet(Instant::ZERO, &mut capable), Hit::Marked); // stays marked
    let mut other = header(0, 100, Ecn::NotEct);
    assert_eq!((process.meet(Instant::ZERO, &mut other), other.ecn), (Hit::Dropped, Ecn::NotEct));
}
