//! The profile `balanced` at the sender: no flow of any kind takes more by it than a CUBIC would,
//! or sends on where RFC 5348 does not.

#![expect(clippy::indexing_slicing, reason = "a test may panic")]

use super::tests::{RTT, feedback_with, rate};
use super::*;
use crate::config::{SegmentSize, TfrcSp};
use crate::equation::{Friend, RtoPolicy};
use crate::guard::CircuitBreaker;
use crate::study::{FriendChoice, Pairs, Profile, Spacing};
use proptest::prelude::*;
use std::vec::Vec;
use tfrc_testkit::at;

/// A sender with packets of 1000 bytes.
fn sender(profile: Profile, change: impl FnOnce(&mut Settings)) -> Sender {
    let mut settings = Settings {
        segment: SegmentSize::Fixed(1000),
        ..Settings::of_study(|choices| {
            choices.spacing = Spacing::Nominal;
            profile.choose(choices);
        })
    };
    change(&mut settings);
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    Sender::new(&config)
}

/// The times, in ms, at which packets go while there is data, up to `to`.
fn times(sender: &mut Sender, from: u64, to: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for ms in from..to {
        sender.handle_timeout(at(ms));
        while sender.next_send(at(ms)) == SendDecision::Now {
            sender.on_sent(at(ms), 1000);
            times.push(ms);
        }
    }
    times
}

/// Reports each round-trip time, sending as much as is allowed; returns X after each.
fn rates(sender: &mut Sender, losses: &[f64]) -> Vec<f64> {
    let mut all = Vec::new();
    for (p, ms) in losses.iter().zip((100..).step_by(100)) {
        let sent = times(sender, ms - 100, ms).len();
        let new = if *p > 0.0 { LossReport::NewLossEvent } else { LossReport::NoNewLoss };
        feedback_with(sender, ms, 10_000.0 * f64::from(tfrc_units::saturating::<u32>(sent)), *p, new);
        all.push(sender.allowed_rate().bytes_per_sec());
    }
    all
}

/// §4.3 step 4: X is that of the equation, the greater of Reno's and CUBIC's, at equal reports; so
/// it is never more than a CUBIC's.
#[test]
fn x_is_the_greater_of_both_equations() {
    for p in [0.1, 0.01, 1e-3, 1e-4, 1e-5] {
        let of = |friend: Friend| {
            let mut sender = sender(Profile::Balanced, |settings| {
                settings.algorithm.choices_mut().equation.friend = friend;
            });
            sender.on_rtt_sample(at(0), RTT);
            sender.on_sent(at(0), 1000);
            for ms in [100, 200, 300] {
                feedback_with(&mut sender, ms, 1e9, p, LossReport::NewLossEvent);
            }
            sender.allowed_rate().bytes_per_sec()
        };
        let (reno, cubic) = (of(Friend::Reno), of(Friend::Cubic));
        // Without timeouts, packets a second: RFC 9438 §5.1.
        let most = 1.0538 * libm::pow(0.1, -0.25) * libm::pow(p, -0.75) * 1000.0;
        assert!(cubic >= reno && cubic <= most.max(reno), "{p}: {reno}, {cubic}, {most}");
        assert_eq!(cubic > reno, p < 5.4e-4, "{p}: they meet at 0.548·R³");
    }
}

/// t_RTO is R and 200 ms more on a steady path: longer than 4R up to 67 ms, and shorter from there.
#[test]
fn the_timeout_is_that_of_linux() {
    let balanced = sender(Profile::Balanced, |_| ());
    let equation = balanced.config().settings().algorithm.choices().equation;
    for (ms, timeout) in [(10, 210), (66, 266), (100, 300), (500, 700)] {
        let rtt = Duration::from_millis(ms);
        assert_eq!(equation.rto.timeout(rtt), Duration::from_millis(timeout));
        let four = crate::equation::Equation { rto: RtoPolicy::FourRtt, ..equation };
        let p = Probability::saturating(0.1);
        assert_eq!(equation.rate(1000.0, rtt, p) < four.rate(1000.0, rtt, p), ms < 67, "{ms} ms");
    }
}

/// Marks are loss events like losses (§5.2): the report is the same, and so is X.
#[test]
fn a_marked_flow_slows_down() {
    let mut sender = sender(Profile::Balanced, |_| ());
    sender.on_rtt_sample(at(0), RTT);
    let x = rates(&mut sender, &[0.0, 0.0, 0.0, 0.05, 0.05, 0.1]);
    assert!(x[2] > x[3] && x[4] > x[5], "{x:?}");
}

/// An application that sends a packet every 20 ms, less than X, sends it at once: no pair waits for
/// a second packet.
#[test]
fn an_application_limited_flow_does_not_wait() {
    for profile in Profile::ALL {
        let mut sender = sender(profile, |_| ());
        sender.on_rtt_sample(at(0), RTT);
        let x = rates(&mut sender, &[0.0, 0.0, 0.0, 0.001]);
        assert!(x[3] > 100_000.0, "{x:?}");
        for ms in (400..900).step_by(20) {
            assert_eq!(sender.next_send(at(ms)), SendDecision::Now, "{profile:?} at {ms}");
            sender.on_sent(at(ms), 1000);
        }
        // §8.2.1: each report covers a data-limited interval.
        assert_eq!(sender.coverage(at(900)), Coverage::DataLimited);
    }
}

/// §4.4 and §4.6: after ten seconds of silence the rate and the burst are those of single packets.
/// The burst may be one packet shorter.
#[test]
fn an_idle_flow_comes_back_as_without_the_profile() {
    let of = |pairs| {
        let mut sender = sender(Profile::Balanced, |settings| settings.algorithm.choices_mut().pairs = pairs);
        sender.on_rtt_sample(at(0), RTT);
        rates(&mut sender, &[0.0, 0.0, 0.0, 0.01, 0.01]);
        for ms in 500..10_500 {
            sender.handle_timeout(at(ms));
        }
        (sender.allowed_rate(), times(&mut sender, 10_500, 10_501).len())
    };
    let (plain, balanced) = (of(Pairs::Off), of(Pairs::Above(3.0)));
    assert_eq!(balanced.0, plain.0);
    assert!(balanced.1 <= plain.1 && balanced.1 + 1 >= plain.1, "{balanced:?}, {plain:?}");
}

/// TFRC-SP keeps 10 ms between packets (RFC 4828 §3): there are no pairs.
#[test]
fn small_packets_keep_their_interval() {
    let mut sender =
        sender(Profile::Balanced, |settings| settings.packet_size = PacketSize::TfrcSp(TfrcSp::default()));
    sender.on_rtt_sample(at(0), RTT);
    rates(&mut sender, &[0.0, 0.0, 0.0, 0.001]);
    let times = times(&mut sender, 400, 600);
    assert!(times.len() > 10 && times.windows(2).all(|pair| pair[1] - pair[0] >= 10), "{times:?}");
}

/// Packets leave two by two where there are more than three in a round trip, at the same rate.
#[test]
fn pairs_while_there_are_more_than_three() {
    let spaced = |p: f64| {
        let mut sender = sender(Profile::Balanced, |_| ());
        sender.on_rtt_sample(at(0), RTT);
        sender.on_sent(at(0), 1000);
        for ms in [100, 200, 300, 400] {
            feedback_with(&mut sender, ms, 1e6, p, LossReport::NewLossEvent);
        }
        let x = sender.allowed_rate().bytes_per_sec();
        // A round-trip time's worth at once, then evenly.
        times(&mut sender, 400, 500);
        let times = times(&mut sender, 500, 700);
        let twins = times.windows(2).skip(1).filter(|pair| pair[0] == pair[1]).count();
        (x * 0.1 / 1000.0, times.len(), twins)
    };
    // p = 0.01, t_RTO 300 ms: 11.5 packets in a round trip by hand, all in pairs.
    let (per_rtt, packets, twins) = spaced(0.01);
    assert!((11.4..11.6).contains(&per_rtt), "{per_rtt}");
    assert!((21..=25).contains(&packets) && twins * 2 >= packets - 3, "{packets}, {twins}");
    // p = 0.1: 2.05 packets, none.
    let (per_rtt, _, twins) = spaced(0.1);
    assert!(per_rtt < 3.0 && twins == 0, "{per_rtt}, {twins}");
}

/// Collapse: without reports, and at a loss rate at which the equation gives next to nothing, X
/// falls as RFC 5348's does; the breaker strikes at the same moment, but for a gap between packets.
#[test]
fn collapse_ends_it_as_without_the_profile() {
    let silent = |profile| {
        let mut sender = sender(profile, |settings| settings.circuit_breaker = CircuitBreaker::Always);
        sender.on_rtt_sample(at(0), RTT);
        rates(&mut sender, &[0.0, 0.0, 0.0, 0.01, 0.01]);
        let mut struck = None;
        for ms in 500..60_000 {
            sender.handle_timeout(at(ms));
            if sender.next_send(at(ms)) == SendDecision::Now {
                sender.on_sent(at(ms), 1000);
            }
            struck = struck.or(sender.stopped().map(|_| ms));
        }
        struck
    };
    // The first packet without an answer is up to a gap earlier or later.
    let (plain, balanced) =
        (silent(Profile::Rfc5348).expect("15 s"), silent(Profile::Balanced).expect("15 s"));
    assert!(plain.abs_diff(balanced) <= 20, "{plain}, {balanced}");
    let lossy = |profile| {
        let mut sender = sender(profile, |_| ());
        sender.on_rtt_sample(at(0), RTT);
        sender.on_sent(at(0), 1000);
        for ms in [100, 200, 300, 400] {
            feedback_with(&mut sender, ms, 1e6, 0.9, LossReport::NewLossEvent);
        }
        sender.allowed_rate()
    };
    // Nothing but timeouts of 300 ms in place of 400.
    let ratio = lossy(Profile::Balanced).bytes_per_sec() / lossy(Profile::Rfc5348).bytes_per_sec();
    assert!((1.0..=4.0 / 3.0 + 0.01).contains(&ratio), "{ratio}");
    assert!(lossy(Profile::Balanced) < rate(1000.0));
}

/// A report: milliseconds since the last one, the round-trip time and −log₁₀ p.
fn reports() -> impl Strategy<Value = Vec<(u64, u64, f64)>> {
    proptest::collection::vec((1u64..500, 1u64..800, 0.0f64..7.0), 1..60)
}

/// Feeds the reports to a sender that is never short of data; X after each.
fn fed(sender: &mut Sender, reports: &[(u64, u64, f64)]) -> Vec<f64> {
    let mut ms = 1000;
    let x = reports.iter().map(|(gap, rtt, exponent)| {
        ms += gap;
        let rtt = Duration::from_millis(*rtt);
        let feedback = Feedback {
            newest_sent_at: at(ms) - rtt,
            elapsed: Duration::ZERO,
            receive_rate: rate(1e7),
            loss_event_rate: Probability::saturating(libm::pow(10.0, -exponent)),
            losses: LossReport::NoNewLoss,
            count: PacketCount::Unknown,
        };
        sender.on_feedback_covering(at(ms), feedback, Some(Sample::Measured(rtt)), Coverage::NotDataLimited);
        sender.allowed_rate().bytes_per_sec()
    });
    x.collect()
}

proptest! {
    /// For any round-trip times, whoever made them so: with the friend chosen by shape X is between
    /// those of the friends told, and the most to gain is the choice itself.
    #[test]
    fn by_shape_x_is_between_those_of_both_friends(reports in reports()) {
        let of = |friend: Friend, choice: FriendChoice| {
            let mut sender = sender(Profile::Balanced, |settings| {
                let choices = settings.algorithm.choices_mut();
                (choices.equation.friend, choices.friend_choice) = (friend, choice);
            });
            fed(&mut sender, &reports)
        };
        let (reno, cubic) = (of(Friend::Reno, FriendChoice::Told), of(Friend::Cubic, FriendChoice::Told));
        for told in [Friend::Reno, Friend::Cubic] {
            let shape = of(told, FriendChoice::ByShape);
            for ((shape, reno), cubic) in shape.iter().zip(&reno).zip(&cubic) {
                prop_assert!(reno <= shape && shape <= cubic, "{reno}, {shape}, {cubic}");
            }
        }
    }

    /// Pairs change no rate: once both have caught up with the first report, a flow with pairs
    /// sends within two packets of one without.
    #[test]
    fn pairs_are_at_most_two_packets_apart(exponent in 0.5f64..5.0, ms in 50u64..290) {
        let sent = |pairs| {
            let mut sender =
                sender(Profile::Balanced, |settings| settings.algorithm.choices_mut().pairs = pairs);
            sender.on_rtt_sample(at(0), RTT);
            // With a packet due that does not go the interval would be data-limited.
            times(&mut sender, 0, 100);
            feedback_with(&mut sender, 100, 1e6, libm::pow(10.0, -exponent), LossReport::NewLossEvent);
            times(&mut sender, 100, 200);
            times(&mut sender, 200, 200 + ms).len()
        };
        let (single, pairs) = (sent(Pairs::Off), sent(Pairs::Above(3.0)));
        prop_assert!(pairs.abs_diff(single) <= 2, "{pairs}, {single}");
    }
}
