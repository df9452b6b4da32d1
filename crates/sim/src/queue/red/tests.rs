//! Against the paper's formulas worked out by hand, one step at a time, and against the intervals
//! they promise.

use tfrc_units::{Ecn, Instant, saturating};

use super::*;
use crate::queue::test_arrival::{at_ms, busy, idle};
use crate::queue::{Arrival, QueueVerdict};
use crate::trace::DropCause;
use crate::{Seed, Stream};

const RATE: f64 = 8e6;

fn process(red: Red) -> RedProcess {
    RedProcess::new(red, Rate::from_bits_per_sec(RATE), Duration::from_millis(10))
}

fn stream() -> Stream {
    Seed(5).stream("red")
}

fn close(a: Option<f64>, b: f64) {
    assert!(a.is_some_and(|a| (a - b).abs() < 1e-9), "{a:?} is not {b}");
}

/// The average follows the queue at once, so that a queue of `packets` holds it there.
fn instant_red(change: impl FnOnce(&mut Red)) -> RedProcess {
    let mut red = Red { weight: Weight::Fixed(1.0), mean_packet: 1000, ..Red::new(Limit::Unlimited) };
    change(&mut red);
    process(red)
}

/// Returns the intervals between drops in packets, the dropped one included, while `packets` wait
/// and hold the average there.
fn intervals(process: &mut RedProcess, packets: u64, size: u32, drops: usize) -> Vec<u64> {
    let (mut stream, mut list, mut passed) = (stream(), Vec::new(), 0);
    while list.len() < drops {
        passed += 1;
        let arrival = Arrival { size, ..busy(at_ms(1), packets) };
        if process.arrive(&arrival, &mut stream) != QueueVerdict::Pass {
            list.push(passed);
            passed = 0;
        }
    }
    list
}

fn mean(list: &[u64]) -> f64 {
    tfrc_units::f64_from_u64(list.iter().sum()) / f64::from(saturating::<u32>(list.len()))
}

#[test]
fn the_average_by_hand() {
    let mut red = process(Red { weight: Weight::Fixed(0.25), ..Red::new(Limit::Unlimited) });
    let expected = [(4, 1.0), (4, 1.75), (8, 3.3125), (0, 2.484_375)];
    for (packets, average) in expected {
        red.arrive(&busy(at_ms(1), packets), &mut stream());
        close(red.state().average, average);
    }
    // In bytes the same queue is a thousand times as long.
    let mut red =
        process(Red { weight: Weight::Fixed(0.25), measure: Measure::Bytes, ..Red::new(Limit::Unlimited) });
    red.arrive(&busy(at_ms(1), 4), &mut stream());
    close(red.state().average, 1000.0);
}

#[test]
fn idle_time_decays_the_average() {
    let mut red = process(Red {
        weight: Weight::Fixed(0.25),
        thresholds: Thresholds::Fixed { min: 50.0, max: 150.0 },
        ..Red::new(Limit::Unlimited)
    });
    red.arrive(&busy(at_ms(1), 16), &mut stream());
    close(red.state().average, 4.0);
    // 500 bytes take 0.5 ms: 1.5 ms idle are three packets.
    red.arrive(&idle(Instant::from_nanos(3_500_000), at_ms(2)), &mut stream());
    close(red.state().average, 4.0 * 0.421_875);
    // No time at all changes nothing.
    red.arrive(&idle(at_ms(5), at_ms(5)), &mut stream());
    close(red.state().average, 4.0 * 0.421_875);
}

#[test]
fn idle_time_in_whole_packets_counts_the_arrival_too() {
    let mut red = process(Red {
        weight: Weight::Fixed(0.25),
        thresholds: Thresholds::Fixed { min: 50.0, max: 150.0 },
        idle_decay: IdleDecay::WholePackets,
        ..Red::new(Limit::Unlimited)
    });
    red.arrive(&busy(at_ms(1), 16), &mut stream());
    // 500 bytes take 0.5 ms: 0.9 ms idle are one packet and a part that is cut; with the arrival
    // two.
    red.arrive(&idle(Instant::from_nanos(2_900_000), at_ms(2)), &mut stream());
    close(red.state().average, 4.0 * 0.5625);
    red.arrive(&idle(at_ms(5), at_ms(5)), &mut stream());
    close(red.state().average, 4.0 * 0.421_875);
}

/// Every arrival of a queue of ns-2 that fills and empties; `testdata/ns2-queues/average.tcl` made
/// it.
#[test]
fn the_average_is_that_of_ns2_packet_by_packet() {
    let red = Red { measure: Measure::Packets, mode: DropMode::Packet, ..Red::ns2(Limit::Packets(100)) };
    let mut red = RedProcess::new(red, Rate::from_bits_per_sec(3e6), Duration::from_millis(10));
    let trace = include_str!("../../../../../testdata/ns2-queues/average.csv");
    let mut idle_times = 0;
    for line in trace.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let fields: Vec<&str> = line.split(',').collect();
        let [now, waiting, since, average] = fields[..] else { panic!("{line}") };
        let at = |micros: &str| Instant::from_nanos(micros.parse::<u64>().expect("microseconds") * 1000);
        let mut arrival = busy(at(now), waiting.parse().expect("packets"));
        if !since.is_empty() {
            arrival = idle(at(now), at(since));
            idle_times += 1;
        }
        red.arrive(&Arrival { ns_per_byte: 8e9 / 3e6, ..arrival }, &mut stream());
        let theirs: f64 = average.parse().expect("an average");
        // The trace has six digits.
        let ours = red.state().average.expect("an average");
        assert!((ours - theirs).abs() <= 1e-4 * theirs + 1e-6, "at {now} us: {ours}, ns-2 {theirs}");
    }
    assert!(idle_times >= 10, "{idle_times} times idle");
}

/// In ns-2.35's trace (`testdata/ns2-queues/average.tcl 60`) the law with this count expects 5629
/// drops and 5621 happen; with a count of zero for the first packet it expects 5467.
#[test]
fn waiting_counts_the_first_packet_above_the_threshold() {
    let mut red = instant_red(|red| {
        red.spacing = Spacing::Wait;
        red.max_p = Probability::saturating(1.0);
    });
    let mut stream = stream();
    let mut verdicts = |packets| red.arrive(&busy(at_ms(1), packets), &mut stream);
    // p = 0.7: with a count of two, 0.7 / (2 − 1.4) is certain. It begins anew each time the queue
    // has been short.
    for _ in 0..3 {
        assert_eq!(
            [4, 12, 12].map(&mut verdicts),
            [QueueVerdict::Pass, QueueVerdict::Pass, QueueVerdict::Drop(DropCause::Early)]
        );
    }
}

#[test]
fn probability_by_the_average() {
    // Thresholds 5 and 15, max_p 0.1: halfway 0.05; gentle: 0.1 + 0.9·(18 − 15)/15 = 0.28 at 18, 1
    // at 30.
    for (packets, p) in [(4, 0.0), (5, 0.0), (10, 0.05), (15, 0.1), (18, 0.28), (30, 1.0), (99, 1.0)] {
        let mut red = instant_red(|_| {});
        red.arrive(&busy(at_ms(1), packets), &mut stream());
        close(red.state().probability, p);
    }
    let mut red = instant_red(|r| r.above_max = AboveMax::Drop);
    assert_eq!(red.arrive(&busy(at_ms(1), 15), &mut stream()), QueueVerdict::Drop(DropCause::Early));
    close(red.state().probability, 1.0);
}

#[test]
fn thresholds_in_bytes_are_packets_of_mean_size() {
    // Ten waiting packets of 1000 B are 20 of 500 B: above the upper threshold 15.
    let mut red = instant_red(|r| {
        r.measure = Measure::Bytes;
        r.mean_packet = 500;
    });
    red.arrive(&busy(at_ms(1), 6), &mut stream());
    close(red.state().probability, 0.1 * (6000.0 - 2500.0) / 5000.0);
}

#[test]
fn uniform_intervals() {
    // p = 0.05: 1 … 19 after a drop, mean 10, standard deviation 5.48; 4000 of them: five standard
    // errors 0.43.
    let list = intervals(&mut instant_red(|_| {}), 10, 1000, 4000);
    let list = list.get(1..).unwrap_or_default();
    assert!(list.iter().all(|n| (1..=19).contains(n)));
    assert!((mean(list) - 10.0).abs() < 0.43, "mean {}", mean(list));
    for n in 1..=19 {
        let share = list.iter().filter(|x| **x == n).count();
        assert!((140..=281).contains(&share), "{n}: {share}"); // 210.5 ± 5·14.1
    }
}

#[test]
fn wait_intervals() {
    // p = 0.05: count·p reaches 1 at the 20th; uniform over 20 … 39 in the mean 29.5 (standard
    // deviation 5.77).
    let list = intervals(&mut instant_red(|r| r.spacing = Spacing::Wait), 10, 1000, 4000);
    let list = list.get(1..).unwrap_or_default();
    assert!(list.iter().all(|n| (20..=40).contains(n)));
    assert!((mean(list) - 29.5).abs() < 0.6, "mean {}", mean(list));
}

#[test]
fn geometric_intervals() {
    let list = intervals(&mut instant_red(|r| r.spacing = Spacing::Geometric), 10, 1000, 4000);
    // Mean 20, standard deviation 19.5: five standard errors 1.54.
    assert!((mean(&list) - 20.0).abs() < 1.54, "mean {}", mean(&list));
    assert!(list.iter().any(|n| *n > 60));
}

#[test]
fn byte_mode_drops_in_proportion_to_size() {
    // Bytes per drop are the same for large and small packets: 1/p typical packets, uniform: about
    // half of that.
    let bytes_per_drop = |size: u32| {
        let mut red = instant_red(|r| r.mode = DropMode::Byte);
        mean(&intervals(&mut red, 10, size, 4000)) * f64::from(size)
    };
    let ratio = bytes_per_drop(1000) / bytes_per_drop(100);
    assert!((ratio - 1.0).abs() < 0.06, "ratio {ratio}");
    // In packet mode the ratio is that of the sizes.
    let packets_per_drop = |size| mean(&intervals(&mut instant_red(|_| {}), 10, size, 4000));
    assert!((packets_per_drop(1000) / packets_per_drop(100) - 1.0).abs() < 1e-9);
}

#[test]
fn byte_mode_of_ns2_counts_whole_packets() {
    // p = 1/2 and packets of half the mean size: in exact counting the third has count 1.5, in
    // ns-2's 1. With `wait` nothing can be dropped before count·p ≥ 1, that is before the fourth
    // packet after a drop either way; after it p/(2 − count·p) is reached in steps of whole
    // packets, so the fifth packet is as the fourth.
    let setup = |byte_count| {
        instant_red(|r| {
            r.mode = DropMode::Byte;
            r.spacing = Spacing::Wait;
            r.max_p = Probability::ONE;
            r.byte_count = byte_count;
        })
    };
    let shares = |byte_count| {
        let list = intervals(&mut setup(byte_count), 10, 500, 4000);
        let list = list.get(1..).unwrap_or_default().to_vec();
        assert!(list.iter().all(|n| *n >= 4));
        let fourth = list.iter().filter(|n| **n == 4).count();
        let fifth = list.iter().filter(|n| **n == 5).count();
        (fourth * 1000 / list.len(), fifth * 1000 / (list.len() - fourth))
    };
    // Fourth: ½/(2 − 1)·½ = 0.25. Fifth, exactly: ½/(2 − 1.25)·½ = 1/3; in whole packets 0.25
    // again.
    let (fourth, fifth) = shares(ByteCount::Exact);
    assert!((215..=285).contains(&fourth) && (290..=377).contains(&fifth), "{fourth} {fifth}");
    let (fourth, fifth) = shares(ByteCount::WholePackets);
    assert!((215..=285).contains(&fourth) && (210..=290).contains(&fifth), "{fourth} {fifth}");
}

#[test]
fn adaptation_moves_max_p_once_per_interval() {
    let mut red = instant_red(|r| r.adaptation = Adaptation::paper());
    let mut meet = |ms, packets| {
        red.arrive(&busy(at_ms(ms), packets), &mut stream());
        red.state().max_p
    };
    // The band is 9 … 11 packets.
    close(meet(499, 12), 0.1);
    close(meet(500, 12), 0.11); // + min(0.01, 0.11/4)
    close(meet(999, 12), 0.11);
    close(meet(1000, 10), 0.11);
    close(meet(1500, 8), 0.099); // × 0.9
    for i in 0..400 {
        meet(2000 + 500 * i, 8);
    }
    let low = meet(300_000, 10);
    assert!(low.is_some_and(|p| p <= 0.01 && p > 0.009), "{low:?}"); // one step past the bottom at most
    for i in 0..400 {
        meet(400_000 + 500 * i, 30);
    }
    let high = meet(900_000, 10);
    assert!(high.is_some_and(|p| (0.5..0.51).contains(&p)), "{high:?}");
}

#[test]
fn ns2_keeps_the_gentle_slope_of_the_start() {
    let probability = |above_max| {
        let mut red = instant_red(|r| {
            r.adaptation = Adaptation::paper();
            r.above_max = above_max;
        });
        red.arrive(&busy(at_ms(500), 18), &mut stream());
        red.state().probability
    };
    close(probability(AboveMax::Gentle), 0.11 + 0.89 * 0.2);
    close(probability(AboveMax::GentleFromStart), 0.1 + 0.9 * 0.2);
}

#[test]
fn ns2_drops_nothing_early_from_a_short_queue() {
    for (early_drop, verdict) in [
        (EarlyDrop::Always, QueueVerdict::Drop(DropCause::Early)),
        (EarlyDrop::TwoWaiting, QueueVerdict::Pass),
    ] {
        let mut red = instant_red(|r| {
            r.weight = Weight::Fixed(1e-9);
            r.early_drop = early_drop;
            r.thresholds = Thresholds::Fixed { min: 0.0, max: 1e-12 };
        });
        red.arrive(&busy(at_ms(1), 100), &mut stream()); // the average is 1e-7: far above twice the upper threshold
        assert_eq!(red.arrive(&busy(at_ms(1), 1), &mut stream()), verdict);
        assert_eq!(red.arrive(&busy(at_ms(1), 2), &mut stream()), QueueVerdict::Drop(DropCause::Early));
    }
}

#[test]
fn marks_instead_of_dropping() {
    let verdict = |marking, packets, forced| {
        let mut red = instant_red(|r| {
            r.marking = marking;
            r.forced = forced;
            r.max_p = Probability::saturating(0.5);
        });
        let arrival = Arrival { ecn: Ecn::Ect0, ..busy(at_ms(1), packets) };
        let mut stream = stream();
        (0..1000).map(|_| red.arrive(&arrival, &mut stream)).find(|v| *v != QueueVerdict::Pass)
    };
    let (mark, drop) = (Some(QueueVerdict::Mark), Some(QueueVerdict::Drop(DropCause::Early)));
    assert_eq!(verdict(Marking::Off, 8, Forced::Drop), drop);
    assert_eq!(verdict(Marking::On, 8, Forced::Drop), mark);
    assert_eq!(verdict(Marking::On, 30, Forced::Drop), drop); // above twice the upper threshold (RFC 3168 §7)
    assert_eq!(verdict(Marking::On, 30, Forced::ByProbability), mark);
    // mark_p 0.1: p is 0.05 with six waiting, 0.15 with eight.
    let below = Marking::Below(Probability::saturating(0.1));
    assert_eq!(verdict(below, 6, Forced::Drop), mark);
    assert_eq!(verdict(below, 8, Forced::Drop), drop);
    // Not ECN-capable.
    let mut red = instant_red(|r| r.marking = Marking::On);
    let mut stream = stream();
    let arrival = busy(at_ms(1), 14);
    assert_eq!((0..100).map(|_| red.arrive(&arrival, &mut stream)).find(|v| *v != QueueVerdict::Pass), drop);
}

#[test]
fn a_full_queue_drops_everything() {
    let mut red = process(Red { marking: Marking::On, ..Red::new(Limit::Packets(3)) });
    let arrival = |packets| Arrival { ecn: Ecn::Ect0, ..busy(at_ms(1), packets) };
    assert_eq!(red.arrive(&arrival(2), &mut stream()), QueueVerdict::Pass);
    assert_eq!(red.arrive(&arrival(3), &mut stream()), QueueVerdict::Drop(DropCause::Queue));
    assert_eq!(red.arrive(&idle(at_ms(9), at_ms(8)), &mut stream()), QueueVerdict::Pass);
}

#[test]
fn automatic_parameters() {
    // 8 Mbit/s and 500 B: 2000 packets/s. 5 ms hold 10: half is 5. 50 ms hold 100: half is 50.
    let automatic = |ms| {
        let target_delay = Duration::from_millis(ms);
        process(Red { thresholds: Thresholds::Automatic { target_delay }, ..Red::new(Limit::Unlimited) })
    };
    let (short, long) = (automatic(5), automatic(50));
    assert!((short.min - 5.0).abs() < 1e-9 && (short.max - 15.0).abs() < 1e-9);
    assert!((long.min - 50.0).abs() < 1e-9 && (long.max - 150.0).abs() < 1e-9);
    // 1 − exp(−1/2000); ns-2: R = max(0.1, 3·(0.010 + 0.0005)) = 0.1, so 1 − exp(−1/2000) too; with
    // 100 ms of propagation R = 3·0.1005, so 1 − exp(−1/6030).
    let weight = |weight, ms| {
        let red = Red { weight, ..Red::new(Limit::Unlimited) };
        RedProcess::new(red, Rate::from_bits_per_sec(RATE), Duration::from_millis(ms)).weight
    };
    assert!((weight(Weight::Automatic, 10) - 4.998_750_208e-4).abs() < 1e-12);
    assert!((weight(Weight::AutomaticNs2, 10) - 4.998_750_208e-4).abs() < 1e-12);
    assert!((weight(Weight::AutomaticNs2, 100) - 1.658_237e-4).abs() < 1e-9);
    // 80,000 / 8e6 = 0.01; on a line ten times as fast 0.001.
    let bottom = |bits: f64| {
        let red = Red { adaptation: Adaptation::ns2(), ..Red::new(Limit::Unlimited) };
        RedProcess::new(red, Rate::from_bits_per_sec(bits), Duration::ZERO).bottom
    };
    assert!((bottom(8e6) - 0.01).abs() < 1e-12 && (bottom(8e7) - 0.001).abs() < 1e-12);
    // ns-2's defaults measure in bytes.
    let ns2 = process(Red::ns2(Limit::Unlimited));
    assert!((ns2.min - 2500.0).abs() < 1e-9 && (ns2.max - 7500.0).abs() < 1e-9);
}

#[test]
fn refuses_parameters_without_sense() {
    let line = Rate::from_bits_per_sec(RATE);
    let fault = |change: fn(&mut Red)| {
        let mut red = Red::new(Limit::Unlimited);
        change(&mut red);
        red.fault(line).is_some()
    };
    assert!(!fault(|_| {}));
    assert!(fault(|r| r.mean_packet = 0));
    assert!(fault(|r| r.weight = Weight::Fixed(0.0)));
    assert!(fault(|r| r.weight = Weight::Fixed(f64::NAN)));
    assert!(fault(|r| r.thresholds = Thresholds::Fixed { min: 5.0, max: 5.0 }));
    assert!(Red::ns2(Limit::Unlimited).fault(line).is_none());
    assert!(Red::ns2(Limit::Unlimited).fault(Rate::INFINITY).is_some());
}
