//! Our queues compared with those of ns-2.35, alone on a link under the same sources:
//! `testdata/ns2-queues` has the scripts.
//!
//! Bands are those of the project for reference runs, 5 %, or 0.01 for drop rates by precedence.
//! The means of ns-2 are over ten seeds; their standard errors are below 1 %, as are ours over four
//! seeds.

use tfrc_sim::loss::Flows;
use tfrc_sim::marker::{Marker, MarkerRule, MeterScope};
use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
use tfrc_sim::queue::{
    Adaptation, Coupling, DropMode, Limit, Measure, Queue, Red, Rio, RioCurve, Spacing, Thresholds, Weight,
};
use tfrc_sim::trace::{Happening, Tracing};
use tfrc_sim::{Engine, LinkId, LinkSpec, Network, NoAgent, Seed, Stream};
use tfrc_units::Ecn;
use tfrc_units::{Duration, Instant, Probability, Rate};

const SECONDS: f64 = 100.0;
const SEEDS: u64 = 4;

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

/// A source at a constant rate, its intervals stretched by a factor uniform over 0.5 … 1.5.
struct Source {
    size: u32,
    interval: f64,
    next: f64,
    stream: Stream,
}

impl Source {
    fn new(size: u32, bits_per_sec: f64, start: f64, seed: u64) -> Self {
        let stream = Seed(seed).stream(&format!("source {start}"));
        Self { size, interval: f64::from(size) * 8.0 / bits_per_sec, next: start, stream }
    }
}

/// The link of 8 Mbit/s behind one of 1 Gbit/s, and sources that send through both; `sample` is
/// called each 10 ms of the last 80 s, and `step` after each packet.
fn run(
    spec: impl FnOnce(LinkSpec) -> LinkSpec,
    sources: &mut [Source],
    seed: u64,
    mut sample: impl FnMut(&Engine<NoAgent<()>>, LinkId),
    mut step: impl FnMut(&mut Engine<NoAgent<()>>, LinkId),
) {
    let mut network = Network::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| network.node(name).unwrap());
    let (fast, slow) = (Rate::from_bits_per_sec(1e9), Rate::from_bits_per_sec(8e6));
    network.link(LinkSpec::new("fast", a, b, fast, Duration::from_millis(1))).unwrap();
    let link = network.link(spec(LinkSpec::new("slow", b, c, slow, Duration::from_millis(10)))).unwrap();
    let mut engine = network.build(Seed(seed));
    engine.set_tracing(Tracing::Keep);
    let near = engine.gateway(a).unwrap();
    let to = engine.gateway(c).unwrap();
    let mut next_sample = 0.2 * SECONDS;
    while let Some((flow, source)) = (0..).zip(&mut *sources).min_by(|x, y| x.1.next.total_cmp(&y.1.next))
        && source.next < SECONDS
    {
        let now = source.next;
        while next_sample <= now {
            engine.run_until(at(next_sample));
            sample(&engine, link);
            next_sample += 0.01;
        }
        let packet = Outgoing {
            to,
            flow: FlowId(flow),
            size: source.size,
            ecn: Ecn::NotEct,
            precedence: Precedence::Low,
            payload: (),
        };
        engine.inject(at(now), near, packet);
        source.next += source.interval * (0.5 + source.stream.uniform());
        step(&mut engine, link);
        while engine.poll_delivery(to).is_some() {}
    }
}

#[derive(Clone, Copy)]
enum Parameters {
    /// Thresholds 5 and 15, weight 0.002.
    Given,
    /// Thresholds and weight that ns-2 chooses.
    Automatic,
}

#[derive(Clone, Copy)]
enum Packets {
    Equal,
    /// 1000 B and 200 B, three to one in bytes.
    Mixed,
}

/// One row: how ns-2's RED is set, the load, and what it measured: average queue, max_p, drop rate.
struct RedCase {
    red: fn(Red) -> Red,
    parameters: Parameters,
    packets: Packets,
    load: f64,
    average: f64,
    max_p: f64,
    drops: f64,
}

fn in_packets(red: Red) -> Red {
    Red { mode: DropMode::Packet, measure: Measure::Packets, limit: Limit::Packets(200), ..red }
}

fn adaptive(red: Red) -> Red {
    Red { adaptation: Adaptation::ns2(), ..red }
}

const RED: [RedCase; 9] = {
    use Packets::{Equal, Mixed};
    use Parameters::{Automatic, Given};
    const fn case(
        red: fn(Red) -> Red,
        parameters: Parameters,
        packets: Packets,
        load: f64,
        measured: (f64, f64, f64),
    ) -> RedCase {
        let (average, max_p, drops) = measured;
        RedCase { red, parameters, packets, load, average, max_p, drops }
    }
    [
        case(in_packets, Given, Equal, 1.05, (11.895, 0.1, 0.047_43)),
        case(
            |r| Red { spacing: Spacing::Uniform, ..in_packets(r) },
            Given,
            Equal,
            1.05,
            (7.5197, 0.1, 0.048_00),
        ),
        case(|r| r, Given, Mixed, 1.05, (13_159.0, 0.1, 0.028_74)),
        case(|r| adaptive(in_packets(r)), Given, Equal, 1.05, (10.433, 0.132_42, 0.047_82)),
        case(|r| r, Automatic, Mixed, 1.05, (13_118.0, 0.1, 0.028_67)),
        case(|r| Red { mode: DropMode::Byte, ..in_packets(r) }, Given, Mixed, 1.1, (15.810, 0.1, 0.053_50)),
        case(in_packets, Given, Equal, 1.4, (20.159, 0.1, 0.285_64)),
        case(adaptive, Automatic, Mixed, 1.3, (20_886.0, 0.5, 0.137_95)),
        case(|r| adaptive(in_packets(r)), Given, Equal, 1.02, (9.4864, 0.064_73, 0.019_66)),
    ]
};

fn near(ours: f64, theirs: f64, what: &str) {
    assert!((ours / theirs - 1.0).abs() < 0.05, "{what}: ours {ours}, ns-2 {theirs}");
}

#[test]
fn red_agrees_in_average_max_p_and_drop_rate() {
    for (number, case) in (1..).zip(&RED) {
        let mut red = (case.red)(Red { mean_packet: 1000, ..Red::ns2(Limit::Ns2RedBytes(200_000)) });
        if let Parameters::Given = case.parameters {
            red.thresholds = Thresholds::Fixed { min: 5.0, max: 15.0 };
            red.weight = Weight::Fixed(0.002);
        }
        let (mut samples, mut average, mut max_p, mut drops) = (0.0, 0.0, 0.0, 0.0);
        for seed in 1..=SEEDS {
            let mut sources = match case.packets {
                Packets::Equal => vec![Source::new(1000, case.load * 8e6, 0.0, seed)],
                Packets::Mixed => vec![
                    Source::new(1000, case.load * 6e6, 0.0, seed),
                    Source::new(200, case.load * 2e6, 0.0003, seed),
                ],
            };
            let mut first = None;
            let mut last = None;
            let look = |engine: &Engine<NoAgent<()>>, link| {
                let state = engine.queue_state(link).unwrap();
                average += state.average.unwrap();
                max_p += state.max_p.unwrap();
                samples += 1.0;
                last = engine.link_stats(link);
                first = first.or(last);
            };
            let forget = |engine: &mut Engine<NoAgent<()>>, _| drop(engine.take_records());
            run(|l| LinkSpec { queue: Queue::Red(red), ..l }, &mut sources, seed, look, forget);
            drops += last.unwrap().since(&first.unwrap()).drop_rate() / SEEDS as f64;
        }
        near(average / samples, case.average, &format!("average of case {number}"));
        near(max_p / samples, case.max_p, &format!("max_p of case {number}"));
        near(drops, case.drops, &format!("drops of case {number}"));
    }
}

#[test]
fn rio_agrees_in_drops_by_source_and_profile() {
    use Coupling::{Coupled, Decoupled};
    // Mode, Mbit/s of the two sources, committed rate of the first (the second's is 1 Mbit/s); drop
    // rates: first source in profile, out, second in, out.
    let cases = [
        (Coupled, 5.0, 5.0, 4.0, [0.000_18, 0.403_10, 0.000_20, 0.398_43]),
        (Decoupled, 5.0, 5.0, 4.0, [0.068_50, 0.378_79, 0.080_17, 0.315_21]),
        (Coupled, 9.0, 1.0, 8.0, [0.110_98, 0.998_59, 0.106_96, 1.0]),
    ];
    for (coupling, first, second, committed, theirs) in cases {
        let curve = |min, max, p| RioCurve { min, max, max_p: Probability::saturating(p) };
        let rio = Rio::two(Limit::Packets(50), coupling, curve(20.0, 40.0, 0.02), curve(10.0, 20.0, 0.1));
        let marker = |flow, mbit: f64| MarkerRule {
            marker: Marker::TokenBucket { cir: Rate::from_bits_per_sec(mbit * 1e6), burst: 10_000 },
            scope: MeterScope::Aggregate,
            flows: Flows::Only(vec![FlowId(flow)]),
        };
        let mut arrived = [0.0; 4];
        let mut dropped = [0.0_f64; 4];
        for seed in 1..=SEEDS {
            let mut sources =
                [Source::new(1000, first * 1e6, 0.0001, seed), Source::new(1000, second * 1e6, 0.0002, seed)];
            let count = |engine: &mut Engine<NoAgent<()>>, link| {
                for record in engine.take_records() {
                    let out = usize::from(record.header.precedence != Precedence::Low);
                    let class = 2 * record.header.flow.0 as usize + out;
                    match record.what {
                        Happening::Joined(at) if at == link => arrived[class] += 1.0,
                        Happening::Dropped(at, _) if at == link => {
                            arrived[class] += 1.0;
                            dropped[class] += 1.0;
                        }
                        _ => {}
                    }
                }
            };
            let spec = |l| LinkSpec {
                queue: Queue::Rio(rio),
                markers: vec![marker(0, committed), marker(1, 1.0)],
                ..l
            };
            run(spec, &mut sources, seed, |_, _| (), count);
        }
        for ((dropped, arrived), theirs) in dropped.iter().zip(arrived).zip(theirs) {
            let ours = dropped / arrived;
            assert!((ours - theirs).abs() < 0.01, "{coupling:?}: ours {ours}, ns-2 {theirs}");
        }
    }
}
