//! `max_queue_delay`: queueing delay and rate with and without it, for
//! `docs/models/delay-bound.md`.

use std::fmt::Write as _;

use tfrc_scenario::Scenario;
use tfrc_sim::Seed;
use tfrc_world::recording::{Keep, LOOK, Looks};
use tfrc_world::statistics::quantile;

/// The bound of the table.
const BOUND: &str = "80ms";
/// Bytes of a packet on the line.
const PACKET: f64 = 1500.0;
const SEEDS: u64 = 3;

/// A network of the table.
struct Network {
    title: &'static str,
    /// Bit/s on the line in the measured time, and as text before it.
    rate: f64,
    before: &'static str,
    queue: &'static str,
    tcps: u64,
}

const DROP_TAIL: &str = "\"200p\"";
const RED: &str = r#"{ red = { limit = "200p", revision = "adaptive", mean_packet = "1500B" } }"#;
const CODEL: &str = r#"{ codel = { limit = "200p" } }"#;
const PIE: &str = r#"{ pie = { limit = "200p", revision = "enhanced" } }"#;

const NETWORKS: [Network; 13] = [
    Network { title: "drop-tail, alone", rate: 4e6, before: "4Mbit/s", queue: DROP_TAIL, tcps: 0 },
    Network { title: "drop-tail, halved at 40 s", rate: 2e6, before: "4Mbit/s", queue: DROP_TAIL, tcps: 0 },
    Network { title: "drop-tail, one TCP", rate: 4e6, before: "4Mbit/s", queue: DROP_TAIL, tcps: 1 },
    Network { title: "adaptive RED, alone", rate: 4e6, before: "4Mbit/s", queue: RED, tcps: 0 },
    Network { title: "adaptive RED, halved at 40 s", rate: 2e6, before: "4Mbit/s", queue: RED, tcps: 0 },
    Network { title: "adaptive RED, one TCP", rate: 4e6, before: "4Mbit/s", queue: RED, tcps: 1 },
    Network { title: "CoDel, alone", rate: 4e6, before: "4Mbit/s", queue: CODEL, tcps: 0 },
    Network { title: "CoDel, halved at 40 s", rate: 2e6, before: "4Mbit/s", queue: CODEL, tcps: 0 },
    Network { title: "CoDel, one TCP", rate: 4e6, before: "4Mbit/s", queue: CODEL, tcps: 1 },
    Network { title: "PIE, alone", rate: 4e6, before: "4Mbit/s", queue: PIE, tcps: 0 },
    Network { title: "PIE, halved at 40 s", rate: 2e6, before: "4Mbit/s", queue: PIE, tcps: 0 },
    Network { title: "PIE, one TCP", rate: 4e6, before: "4Mbit/s", queue: PIE, tcps: 1 },
    Network {
        title: "drop-tail, alone, 20 Mbit/s",
        rate: 20e6,
        before: "20Mbit/s",
        queue: DROP_TAIL,
        tcps: 0,
    },
];

fn scenario(network: &Network, bound: &str) -> Scenario {
    let Network { rate, before, queue, tcps, .. } = network;
    let tcp = if *tcps == 0 {
        String::new()
    } else {
        format!(
            "[[flow]]\nname = \"tcp\"\nkind = \"tcp\"\nfrom = \"near\"\nto = \"far\"\nstart = \"uniform 0s 1s\"\ncount = {tcps}"
        )
    };
    let text = format!(
        r#"
        duration = "140s"
        warmup = "40s"
        nodes = ["near", "far"]
        [[link]]
        name = "path"
        from = "near"
        to = "far"
        rate = "{before}"
        delay = "25ms"
        queue = {queue}
        changes = [{{ at = "40s", rate = "{rate}bit/s" }}]
        [[flow]]
        name = "tfrc"
        kind = "tfrc"
        from = "near"
        to = "far"
        segment = "1456B"
        start = "uniform 0s 1s"
        [flow.tfrc]
        max_queue_delay = "{bound}"
        {tcp}
        "#
    );
    Scenario::parse(network.title, &text).map_err(miette::Report::new).unwrap()
}

/// Means over the seeds.
#[derive(Debug, Clone, Copy, Default)]
struct Means {
    /// Milliseconds.
    p50: f64,
    p95: f64,
    /// Mbit/s.
    tfrc: f64,
    tcp: f64,
}

fn measured(network: &Network, bound: &str) -> Means {
    let mut scenario = scenario(network, bound);
    let mut means = Means::default();
    for seed in 1..=SEEDS {
        scenario.seed = Seed(seed);
        let keep = Keep { looks: Looks::Taken, ..Keep::NOTHING };
        let recording = tfrc_world::Run::of(&scenario).record(keep).unwrap();
        let looks = recording.links[0].queue.values();
        let before = (recording.from.as_nanos() / LOOK.as_nanos()) as usize;
        let queue: Vec<f64> = looks.iter().skip(before).flatten().copied().collect();
        let ms = |share| quantile(queue.clone(), share).unwrap_or(0.0) * PACKET * 8e3 / network.rate;
        let mbit = |group: &str| {
            let (_, first, count) =
                recording.groups.iter().find(|(name, ..)| name == group).expect("a group");
            let flows = &recording.outcome.flows[*first..first + count];
            let rates = flows.iter().filter_map(|flow| flow.goodput_bps);
            rates.sum::<f64>() / *count as f64 / 1e6
        };
        let n = SEEDS as f64;
        means.p50 += ms(0.5) / n;
        means.p95 += ms(0.95) / n;
        means.tfrc += mbit("tfrc") / n;
        means.tcp += if network.tcps == 0 { 0.0 } else { mbit("tcp") / n };
    }
    means
}

/// A row for each network: delays in ms, goodput in Mbit/s.
fn table(results: &[(&Network, [Means; 2])]) -> String {
    let mut text = String::from(
        "| network | p50, p95 without | p50, p95 with | TFRC without | TFRC with | TCP without | TCP with |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (network, [without, with]) in results {
        let tcp = |mbit: f64| if network.tcps == 0 { String::from("-") } else { format!("{mbit:.2}") };
        writeln!(
            text,
            "| {} | {:.0}, {:.0} | {:.0}, {:.0} | {:.2} | {:.2} | {} | {} |",
            network.title,
            without.p50,
            without.p95,
            with.p50,
            with.p95,
            without.tfrc,
            with.tfrc,
            tcp(without.tcp),
            tcp(with.tcp)
        )
        .unwrap();
    }
    text
}

/// Alone the bound is kept for 95 % of the time at 85 % of the rate or more, whatever the queue;
/// next to a TCP in a drop-tail queue TFRC gives way, and a TCP takes what it leaves.
#[test]
#[expect(clippy::disallowed_macros, reason = "the table of docs/models/delay-bound.md")]
fn the_bound_keeps_queues_short() {
    let results: Vec<_> = NETWORKS
        .iter()
        .map(|network| (network, ["unlimited", BOUND].map(|bound| measured(network, bound))))
        .collect();
    let table = table(&results);
    println!("{table}");
    for (network, [without, with]) in &results {
        if network.tcps == 0 {
            assert!(with.p95 <= 80.0, "{}:\n{table}", network.title);
            assert!(with.tfrc >= 0.85 * without.tfrc, "{}:\n{table}", network.title);
        } else {
            assert!(
                with.tfrc + with.tcp >= 0.9 * (without.tfrc + without.tcp),
                "{}:\n{table}",
                network.title
            );
        }
    }
    let page = include_str!("../../../docs/models/delay-bound.md");
    assert!(page.contains(&table), "docs/models/delay-bound.md should have:\n{table}");
}
