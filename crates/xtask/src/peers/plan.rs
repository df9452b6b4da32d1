//! What is run on both sides: tables of points, and the quantities that both print.

/// Points that are judged together.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    /// What was done, for the page.
    pub(super) about: &'static str,
    /// Seeds on each side, at least ten.
    pub(super) seeds: u32,
    /// The points.
    pub(super) points: Vec<Point>,
}

/// Seeds where runs of one seed are like those of any other.
const SEEDS: u32 = 10;
/// Seeds where round-trip times and phases, which a seed fixes, decide more than the length of a run.
const MANY_SEEDS: u32 = 40;

/// The same experiment on both sides.
#[derive(Debug)]
pub(super) struct Point {
    /// What sets it apart in its table.
    pub(super) name: String,
    /// The script of ns-2, and its arguments but for the seed.
    pub(super) script: &'static str,
    /// Arguments of the form name=value.
    pub(super) arguments: Vec<String>,
    /// Our scenario.
    pub(super) scenario: &'static str,
    /// Changes of the form path=value.
    pub(super) changes: Vec<String>,
    /// What is compared.
    pub(super) quantities: Vec<Quantity>,
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity {
    /// Its name and unit in tables.
    pub(super) name: &'static str,
    /// What the script of ns-2 calls it.
    pub(super) theirs: &'static str,
    /// Where it is in our document.
    pub(super) ours: Ours,
    /// What both are divided by for the table.
    pub(super) unit: f64,
}

/// Where a quantity is in our document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ours {
    /// The mean of a field over the flows whose name begins so.
    Flows(&'static str, &'static str),
    /// Loss events over packets sent, of all flows whose name begins so together, as ns-2's scripts
    /// count.
    LossEvents(&'static str),
    /// A field of the link of this name.
    Link(&'static str, &'static str),
    /// A statistic of the loss intervals of the flow of this name.
    LossIntervals(&'static str, &'static str),
    /// Packets that one flow has sent after each second: compared as a trace.
    Trace,
}

const fn of(name: &'static str, theirs: &'static str, ours: Ours, unit: f64) -> Quantity {
    Quantity { name, theirs, ours, unit }
}

/// How much longer the full runs are than the quick ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// Enough for every cell to be conclusive.
    Full,
    /// A look.
    Quick,
}

impl Length {
    const fn seconds(self, full: u32) -> u32 {
        match self {
            Self::Full => full,
            Self::Quick => full / 5,
        }
    }
}

/// Every table.
pub(super) fn tables(length: Length) -> Vec<Table> {
    vec![
        bernoulli(length),
        bottleneck(length),
        scripted(),
        red(length),
        parking_lot(length),
        assured(length),
        web(length),
    ]
}

/// Words of our scenario for each sender of the Bernoulli table, and of ns-2's.
struct Sender {
    name: &'static str,
    theirs: &'static str,
    scenario: &'static str,
    changes: &'static [&'static str],
}

const TCP: &str = "bernoulli-tcp.toml";
const TFRC: &str = "bernoulli-tfrc.toml";
const SP: &str = "bernoulli-tfrc-sp.toml";

const SENDERS: &[Sender] = &[
    Sender { name: "TFRC 1460 B", theirs: "proto=tfrc seg=1460", scenario: TFRC, changes: &[] },
    Sender { name: "TFRC-SP 200 B", theirs: "proto=tfrcsp seg=200 appms=10", scenario: SP, changes: &[] },
    Sender {
        name: "TFRC-SP 14 B",
        theirs: "proto=tfrcsp seg=14 appms=20",
        scenario: SP,
        changes: &["flow.flow.segment=14B", "flow.flow.packets_per_second=50"],
    },
    Sender { name: "Tahoe", theirs: "proto=tahoe", scenario: TCP, changes: &["flow.flow.tcp.variant=tahoe"] },
    Sender { name: "Reno", theirs: "proto=reno", scenario: TCP, changes: &["flow.flow.tcp.variant=reno"] },
    Sender {
        name: "NewReno",
        theirs: "proto=newreno",
        scenario: TCP,
        changes: &["flow.flow.tcp.variant=newreno"],
    },
    Sender { name: "SACK", theirs: "proto=sack", scenario: TCP, changes: &["flow.flow.tcp.variant=sack"] },
];

/// Loss probabilities and seconds: the rarer a packet, the longer.
const LOSSES: [(f64, u32); 7] =
    [(0.001, 1000), (0.01, 1000), (0.05, 1000), (0.1, 1000), (0.2, 2000), (0.3, 5000), (0.4, 10_000)];

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn bernoulli(length: Length) -> Table {
    let mut points = Vec::new();
    for sender in SENDERS {
        for (p, full) in LOSSES {
            let seconds = length.seconds(full);
            let mut arguments = words(sender.theirs);
            arguments.extend([format!("drop={p}"), format!("dur={seconds}")]);
            let mut changes: Vec<String> = sender.changes.iter().map(|&c| c.to_owned()).collect();
            changes.extend([format!("link.path.loss={p}"), format!("duration={seconds}s")]);
            let mut quantities =
                vec![of("rate, kbit/s", "rate_bps", Ours::Flows("flow", "send_rate_bps"), 1e3)];
            if sender.scenario == TCP {
                let cuts = Ours::LossEvents("flow");
                quantities.push(of("reductions per packet, %", "cuts_per_packet", cuts, 0.01));
            }
            points.push(Point {
                name: format!("{}, p = {p}", sender.name),
                script: "bernoulli.tcl",
                arguments,
                scenario: sender.scenario,
                changes,
                quantities,
            });
        }
    }
    Table {
        name: "bernoulli",
        title: "Random loss",
        about: "Ten flows of one kind on a path of 240 ms that loses each data packet with probability p and never \
                queues. The rate is that of payload sent, per flow.",
        seeds: SEEDS,
        points,
    }
}

const BOTTLENECK: &[Quantity] = &[
    of("TCP's rate, kbit/s", "tcp_bps", Ours::Flows("tcp", "send_rate_bps"), 1e3),
    of("TFRC's rate, kbit/s", "tfrc_bps", Ours::Flows("tfrc", "send_rate_bps"), 1e3),
    of("TCP's CoV at 0.2 s", "tcp_cov", Ours::Flows("tcp", "cov_200ms"), 1.0),
    of("TFRC's CoV at 0.2 s", "tfrc_cov", Ours::Flows("tfrc", "cov_200ms"), 1.0),
    of("TCP's reductions per packet, %", "tcp_cuts_per_packet", Ours::LossEvents("tcp"), 0.01),
    of("drop rate, %", "drop", Ours::Link("bottleneck", "drop_rate"), 0.01),
    of("utilisation, %", "util", Ours::Link("bottleneck", "utilization"), 0.01),
    of("mean queue, packets", "queue", Ours::Link("bottleneck", "mean_queue_packets"), 1.0),
];

const INTERVALS: [Quantity; 5] = [
    of("TFRC's loss intervals, mean, packets", "interval_mean", Ours::LossIntervals("tfrc-1", "mean"), 1.0),
    of("TFRC's loss intervals, CoV", "interval_cv", Ours::LossIntervals("tfrc-1", "cv"), 1.0),
    of("TFRC's loss intervals, 10th percentile", "interval_p10", Ours::LossIntervals("tfrc-1", "p10"), 1.0),
    of("TFRC's loss intervals, median", "interval_p50", Ours::LossIntervals("tfrc-1", "p50"), 1.0),
    of("TFRC's loss intervals, 90th percentile", "interval_p90", Ours::LossIntervals("tfrc-1", "p90"), 1.0),
];

fn bottleneck(length: Length) -> Table {
    let seconds = length.seconds(300);
    let point = |name: &str, theirs: &str, scenario| Point {
        name: name.to_owned(),
        script: "dumbbell.tcl",
        arguments: words(&format!("{theirs} dur={seconds} intervals=1")),
        scenario,
        changes: vec![format!("duration={seconds}s"), "flow.tfrc.loss_intervals=kept".to_owned()],
        quantities: [BOTTLENECK, &INTERVALS].concat(),
    };
    Table {
        name: "bottleneck",
        title: "16 TCP and 16 TFRC at 15 Mbit/s",
        about: "SACK TCPs and TFRC flows share a drop-tail or RED queue of 100 packets; base round-trip times from 80 \
                to 120 ms; packets of 1000 bytes. CoV is the coefficient of variation of a flow's sending rate.",
        seeds: MANY_SEEDS,
        points: vec![
            point("drop-tail", "q=droptail", "dumbbell.toml"),
            point("RED", "q=red", "dumbbell-red.toml"),
        ],
    }
}

fn red(length: Length) -> Table {
    let seconds = length.seconds(400);
    let key = |name: &str, value: &str| format!("link.bottleneck.queue.red.{name}={value}");
    let point = |name: &str, theirs: &str, mut changes: Vec<String>| {
        changes.push(format!("duration={seconds}s"));
        changes.push("flow.tcp.count=32".to_owned());
        Point {
            name: name.to_owned(),
            script: "dumbbell.tcl",
            arguments: words(&format!("{theirs} q=red ntcp=32 ntfrc=0 dur={seconds}")),
            scenario: "dumbbell-red-tcp.toml",
            changes,
            quantities: BOTTLENECK
                .iter()
                .filter(|q| ["tcp_bps", "drop", "util", "queue"].contains(&q.theirs))
                .copied()
                .collect(),
        }
    };
    Table {
        name: "red",
        title: "RED's queue and drops",
        about: "32 SACK TCPs through a RED queue of 100 packets at 15 Mbit/s, in the modes of ns-2.",
        seeds: SEEDS,
        points: vec![
            point("packet mode", "mode=pkt", vec![]),
            point("byte mode", "mode=byte", vec![key("measure", "bytes"), key("mode", "byte")]),
            point(
                "packet mode, not gentle",
                "mode=pkt overrides=Queue/RED:gentle_:false,Queue/RED:use_mark_p_:false",
                vec![key("above_max", "drop")],
            ),
            point(
                "adaptive",
                "mode=adaptive",
                vec![
                    "link.bottleneck.queue={ red = { revision = \"ns2\", limit = \"100p\", measure = \"packets\", \
                     mode = \"packet\", mean_packet = \"1000B\", thresholds = \"automatic\", \
                     weight = \"automatic-ns2\", adaptation = \"ns2\" } }"
                        .to_owned(),
                ],
            ),
        ],
    }
}

/// Packets to lose, counted from 0: one, two in a row, some apart, and a burst.
const DROPS: &[(&str, &[u32])] = &[
    ("one", &[100]),
    ("two in a row", &[100, 101]),
    ("three in one window", &[100, 103, 110]),
    ("one by one", &[100, 300, 500, 800, 1000, 1400]),
    ("a burst of eight", &[200, 201, 202, 203, 204, 205, 206, 207]),
];

fn scripted() -> Table {
    let mut points = Vec::new();
    for sender in SENDERS {
        for (name, drops) in DROPS {
            let list = |from: u32| drops.iter().map(|d| (d + from).to_string()).collect::<Vec<_>>().join(",");
            let mut arguments = words(sender.theirs);
            arguments.extend(words(&format!("n=1 dur=40.5 warm=1 start=0 bin=1 drops={}", list(0))));
            let mut changes: Vec<String> = sender.changes.iter().map(|&c| c.to_owned()).collect();
            let mut title = sender.name;
            // Reports and packets that are due fall on the same instant there, and which is first decides a whole round trip
            // of slow start. Rounding in ns-2's clock orders them as ours does with these sizes, not with 1460 and 200.
            let ordered = [("TFRC 1460 B", 1000, "TFRC 1000 B"), ("TFRC-SP 200 B", 250, "TFRC-SP 250 B")];
            if let Some((_, size, name)) = ordered.iter().find(|(name, ..)| *name == sender.name) {
                arguments.push(format!("seg={size}"));
                changes.push(format!("flow.flow.segment={size}B"));
                title = name;
            }
            changes.extend(
                ["flow.flow.count=1", "flow.flow.start=0s", "duration=40s", "warmup=1s"].map(str::to_owned),
            );
            changes.push(format!("link.path.loss={{ scripted = [{}] }}", list(1)));
            points.push(Point {
                name: format!("{title}, {name}"),
                script: "bernoulli.tcl",
                arguments,
                scenario: sender.scenario,
                changes,
                quantities: vec![of("packets sent", "trace", Ours::Trace, 1.0)],
            });
        }
    }
    Table {
        name: "scripted",
        title: "Scripted losses, compared in time",
        about: "One flow over the path of 240 ms, which loses the packets of a list and no others. Packets sent are \
                counted after each of 40 s; the error is the largest difference of the two counts, as a share of \
                ns-2's count then. No seed matters.",
        seeds: SEEDS,
        points,
    }
}

fn parking_lot(length: Length) -> Table {
    let seconds = length.seconds(1000);
    let mut points = Vec::new();
    for hops in [1u32, 5, 10] {
        for (kind, delayed) in [("tfrc", false), ("reno", false), ("reno", true)] {
            let theirs =
                format!("N={hops} c1={kind} cross={kind} delack={} dur={seconds}", u32::from(delayed));
            let scenario = match (hops, kind) {
                (1, "tfrc") => "parking-lot-1-tfrc.toml",
                (5, "tfrc") => "parking-lot-5-tfrc.toml",
                (_, "tfrc") => "parking-lot-10-tfrc.toml",
                (1, _) => "parking-lot-1-reno.toml",
                (5, _) => "parking-lot-5-reno.toml",
                _ => "parking-lot-10-reno.toml",
            };
            let mut changes = vec![format!("duration={seconds}s")];
            if delayed {
                let names = (1..=hops).flat_map(|h| [format!("there-{h}"), format!("back-{h}")]);
                let names = std::iter::once("through".to_owned()).chain(names);
                changes.extend(names.map(|name| format!("flow.{name}.tcp.acks=100ms")));
            }
            points.push(Point {
                name: format!(
                    "{} hops, {}{}",
                    hops,
                    if kind == "tfrc" { "TFRC" } else { "Reno" },
                    if delayed { ", delayed acks" } else { "" }
                ),
                script: "parking-lot.tcl",
                arguments: words(&theirs),
                scenario,
                changes,
                quantities: vec![
                    of("long flow, kbit/s", "through_bps", Ours::Flows("through", "goodput_bps"), 1e3),
                    of("cross flows, kbit/s", "there_bps", Ours::Flows("there", "goodput_bps"), 1e3),
                ],
            });
        }
    }
    Table {
        name: "parking-lot",
        title: "Parking lot",
        about: "A flow through N links of 1 Mbit/s and 10 ms with drop-tail queues of ns-2's 12 packets, each crossed by a \
                flow of the same kind in both directions; packets of 1500 bytes. Goodput of payload.",
        seeds: SEEDS,
        points,
    }
}

fn assured(length: Length) -> Table {
    let seconds = length.seconds(500);
    let point = |name: &str, x: u32, y: u32, g1: u32, g2: u32| Point {
        name: name.to_owned(),
        script: "assured.tcl",
        arguments: words(&format!("x={x} y={y} g1={g1} g2={g2} dur={seconds}")),
        scenario: "assured.toml",
        changes: vec![
            format!("duration={seconds}s"),
            format!("link.last-1.delay={x}ms"),
            format!("link.last-2.delay={y}ms"),
            format!("link.edge.marker.0.token_bucket.rate={g1}kbit/s"),
            format!("link.edge.marker.1.token_bucket.rate={g2}kbit/s"),
        ],
        quantities: vec![
            of("flow 1, kbit/s", "flow1_bps", Ours::Flows("one", "goodput_bps"), 1e3),
            of("flow 2, kbit/s", "flow2_bps", Ours::Flows("two", "goodput_bps"), 1e3),
        ],
    };
    Table {
        name: "assured",
        title: "RIO with token buckets",
        about: "Two TFRC flows, each with a token bucket of its target rate, through a coupled RIO queue at 1 Mbit/s: \
                the network of the gTFRC draft, without a guarantee at the sender.",
        seeds: SEEDS,
        points: vec![
            point("640 and 40 ms, targets 800 and 200", 300, 0, 800, 200),
            point("250 and 250 ms, targets 800 and 200", 105, 105, 800, 200),
            point("250 and 250 ms, targets 500 and 500", 105, 105, 500, 500),
        ],
    }
}

fn web(length: Length) -> Table {
    let seconds = length.seconds(300);
    let point = |name: &str, script: &'static str, theirs: &str, scenario, changes: &[&str]| Point {
        name: name.to_owned(),
        script,
        arguments: words(&format!("{theirs} dur={seconds}")),
        scenario,
        changes: std::iter::once(format!("duration={seconds}s"))
            .chain(changes.iter().map(|&c| c.to_owned()))
            .collect(),
        quantities: vec![
            of("TCP's rate, kbit/s", "tcp_bps", Ours::Flows("tcp", "send_rate_bps"), 1e3),
            of("TFRC's rate, kbit/s", "tfrc_bps", Ours::Flows("tfrc", "send_rate_bps"), 1e3),
            of("drop rate, %", "drop", Ours::Link("bottleneck", "drop_rate"), 0.01),
            of("utilisation, %", "util", Ours::Link("bottleneck", "utilization"), 0.01),
        ],
    };
    Table {
        name: "background",
        title: "On/off and web traffic",
        about: "Four SACK TCPs and four TFRC flows share a drop-tail queue of 100 packets at 15 Mbit/s with on/off \
                sources of Pareto times (shape 1.5, means 1 and 2 s, 500 kbit/s while on), or with web sessions (one \
                object of 12 packets on average, Pareto of shape 1.2, exponential pauses of 1 s).",
        seeds: MANY_SEEDS,
        points: vec![
            point(
                "40 on/off sources",
                "background.tcl",
                "onoff=40 web=0",
                "background-onoff.toml",
                &["flow.onoff.count=40"],
            ),
            point(
                "80 on/off sources",
                "background.tcl",
                "onoff=80 web=0",
                "background-onoff.toml",
                &["flow.onoff.count=80"],
            ),
            point(
                "100 web sessions",
                "background.tcl",
                "onoff=0 web=100",
                "background-web.toml",
                &["flow.web.web.sessions=100"],
            ),
        ],
    }
}
