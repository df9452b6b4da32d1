//! TCP flows in a network: what is carried is whole, and how fast it is carried.

use tfrc_sim::tcp::{Acks, Settings, SinkStats, Transfer, Variant};
use tfrc_sim::traffic::{Peer, TcpSetup, TcpSink, TcpSource, Traffic};
use tfrc_sim::{AgentId, Engine, FlowId, Limit, LinkSpec, Loss, Network, Queue, Seed, TimerKey};
use tfrc_units::{Duration, Instant, Probability, Rate};

const VARIANTS: [Variant; 5] =
    [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic];

struct Path {
    rate: Rate,
    delay: Duration,
    queue: Queue,
    loss: Loss,
    back: Loss,
}

impl Path {
    fn clean(delay_ms: u64) -> Self {
        Self {
            rate: Rate::from_bits_per_sec(100e6),
            delay: Duration::from_millis(delay_ms),
            queue: Queue::DropTail(Limit::Unlimited),
            loss: Loss::None,
            back: Loss::None,
        }
    }
}

struct Run {
    engine: Engine<Traffic>,
    source: AgentId,
    sink: AgentId,
}

impl Run {
    fn source(&self) -> &TcpSource {
        match self.engine.agent(self.source).unwrap() {
            Traffic::TcpSource(agent) => agent,
            other => panic!("{other:?}"),
        }
    }

    fn sink(&self) -> &TcpSink {
        match self.engine.agent(self.sink).unwrap() {
            Traffic::TcpSink(agent) => agent,
            other => panic!("{other:?}"),
        }
    }

    fn received(&self) -> SinkStats {
        *self.sink().sink().stats()
    }
}

fn start(path: &Path, settings: &Settings, transfer: Transfer, seed: u64) -> Run {
    let mut network = Network::new();
    let a = network.node("a").unwrap();
    let b = network.node("b").unwrap();
    let link = LinkSpec {
        queue: path.queue,
        loss: path.loss.clone(),
        ..LinkSpec::new("ab", a, b, path.rate, path.delay)
    };
    network.link(link).unwrap();
    let link = LinkSpec { loss: path.back.clone(), ..LinkSpec::new("ba", b, a, path.rate, path.delay) };
    network.link(link).unwrap();
    let mut engine = network.build::<Traffic>(Seed(seed));
    let sink = engine.attach(b, Traffic::TcpSink(Box::new(TcpSink::new(settings)))).unwrap();
    let setup = TcpSetup {
        settings: *settings,
        transfer,
        peer: Peer { to: engine.address(sink).unwrap(), flow: FlowId(1) },
        stop: None,
        overhead: Duration::ZERO,
        stream: Seed(seed).stream("flow/1"),
    };
    let source = engine.attach(a, Traffic::TcpSource(Box::new(TcpSource::new(setup)))).unwrap();
    engine.set_timer(source, TimerKey::First, Instant::ZERO);
    Run { engine, source, sink }
}

fn secs(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

fn bernoulli(p: f64) -> Loss {
    Loss::Bernoulli(Probability::saturating(p))
}

#[test]
fn every_byte_arrives_whatever_is_lost() {
    for variant in VARIANTS {
        for (seed, p) in (0..).zip([0.0, 0.01, 0.05, 0.2, 0.4]) {
            for settings in [Settings::rfc(variant), Settings::ns2(variant)] {
                let path = Path { loss: bernoulli(p), back: bernoulli(p / 2.0), ..Path::clean(20) };
                let mut run = start(&path, &settings, Transfer::Bytes(200_123), seed);
                run.engine.run_until(secs(20_000));
                let what = format!("{variant:?} at {p}: {:?}", run.source().sender());
                assert!(run.source().sender().is_done() && run.sink().sink().is_complete(), "{what}");
                assert_eq!(run.received().delivered_bytes, 200_123, "{what}");
                assert_eq!(run.engine.in_flight(), 0, "{what}");
            }
        }
    }
}

/// Segments per round-trip time by Mathis, Semke, Mahdavi and Ott (1997), one acknowledgement for each segment.
fn square_root_law(p: f64) -> f64 {
    libm::sqrt(1.5 / p)
}

#[test]
fn sack_under_random_loss_is_near_the_square_root_law() {
    // Above it a little for rare losses, since a few are repaired by one halving; below it where timeouts begin to count.
    for (p, low, high) in [(0.001, 0.97, 1.06), (0.003, 0.96, 1.04), (0.01, 0.91, 1.0)] {
        let settings = Settings { acks: Acks::Each, ..Settings::rfc(Variant::Sack) };
        let path = Path { loss: bernoulli(p), ..Path::clean(50) };
        let mut run = start(&path, &settings, Transfer::Unlimited, 7);
        run.engine.run_until(secs(500));
        let before = run.received().delivered_segments;
        run.engine.run_until(secs(5500));
        let segments = f64::from(u32::try_from(run.received().delivered_segments - before).unwrap());
        let ratio = segments * 0.1 / 5000.0 / square_root_law(p);
        assert!(low < ratio && ratio < high, "{p}: {ratio} {:?}", run.source().sender().stats());
    }
}
