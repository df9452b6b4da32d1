//! `cargo xtask speed`: processor time for each packet-hop of ns-2, of ours and of the plainest
//! program that does the same, run in turn, so that what else the machine does falls on all alike.
//!
//! A packet-hop is one transmission over one link. The set-up (a run of no length) is taken off,
//! and ratios are medians over the rounds. Needs Debian's `ns2` and `bash`, whose `time` has
//! milliseconds.

use std::process::{Command, Stdio};

use clap::builder::PossibleValuesParser;
use serde_json::Value;

use crate::{Outcome, cargo, root};

/// A run of no length, in seconds: what it costs is the set-up.
const NOTHING: &str = "0.0001";

/// Most of the floor's time for a hop, of the small size.
const FLOOR_BAR: f64 = 2.2;

/// A dumbbell as all three programs get it.
struct Size {
    name: &'static str,
    bottleneck_mbit: u32,
    access_mbit: u32,
    queue: u32,
    /// Flows of each kind, TCP and TFRC.
    flows: u32,
    seconds: u32,
    /// Most of ns-2's time for a hop.
    bar: f64,
}

const SIZES: [Size; 3] = [
    Size {
        name: "small",
        bottleneck_mbit: 15,
        access_mbit: 100,
        queue: 100,
        flows: 16,
        seconds: 100,
        bar: 0.25,
    },
    Size {
        name: "large",
        bottleneck_mbit: 1000,
        access_mbit: 1000,
        queue: 5000,
        flows: 128,
        seconds: 30,
        bar: 0.22,
    },
    Size {
        name: "thousand",
        bottleneck_mbit: 500,
        access_mbit: 1000,
        queue: 2500,
        flows: 500,
        seconds: 20,
        bar: 0.22,
    },
];

/// The sizes to measure, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Rounds, of which the medians are taken
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The sizes of the simulator's network, without one all three; or `wire`, a packet received
    #[arg(value_name = "SIZE", value_parser = PossibleValuesParser::from(["small", "large", "thousand", "wire"]))]
    sizes: Vec<String>,
}

/// Measures the sizes named, or all.
pub(crate) fn run(Choice { rounds, sizes }: &Choice) -> Outcome {
    if sizes.iter().any(|size| size == "wire") {
        crate::wire::run(*rounds)?;
        if sizes.len() == 1 {
            return Ok(());
        }
    }
    build()?;
    let chosen = SIZES.iter().filter(|size| sizes.is_empty() || sizes.iter().any(|name| name == size.name));
    let measured = chosen.map(|size| measure(size, *rounds)).collect::<Result<Vec<_>, _>>()?;
    if let ([], [small, large, ..]) = (sizes.as_slice(), measured.as_slice()) {
        println!(
            "\nfrom small to large a hop costs {:.2} times as much, the floor's {:.2} times: ratio {:.2} [1.2]",
            large.ours / small.ours,
            large.floor / small.floor,
            (large.ours / small.ours) / (large.floor / small.floor),
        );
    }
    Ok(())
}

fn build() -> Outcome {
    let manifest = root().join("benches/Cargo.toml").display().to_string();
    let wanted: [&[&str]; 2] = [
        &["--package", "tfrc-cli"],
        &["--quiet", "--no-default-features", "--bin", "floor", "--manifest-path", &manifest],
    ];
    for arguments in wanted {
        let built = cargo().args(["build", "--locked", "--release"]).args(arguments).status();
        if !built.is_ok_and(|status| status.success()) {
            return Err("the programs do not build".to_owned());
        }
    }
    Ok(())
}

/// Nanoseconds for a hop, medians.
struct HopCost {
    ours: f64,
    floor: f64,
}

fn measure(size: &Size, rounds: u32) -> Result<HopCost, String> {
    let seconds = size.seconds.to_string();
    let counted = timed(&ns2(size, &seconds, "1"))?.said;
    let ns2_hops = counted.lines().find_map(|line| line.strip_prefix("R hops ")?.trim().parse::<f64>().ok());
    let ns2_hops = ns2_hops.ok_or_else(|| format!("ns-2 has not counted its hops: {counted}"))?;
    let first = timed(&ours(size, &seconds))?.said;
    let document: Value = serde_json::from_str(&first).map_err(|e| format!("tfrc: {e}: {first}"))?;
    let our_hops = document["packet_hops"].as_f64();
    let our_hops = our_hops.ok_or("tfrc has not counted its hops")?;
    let memory = document["timing"]["peak_memory_bytes"].as_f64().unwrap_or(f64::NAN);
    let floor_hops =
        timed(&floor(size))?.said.trim().strip_prefix("hops ").and_then(|n| n.parse::<f64>().ok());
    let floor_hops = floor_hops.ok_or("the floor program has not counted its hops")?;

    println!(
        "{}: {} TCP and {} TFRC flows over {} Mbit/s, {seconds} s; hops {ns2_hops:.0} ns-2, {our_hops:.0} ours, {floor_hops:.0} floor",
        size.name, size.flows, size.flows, size.bottleneck_mbit,
    );
    println!(
        "{:>7}{:>10}{:>10}{:>10}{:>12}{:>12}{:>14}",
        "round", "ns-2", "ours", "floor", "ours/ns-2", "ours/floor", "our set-up"
    );
    let mut columns: [Vec<f64>; 6] = Default::default();
    for round in 1..=rounds {
        let cost = |run: &[String], setup: f64, hops: f64| {
            Ok::<f64, String>((timed(run)?.cpu_s - setup) * 1e9 / hops)
        };
        let ns2_setup = timed(&ns2(size, NOTHING, "0"))?.cpu_s;
        let theirs = cost(&ns2(size, &seconds, "0"), ns2_setup, ns2_hops)?;
        let setup = timed(&ours(size, NOTHING))?.cpu_s;
        let own = cost(&ours(size, &seconds), setup, our_hops)?;
        let least = cost(&floor(size), 0.0, floor_hops)?;
        let row = [theirs, own, least, own / theirs, own / least, setup * 1e3];
        line(&round.to_string(), row);
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
    let medians = columns.map(median);
    line("median", medians);
    println!(
        "        bars: {} × ns-2, {FLOOR_BAR} × the floor; our peak memory {:.1} MiB",
        size.bar,
        memory / f64::from(1 << 20)
    );
    let [_, ours, floor, ..] = medians;
    Ok(HopCost { ours, floor })
}

fn line(label: &str, [theirs, ours, floor, to_theirs, to_floor, setup]: [f64; 6]) {
    println!(
        "{label:>7}{theirs:>7.0} ns{ours:>7.0} ns{floor:>7.0} ns{to_theirs:>12.3}{to_floor:>12.2}{setup:>11.1} ms"
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn ns2(size: &Size, seconds: &str, count: &str) -> Vec<String> {
    let Size { bottleneck_mbit, access_mbit, queue, flows, .. } = size;
    let script = root().join("experiments/ns2/scripts/speed.tcl").display().to_string();
    let settings = format!(
        "bw={bottleneck_mbit} access={access_mbit} qlen={queue} ntcp={flows} ntfrc={flows} dur={seconds} count={count}"
    );
    ["ns".to_owned(), script].into_iter().chain(settings.split(' ').map(str::to_owned)).collect()
}

fn ours(size: &Size, seconds: &str) -> Vec<String> {
    let path = |name: &str| root().join(name).display().to_string();
    let mut words = vec![
        path("target/release/tfrc"),
        "sim".to_owned(),
        path("scenarios/dumbbell-perf.toml"),
        "--json".to_owned(),
        "--timing".to_owned(),
    ];
    let mut set = |what: String| words.extend(["--set".to_owned(), what]);
    set(format!("duration={seconds}s"));
    set(format!("link.bottleneck.rate={}Mbit/s", size.bottleneck_mbit));
    set(format!("link.bottleneck.queue={}p", size.queue));
    for flow in ["tcp", "tfrc"] {
        set(format!("flow.{flow}.count={}", size.flows));
        for line in ["access", "exit"] {
            set(format!("flow.{flow}.{line}.rate={}Mbit/s", size.access_mbit));
        }
    }
    words
}

fn floor(size: &Size) -> Vec<String> {
    let Size { bottleneck_mbit, access_mbit, queue, flows, seconds, .. } = size;
    let program = root().join("benches/target/release/floor").display().to_string();
    let settings = format!("{bottleneck_mbit} {access_mbit} {seconds} {} {queue}", 2 * flows);
    [program].into_iter().chain(settings.split(' ').map(str::to_owned)).collect()
}

/// Processor time and output of a program.
struct ProgramCost {
    /// User and system time.
    cpu_s: f64,
    said: String,
}

/// Runs a program under the shell's `time`.
fn timed(words: &[String]) -> Result<ProgramCost, String> {
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='time %3U %3S'; time \"$@\"", "bash"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("bash does not run: {e}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let said =
        if output.stdout.is_empty() { errors.clone() } else { String::from_utf8_lossy(&output.stdout) };
    let times = errors.lines().rev().find_map(|line| line.strip_prefix("time "));
    let times: Vec<f64> = times.unwrap_or_default().split(' ').filter_map(|t| t.parse().ok()).collect();
    match times.as_slice() {
        [user, system] if output.status.success() => {
            Ok(ProgramCost { cpu_s: user + system, said: said.into_owned() })
        }
        _ => Err(format!("{}: {}", words.join(" "), errors.trim())),
    }
}
