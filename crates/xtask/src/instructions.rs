//! `cargo xtask instructions`: cost of the core for each data packet, and of the simulator for each
//! packet-hop and each flow, counted by valgrind, against what was recorded.
//!
//! The simulator is counted as it is released: `tfrc-count` runs scenarios and nothing else, and is
//! built with the settings of the release. Counts do not depend on how busy the machine is. They do
//! depend on the compiler, so a new one may need `--write`.

use std::path::Path;
use std::process::{Command, Output};

use crate::{Outcome, cargo, python, root};

/// Where the counts are kept: a line for each, its name and its value.
const RECORD: &str = "benches/instructions.txt";
/// How much more is too much, as a share.
const GROWTH: f64 = 0.03;
/// Two lengths of run: their difference leaves the set-up out.
const PACKETS: [u32; 2] = [20_000, 120_000];
/// A run of no length.
const NOTHING: &str = "0.1ms";
/// Two numbers of flows: their difference leaves the program out.
const FLOWS: [u32; 2] = [128, 512];

/// A thing that is counted.
struct Count {
    name: &'static str,
    unit: &'static str,
    value: f64,
}

/// Compares with the record. All counts are made and shown, whatever the first ones say.
pub(crate) fn check() -> Outcome {
    let counts = measure()?;
    let text = std::fs::read_to_string(root().join(RECORD)).map_err(|error| format!("{RECORD}: {error}"))?;
    let mut grown = Vec::new();
    for Count { name, unit, value } in counts {
        let recorded = recorded(&text, name)?;
        println!("   {value:.1} {unit}; recorded: {recorded:.1}");
        if let Some(more) = growth(value, recorded) {
            grown.push(format!("{name}: {more:.1} % more than recorded"));
        }
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!("{}; if that is meant: cargo xtask instructions --write", grown.join(", ")))
}

pub(crate) fn write() -> Outcome {
    let line = |Count { name, value, .. }: Count| format!("{name} {value:.1}\n");
    let text: String = measure()?.into_iter().map(line).collect();
    print!("{RECORD}:\n{text}");
    std::fs::write(root().join(RECORD), text).map_err(|error| format!("{RECORD}: {error}"))
}

/// The growth in percent, if it is too much.
fn growth(value: f64, recorded: f64) -> Option<f64> {
    (value > recorded * (1.0 + GROWTH)).then(|| (value / recorded - 1.0) * 100.0)
}

fn recorded(text: &str, name: &str) -> Result<f64, String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let line =
        line.ok_or_else(|| format!("{RECORD}: no {name}; to record it: cargo xtask instructions --write"))?;
    line.trim().parse().map_err(|_| format!("{RECORD}: {name}: not a number"))
}

fn measure() -> Result<Vec<Count>, String> {
    // Benches have a target of their own, whatever the workspace's is.
    let (manifest, target) = ("benches/Cargo.toml", "benches/target");
    build(&["--no-default-features", "--bin", "core", "--manifest-path", manifest, "--target-dir", target])?;
    build(&["--no-default-features", "--package", "tfrc-world", "--bin", "tfrc-count"])?;
    let core = root().join("benches/target/release/core");
    let of_core =
        |which: &str, packets: u32| instructions(Command::new(&core).args([which, &packets.to_string()]));
    // What the pattern itself costs is not work of the core.
    let cost = |which: &str| Ok::<f64, String>(of_core(which, PACKETS[1])? - of_core(which, PACKETS[0])?);
    let packet =
        || Ok::<f64, String>((cost("tfrc")? - cost("nothing")?) / f64::from(PACKETS[1] - PACKETS[0]));
    let program = python::built().join("release/tfrc-count");
    let count = |name, unit, value| Count { name, unit, value };
    // Counts are the same beside each other, and valgrind keeps one processor busy.
    let (hops, flows) = std::thread::scope(|scope| {
        let hops = scope.spawn(|| {
            Ok::<_, String>([
                count("hop-small", "instructions for a hop, 16 TCP and 16 TFRC flows", {
                    hop(&program, &[], "10s")?
                }),
                count("hop-large", "instructions for a hop, 128 TCP and 128 TFRC flows", {
                    hop(&program, &LARGE, "1s")?
                }),
                count("hop-many", "instructions for a hop, 5,000 TCP and 5,000 TFRC flows", {
                    hop(&program, &MANY, "1s")?
                }),
            ])
        });
        let flows = || {
            Ok::<_, String>([
                count("packet", "instructions for a data packet (sender, receiver, feedback)", packet()?),
                count("flow", "bytes on the heap for a TFRC flow before its first packet", {
                    flow(&program, NOTHING)?
                }),
                count("flow-second", "bytes on the heap for a TFRC flow after a second", {
                    flow(&program, "1s")?
                }),
            ])
        };
        let flows = flows();
        (hops.join().unwrap_or_else(|_| Err("the count of hops panicked".to_owned())), flows)
    });
    let ([small, large, many], [packet, flow, second]) = (hops?, flows?);
    Ok(vec![packet, small, large, many, flow, second])
}

/// Builds a program with the settings of the release.
fn build(arguments: &[&str]) -> Outcome {
    let status = cargo()
        .current_dir(root())
        .args(["build", "--locked", "--quiet", "--release"])
        .args(arguments)
        .status();
    let built = status.is_ok_and(|status| status.success());
    built.then_some(()).ok_or_else(|| format!("cargo build --release {} fails", arguments.join(" ")))
}

/// The settings that make the small dumbbell the large one.
const LARGE: [&str; 8] = [
    "link.bottleneck.rate=1Gbit/s",
    "link.bottleneck.queue=5000p",
    "flow.tcp.count=128",
    "flow.tfrc.count=128",
    "flow.tcp.access.rate=1Gbit/s",
    "flow.tcp.exit.rate=1Gbit/s",
    "flow.tfrc.access.rate=1Gbit/s",
    "flow.tfrc.exit.rate=1Gbit/s",
];

/// The settings that make the small dumbbell one of 10,000 flows with 0.5 Mbit/s each.
const MANY: [&str; 6] = [
    "link.bottleneck.rate=5Gbit/s",
    "link.bottleneck.queue=25000p",
    "flow.tcp.count=5000",
    "flow.tfrc.count=5000",
    "flow.tcp.start=uniform 0s 100ms",
    "flow.tfrc.start=uniform 0s 100ms",
];

/// Instructions of the program for a packet-hop, set-up left out.
fn hop(program: &Path, settings: &[&str], duration: &str) -> Result<f64, String> {
    let run = |duration: &str| simulation(program, "dumbbell-perf", settings, duration);
    let said = run(duration).output().map_err(|error| format!("{}: {error}", program.display()))?;
    let hops = String::from_utf8_lossy(&said.stdout);
    let hops: f64 = hops
        .trim()
        .parse()
        .map_err(|error| format!("tfrc-count: {hops}: {error}: {}", String::from_utf8_lossy(&said.stderr)))?;
    Ok((instructions(&run(duration))? - instructions(&run(NOTHING))?) / hops)
}

/// Bytes on the heap for a flow when most are in use. Each has the same share of the line.
fn flow(program: &Path, duration: &str) -> Result<f64, String> {
    let [few, many] = FLOWS.map(|flows| {
        let settings = [
            format!("flow.tfrc.count={flows}"),
            format!("link.pipe.rate={flows}Mbit/s"),
            format!("link.pipe.queue={flows}p"),
        ];
        let settings = settings.each_ref().map(String::as_str);
        let said = valgrind(
            &["--tool=dhat", "--dhat-out-file=/dev/null"],
            &simulation(program, "hundred-thousand", &settings, duration),
        )?;
        counted(&said, "At t-gmax:")
    });
    Ok((many? - few?) / f64::from(FLOWS[1] - FLOWS[0]))
}

fn simulation(program: &Path, scenario: &str, settings: &[&str], duration: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(root().join(format!("scenarios/{scenario}.toml"))).args(settings);
    command.arg(format!("duration={duration}"));
    command
}

fn instructions(command: &Command) -> Result<f64, String> {
    let only = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];
    let said = valgrind(&only, command)?;
    counted(&said, "refs:")
}

/// Runs a command under valgrind; gives the latter's words.
fn valgrind(tool: &[&str], command: &Command) -> Result<String, String> {
    let Output { status, stderr, .. } = Command::new("valgrind")
        .args(tool)
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .map_err(|error| format!("valgrind (Debian package valgrind) does not start: {error}"))?;
    let said = String::from_utf8_lossy(&stderr).into_owned();
    if status.success() { Ok(said) } else { Err(format!("valgrind ended with {status}: {said}")) }
}

/// The first number behind a label.
fn counted(said: &str, label: &str) -> Result<f64, String> {
    let rest = said.lines().find_map(|line| line.split_once(label)).map(|(_, rest)| rest.trim());
    let number = rest.and_then(|rest| rest.split_whitespace().next()).map(|number| number.replace(',', ""));
    number.and_then(|number| number.parse().ok()).ok_or_else(|| format!("valgrind says: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_valgrind_says() {
        let said = "==7== \n==7== I   refs:      63,313,203\n";
        assert_eq!(counted(said, "refs:"), Ok(63_313_203.0));
        let said =
            "==7== Total:     25,000 bytes in 4 blocks\n==7== At t-gmax: 11,134,843 bytes in 2 blocks\n";
        assert_eq!(counted(said, "At t-gmax:"), Ok(11_134_843.0));
        assert!(counted(said, "refs:").is_err());
    }

    #[test]
    fn more_than_three_percent_is_too_much() {
        assert_eq!(growth(103.0, 100.0), None);
        assert!(growth(103.1, 100.0).is_some_and(|more| (3.0..3.2).contains(&more)));
        assert_eq!(growth(50.0, 100.0), None);
    }

    #[test]
    fn the_record_has_a_line_for_each_count() {
        let text = "hop-small 800.1\nhop 7.0\n";
        assert_eq!((recorded(text, "hop"), recorded(text, "hop-small")), (Ok(7.0), Ok(800.1)));
        assert!(recorded(text, "flow").is_err_and(|why| why.contains("--write")));
    }
}
