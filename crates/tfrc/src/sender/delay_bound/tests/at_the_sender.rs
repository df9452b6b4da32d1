//! The bound in a sender: X with it against X without, and what follows the limit.

use super::*;

/// Input of a sender.
#[derive(Debug, Clone, Copy)]
enum Input {
    Sent { size: u32 },
    Report { ago: u64, elapsed: u64, receive_rate: f64, p: f64, losses: LossReport },
    Timeout,
}

fn input() -> impl Strategy<Value = Input> {
    let time = prop_oneof![0u64..400_000, 0u64..5_000_000];
    let report =
        (time.clone(), 0u64..100_000, 0.0..1e6f64, prop_oneof![Just(0.0), 0.0..0.3f64], any::<bool>());
    prop_oneof![
        4 => (1u32..2000).prop_map(|size| Input::Sent { size }),
        4 => report.prop_map(|(ago, elapsed, receive_rate, p, loss)| {
            let losses = if loss { LossReport::NewLossEvent } else { LossReport::NoNewLoss };
            Input::Report { ago, elapsed, receive_rate: receive_rate.max(0.0), p, losses }
        }),
        1 => Just(Input::Timeout),
    ]
}

fn put(sender: &mut Sender, now: Instant, input: Input) {
    match input {
        Input::Sent { size } => sender.on_sent(now, size),
        Input::Timeout => sender.handle_timeout(now),
        Input::Report { ago, elapsed, receive_rate, p, losses } => sender.on_feedback(
            now,
            Feedback {
                newest_sent_at: now - Duration::from_micros(ago),
                elapsed: Duration::from_micros(elapsed),
                receive_rate: rate(receive_rate),
                loss_event_rate: Probability::saturating(p),
                losses,
                count: PacketCount::Unknown,
            },
        ),
    }
}

proptest! {
    /// Equal inputs: X with the bound is never above X without, no packet may go earlier, and no
    /// timer differs.
    #[test]
    fn never_a_higher_rate_with_the_bound(
        most in 1u64..500,
        inputs in prop::collection::vec((0u64..200_000, input()), 1..300),
    ) {
        let bounded = Settings { max_queue_delay: QueueDelay::AtMost(MS(most)), ..Settings::default() };
        let mut with = Sender::new(&bounded.validate().expect("sound"));
        let mut without = Sender::new(&Settings::default().validate().expect("sound"));
        let mut now = at(1000);
        for (us, input) in inputs {
            now += Duration::from_micros(us);
            put(&mut with, now, input);
            put(&mut without, now, input);
            let (x, plain) = (with.allowed_rate(), without.allowed_rate());
            prop_assert!(x <= plain, "{} above {}", x, plain);
            prop_assert!(with.sending_rate() <= without.sending_rate());
            prop_assert_eq!(with.poll_timeout(), without.poll_timeout());
            prop_assert_eq!(x < plain, with.rate_reason() == RateReason::QueueDelay);
            let time = |decision| match decision {
                SendDecision::At(at) => at,
                _ => now,
            };
            prop_assert!(time(with.next_send(now)) >= time(without.next_send(now)));
        }
    }
}

/// A receiver that lies about delay for a minute, to a sender with the bound and to one without:
/// `lie` is the round-trip time, in milliseconds, that a report shows. Returns how long the first
/// one competed, and how many of its 600 reports left X lower than without the bound.
fn lied_to(lie: impl Fn(u64) -> u64) -> (Duration, u32) {
    let bounded = Settings { max_queue_delay: QueueDelay::AtMost(MOST), ..Settings::default() };
    let [mut with, mut without] =
        [bounded, Settings::default()].map(|settings| Sender::new(&settings.validate().expect("sound")));
    let (mut lower, losses) = (0, LossReport::NoNewLoss);
    for ms in (10_000..70_000).step_by(10) {
        let now = at(ms);
        while with.next_send(now) == SendDecision::Now {
            assert_eq!(without.next_send(now), SendDecision::Now, "at {ms} ms");
            put(&mut with, now, Input::Sent { size: 1000 });
            put(&mut without, now, Input::Sent { size: 1000 });
        }
        if ms % 100 == 0 {
            let report =
                Input::Report { ago: lie(ms) * 1000, elapsed: 0, receive_rate: 5e4, p: 0.01, losses };
            put(&mut with, now, report);
            put(&mut without, now, report);
            lower += u32::from(with.allowed_rate() < without.allowed_rate());
        }
        assert!(with.allowed_rate() <= without.allowed_rate(), "at {ms} ms");
        assert!(with.sending_rate() <= without.sending_rate(), "at {ms} ms");
    }
    (with.competed(at(70_000)), lower)
}

/// A flow that a receiver makes believe that others fill the queue, that it is alone, or both by
/// turns, sends what it would send without the bound at most.
#[test]
fn a_receiver_that_lies_about_delay_gains_nothing() {
    let (competed, lower) = lied_to(|ms| 100 + (ms - 10_000) / 20);
    assert!(competed > Duration::from_secs(30) && lower > 10, "{competed:?}, {lower}");
    assert_eq!(lied_to(|_| 100), (Duration::ZERO, 0));
    // R_min far below the path's.
    let (competed, lower) = lied_to(|ms| if ms % 5000 == 0 { 5 } else { 200 });
    assert!(competed.is_zero() && lower > 50, "{competed:?}, {lower}");
    let (competed, _) = lied_to(|ms| 100 + ms / 7 % 900);
    assert!(competed > Duration::from_secs(30), "{competed:?}");
}

/// The word for what holds the rate follows the state of the bound, and the application.
#[test]
fn what_holds_the_rate() {
    let settings = Settings {
        max_queue_delay: QueueDelay::AtMost(MOST),
        cap: crate::config::RateCap::Unlimited,
        ..Settings::default()
    };
    let mut sender = Sender::new(&settings.validate().expect("sound"));
    assert_eq!(sender.limit(at(0)), Limit::SlowStart);
    let report = |sender: &mut Sender, ms: u64, ago: u64, p: f64, losses| {
        let receive_rate = 50_000.0;
        put(sender, at(ms), Input::Report { ago: ago * 1000, elapsed: 0, receive_rate, p, losses });
        while sender.next_send(at(ms)) == SendDecision::Now {
            sender.on_sent(at(ms), 1000);
        }
    };
    sender.on_sent(at(0), 1000);
    report(&mut sender, 100, 100, 0.0, LossReport::NoNewLoss);
    assert_eq!(sender.limit(at(100)), Limit::SlowStart);
    for ms in (200..1000).step_by(100) {
        report(&mut sender, ms, 100, 0.2, LossReport::NoNewLoss);
    }
    assert_eq!((sender.limit(at(900)), sender.rate_reason()), (Limit::Equation, RateReason::Equation));
    // A packet could have gone two seconds ago.
    assert_eq!(sender.limit(at(3000)), Limit::Application);
    sender.set_cap(crate::config::RateCap::AtMost(rate(100.0))).expect("a cap");
    assert_eq!(sender.limit(at(900)), Limit::Application);
    sender.set_cap(crate::config::RateCap::Unlimited).expect("no cap");
    report(&mut sender, 1000, 250, 1e-6, LossReport::NoNewLoss);
    assert_eq!((sender.limit(at(1000)), sender.rate_reason()), (Limit::Queue, RateReason::QueueDelay));
    report(&mut sender, 1300, 250, 1e-6, LossReport::NewLossEvent);
    assert_eq!(sender.limit(at(1300)), Limit::Competition);
    assert!(sender.competed(at(2000)) > Duration::ZERO);
}

/// While the limit is below X, packets leave at the limit.
#[test]
fn packets_leave_at_the_limit() {
    let settings = Settings { max_queue_delay: QueueDelay::AtMost(MOST), ..Settings::default() };
    let mut sender = Sender::new(&settings.validate().expect("sound"));
    sender.on_sent(at(0), 1000);
    for (ms, ago) in [(100, 100), (200, 100), (300, 100), (400, 100), (1000, 300)] {
        let (elapsed, receive_rate, losses) = (0, 50_000.0, LossReport::NoNewLoss);
        put(&mut sender, at(ms), Input::Report { ago: ago * 1000, elapsed, receive_rate, p: 0.0001, losses });
    }
    assert_eq!(
        (sender.allowed_rate(), sender.rate_reason()),
        (rate(DRAINED * 50_000.0), RateReason::QueueDelay)
    );
    while sender.next_send(at(1000)) == SendDecision::Now {
        sender.on_sent(at(1000), 1000);
    }
    let SendDecision::At(first) = sender.next_send(at(1000)) else { panic!("it waits") };
    sender.on_sent(first, 1000);
    let SendDecision::At(second) = sender.next_send(first) else { panic!("it waits") };
    assert_eq!(second.saturating_since(first), rate(DRAINED * 50_000.0).time_for(1000.0));
}

/// The nofeedback timer follows X, also while the bound lets less than two packets in R pass
/// (RFC 5348 §4.3 step 6).
#[test]
fn the_nofeedback_timer_follows_x() {
    let [with, without] = [QueueDelay::AtMost(MOST), QueueDelay::Unlimited].map(|max_queue_delay| {
        let settings = Settings { max_queue_delay, ..Settings::default() };
        let mut sender = Sender::new(&settings.validate().expect("sound"));
        sender.on_sent(at(0), 1000);
        for (ms, ago) in [(100, 100), (200, 100), (300, 100), (400, 100), (1000, 300), (1100, 300)] {
            let (elapsed, receive_rate, losses) = (0, 1000.0, LossReport::NoNewLoss);
            put(
                &mut sender,
                at(ms),
                Input::Report { ago: ago * 1000, elapsed, receive_rate, p: 0.0001, losses },
            );
        }
        (sender.allowed_rate(), sender.poll_timeout())
    });
    assert_eq!((with.0, with.1), (rate(DRAINED * 1000.0), without.1));
}

/// A guarantee is kept whatever the queue.
#[test]
fn a_guarantee_stands_above_the_bound() {
    let settings = Settings {
        max_queue_delay: QueueDelay::AtMost(MOST),
        guarantee: Some(crate::config::Promise::of(rate(80_000.0))),
        ..Settings::default()
    };
    let mut sender = Sender::new(&settings.validate().expect("sound"));
    sender.on_sent(at(0), 1000);
    let report = |ago| Input::Report {
        ago,
        elapsed: 0,
        receive_rate: 50_000.0,
        p: 0.0001,
        losses: LossReport::NoNewLoss,
    };
    for ms in (100..1000).step_by(100) {
        put(&mut sender, at(ms), report(100_000));
    }
    put(&mut sender, at(1000), report(300_000));
    assert_eq!((sender.computed_rate(), sender.allowed_rate()), (rate(DRAINED * 50_000.0), rate(80_000.0)));
    assert_eq!(sender.rate_reason(), RateReason::Guarantee);
    assert_eq!(sender.sending_rate(), rate(80_000.0));
}
