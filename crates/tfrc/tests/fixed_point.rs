//! The core alone, in virtual time: a sender and a receiver over a path that loses packets
//! independently.

use tfrc::Settings;
use tfrc::equation::Equation;
use tfrc_testkit::{Fate, Flow, FlowEvent, Random, Wire};
use tfrc_units::{Duration, Instant, f64_from_u64};

struct Outcome {
    packets_per_rtt: f64,
    loss_event_rate: f64,
}

/// The means over all but the first tenth of the time.
fn run(p: f64, rtt: Duration, seconds: u64, seed: u64) -> Outcome {
    let config = Settings::default().validate().expect("sound");
    let mut random = Random::new(seed);
    let rule = move |_| Fate::drop_if(random.happens(p));
    let mut flow = Flow::new(&config, 1460, Wire::new(rtt / 2), rule);
    let [warmup, end] = [seconds / 10, seconds].map(|s| Instant::ZERO + Duration::from_secs(s));
    let (mut counted, mut events_at_warmup) = (0u64, None);
    while let Some(happening) = flow.next(end) {
        if happening == FlowEvent::Sent && flow.now >= warmup {
            events_at_warmup.get_or_insert(flow.receiver.loss_events());
            counted += 1;
        }
    }
    let events = flow.receiver.loss_events() - events_at_warmup.unwrap_or(0);
    let measured = end.saturating_since(warmup).as_secs_f64();
    Outcome {
        packets_per_rtt: f64_from_u64(counted) / measured * rtt.as_secs_f64(),
        loss_event_rate: f64_from_u64(events) / f64_from_u64(counted),
    }
}

/// Where the equation meets the loss events it causes: L packets per round-trip time with 1/f(p_e)
/// = L and p_e = p/(1 + p·L), since further losses within a round-trip time of the first join its
/// event.
fn fixed_point(equation: Equation, p: f64) -> (f64, f64) {
    let mut l = 1.0;
    for _ in 0..200 {
        let p_e = tfrc_units::Probability::saturating(p / (1.0 + p * l));
        l = 0.5 * l + 0.5 * equation.rate(1.0, Duration::from_secs(1), p_e).bytes_per_sec();
    }
    (l, p / (1.0 + p * l))
}

/// The bands: 7 % around the fixed point for the rate, 10 % around p/(1 + pL) for the loss event
/// rate. At p = 0.1 the rate lies some 6 % below: see
/// docs/decisions/0003-discount-factor-at-detection.md.
#[test]
fn bernoulli_loss_gives_the_rate_of_the_equation() {
    let rtt = Duration::from_millis(100);
    for (p, seconds) in [(0.01, 4000), (0.05, 4000), (0.1, 8000)] {
        let (l, p_e) = fixed_point(Equation::default(), p);
        for seed in [1, 2, 3] {
            let outcome = run(p, rtt, seconds, seed);
            let (rate, events) = (outcome.packets_per_rtt / l, outcome.loss_event_rate / p_e);
            assert!(
                (0.93..1.07).contains(&rate),
                "p={p} seed={seed}: {rate} of {l} packets a round-trip time"
            );
            assert!((0.9..1.1).contains(&events), "p={p} seed={seed}: loss event rate {events} of {p_e}");
        }
    }
}

#[test]
fn the_fixed_points_are_those_of_the_design() {
    for (p, l) in [(0.01, 11.995), (0.05, 4.349), (0.1, 2.271)] {
        assert!((fixed_point(Equation::default(), p).0 - l).abs() < 0.001);
    }
}
