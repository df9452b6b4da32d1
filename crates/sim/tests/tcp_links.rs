//! TCP over links that reorder, copy and mark packets.

use tfrc_sim::loss::{Flows, Loss, LossAction, LossPlace, LossRule};
use tfrc_sim::network::Reorder;
use tfrc_sim::packet::FlowId;
use tfrc_sim::tcp::{Acks, EcnMode, Settings, Variant};
use tfrc_sim::traffic::{Peer, TcpSetup, TcpSink, TcpSource, Timetable, Traffic};
use tfrc_sim::{AgentId, Engine, LinkSpec, Network, Seed, TimerKey};
use tfrc_units::{Duration, Instant, Probability, Rate};

const WAY: Duration = Duration::from_millis(50);

fn p(x: f64) -> Probability {
    Probability::saturating(x)
}

fn secs(s: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(s)
}

struct LinkRun {
    engine: Engine<Traffic>,
    source: AgentId,
    sink: AgentId,
}

fn start(settings: Settings, timetable: Timetable, forth: impl FnOnce(LinkSpec) -> LinkSpec) -> LinkRun {
    let mut network = Network::new();
    let a = network.node("a").unwrap();
    let b = network.node("b").unwrap();
    let rate = Rate::from_bits_per_sec(100e6);
    network.link(forth(LinkSpec::new("ab", a, b, rate, WAY))).unwrap();
    network.link(LinkSpec::new("ba", b, a, rate, WAY)).unwrap();
    let mut engine = network.build::<Traffic>(Seed(5));
    let sink = engine.attach(b, Traffic::TcpSink(Box::new(TcpSink::new(&settings)))).unwrap();
    let setup = TcpSetup {
        settings,
        timetable,
        peer: Peer { to: engine.address(sink).unwrap(), flow: FlowId(1) },
        stop: None,
        overhead: Duration::ZERO,
        stream: Seed(5).stream("flow/1"),
    };
    let source = engine.attach(a, Traffic::TcpSource(Box::new(TcpSource::new(setup)))).unwrap();
    engine.set_timer(source, TimerKey::First, Instant::ZERO);
    LinkRun { engine, source, sink }
}

impl LinkRun {
    fn source(&self) -> &TcpSource {
        match self.engine.agent(self.source).unwrap() {
            Traffic::TcpSource(agent) => agent,
            other => panic!("{other:?}"),
        }
    }

    fn delivered(&self) -> u64 {
        self.engine.agent(self.sink).unwrap().delivered().packets
    }
}

#[test]
fn copies_and_late_packets_change_nothing_of_what_arrives() {
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Cubic] {
        let mut run =
            start(Settings::rfc(variant), Timetable::default().with_transfer(500_000), |link| LinkSpec {
                loss: Loss::Bernoulli(p(0.02)),
                reorder: Reorder { share: p(0.1), extra: Duration::from_millis(3), ..Reorder::default() },
                duplicate: p(0.05),
                ..link
            });
        run.engine.run_until(secs(5000));
        assert!(run.source().sender().is_done(), "{variant:?}");
        assert_eq!(run.engine.agent(run.sink).unwrap().delivered().bytes, 500_000, "{variant:?}");
    }
}

#[test]
fn marks_slow_a_flow_as_losses_do_and_cost_nothing_else() {
    let settings = Settings { acks: Acks::Each, ecn: EcnMode::On, ..Settings::rfc(Variant::Sack) };
    let mut run = start(settings, Timetable::default(), |link| LinkSpec {
        losses: vec![LossRule {
            model: Loss::Bernoulli(p(0.005)),
            action: LossAction::Mark,
            place: LossPlace::BeforeQueue,
            flows: Flows::All,
        }],
        ..link
    });
    run.engine.run_until(secs(100));
    let before = run.delivered();
    run.engine.run_until(secs(5100));
    let stats = *run.source().sender().stats();
    // The SYN is not ECN-capable and may be dropped; nothing else is.
    assert_eq!((stats.retransmitted_segments, stats.window_cuts - stats.ecn_cuts), (0, 0));
    let segments = f64::from(u32::try_from(run.delivered() - before).unwrap());
    // sqrt(1.5/p) of Mathis et al.: 17.3 segments in 0.1 s.
    let ratio = segments * 0.1 / 5000.0 / libm::sqrt(1.5 / 0.005);
    assert!(0.94 < ratio && ratio < 1.06, "{ratio}");
    // Once in a window of 17 segments at most: some marks fall into a window already reduced.
    assert!(stats.ecn_cuts < 4400 && stats.ecn_cuts > 3600, "{stats:?}");
}
