//! A lone TCP fills an ordinary queue: the short form of `examples/tcp_alone`.

#[path = "../examples/tcp_alone/bottleneck.rs"]
mod bottleneck;
#[path = "../examples/tcp_alone/sawtooth.rs"]
mod sawtooth;

use bottleneck::{Figures, Length, Path, Run, run};
use sawtooth::Teeth;
use tfrc_sim::loss::Loss;
use tfrc_sim::queue::{Adaptation, CoDel, Limit, Pie, Queue, Red, Thresholds, Weight};
use tfrc_sim::tcp::study::Shrink;
use tfrc_sim::tcp::{Acks, Settings, Variant};
use tfrc_units::{Duration, Instant, Probability};

const LENGTH: Length = Length {
    settling: Duration::from_secs(30),
    least: Duration::from_secs(40),
    most: Duration::from_secs(80),
    events: 10,
};

fn queues() -> [(&'static str, Queue); 6] {
    let packets = Limit::Packets;
    let red = Red {
        thresholds: Thresholds::Automatic { target_delay: Duration::from_millis(5) },
        weight: Weight::Automatic,
        adaptation: Adaptation::paper(),
        mean_packet: bottleneck::PACKET,
        ..Red::new(packets(100))
    };
    [
        ("drop-tail 50p", Queue::DropTail(packets(50))),
        ("drop-tail 66p", Queue::DropTail(packets(66))),
        ("drop-tail 100p", Queue::DropTail(packets(100))),
        ("RED 100p", Queue::Red(red)),
        ("CoDel 100p", Queue::CoDel(CoDel::new(packets(100)))),
        ("PIE 200p", Queue::Pie(Pie::new(packets(200)))),
    ]
}

fn alone(queue: Queue, settings: &Settings) -> (Figures, f64, f64) {
    let path = Path { mbit: 20, rtt_ms: 40, queue };
    let figures = run(&path, settings, 1, &LENGTH, 1).expect("the network is sound");
    let (variant, bdp) = (settings.variant, path.bdp());
    let teeth = Teeth { variant, bdp, rtt: 0.04, flows: 1, tops: &figures.tops };
    let (utilisation, loss) = (figures.utilisation / teeth.utilisation(), figures.loss / teeth.loss());
    (figures, utilisation, loss)
}

#[test]
fn a_lone_tcp_draws_its_sawtooth_through_every_queue() {
    // At least 0.9 of the sawtooth's utilisation: RED's average is a second behind a flow of 40 ms
    // and may drop twice in a tooth (decision 0010); above it by what CUBIC's curve is above the
    // line. One loss in a tooth, at most two.
    for variant in [Variant::NewReno, Variant::Sack, Variant::Cubic] {
        for acks in [Acks::Each, Acks::Delayed(Duration::from_millis(200))] {
            for (name, queue) in queues() {
                let settings = Settings { acks, ..Settings::rfc(variant) };
                let (figures, utilisation, loss) = alone(queue, &settings);
                let what = format!("{variant:?} {acks:?} {name}: {utilisation} {loss} {figures:?}");
                assert!((0.9..1.15).contains(&utilisation) && figures.utilisation < 1.001, "{what}");
                assert!((0.3..2.1).contains(&loss), "{what}");
                assert!(figures.repaired.is_some_and(|at| at < 10.0) && figures.timeouts <= 1, "{what}");
            }
        }
    }
}

#[test]
fn half_of_flight_size_to_the_letter_collapses() {
    // The case for `Shrink::InUse`. NewReno mends slow start's losses one in a round trip; its
    // timer expires first, half of what is then outstanding is several times the path, and slow
    // start begins anew.
    let settings = Settings::rfc(Variant::NewReno).with(|c| {
        c.shrink = Shrink::Flight;
        c.receive_buffer = tfrc_sim::tcp::study::ReceiveBuffer::Fixed;
    });
    let (figures, utilisation, loss) = alone(Queue::DropTail(Limit::Packets(66)), &settings);
    assert!(utilisation < 0.7 && loss > 50.0 && figures.timeouts > 10, "{figures:?}");
}

#[test]
fn cubic_under_random_loss_keeps_a_sane_window() {
    // 1 % at 20 ms: sqrt(1.5/p) is 12 segments (RFC 9438 §5.1: CUBIC is Reno there). The window
    // once a second for 3000 s: before reductions took the window in use, 0.4 % of them were in the
    // thousands.
    let loss = Loss::Bernoulli(Probability::saturating(0.01));
    let path = Path { mbit: 100, rtt_ms: 20, queue: Queue::DropTail(Limit::Unlimited) };
    let mut run =
        Run::start(&path, loss, &Settings::rfc(Variant::Cubic), 1, 1).expect("the network is sound");
    let mut windows = Vec::new();
    for second in 1..=3000 {
        run.engine.run_until(Instant::ZERO + Duration::from_secs(second));
        windows.extend(run.senders().map(tfrc_sim::tcp::Sender::cwnd));
    }
    windows.sort_by(f64::total_cmp);
    let median = windows.get(windows.len() / 2).copied().unwrap_or_default();
    let largest = windows.last().copied().unwrap_or_default();
    assert!((9.0..14.0).contains(&median) && (25.0..100.0).contains(&largest), "{median} {largest}");
}
