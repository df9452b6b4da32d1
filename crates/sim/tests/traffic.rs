//! Background traffic in a network of one link each way.

use tfrc_sim::loss::Loss;
use tfrc_sim::packet::FlowId;
use tfrc_sim::queue::{Limit, Queue};
use tfrc_sim::tcp::{Settings, Variant};
use tfrc_sim::trace::Tracing;
use tfrc_sim::traffic::{
    Amount, Arrivals, DatagramSetup, DatagramSource, Distribution, ObjectStart, Pattern, Peer, PingSetup,
    Pinger, Ponger, Timetable, Traffic, WebClient, WebServer, WebSetup,
};
use tfrc_sim::{Address, AgentId, Engine, LinkSpec, Network, Seed, TimerKey};
use tfrc_units::{Duration, Instant, Probability, Rate};

struct TrafficRun {
    engine: Engine<Traffic>,
    source: AgentId,
    far: AgentId,
}

const DELAY: Duration = Duration::from_millis(10);

/// `far` at the other end, and what `near` builds from its address, started at 1 s.
fn run(loss: f64, seed: u64, far: Traffic, near: impl FnOnce(Address) -> Traffic) -> TrafficRun {
    let mut network = Network::new();
    let a = network.node("a").unwrap();
    let b = network.node("b").unwrap();
    let rate = Rate::from_bits_per_sec(10e6);
    for (name, from, to) in [("ab", a, b), ("ba", b, a)] {
        let spec = LinkSpec {
            loss: Loss::Bernoulli(Probability::saturating(loss)),
            queue: Queue::DropTail(Limit::Packets(50)),
            ..LinkSpec::new(name, from, to, rate, DELAY)
        };
        network.link(spec).unwrap();
    }
    let mut engine = network.build(Seed(seed));
    let far = engine.attach(b, far).unwrap();
    let source = engine.attach(a, near(engine.address(far).unwrap())).unwrap();
    engine.set_timer(source, TimerKey::First, at(1.0));
    TrafficRun { engine, source, far }
}

fn at(s: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(s)
}

fn datagrams(pattern: Pattern, stop: f64, seed: u64) -> TrafficRun {
    run(0.0, seed, Traffic::DatagramSink(Box::default()), |to| {
        Traffic::DatagramSource(Box::new(DatagramSource::new(DatagramSetup {
            pattern,
            data: 972,
            header: 28,
            peer: Peer { to, flow: FlowId(4) },
            timetable: Timetable::default(),
            stop: Some(at(stop)),
            stream: Seed(seed).stream("flow/4"),
        })))
    })
}

#[test]
fn a_constant_rate_is_met_to_the_packet() {
    // 972 bytes each 7 ms, from 1 s to before 8 s: 1000 packets, the last at 7.993 s.
    let gap = Duration::from_millis(7);
    let mut run = datagrams(Pattern::Constant(Rate::of(972.0, gap)), 8.0, 1);
    run.engine.set_tracing(Tracing::Keep);
    run.engine.run_until(at(20.0));
    let sent = run.engine.agent(run.source).unwrap().sent();
    assert_eq!(sent, Amount { packets: 1000, bytes: 972_000 });
    assert_eq!(run.engine.agent(run.far).unwrap().delivered(), sent);
    let joined: Vec<_> =
        run.engine.take_records().into_iter().filter(|r| r.to_string().contains("joined")).collect();
    assert!(joined.iter().all(|r| r.header.size == 1000));
    for (n, record) in (0_u64..).zip(&joined) {
        let due = at(1.0).as_nanos() + n * 7_000_000;
        assert!(record.at.as_nanos().abs_diff(due) <= 1, "packet {n} at {:?}", record.at);
    }
}

#[test]
fn on_and_off_have_their_means() {
    // On 0.5 s at 2 Mbit/s of data, off 1 s: a third of the rate. 20,000 s are about 13,000 cycles,
    // so the mean is known to about 1 % (exponential) and 2 % (shape 1.5 has no variance: a wide
    // band).
    for (on, off, band) in [
        (Distribution::Exponential { mean: 0.5 }, Distribution::Exponential { mean: 1.0 }, 0.05),
        (
            Distribution::Pareto { mean: 0.5, shape: 1.5 },
            Distribution::Pareto { mean: 1.0, shape: 1.5 },
            0.15,
        ),
    ] {
        let pattern = Pattern::OnOff { rate: Rate::from_bits_per_sec(2e6), on, off };
        let mut run = datagrams(pattern, 20_001.0, 3);
        run.engine.run_until(at(20_010.0));
        let sent = run.engine.agent(run.source).unwrap().sent();
        let rate = sent.bytes as f64 * 8.0 / 20_000.0;
        assert!((rate / (2e6 / 3.0) - 1.0).abs() < band, "{on:?}: {rate}");
        assert_eq!(run.engine.agent(run.far).unwrap().delivered(), sent);
    }
}

#[test]
fn pings_measure_the_round_trip() {
    let mut run = run(0.0, 1, Traffic::Ponger(Ponger), |to| {
        Traffic::Pinger(Box::new(Pinger::new(PingSetup {
            interval: Duration::from_millis(100),
            size: 125,
            peer: Peer { to, flow: FlowId(0) },
            timetable: Timetable::default(),
            stop: Some(at(2.0)),
            trace: Tracing::Keep,
        })))
    });
    run.engine.run_until(at(5.0));
    let Some(Traffic::Pinger(pinger)) = run.engine.agent(run.source) else { panic!() };
    // 10 ms and 0.1 ms on the line, each way.
    let rtt = Duration::from_micros(20_200);
    assert_eq!((pinger.sent().packets, pinger.stats().replies), (10, 10));
    assert_eq!(
        (pinger.stats().min, pinger.stats().max, pinger.stats().mean()),
        (Some(rtt), Some(rtt), Some(rtt))
    );
    assert_eq!(pinger.samples().first(), Some(&(at(1.0), rtt)));
}

fn web(loss: f64, seed: u64, sessions: u32, pages: Option<f64>, stop: Option<Instant>) -> TrafficRun {
    web_with(ObjectStart::Requested, loss, seed, sessions, pages, stop)
}

fn web_with(
    begin: ObjectStart,
    loss: f64,
    seed: u64,
    sessions: u32,
    pages: Option<f64>,
    stop: Option<Instant>,
) -> TrafficRun {
    let settings = Settings { segment: 512, ..Settings::ns2(Variant::Sack) };
    let server = Traffic::WebServer(Box::new(WebServer::new(&settings, Duration::ZERO)));
    run(loss, seed, server, |to| {
        Traffic::WebClient(Box::new(WebClient::new(WebSetup {
            settings,
            sessions,
            arrivals: Arrivals::Within(Duration::from_secs(10)),
            pages: pages.map(Distribution::Constant),
            between_pages: Distribution::Exponential { mean: 1.0 },
            objects: Distribution::Constant(5.0),
            between_objects: Distribution::Exponential { mean: 0.01 },
            object: Distribution::ParetoII { mean: 20.0, shape: 1.2 },
            request: 512,
            begin,
            peer: Peer { to, flow: FlowId(9) },
            stop,
            stream: Seed(seed).stream("web"),
        })))
    })
}

fn client(run: &TrafficRun) -> &WebClient {
    match run.engine.agent(run.source).unwrap() {
        Traffic::WebClient(client) => client,
        other => panic!("{other:?}"),
    }
}

fn server(run: &TrafficRun) -> &WebServer {
    match run.engine.agent(run.far).unwrap() {
        Traffic::WebServer(server) => server,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_page_is_loaded_whatever_is_lost() {
    let begins = [ObjectStart::Requested, ObjectStart::Acknowledged];
    for (loss, begin) in [0.0, 0.05, 0.2].into_iter().flat_map(|loss| begins.map(|begin| (loss, begin))) {
        let mut run = web_with(begin, loss, 5, 20, Some(6.0), None);
        run.engine.run_until(at(20_000.0));
        let stats = *client(&run).stats();
        assert_eq!((stats.pages, stats.objects, stats.requests), (120, 600, 600), "{stats:?}");
        assert_eq!(stats.delivered.bytes, stats.delivered.packets * 512);
        assert!(stats.delivered.packets <= server(&run).sent().packets);
        assert_eq!(run.engine.in_flight(), 0);
        // What was asked for does not depend on what was lost: the sizes are drawn when objects are
        // asked for, in an order that does, but their number is the same.
        assert!(stats.page_time > Duration::from_millis(60 * 120), "{stats:?}");
    }
}

#[test]
fn places_of_connections_are_used_again() {
    // 10 sessions for 2000 s ask for many thousands of objects; hardly ever more than five of each
    // session at once.
    let mut run = web(0.01, 2, 10, None, Some(at(2000.0)));
    run.engine.run_until(at(5000.0));
    let stats = *client(&run).stats();
    assert!(stats.objects > 10_000 && stats.objects == stats.requests, "{stats:?}");
    assert!(client(&run).places() <= 50 && server(&run).places() <= 50);
}

#[test]
fn an_object_takes_two_openings_and_its_slow_start() {
    // No loss, a path of 20 ms: SYN and answer, request (one way), SYN and answer back, segments: 1
    // in the first window. Six crossings of 10 ms with 40, 40, 140, 40, 40, 1040 bytes at 1.25
    // bytes/µs, and 5 ms of thinking.
    let requested = Duration::from_micros(65_000 + 4 * 32 + 112 + 832);
    assert_eq!(time_of_a_page(ObjectStart::Requested), requested);
    // The acknowledgement of the request and the word of the client, 40 bytes each.
    let more = Duration::from_micros(2 * (10_000 + 32));
    assert_eq!(time_of_a_page(ObjectStart::Acknowledged), requested + more);
}

fn time_of_a_page(begin: ObjectStart) -> Duration {
    let settings = Settings { segment: 1000, ..Settings::ns2(Variant::Sack) };
    let far = Traffic::WebServer(Box::new(WebServer::new(&settings, Duration::from_millis(5))));
    let mut run = run(0.0, 1, far, |to| {
        Traffic::WebClient(Box::new(WebClient::new(WebSetup {
            settings,
            sessions: 1,
            arrivals: Arrivals::Apart(Distribution::Constant(0.0)),
            pages: Some(Distribution::Constant(1.0)),
            between_pages: Distribution::Constant(0.0),
            objects: Distribution::Constant(1.0),
            between_objects: Distribution::Constant(0.0),
            object: Distribution::Constant(1.0),
            request: 100,
            begin,
            peer: Peer { to, flow: FlowId(9) },
            stop: None,
            stream: Seed(1).stream("web"),
        })))
    });
    run.engine.run_until(at(60.0));
    let stats = *client(&run).stats();
    assert_eq!(stats.pages, 1);
    stats.page_time
}

#[test]
fn same_seed_same_web() {
    let look = |seed| {
        let mut run = web(0.02, seed, 30, None, None);
        run.engine.run_until(at(60.0));
        (*client(&run).stats(), server(&run).sent())
    };
    assert_eq!(look(1), look(1));
    assert_ne!(look(1), look(2));
}
