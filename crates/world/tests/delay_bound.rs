//! `max_queue_delay`: queueing delay and rate with and without it, for
//! `docs/models/delay-bound.md`.

use std::fmt::Write as _;

use tfrc_scenario::Scenario;
use tfrc_sim::Seed;
use tfrc_units::Duration;
use tfrc_world::Run;
use tfrc_world::recording::{Keep, LOOK, Looks};
use tfrc_world::results::Interval;
use tfrc_world::statistics::quantile;
use tfrc_world::watch::Watch;

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
        let recording = Run::of(&scenario).record(keep).unwrap();
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
        "| network | p50, p95 without | p50, p95 with | TFRC without | TFRC with | quotient | TCP without | TCP with |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (network, [without, with]) in results {
        let tcp = |mbit: f64| if network.tcps == 0 { String::from("-") } else { format!("{mbit:.2}") };
        writeln!(
            text,
            "| {} | {:.0}, {:.0} | {:.0}, {:.0} | {:.2} | {:.2} | {:.2} | {} | {} |",
            network.title,
            without.p50,
            without.p95,
            with.p50,
            with.p95,
            without.tfrc,
            with.tfrc,
            with.tfrc / without.tfrc,
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
            assert!(with.tfrc >= 0.95 * without.tfrc, "{}:\n{table}", network.title);
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

/// A flow of 4 Mbit/s or less, or a greedy one, on this link; its packets are `segment` long.
fn alone(link: &str, flow: &str, tfrc: &str) -> String {
    format!(
        "duration = \"60s\"\nnodes = [\"near\", \"far\"]\n[[link]]\nname = \"path\"\nfrom = \"near\"\nto = \"far\"\n\
         {link}\n[[flow]]\nname = \"tfrc\"\nkind = \"tfrc\"\nfrom = \"near\"\nto = \"far\"\n\
         segment = \"1456B\"\n{flow}\n[flow.tfrc]\n{tfrc}\n"
    )
}

/// Goodput of the flow `tfrc` in each second, Mbit/s; the time in which it competed; and the p95 of
/// its queueing delay in milliseconds.
fn seconds(text: &str) -> (Vec<f64>, f64, f64) {
    let scenario = Scenario::parse("cell", text).map_err(miette::Report::new).unwrap();
    let mut seconds = Vec::new();
    let each = |interval: Interval| {
        if interval.flow.as_deref() == Some("tfrc") {
            seconds.push(interval.goodput_bps.unwrap_or(0.0) / 1e6);
        }
    };
    let outcome = Run::of(&scenario).watch(Watch::flows(Duration::from_secs(1), each)).outcome().unwrap();
    let flow = outcome.flows.into_iter().find(|flow| flow.id == "tfrc").unwrap();
    let p95 = flow.delays.queueing_delay_p95_s.unwrap_or(0.0) * 1e3;
    (seconds, flow.competing_s.unwrap_or(0.0), p95)
}

/// A path that becomes longer at 30 s by less than D or by more, one way or both, alone: no second
/// below half of the rate after the first three, and nobody to compete with.
#[test]
fn a_longer_path_costs_little() {
    for (cap, there, back) in [
        ("4Mbit/s", 50, 50),
        ("4Mbit/s", 80, 20),
        ("4Mbit/s", 20, 80),
        ("4Mbit/s", 40, 40),
        ("4Mbit/s", 110, 110),
        ("20Mbit/s", 50, 50),
        ("20Mbit/s", 110, 110),
        ("20Mbit/s", 200, 20),
    ] {
        let link = format!(
            "rate = \"20Mbit/s\"\ndelay = \"20ms\"\nqueue = \"200p\"\n\
             changes = [{{ at = \"30s\", delay = \"{there}ms\" }}]\n\
             reverse = {{ rate = \"20Mbit/s\", delay = \"20ms\", \
             changes = [{{ at = \"30s\", delay = \"{back}ms\" }}] }}"
        );
        let tfrc = format!("cap = \"{cap}\"\nmax_queue_delay = \"{BOUND}\"");
        let (rates, competing, _) = seconds(&alone(&link, "", &tfrc));
        let before = rates[20..29].iter().sum::<f64>() / 9.0;
        assert!(rates[33..].iter().all(|rate| *rate >= 0.5 * before), "{cap} {there} {back}: {rates:?}");
        assert!(competing <= 0.0, "{cap} {there} {back}: {competing} s");
    }
}

/// A flow that pauses, alone, has the rate that it has without the bound, and keeps it.
#[test]
fn pauses_cost_no_rate() {
    for (rtt, on_off) in [(100, 2), (100, 5), (50, 2), (20, 1)] {
        let link = format!("rate = \"4Mbit/s\"\ndelay = \"{}ms\"\nqueue = \"40p\"", rtt / 2);
        let flow = format!("on = \"{on_off}s\"\noff = \"{on_off}s\"");
        let [without, with] = ["unlimited", BOUND].map(|bound| {
            let (rates, _, p95) = seconds(&alone(&link, &flow, &format!("max_queue_delay = \"{bound}\"")));
            (rates.iter().sum::<f64>(), p95)
        });
        assert!(with.0 >= 0.95 * without.0 && with.1 <= 80.0, "{rtt} ms, {on_off} s: {without:?} {with:?}");
    }
}

/// A flow that joins a CUBIC whose queue is full keeps most of the rate that it has without the
/// bound: the losses of packets that it sends at less tell that others fill the queue.
#[test]
fn a_flow_that_joins_a_full_queue_competes() {
    let tcp = "[[flow]]\nname = \"tcp\"\nkind = \"tcp\"\nfrom = \"near\"\nto = \"far\"\n[flow.tcp]\n\
               variant = \"cubic\"\nsettings = \"linux\"";
    let link = "rate = \"2Mbit/s\"\ndelay = \"65ms\"\nqueue = \"50p\"";
    for profile in ["rfc5348", "balanced"] {
        let [without, with] = ["unlimited", BOUND].map(|bound| {
            let rates = (1..=4).map(|seed| {
                let tfrc = format!("profile = \"{profile}\"\nmax_queue_delay = \"{bound}\"");
                let text = alone(link, "start = \"uniform 5s 6s\"", &tfrc).replace("60s", "120s");
                seconds(&format!("seed = {seed}\n{text}\n{tcp}")).0[60..].iter().sum::<f64>()
            });
            rates.sum::<f64>()
        });
        assert!(with >= 0.7 * without, "{profile}: {with} of {without}");
    }
}

/// Next to a BBR whose queue is shorter than D, but longer than a bounded flow would make it.
#[test]
fn a_capped_flow_next_to_bbr_keeps_its_rate() {
    let tcp = "[[flow]]\nname = \"tcp\"\nkind = \"tcp\"\nfrom = \"near\"\nto = \"far\"\n[flow.tcp]\n\
               variant = \"bbr\"\nsettings = \"linux\"";
    let link = "rate = \"12Mbit/s\"\ndelay = \"15ms\"\nqueue = \"60p\"";
    let tfrc = format!("cap = \"4Mbit/s\"\nmax_queue_delay = \"{BOUND}\"");
    let (rates, ..) = seconds(&format!("{}\n{tcp}", alone(link, "", &tfrc)));
    let mean = rates[20..].iter().sum::<f64>() / 40.0;
    assert!(mean >= 0.3 * 12.0, "{mean}");
}
