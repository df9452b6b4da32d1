//! The sending side of each revision, rule by rule, with numbers worked out by hand.

use tfrc_testkit::at;
use tfrc_units::{Duration, Instant, Probability, Rate};

use super::*;
use crate::config::{Promise, PromiseStart, SegmentSize, Settings};
use crate::equation::RtoPolicy;
use crate::sender::tests::{RTT, feedback, feedback_with, rate};
use crate::{Feedback, LossReport, PacketCount, RateReason, SendDecision, Sender};

/// 1000-byte packets and no damping, so that rates are easy to work out.
fn sender_with(revision: Revision, change: impl FnOnce(&mut Settings)) -> Sender {
    let mut settings = Settings {
        segment: SegmentSize::Fixed(1000),
        algorithm: Algorithm::of(revision).with(|c| c.spacing = Spacing::Nominal),
        ..Settings::for_revision(revision)
    };
    change(&mut settings);
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    Sender::new(&config)
}

fn sender(revision: Revision) -> Sender {
    sender_with(revision, |_| ())
}

/// Sends whatever is allowed, at the exact times, until `ms`.
fn send_all(sender: &mut Sender, from: u64, to: u64) {
    let mut now = at(from);
    while now < at(to) {
        match sender.next_send(now) {
            SendDecision::Now => sender.on_sent(now, 1000),
            SendDecision::At(time) => now = time,
            SendDecision::Stopped(_) => break,
        }
    }
}

fn timer(sender: &Sender) -> u64 {
    sender.poll_timeout().map_or(0, |wake| wake.at.as_nanos() / 1_000_000)
}

fn x(sender: &Sender) -> f64 {
    sender.allowed_rate().bytes_per_sec()
}

/// Rate by the equation of `revision` at R = 100 ms and s = 1000 on a steady path, in bytes per
/// second.
fn equation(revision: Revision, p: f64) -> f64 {
    let equation = Algorithm::of(revision).choices().equation;
    equation.rate(1000.0, RTT, Probability::saturating(p)).bytes_per_sec()
}

/// One script, four revisions: start, first report, slow start, first loss, growth, silence. R =
/// 100 ms, s = 1000 bytes.
#[test]
fn one_script_four_revisions() {
    struct Row {
        revision: Revision,
        first: f64,
        first_timer: u64,
        initial: f64,
        timer: u64,
        doubled: f64,
        above_limit: f64,
    }
    let rows = [
        Row {
            revision: Revision::Rfc5348,
            first: 1000.0,
            first_timer: 2000,
            initial: 4e4,
            timer: 500,
            doubled: 8e4,
            above_limit: 8e4,
        },
        Row {
            revision: Revision::Rfc3448,
            first: 1000.0,
            first_timer: 2000,
            initial: 1e4,
            timer: 500,
            doubled: 2e4,
            above_limit: 1.5e4,
        },
        Row {
            revision: Revision::Sigcomm2000,
            first: 1000.0,
            first_timer: 2000,
            initial: 1e4,
            timer: 300,
            doubled: 2e4,
            above_limit: 1.5e4,
        },
        Row {
            revision: Revision::Ns2,
            first: 300.0,
            first_timer: 6666,
            initial: 4e4,
            timer: 300,
            // ns-2 does not trust the second report: it covers the one packet before the first.
            doubled: 4e4,
            above_limit: 1e4,
        },
    ];
    for row in rows {
        let mut sender = sender(row.revision);
        let name = row.revision.name();
        assert_eq!(x(&sender), row.first, "{name}");
        sender.on_sent(at(0), 1000);
        assert_eq!(timer(&sender), row.first_timer, "{name}");
        feedback(&mut sender, 100, 0.0, 0.0);
        assert_eq!((x(&sender), timer(&sender)), (row.initial, row.timer), "{name}");
        send_all(&mut sender, 100, 200);
        feedback(&mut sender, 200, row.initial, 0.0);
        assert_eq!(x(&sender), row.doubled, "{name}");
        let mut early = sender.clone();
        feedback(&mut early, 250, row.doubled, 0.0);
        assert_eq!(x(&early), row.doubled, "{name}: once per round-trip time");
        // Only 7.5 kB/s have arrived: RFC 5348 still remembers Infinity, 2 s after the start;
        // RFC 3448 and the paper take twice that; ns-2 takes it once, but a packet per round-trip
        // time is 10 kB/s.
        send_all(&mut sender, 200, 300);
        feedback(&mut sender, 300, 7_500.0, 0.0);
        let expected = if row.revision == Revision::Rfc5348 { 80_000.0 } else { row.above_limit };
        assert_eq!(x(&sender), expected, "{name}");
    }
}

/// ns-2's `rate_init_option_` 2: four, three or two packets per round-trip time.
#[test]
fn initial_windows_of_ns2() {
    for (segment, packets) in [(1095, 4.0), (1096, 3.0), (2189, 3.0), (2190, 2.0)] {
        let mut sender = sender_with(Revision::Ns2, |s| s.segment = SegmentSize::Fixed(segment));
        sender.on_rtt_sample(at(0), RTT);
        assert_eq!(sender.allowed_rate(), Rate::of(packets * f64::from(segment), RTT));
    }
}

/// The first report with p > 0, with X_recv = 20 kB/s: RFC 5348 is not limited yet, RFC 3448 and
/// the paper by 40 kB/s, ns-2 never by this report.
#[test]
fn the_first_loss_report() {
    for (revision, expected) in [
        (Revision::Rfc5348, equation(Revision::Rfc5348, 0.01)),
        (Revision::Rfc3448, 40_000.0),
        (Revision::Sigcomm2000, 40_000.0),
        // t_RTO of a path of one tick after one or two samples of 100 ms: 0.3 s.
        (Revision::Ns2, equation(Revision::Ns2, 0.01)),
    ] {
        let mut sender = sender(revision);
        sender.on_sent(at(0), 1000);
        feedback(&mut sender, 100, 0.0, 0.0);
        send_all(&mut sender, 100, 200);
        feedback(&mut sender, 200, 20_000.0, 0.01);
        let name = revision.name();
        assert!((x(&sender) / expected - 1.0).abs() < 1e-12, "{name}: {} against {expected}", x(&sender));
        assert!(x(&sender) > 30_000.0, "{name}");
    }
}

/// RFC 3448 §4.3: a first report of X_recv = 0 with p > 0 leaves one packet in 64 s; RFC 5348
/// mended that.
#[test]
fn rfc3448_stops_at_a_receive_rate_of_zero() {
    for (revision, expected) in [
        (Revision::Rfc3448, 1000.0 / 64.0),
        (Revision::Sigcomm2000, 10_000.0),
        (Revision::Rfc5348, equation(Revision::Rfc5348, 0.01)),
    ] {
        let mut sender = sender(revision);
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 0.0, 0.01);
        assert!((x(&sender) / expected - 1.0).abs() < 1e-12, "{}: {}", revision.name(), x(&sender));
    }
}

/// ns-2: after the first loss X rises by s/R for each round-trip time, two at most, and falls at
/// once.
#[test]
fn ns2_grows_a_packet_per_round_trip() {
    let mut sender = sender(Revision::Ns2);
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 40_000.0, 0.04);
    let start = x(&sender);
    assert!((start / equation(Revision::Ns2, 0.04) - 1.0).abs() < 1e-12);
    send_all(&mut sender, 100, 200);
    feedback(&mut sender, 200, 90_000.0, 0.01);
    assert!((x(&sender) - start - 10_000.0).abs() < 1e-6, "one round-trip time");
    send_all(&mut sender, 200, 250);
    feedback(&mut sender, 250, 90_000.0, 0.01);
    assert!((x(&sender) - start - 15_000.0).abs() < 1e-6, "half of one");
    send_all(&mut sender, 250, 750);
    feedback(&mut sender, 750, 90_000.0, 0.01);
    assert!((x(&sender) - start - 35_000.0).abs() < 1e-6, "five, of which two count");
    assert_eq!(sender.rate_reason(), RateReason::Equation);
    send_all(&mut sender, 750, 850);
    feedback(&mut sender, 850, 40_000.0, 0.01);
    assert_eq!((x(&sender), sender.rate_reason()), (80_000.0, RateReason::ReceiveLimit));
    send_all(&mut sender, 850, 950);
    feedback(&mut sender, 950, 90_000.0, 0.1);
    assert!((x(&sender) / equation(Revision::Ns2, 0.1) - 1.0).abs() < 1e-12, "down at once");
    // The same reports with straight growth.
    let mut straight = sender_with(Revision::Ns2, |s| s.algorithm.choices_mut().growth = Growth::ToEquation);
    straight.on_rtt_sample(at(0), RTT);
    send_all(&mut straight, 0, 100);
    feedback(&mut straight, 100, 40_000.0, 0.04);
    send_all(&mut straight, 100, 200);
    feedback(&mut straight, 200, 90_000.0, 0.01);
    assert!((x(&straight) / equation(Revision::Ns2, 0.01) - 1.0).abs() < 1e-12);
}

/// ns-2's conservative cap: X_recv after a loss, else one and a half times it, at least a packet
/// per round-trip time.
#[test]
fn ns2_conservative() {
    for (receive_rate, losses, expected) in [
        (30_000.0, LossReport::NoNewLoss, 45_000.0),
        (30_000.0, LossReport::NewLossEvent, 30_000.0),
        (1_000.0, LossReport::NewLossEvent, 10_000.0),
    ] {
        let mut sender = sender_with(Revision::Ns2, |s| {
            s.algorithm.choices_mut().receive_limit = ReceiveLimit::Ns2Conservative;
        });
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 40_000.0, 0.001);
        send_all(&mut sender, 100, 200);
        feedback_with(&mut sender, 200, receive_rate, 0.001, losses);
        assert_eq!(x(&sender), expected);
    }
}

/// ns-2: while short of data within 1.5 R the cap is at least the initial rate, 40 kB/s; else a
/// packet per round-trip time.
#[test]
fn ns2_cap_while_data_limited() {
    for (short_until, expected) in [(250, 40_000.0), (190, 10_000.0)] {
        let mut sender = sender(Revision::Ns2);
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 40_000.0, 0.001);
        // Silence, then everything that is allowed, up to the report at 350.
        send_all(&mut sender, short_until, 350);
        feedback(&mut sender, 350, 1_000.0, 0.001);
        assert_eq!(x(&sender), expected, "short of data until {short_until} ms");
    }
}

/// A host whose timers are 3 ms late is short of data all the time, unless its granularity says
/// that it may be late.
#[test]
fn ns2_with_late_timers() {
    for (granularity, expected) in [(0, 40_000.0), (2, 40_000.0), (5, 10_000.0)] {
        let granularity = Duration::from_millis(granularity);
        let mut sender = sender_with(Revision::Ns2, |s| s.timer_granularity = granularity);
        sender.on_rtt_sample(at(0), RTT);
        let mut now = at(0);
        for report in [100, 200, 300, 400] {
            while now < at(report) {
                match sender.next_send(now) {
                    SendDecision::At(time) => now = time + Duration::from_millis(3),
                    _ => sender.on_sent(now, 1000),
                }
            }
            feedback(&mut sender, report, 1_000.0, 0.001);
        }
        assert_eq!(x(&sender), expected, "{granularity:?}");
    }
}

/// The nofeedback timer at p = 0 and at p > 0, with something sent and without.
#[test]
fn missing_feedback() {
    let after = |revision, p: f64, sent_since: bool| {
        let mut sender = sender(revision);
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 300);
        feedback(&mut sender, 300, 60_000.0, p);
        send_all(&mut sender, 300, 310);
        feedback(&mut sender, 310, 60_000.0, p);
        let before = x(&sender);
        let expiry = timer(&sender);
        if sent_since {
            send_all(&mut sender, 310, expiry);
        }
        sender.handle_timeout(at(expiry));
        assert_eq!(sender.rate_reason() == RateReason::NoFeedback, x(&sender) < before);
        (expiry - 310, x(&sender) / before)
    };
    for (revision, wait) in [
        (Revision::Rfc5348, 400),
        (Revision::Rfc3448, 400),
        (Revision::Sigcomm2000, 200),
        (Revision::Ns2, 200),
    ] {
        for p in [0.0, 0.005, 0.05] {
            let name = revision.name();
            let (waited, left) = after(revision, p, true);
            assert!((wait..=wait + 1).contains(&waited), "{name}: {waited}");
            assert!((left - 0.5).abs() < 1e-12, "{name} at p = {p}: {left}");
        }
        // Idle at 120 kB/s, far above what any revision lets stand: halved as well.
        let (_, left) = after(revision, 0.001, false);
        assert!((left - 0.5).abs() < 1e-12, "{}: {left}", revision.name());
    }
}

/// Idle and slow already: X_recv 35 kB/s is below RFC 3448's four packets and RFC 5348's four; X =
/// 70 kB/s is below ns-2's twice four; the paper spares nobody.
#[test]
fn idle_senders_are_spared_or_not() {
    for (revision, left) in [
        (Revision::Rfc5348, 1.0),
        (Revision::Rfc3448, 1.0),
        (Revision::Sigcomm2000, 0.5),
        (Revision::Ns2, 1.0),
    ] {
        let mut sender = sender(revision);
        sender.on_rtt_sample(at(0), RTT);
        for ms in [100, 200, 301, 402] {
            send_all(&mut sender, ms - 100, ms);
            feedback(&mut sender, ms, 35_000.0, 0.001);
        }
        let before = x(&sender);
        let expiry = timer(&sender);
        sender.handle_timeout(at(expiry));
        assert!((x(&sender) / before - left).abs() < 1e-12, "{}: {}", revision.name(), x(&sender));
    }
}

/// RFC 3448 §4.4 step 1: which of X_recv and X_calc is cut, and feedback without loss doubles again
/// from there.
#[test]
fn rfc3448_cuts_its_copy_of_the_receive_rate() {
    let mut sender = sender(Revision::Rfc3448);
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 20_000.0, 0.001);
    assert_eq!(x(&sender), 40_000.0);
    sender.on_sent(at(150), 1000);
    sender.handle_timeout(at(500));
    assert_eq!(x(&sender), 20_000.0);
    sender.on_sent(at(600), 1000);
    sender.handle_timeout(at(900));
    assert_eq!(x(&sender), 10_000.0);
    for _ in 0..20 {
        let expiry = timer(&sender);
        sender.on_sent(at(expiry - 1), 1000);
        sender.handle_timeout(at(expiry));
    }
    assert_eq!(x(&sender), 1000.0 / 64.0, "s/t_mbi");
}

/// Without a floor the rate goes on halving; with one of a packet per round-trip time it stops
/// there.
#[test]
fn floors() {
    for (floor, expected) in [
        (RateFloor::None, 10_000.0 / 1024.0),
        (RateFloor::PacketPer64Seconds, 15.625),
        (RateFloor::PacketPerRtt, 10_000.0),
    ] {
        let mut sender = sender_with(Revision::Sigcomm2000, |s| s.algorithm.choices_mut().floor = floor);
        sender.on_rtt_sample(at(0), RTT);
        sender.on_sent(at(0), 1000);
        for _ in 0..10 {
            let Some(wake) = sender.poll_timeout() else { panic!("the timer runs") };
            sender.on_sent(wake.at, 1000);
            sender.handle_timeout(wake.at);
        }
        assert_eq!(x(&sender), expected);
    }
    let refused = Settings::of_study(|c| c.floor = RateFloor::None);
    assert_eq!(refused.validate().err(), Some(crate::ConfigError::Floor));
}

/// The factor and the wait of the nofeedback rule are what the settings say: 0.8 after three
/// round-trip times.
#[test]
fn another_nofeedback_rule() {
    let mut sender = sender_with(Revision::Rfc5348, |s| {
        s.algorithm.choices_mut().no_feedback =
            NoFeedback { round_trips: 3, factor: 0.8, ..NoFeedback::default() };
    });
    sender.on_rtt_sample(at(0), RTT);
    send_all(&mut sender, 0, 100);
    feedback(&mut sender, 100, 0.0, 0.01);
    let before = x(&sender);
    assert_eq!(timer(&sender), 400);
    sender.on_sent(at(150), 1000);
    sender.handle_timeout(at(400));
    assert!((x(&sender) / before - 0.8).abs() < 1e-12);
}

/// ns-2's t_RTO follows samples: with round-trip times of two ticks it is five ticks, 0.5 s; RFC
/// 5348's is 4R = 0.8 s.
#[test]
fn the_timeout_of_the_equation_follows_samples() {
    let rtt = Duration::from_millis(200);
    let at_p = Probability::saturating(0.1);
    for (rto, expected) in [
        (RtoPolicy::Ticks { tick: RTT, least: Duration::ZERO }, Duration::from_millis(500)),
        (RtoPolicy::FourRtt, Duration::from_millis(800)),
    ] {
        let mut sender = sender_with(Revision::Rfc5348, |s| s.algorithm.choices_mut().equation.rto = rto);
        sender.on_rtt_sample(at(0), rtt);
        for ms in [200, 400, 600] {
            send_all(&mut sender, ms - 200, ms);
            let feedback = Feedback {
                newest_sent_at: at(ms) - rtt,
                elapsed: Duration::ZERO,
                receive_rate: rate(1e6),
                loss_event_rate: at_p,
                losses: LossReport::NoNewLoss,
                count: PacketCount::Unknown,
            };
            sender.on_feedback(at(ms), feedback);
        }
        let given = Equation::default().rate_with_timeout(1000.0, rtt, expected, at_p);
        assert!((sender.allowed_rate() / given - 1.0).abs() < 1e-9, "{rto:?}: {}", sender.allowed_rate());
    }
}

/// ns-2's spacing: a report in slow start and an expiration release a packet, the rate climbs over
/// the next packets, and later reports do not move the packet that waits.
#[test]
fn ns2_spacing() {
    let mut sender = sender(Revision::Ns2);
    sender.on_sent(at(0), 1000);
    assert_eq!(sender.next_send(at(100)), SendDecision::At(Instant::from_nanos(3_333_333_333)));
    feedback(&mut sender, 100, 0.0, 0.0);
    assert_eq!(sender.next_send(at(100)), SendDecision::Now);
    sender.on_sent(at(100), 1000);
    // 300 B/s is less than a packet in a round-trip time: the whole step to 40,000 B/s at once.
    assert_eq!(sender.sending_rate(), rate(40_000.0));
    let SendDecision::At(next) = sender.next_send(at(100)) else { panic!("one packet only") };
    feedback(&mut sender, 110, 0.0, 0.01);
    assert_eq!(sender.next_send(at(110)), SendDecision::At(next), "the waiting packet keeps its time");
    assert_eq!(sender.sending_rate(), sender.allowed_rate(), "the climb is over");
    let expiry = sender.poll_timeout().expect("a nofeedback timer").at;
    let before = Instant::from_nanos(expiry.as_nanos() - 5_000_000);
    sender.on_sent(before, 1000);
    assert!(matches!(sender.next_send(before), SendDecision::At(next) if next > expiry));
    sender.handle_timeout(expiry);
    assert_eq!(sender.next_send(expiry), SendDecision::Now, "an expiration sends");
}

/// SlowStart::Ns2 with the limit of RFC 5348 keeps what makes it different: above the limit X falls
/// to half of it.
#[test]
fn slow_start_of_ns2_with_another_limit() {
    let mut sender =
        sender_with(Revision::Rfc3448, |s| s.algorithm.choices_mut().slow_start = SlowStart::Ns2);
    sender.on_rtt_sample(at(0), RTT);
    for (ms, receive_rate) in [(100, 1e6), (200, 1e6), (300, 1e6), (400, 1e6)] {
        send_all(&mut sender, ms - 100, ms);
        feedback(&mut sender, ms, receive_rate, 0.0);
    }
    assert_eq!(x(&sender), 80_000.0, "not at the first of them");
    send_all(&mut sender, 400, 500);
    feedback(&mut sender, 500, 20_000.0, 0.0);
    assert_eq!((x(&sender), sender.rate_reason()), (20_000.0, RateReason::ReceiveLimit));
}

fn promised(start: PromiseStart, give_way_below: Option<f64>) -> Option<Promise> {
    Some(Promise { rate: rate(50_000.0), start, give_way_below })
}

/// gTFRC: G = max(g, X) from the first round-trip time, or from the first loss report; X itself
/// goes its own way.
#[test]
fn the_guarantee_begins() {
    for (start, at_first_rtt) in
        [(PromiseStart::FirstRtt, 50_000.0), (PromiseStart::FirstLossReport, 40_000.0)]
    {
        let mut sender = sender_with(Revision::Rfc5348, |s| s.guarantee = promised(start, None));
        assert_eq!(x(&sender), 1000.0, "no round-trip time, no promise");
        sender.on_rtt_sample(at(0), RTT);
        assert_eq!(x(&sender), at_first_rtt);
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 0.0, 0.1);
        assert_eq!((x(&sender), sender.rate_reason()), (50_000.0, RateReason::Guarantee));
        assert_eq!(sender.sending_rate(), rate(50_000.0));
        let computed = sender.computed_rate().bytes_per_sec();
        assert!((computed / equation(Revision::Rfc5348, 0.1) - 1.0).abs() < 1e-12);
        let mut last = None;
        while let Some(event) = sender.poll_event() {
            last = Some(event);
        }
        assert_eq!(last.map(|e| (e.to, e.reason)), Some((rate(50_000.0), RateReason::Guarantee)));
        // Above g, X rules.
        send_all(&mut sender, 100, 200);
        feedback(&mut sender, 200, 60_000.0, 0.005);
        assert_eq!(sender.rate_reason(), RateReason::Equation);
        assert!(x(&sender) > 100_000.0);
    }
}

/// The threshold y: at p where X is just above g/y the promise stands, just below it X is sent.
#[test]
fn the_guarantee_gives_way() {
    for (y, p, kept) in [(4.0, 0.1, true), (2.5, 0.1, false)] {
        // X = 17.7 kB/s; g/y = 12.5 and 20 kB/s.
        let guarantee = promised(PromiseStart::FirstRtt, Some(y));
        let mut sender = sender_with(Revision::Rfc5348, |s| s.guarantee = guarantee);
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 0.0, p);
        let expected = if kept { 50_000.0 } else { equation(Revision::Rfc5348, p) };
        assert!((x(&sender) / expected - 1.0).abs() < 1e-12, "y = {y}: {}", x(&sender));
    }
}

/// Idle and without feedback: X halves and halves, G stays at g; with a threshold it follows X once
/// that is below g/y.
#[test]
fn the_guarantee_without_feedback() {
    for (y, expected) in [(None, 50_000.0), (Some(4.0), 1_250.0)] {
        let mut sender =
            sender_with(Revision::Rfc5348, |s| s.guarantee = promised(PromiseStart::FirstRtt, y));
        sender.on_rtt_sample(at(0), RTT);
        sender.on_sent(at(0), 1000);
        for halvings in 1..=5u8 {
            let expiry = timer(&sender);
            sender.on_sent(at(expiry), 1000);
            sender.handle_timeout(at(expiry));
            if halvings == 1 {
                assert_eq!(x(&sender), 50_000.0, "X = 20 kB/s is above 12.5");
                assert_eq!(timer(&sender) - expiry, 400, "4R, not 2s/X of a lower X");
            }
        }
        assert_eq!(x(&sender), expected);
        assert_eq!(sender.computed_rate(), rate(1_250.0));
    }
}

/// A damped spacing does not go below g either.
#[test]
fn the_guarantee_holds_for_the_spacing() {
    let guarantee = promised(PromiseStart::FirstRtt, None);
    let mut sender = sender_with(Revision::Rfc5348, |s| {
        s.guarantee = guarantee;
        s.algorithm.choices_mut().spacing = Spacing::Damped { weight: 0.9 };
    });
    sender.on_rtt_sample(at(0), RTT);
    let late = Feedback {
        newest_sent_at: at(0),
        elapsed: Duration::ZERO,
        receive_rate: rate(1e6),
        loss_event_rate: Probability::saturating(0.02),
        losses: LossReport::NoNewLoss,
        count: PacketCount::Unknown,
    };
    sender.on_sent(at(0), 1000);
    sender.on_feedback(at(100), Feedback { loss_event_rate: Probability::ZERO, ..late });
    send_all(&mut sender, 100, 400);
    sender.on_feedback(at(400), late);
    let x = sender.computed_rate().bytes_per_sec();
    assert!((50_000.0..60_000.0).contains(&x), "{x}");
    assert_eq!(sender.sending_rate(), rate(50_000.0), "0.55 of X would be less");
}

/// In ns-2 the packets from an expiration to the next report ask for a report at once; RFC 5348's
/// never do.
#[test]
fn an_expiration_asks_for_a_report() {
    for (revision, asks) in
        [(Revision::Ns2, true), (Revision::Rfc5348, false), (Revision::Sigcomm2000, false)]
    {
        let mut sender = sender_with(revision, |_| {});
        sender.on_rtt_sample(at(0), RTT);
        send_all(&mut sender, 0, 100);
        feedback(&mut sender, 100, 0.0, 0.01);
        assert!(!sender.stamp(at(0)).wants_report, "{revision:?}");
        let expires = timer(&sender);
        sender.on_sent(at(150), 1000);
        sender.handle_timeout(at(expires));
        assert_eq!(sender.stamp(at(0)).wants_report, asks, "{revision:?}");
        feedback(&mut sender, expires + 1, 0.0, 0.01);
        assert!(!sender.stamp(at(0)).wants_report, "{revision:?}");
    }
}
