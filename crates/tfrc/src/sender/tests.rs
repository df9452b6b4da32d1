//! RFC 5348 §4 and §8, step by step.

use super::*;
use crate::config::{BurstCredit, PacketSize, SegmentSize, TfrcSp};
use crate::equation::{Equation, HighLoss};
use crate::study::Spacing;
use tfrc_testkit::at;

pub(crate) const RTT: Duration = Duration::from_millis(100);

pub(crate) fn rate(bytes_per_sec: f64) -> Rate {
    Rate::from_bytes_per_sec(bytes_per_sec)
}

fn sender_with(change: impl FnOnce(&mut Settings)) -> Sender {
    let mut settings = Settings {
        segment: SegmentSize::Fixed(1000),
        ..Settings::of_study(|c| c.spacing = Spacing::Nominal)
    };
    change(&mut settings);
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    Sender::new(&config)
}

fn sender() -> Sender {
    sender_with(|_| ())
}

/// Feedback that arrives at `ms` about a packet sent a round-trip time before.
pub(crate) fn feedback(sender: &mut Sender, ms: u64, receive_rate: f64, p: f64) {
    feedback_with(sender, ms, receive_rate, p, LossReport::NoNewLoss);
}

/// Feedback with a given round-trip time.
fn feedback_after(sender: &mut Sender, ms: u64, rtt: Duration, p: f64) {
    let feedback = Feedback {
        newest_sent_at: at(ms) - rtt,
        elapsed: Duration::ZERO,
        receive_rate: rate(1e6),
        loss_event_rate: Probability::saturating(p),
        losses: LossReport::NewLossEvent,
        count: PacketCount::Unknown,
    };
    sender.on_feedback(at(ms), feedback);
}

pub(crate) fn feedback_with(sender: &mut Sender, ms: u64, receive_rate: f64, p: f64, losses: LossReport) {
    let feedback = Feedback {
        newest_sent_at: at(ms) - RTT,
        elapsed: Duration::ZERO,
        receive_rate: rate(receive_rate),
        loss_event_rate: Probability::saturating(p),
        losses,
        count: PacketCount::Unknown,
    };
    sender.on_feedback(at(ms), feedback);
}

/// Sends as much as is allowed until `ms`, so that the sender is not data-limited.
fn send_all(sender: &mut Sender, from: u64, to: u64) {
    for ms in from..to {
        while sender.next_send(at(ms)) == SendDecision::Now {
            sender.on_sent(at(ms), 1000);
        }
    }
}

/// Sends as much as is allowed from `from` on, with feedback (ms, X_recv, p) in between, up to the
/// last feedback.
fn drive(sender: &mut Sender, from: u64, feedbacks: &[(u64, f64, f64)]) {
    let mut now = from;
    for (ms, receive_rate, p) in feedbacks {
        send_all(sender, now, *ms);
        feedback(sender, *ms, *receive_rate, *p);
        now = *ms;
    }
}

fn timer(sender: &Sender) -> Option<u64> {
    sender.poll_timeout().map(|wake| wake.at.as_nanos() / 1_000_000)
}

/// §4.2: s bytes per second and a timer of two seconds until there is a sample.
#[test]
fn before_the_first_sample() {
    let mut sender = sender();
    assert_eq!((sender.allowed_rate(), sender.poll_timeout()), (rate(1000.0), None));
    sender.on_sent(at(0), 1000);
    assert_eq!(timer(&sender), Some(2000));
    assert_eq!(sender.next_send(at(999)), SendDecision::At(at(1000)));
}

/// §4.2: W_init = min(4·MSS, max(2·MSS, 4380)) per round-trip time, from a handshake or from the
/// first feedback, which then replaces step 4 of §4.3.
#[test]
fn the_initial_rate() {
    for (segment, window) in [(1460, 4380.0), (500, 2000.0), (2500, 5000.0), (1000, 4000.0)] {
        let mut by_handshake = sender_with(|s| s.segment = SegmentSize::Fixed(segment));
        by_handshake.on_rtt_sample(at(0), RTT);
        assert_eq!(by_handshake.allowed_rate(), Rate::of(window, RTT));
        by_handshake.on_rtt_sample(at(0), RTT * 2);
        assert_eq!(by_handshake.rtt(), Some(RTT), "only the first sample counts");

        let mut by_feedback = sender_with(|s| s.segment = SegmentSize::Fixed(segment));
        by_feedback.on_sent(at(0), segment);
        feedback(&mut by_feedback, 100, 0.0, 0.0);
        assert_eq!(by_feedback.allowed_rate(), Rate::of(window, RTT));
        assert_eq!(by_feedback.poll_event().map(|e| e.reason), Some(RateReason::Initial));
        assert_eq!(timer(&by_feedback), Some(500));
    }
}

/// §4.2: the handshake took a shorter way than the data; the first feedback gives the initial rate
/// of its own round-trip time, and later ones double it.
#[test]
fn the_first_feedback_corrects_the_initial_rate_of_a_handshake() {
    for (handshake, expected) in [(20, 40_000.0), (99, 40_000.0), (100, 80_000.0)] {
        let mut sender = sender();
        sender.on_rtt_sample(at(0), Duration::from_millis(handshake));
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 40_000.0, 0.0);
        assert_eq!(sender.rtt(), Some(RTT), "the first sample of a path replaces it");
        assert_eq!(sender.allowed_rate(), rate(expected), "{handshake} ms");
        send_all(&mut sender, 100, 200);
        feedback(&mut sender, 200, 80_000.0, 0.0);
        assert_eq!(sender.allowed_rate(), rate(2.0 * expected), "{handshake} ms");
    }
}

/// §4.3 step 4, p = 0: doubling at most once per round-trip time; extra feedback does not double
/// twice.
#[test]
fn slow_start_doubles_once_per_round_trip() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 0.0, 0.0);
    assert_eq!(sender.allowed_rate(), rate(80_000.0));
    let mut early = sender.clone();
    feedback(&mut early, 150, 40_000.0, 0.0);
    assert_eq!(early.allowed_rate(), rate(80_000.0), "half a round-trip time after the last doubling");
    send_all(&mut sender, 100, 200);
    feedback(&mut sender, 200, 40_000.0, 0.0);
    assert_eq!(sender.allowed_rate(), rate(160_000.0), "Infinity holds for two round-trip times");
    assert_eq!(sender.rate_reason(), RateReason::SlowStart);
    send_all(&mut sender, 200, 300);
    feedback(&mut sender, 300, 80_000.0, 0.0);
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (rate(160_000.0), RateReason::ReceiveLimit));
}

/// §4.2: the first sample sets tld, so doubling waits a round-trip time from there.
#[test]
fn the_first_sample_starts_the_doubling_clock() {
    let mut sender = sender();
    sender.on_rtt_sample(at(1000), RTT);
    send_all(&mut sender, 1000, 1050);
    feedback(&mut sender, 1099, 0.0, 0.0);
    assert_eq!(sender.allowed_rate(), rate(40_000.0));
    feedback(&mut sender, 1100, 0.0, 0.0);
    assert_eq!(sender.allowed_rate(), rate(80_000.0));
}

/// §4.2: the feedback that brings the first sample gives the initial rate, whatever it says of
/// losses.
#[test]
fn the_first_sample_replaces_step_4() {
    let mut sender = sender();
    sender.on_sent(at(0), 1000);
    feedback(&mut sender, 100, 10.0, 0.5);
    assert_eq!(sender.allowed_rate(), rate(40_000.0));
    assert_eq!((sender.loss_event_rate().get(), timer(&sender)), (0.5, Some(500)));
}

/// §4.3: X_recv = 0, although the sender was data-limited all through the interval, is not a limit.
#[test]
fn a_report_of_zero_is_not_data_limited() {
    let mut sender = sender();
    sender.on_rtt_sample(at(1000), RTT);
    sender.on_sent(at(1000), 1000);
    // A packet after a silence leaves credit for more: nothing in (1000, 1100] is at the limit.
    sender.on_sent(at(1100), 1000);
    assert_eq!(sender.next_send(at(1100)), SendDecision::Now);
    let mut told_more = sender.clone();
    feedback(&mut sender, 1200, 0.0, 0.0);
    assert_eq!(sender.allowed_rate(), rate(80_000.0));
    feedback(&mut told_more, 1200, 1.0, 0.0);
    assert_eq!(told_more.allowed_rate(), rate(40_000.0), "with any other rate it is data-limited");
}

/// A report of zero, from a receiver that should have been silent (§6.2), leaves X_recv_set as it
/// is, also where it is the first of the two after a handshake and X_recv_set has lost Infinity.
#[test]
fn a_report_of_zero_limits_nothing() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    drive(&mut sender, 0, &[(100, 0.0, 0.0), (200, 100_000.0, 0.01), (301, 100_000.0, 0.01)]);
    let before = sender.allowed_rate();
    assert!(before > rate(100_000.0), "{before}");
    for (ms, losses) in [(10_000, LossReport::NewLossEvent), (10_300, LossReport::NoNewLoss)] {
        feedback_with(&mut sender, ms, 0.0, 0.01, losses);
        assert_eq!(sender.allowed_rate(), before, "{ms}");
    }
    // A higher p counts all the same.
    feedback_with(&mut sender, 10_600, 0.0, 0.04, LossReport::NewLossEvent);
    let equation = Equation::default().rate(1000.0, RTT, Probability::saturating(0.04));
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (equation, RateReason::Equation));
    drive(&mut sender, 10_600, &[(10_700, 20_000.0, 0.04), (10_800, 20_000.0, 0.04)]);
    assert_eq!(sender.allowed_rate(), rate(40_000.0), "any other report limits");
}

/// §4.3 step 4, p = 0: never below the initial rate.
#[test]
fn slow_start_keeps_the_initial_rate() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    drive(&mut sender, 0, &[(400, 10.0, 0.0), (600, 10.0, 0.0), (800, 10.0, 0.0), (1000, 10.0, 0.0)]);
    assert_eq!(sender.allowed_rate(), rate(40_000.0));
}

/// §4.3 step 4, p > 0: the equation, at most twice the receive rate, at least one packet in 64 s.
#[test]
fn congestion_avoidance() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 0.0, 0.01);
    let equation = Equation::default().rate(1000.0, RTT, Probability::saturating(0.01));
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (equation, RateReason::Equation));
    drive(&mut sender, 100, &[(200, 30_000.0, 0.01), (301, 30_000.0, 0.01), (400, 30_000.0, 0.01)]);
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (rate(60_000.0), RateReason::ReceiveLimit));
    // At p = 1 and 500 ms the equation gives a packet in 122 s.
    let mut sender = sender_with(|_| ());
    sender.on_rtt_sample(at(0), RTT * 5);
    send_all(&mut sender, 0, 600);
    feedback_after(&mut sender, 600, RTT * 5, 1.0);
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (rate(1000.0 / 64.0), RateReason::Floor));
}

/// A first report of X_recv = 0 with p > 0 must not stop the flow: X_recv_set still holds Infinity
/// (§4.3), also when the handshake was long ago.
#[test]
fn the_first_report_does_not_stop_the_flow() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 5000, 5100);
    feedback(&mut sender, 5100, 1000.0, 0.01);
    assert!(sender.allowed_rate() > rate(100_000.0));
}

/// §4.3 step 3 comes before step 4: the timer set in step 6 is max(4R, 2s/X) with the old X.
#[test]
fn the_timeout_uses_the_old_rate() {
    let mut sender = sender();
    sender.on_sent(at(0), 1000);
    feedback(&mut sender, 100, 0.0, 0.0);
    send_all(&mut sender, 100, 200);
    feedback(&mut sender, 200, 0.0, 1.0);
    // Old X 40,000 B/s: 4R = 400 ms rules. The new X is 41 B/s, so the next timer is longer.
    assert_eq!(timer(&sender), Some(600));
    let slow = sender.allowed_rate();
    feedback(&mut sender, 300, 0.0, 1.0);
    assert_eq!(timer(&sender), Some(300 + slow.time_for(2000.0).as_nanos() / 1_000_000));
}

/// RFC 4828 §4.1: the moderate form uses the drop rate where reports count packets, and p where
/// they do not.
#[test]
fn the_moderate_form_goes_by_packets() {
    let x = |high_loss, count| {
        let mut sender = sender_with(|s| s.algorithm.choices_mut().equation.high_loss = high_loss);
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 100);
        let feedback = Feedback {
            newest_sent_at: at(0),
            elapsed: Duration::ZERO,
            receive_rate: rate(1e6),
            loss_event_rate: Probability::saturating(0.25),
            losses: LossReport::NewLossEvent,
            count,
        };
        sender.on_feedback(at(100), feedback);
        sender.allowed_rate()
    };
    let half = PacketCount::Exact { packets: 1000, lost: 500 };
    let plain = x(HighLoss::AsEquation, half);
    assert!((x(HighLoss::Moderate, half) / plain - 5.0 / 6.0).abs() < 1e-9);
    assert_eq!(x(HighLoss::Moderate, PacketCount::Unknown), plain);
}

/// §4.2: before there is a round-trip time X is a packet a second, of the size that packets have;
/// half of that after an expiration of the nofeedback timer.
#[test]
fn the_rate_before_a_sample_follows_the_packet_size() {
    let mut sender = sender_with(|s| s.segment = SegmentSize::Mean { initial: 1460 });
    assert_eq!(sender.allowed_rate(), rate(1460.0));
    sender.on_sent(at(0), 20);
    assert_eq!(sender.allowed_rate(), rate(20.0));
    assert_eq!(sender.next_send(at(0)), SendDecision::At(at(1000)));
    sender.handle_timeout(at(2000));
    assert_eq!(sender.allowed_rate(), rate(10.0));
    sender.on_sent(at(2000), 40);
    assert_eq!(sender.allowed_rate(), rate(15.0), "half of a mean of 30");
}

/// §4.3 step 2: q = 0.9. A hold time longer than the round trip is impossible: the least round trip
/// is the sample.
#[test]
fn round_trip_filter() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    let reply = |sender: &mut Sender, ms, elapsed| {
        let feedback = Feedback {
            newest_sent_at: at(0),
            elapsed,
            receive_rate: Rate::ZERO,
            loss_event_rate: Probability::ZERO,
            losses: LossReport::NoNewLoss,
            count: PacketCount::Unknown,
        };
        sender.on_feedback(at(ms), feedback);
    };
    reply(&mut sender, 100, Duration::ZERO);
    reply(&mut sender, 250, Duration::from_millis(50));
    assert_eq!(sender.rtt(), Some(Duration::from_millis(110)));
    reply(&mut sender, 260, Duration::from_secs(9));
    assert_eq!(sender.rtt(), Some(Duration::from_millis(109)));
}

/// §4.3 step 2, §4.5: a handshake of 1 s on a path of 100 ms counts until the first feedback. X is
/// then what §4.2 gives for 100 ms, and doubles once in each of those.
#[test]
fn the_first_feedback_replaces_the_round_trip_time_of_the_handshake() {
    let mut sender = sender_with(|s| s.algorithm.choices_mut().spacing = Spacing::Damped { weight: 0.9 });
    sender.on_rtt_sample(at(0), Duration::from_secs(1));
    assert_eq!((sender.rtt(), sender.allowed_rate()), (Some(Duration::from_secs(1)), rate(4000.0)));
    for (ms, x) in [(100, 40_000.0), (200, 80_000.0), (300, 160_000.0)] {
        drive(&mut sender, ms - 100, &[(ms, 1e6, 0.0)]);
        assert_eq!(
            (sender.rtt(), sender.allowed_rate(), sender.sending_rate()),
            (Some(RTT), rate(x), rate(x))
        );
    }
}

/// §4.3 step 4, data-limited without loss: the limit is twice the maximum kept, however long ago.
#[test]
fn a_data_limited_interval_without_loss_keeps_the_limit() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    drive(
        &mut sender,
        0,
        &[(100, 50_000.0, 0.001), (200, 50_000.0, 0.001), (301, 50_000.0, 0.001), (402, 50_000.0, 0.001)],
    );
    assert_eq!(sender.allowed_rate(), rate(100_000.0));
    for ms in [1000, 1400, 1800] {
        feedback(&mut sender, ms, 10_000.0, 0.001);
        assert_eq!(sender.allowed_rate(), rate(100_000.0));
    }
}

/// §4.3 step 4, data-limited with a loss: entries halved, X_recv times 0.85, and the maximum itself
/// is the limit.
#[test]
fn a_data_limited_interval_with_loss_lowers_the_limit() {
    for losses in [LossReport::NewLossEvent, LossReport::NoNewLoss] {
        let mut sender = sender();
        sender.on_rtt_sample(at(0), RTT);
        drive(
            &mut sender,
            0,
            &[(100, 50_000.0, 0.001), (200, 50_000.0, 0.001), (301, 50_000.0, 0.001), (402, 50_000.0, 0.001)],
        );
        // Either the report names a loss event or p has risen.
        let p = if losses == LossReport::NewLossEvent { 0.001 } else { 0.0011 };
        feedback_with(&mut sender, 1000, 20_000.0, p, losses);
        assert_eq!(sender.allowed_rate(), rate(25_000.0), "half of 50,000 beats 0.85 of 20,000");
        feedback_with(&mut sender, 1400, 40_000.0, p + 0.0001, losses);
        assert_eq!(sender.allowed_rate(), rate(34_000.0), "0.85 of 40,000 beats half of 25,000");
    }
}

/// §4.3: a sender that uses every second send time for two packets is not data-limited.
#[test]
fn sending_in_pairs_is_not_data_limited() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    for ms in (0..400).step_by(50) {
        for _ in 0..2 {
            if sender.next_send(at(ms)) == SendDecision::Now {
                sender.on_sent(at(ms), 1000);
            }
        }
    }
    for ms in [100, 200, 301, 402] {
        feedback(&mut sender, ms, 30_000.0, 0.001);
    }
    // Data-limited rules would keep the first maximum; "Update" forgets it after two round-trip
    // times.
    drive(&mut sender, 402, &[(502, 10_000.0, 0.001), (602, 10_000.0, 0.001), (703, 10_000.0, 0.001)]);
    assert_eq!(sender.allowed_rate(), rate(20_000.0));
}

/// A cap of the application's own makes the sender data-limited: its low receive rate does not hold
/// X down.
#[test]
fn a_capped_sender_is_data_limited() {
    let mut sender = sender_with(|s| s.cap = RateCap::AtMost(rate(10_000.0)));
    sender.on_rtt_sample(at(0), RTT);
    drive(
        &mut sender,
        0,
        &[
            (200, 10_000.0, 0.0),
            (300, 10_000.0, 0.0),
            (401, 10_000.0, 0.0),
            (502, 10_000.0, 0.0),
            (603, 10_000.0, 0.0),
            (704, 10_000.0, 0.0),
            (805, 10_000.0, 0.0),
        ],
    );
    assert_eq!(sender.allowed_rate(), rate(40_000.0), "the initial rate, above twice the receive rate");
    assert_eq!(sender.sending_rate(), rate(10_000.0));
    let told = |ms, receive_rate| (ms, receive_rate, 0.001);
    drive(
        &mut sender,
        805,
        &[told(906, 10_000.0), told(1007, 4000.0), told(1108, 4000.0), told(1400, 4000.0)],
    );
    assert_eq!(sender.allowed_rate(), rate(17_000.0), "0.85 of 10,000 at the loss is remembered");
}

/// §4.4: without any feedback the rate is halved and the timer doubles with 2s/X; the floor is one
/// packet in 64 s.
#[test]
fn no_feedback_before_any_sample() {
    let mut sender = sender();
    sender.on_sent(at(0), 1000);
    sender.handle_timeout(at(1999));
    assert_eq!(sender.allowed_rate(), rate(1000.0), "too early");
    let mut expected = 1000.0;
    for _ in 0..10 {
        let Some(wake) = sender.poll_timeout() else { panic!("the timer runs") };
        sender.on_sent(wake.at, 1000);
        sender.handle_timeout(wake.at);
        expected = f64::max(expected / 2.0, 1000.0 / 64.0);
        assert_eq!(sender.allowed_rate(), rate(expected));
        assert_eq!(sender.poll_timeout().map(|w| w.at), Some(wake.at + rate(expected).time_for(2000.0)));
    }
    sender.handle_timeout(at(1));
    assert_eq!(sender.allowed_rate(), rate(1000.0 / 64.0));
}

/// §4.4: idle without a sample, nothing is halved.
#[test]
fn idle_before_any_sample() {
    let mut sender = sender();
    sender.on_sent(at(0), 1000);
    sender.handle_timeout(at(2000));
    assert_eq!(sender.allowed_rate(), rate(500.0));
    sender.handle_timeout(at(6000));
    assert_eq!(sender.allowed_rate(), rate(500.0), "idle ever since the timer was set");
}

/// §4.4, p = 0: halved, but an idle sender not below the recover rate.
#[test]
fn no_feedback_in_slow_start() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    drive(&mut sender, 0, &[(100, 0.0, 0.0), (200, 40_000.0, 0.0), (300, 80_000.0, 0.0)]);
    assert_eq!((sender.allowed_rate(), timer(&sender)), (rate(160_000.0), Some(700)));
    sender.handle_timeout(at(700)); // idle, X ≥ 2·recover_rate: halved
    sender.handle_timeout(at(1100)); // 80,000 = 2·recover_rate: halved
    assert_eq!(sender.allowed_rate(), rate(40_000.0));
    sender.handle_timeout(at(1500)); // below: kept
    assert_eq!((sender.allowed_rate(), timer(&sender)), (rate(40_000.0), Some(1900)));
    sender.on_sent(at(1600), 1000);
    sender.handle_timeout(at(1900)); // not idle: halved
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (rate(20_000.0), RateReason::NoFeedback));
}

/// §4.4, p > 0: X halves exactly once per expiration, whether the equation or the receive rate was
/// the limit.
#[test]
fn no_feedback_in_congestion_avoidance() {
    let mut by_equation = sender();
    by_equation.on_rtt_sample(at(0), RTT);
    send_all(&mut by_equation, 0, 100);
    feedback(&mut by_equation, 100, 0.0, 0.01);
    let before = by_equation.allowed_rate();
    by_equation.on_sent(at(150), 1000);
    by_equation.handle_timeout(at(500));
    assert!((by_equation.allowed_rate() / before - 0.5).abs() < 1e-12);
    by_equation.on_sent(at(550), 1000);
    by_equation.handle_timeout(at(900));
    assert!((by_equation.allowed_rate() / before - 0.25).abs() < 1e-12, "limited by X_recv_set by now");

    let mut by_receive_rate = sender();
    by_receive_rate.on_rtt_sample(at(0), RTT);
    drive(
        &mut by_receive_rate,
        0,
        &[(100, 30_000.0, 0.001), (200, 30_000.0, 0.001), (301, 30_000.0, 0.001), (402, 30_000.0, 0.001)],
    );
    assert_eq!(by_receive_rate.allowed_rate(), rate(60_000.0));
    by_receive_rate.on_sent(at(450), 1000);
    by_receive_rate.handle_timeout(at(802));
    assert_eq!(by_receive_rate.allowed_rate(), rate(30_000.0));
}

/// §4.4, p > 0 and idle: nothing happens while X_recv is below the recover rate, and after many
/// expirations X has not fallen below half of it.
#[test]
fn idle_in_congestion_avoidance() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    drive(
        &mut sender,
        0,
        &[(100, 100_000.0, 0.001), (200, 100_000.0, 0.001), (301, 100_000.0, 0.001), (402, 100_000.0, 0.001)],
    );
    let recover_rate = 40_000.0;
    assert!(sender.allowed_rate() > rate(4.0 * recover_rate));
    for _ in 0..20 {
        let Some(wake) = sender.poll_timeout() else { panic!("the timer runs") };
        sender.handle_timeout(wake.at);
    }
    let kept = sender.allowed_rate().bytes_per_sec();
    assert!((recover_rate / 2.0..2.0 * recover_rate).contains(&kept), "{kept}");
}

/// §4.4, Update_Limits: however often the timer expires, the limit left behind is one packet in 64
/// s.
#[test]
fn the_nofeedback_timer_stops_at_the_floor() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 0.0, 0.01);
    let mut now = Instant::ZERO;
    for _ in 0..40 {
        let Some(wake) = sender.poll_timeout() else { panic!("the timer runs") };
        now = wake.at;
        sender.on_sent(now, 1000);
        sender.handle_timeout(now);
    }
    assert_eq!((sender.allowed_rate(), sender.rate_reason()), (rate(1000.0 / 64.0), RateReason::NoFeedback));
    // X_recv_set = {s/t_mbi/2}: what limits X now is twice that, and not the floor below it.
    feedback(&mut sender, (now + RTT).as_nanos() / 1_000_000, 1.0, 0.01);
    assert_eq!(
        (sender.allowed_rate(), sender.rate_reason()),
        (rate(1000.0 / 64.0), RateReason::ReceiveLimit)
    );
}

/// After an expiration, feedback without loss lets the rate double again (§4.4).
#[test]
fn recovery_after_no_feedback() {
    let mut sender = sender();
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 0.0, 0.0001);
    let before = sender.allowed_rate().bytes_per_sec();
    sender.on_sent(at(150), 1000);
    sender.handle_timeout(at(500));
    let mut now = 500;
    for _ in 0..3 {
        let x = sender.allowed_rate().bytes_per_sec();
        send_all(&mut sender, now, now + 210);
        now += 210;
        feedback(&mut sender, now, x, 0.0001);
        let doubled = f64::min(2.0 * x, before);
        assert!((sender.allowed_rate().bytes_per_sec() / doubled - 1.0).abs() < 1e-9);
    }
}

/// §4.5 changes the spacing, never X; §4.6: credit is at most what was configured.
#[test]
fn damping_changes_only_the_spacing() {
    let mut sender = sender_with(|s| s.algorithm.choices_mut().spacing = Spacing::Damped { weight: 0.9 });
    sender.on_rtt_sample(at(0), RTT);
    drive(&mut sender, 0, &[(100, 0.0, 0.0)]);
    send_all(&mut sender, 100, 600);
    let late = Feedback {
        newest_sent_at: at(200),
        elapsed: Duration::ZERO,
        receive_rate: rate(400_000.0),
        loss_event_rate: Probability::saturating(0.01),
        losses: LossReport::NoNewLoss,
        count: PacketCount::Unknown,
    };
    sender.on_feedback(at(600), late);
    let r = sender.rtt().unwrap_or(Duration::ZERO);
    assert_eq!(r, Duration::from_millis(130));
    assert_eq!(sender.allowed_rate(), Equation::default().rate(1000.0, r, Probability::saturating(0.01)));
    // √100, √400: R_sqmean = 0.9·√0.1 + 0.1·√0.4, so the factor is 0.9·0.5 + 0.1.
    assert!((sender.sending_rate() / sender.allowed_rate() - 0.55).abs() < 1e-9);
}

/// §4.5, §4.6: packets are s/X_inst apart.
#[test]
fn packets_are_spaced_by_the_damped_rate() {
    let mut sender = sender_with(|s| {
        s.algorithm.choices_mut().spacing = Spacing::Damped { weight: 0.9 };
        s.credit = BurstCredit::Time(Duration::ZERO);
    });
    sender.on_rtt_sample(at(0), RTT);
    sender.on_sent(at(0), 1000);
    feedback(&mut sender, 100, 1e6, 0.0);
    feedback_after(&mut sender, 400, RTT * 4, 0.01);
    assert!((sender.sending_rate() / sender.allowed_rate() - 0.55).abs() < 1e-9);
    let interval = sender.sending_rate().time_for(1000.0);
    let mut now = at(500);
    for _ in 0..5 {
        sender.on_sent(now, 1000);
        assert_eq!(sender.next_send(now), SendDecision::At(now + interval));
        now += interval;
    }
    // Asked late, the packets still follow their own times as far as there is credit for it.
    let mut sender = sender_with(|s| s.algorithm.choices_mut().spacing = Spacing::Damped { weight: 0.9 });
    sender.on_rtt_sample(at(0), RTT);
    feedback(&mut sender, 100, 1e6, 0.0);
    feedback_after(&mut sender, 400, RTT * 4, 0.01);
    sender.on_sent(at(500), 1000);
    sender.on_sent(at(500) + interval * 3, 1000);
    assert_eq!(sender.next_send(at(500)), SendDecision::Now);
    for _ in 0..2 {
        sender.on_sent(at(500) + interval * 3, 1000);
    }
    assert_eq!(sender.next_send(at(500)), SendDecision::At(at(500) + interval * 4));
}

/// §4.5: X_inst keeps to one packet in 64 s.
#[test]
fn damping_stops_at_the_floor() {
    let mut sender = sender_with(|s| s.algorithm.choices_mut().spacing = Spacing::Damped { weight: 0.9 });
    // The first sample of feedback is the estimate (§4.3 step 2) and damps nothing; the second one
    // is ten times as long.
    feedback_after(&mut sender, 500, RTT * 5, 0.0);
    feedback_after(&mut sender, 6000, RTT * 50, 1.0);
    assert_eq!((sender.allowed_rate(), sender.sending_rate()), (rate(1000.0 / 64.0), rate(1000.0 / 64.0)));
}

/// §8.3: at its nominal send time a packet goes.
#[test]
fn a_packet_goes_at_its_time() {
    let mut sender = sender();
    sender.on_sent(at(0), 1000);
    assert_eq!(sender.next_send(at(1000)), SendDecision::Now);
}

#[test]
fn the_floor_of_the_nofeedback_timer() {
    let mut sender = sender_with(|s| {
        s.no_feedback_floor = Duration::from_millis(20);
        s.credit = BurstCredit::Time(Duration::from_millis(1));
    });
    sender.on_rtt_sample(at(0), Duration::from_micros(200));
    sender.on_sent(at(0), 1000);
    assert_eq!(timer(&sender), Some(20));
}

/// Time that goes back is ignored.
#[test]
fn time_does_not_go_back() {
    let mut sender = sender();
    sender.on_sent(at(1000), 1000);
    sender.on_sent(at(10), 1000);
    assert_eq!(sender.next_send(at(2000)), SendDecision::At(at(3000)));
}

/// RFC 4828 §3: 1460 bytes in the equation, headers paid for, ten milliseconds between packets.
#[test]
fn tfrc_sp_small_packets() {
    let mut sender = sender_with(|s| {
        s.segment = SegmentSize::Fixed(160);
        s.packet_size = PacketSize::TfrcSp(TfrcSp::default());
    });
    sender.on_rtt_sample(at(0), RTT);
    sender.on_sent(at(0), 160);
    assert_eq!(
        sender.sending_rate(),
        Rate::of(640.0, RTT),
        "four packets a round-trip time are fewer than ten"
    );
    feedback(&mut sender, 100, 1e6, 0.01);
    let equation = Equation::default().rate(1460.0, RTT, Probability::saturating(0.01));
    assert_eq!(sender.allowed_rate(), equation * 0.8);
    assert_eq!(sender.sending_rate(), rate(16_000.0), "a hundred packets a second");
    sender.on_sent(at(100), 160);
    assert_eq!(sender.next_send(at(109)), SendDecision::At(at(110)));
}

/// RFC 4828 §3: the equation's segment is the path's MSS up to 1460 bytes, so X under the same p
/// falls with it; zero stands for one byte. Other packet sizes do not care.
#[test]
fn the_equation_follows_the_path_mss() {
    let x = |packet_size, mss: Option<u32>| {
        let mut sender = sender_with(|s| s.packet_size = packet_size);
        if let Some(mss) = mss {
            sender.set_path_mss(mss);
        }
        feedback(&mut sender, 100, 0.0, 0.0);
        feedback(&mut sender, 200, 1e9, 0.01);
        sender.allowed_rate().bytes_per_sec()
    };
    let small = PacketSize::TfrcSp(TfrcSp::default());
    assert_eq!(x(small, Some(1460)), x(small, None));
    assert!((x(small, Some(730)) * 2.0 / x(small, None) - 1.0).abs() < 1e-9);
    assert_eq!(x(small, Some(0)), x(small, Some(1)));
    assert_eq!(x(PacketSize::Own, Some(730)), x(PacketSize::Own, None));
}
