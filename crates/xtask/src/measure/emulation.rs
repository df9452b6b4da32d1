//! `cargo xtask measure emulation`: the emulated world against what its scenario says, by other
//! people's programs: `ping` for delays, `iperf3` for rates of the kernel's reno, cubic and bbr.
//!
//! The bars are those of the emulator's own fidelity: the rate within 1 %, the median of the
//! round-trip time within 0.5 ms of the configured one, its 99th percentile within 2 ms. The rate
//! is that of reno and cubic, which keep a queue; bbr empties it by design and leaves the line idle
//! meanwhile, so that its rate is printed and not judged. A busy machine misses the bars; the short
//! form, which CI runs, only prints what it saw, and fails if nothing gets through. The long form
//! ends with an attempt at 1 Gbit/s and what that costs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::Outcome;
use crate::python::{development, release};

/// Round-trip time of every case, milliseconds.
const RTT_MS: f64 = 50.0;
/// Bytes of a full packet, and those of its data.
const PACKET: f64 = 1500.0;
const DATA: f64 = 1448.0;
/// Bytes on the wire of an echo of `ping -s 56`.
const ECHO: f64 = 84.0;

/// The amount of measuring.
struct Form {
    /// Rates, Mbit/s.
    rates: &'static [f64],
    controls: &'static [&'static str],
    seconds: u32,
    /// Packets that a run carries at least, for longer if need be: where a gap is filled, TCP hands
    /// over a window of some twenty packets at once, at the edge of the time that counts too.
    packets: f64,
    echoes: u32,
    judged: Judged,
}

/// The bars count, or they do not on a machine that does other things.
#[derive(PartialEq, Eq)]
enum Judged {
    Yes,
    No,
}

const LONG: Form = Form {
    rates: &[0.5, 1.0, 10.0, 100.0],
    controls: &["reno", "cubic", "bbr"],
    seconds: 20,
    packets: 5000.0,
    echoes: 500,
    judged: Judged::Yes,
};

const SHORT: Form =
    Form { rates: &[10.0], controls: &["cubic"], seconds: 2, packets: 0.0, echoes: 20, judged: Judged::No };

/// Round-trip times of a run of `ping`, milliseconds.
struct Echoes {
    p50: f64,
    p99: f64,
}

/// Measures; `short` is the form of CI.
pub(crate) fn emulation(short: bool) -> Outcome {
    let form = if short { SHORT } else { LONG };
    let program = if short { development()? } else { release()? };
    let folder = tempfile::tempdir().map_err(|error| format!("a folder: {error}"))?;
    let first = emu(&program, &scenario(folder.path(), 1.0)?, &[("near", "true".to_owned())])?;
    let said = String::from_utf8_lossy(&first.stderr);
    if said.contains("gives no namespaces") {
        println!("not measured: {}", said.trim());
        return if form.judged == Judged::Yes { Err("no namespaces".to_owned()) } else { Ok(()) };
    }
    println!("round-trip time {RTT_MS} ms; rates on the wire\n");
    println!(
        "| Mbit/s | RTT p50, ms | p99, ms | control | Mbit/s seen | off by |\n| --- | --- | --- | --- | --- | --- |"
    );
    let mut outside = Vec::new();
    for rate in form.rates {
        let file = scenario(folder.path(), *rate)?;
        let idle = pinged(&program, &file, form.echoes)?;
        let wanted = RTT_MS + 2.0 * ECHO * 8.0 / (rate * 1000.0);
        if idle.p50 - wanted > 0.5 || idle.p99 - wanted > 2.0 {
            outside.push(format!("{rate} Mbit/s: RTT {:.2} and {:.2} ms", idle.p50, idle.p99));
        }
        for control in form.controls {
            let seconds = form.seconds.max((form.packets / (rate * 1e6 / 8.0 / PACKET)).ceil() as u32);
            let seen = carried(&program, &file, control, seconds)? * PACKET / DATA / 1e6;
            let off = seen / rate - 1.0;
            println!(
                "| {rate} | {:.2} ({:+.2}) | {:.2} ({:+.2}) | {control} | {seen:.3} | {:+.2} % |",
                idle.p50,
                idle.p50 - wanted,
                idle.p99,
                idle.p99 - wanted,
                100.0 * off
            );
            if off.abs() > 0.01 && *control != "bbr" {
                outside.push(format!("{rate} Mbit/s {control}: {:+.2} %", 100.0 * off));
            }
        }
    }
    if form.judged == Judged::Yes {
        gigabit(&program, folder.path(), form.seconds)?;
    }
    match (outside.as_slice(), form.judged) {
        ([], _) => Ok(()),
        (_, Judged::No) => Ok(()),
        (outside, Judged::Yes) => Err(format!("outside the bars: {}", outside.join("; "))),
    }
}

/// Prints what one flow carries over a line of 1 Gbit/s, and the processor time that it takes.
fn gigabit(program: &Path, folder: &Path, seconds: u32) -> Outcome {
    let before = children_seconds()?;
    let result = iperf3(program, &scenario(folder, 1000.0)?, "cubic", seconds)?;
    let used = children_seconds()? - before;
    let of = |end: &str| result["end"]["cpu_utilization_percent"][end].as_f64().unwrap_or(f64::NAN) / 100.0;
    // iperf3 runs for half as long again: the first part is left out of its rate.
    let time = f64::from(seconds + seconds.div_ceil(2));
    let rate = received(&result).ok_or("iperf3 has carried nothing")? * PACKET / DATA / 1e6;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "\n1 Gbit/s, cubic: {rate:.0} Mbit/s on the wire. Processors busy: {:.2} of {cores}, of them {:.2} by \
         iperf3's sender and {:.2} by its receiver.",
        used / time,
        of("host_total"),
        of("remote_total")
    );
    Ok(())
}

/// Processor time of the children that have ended, seconds (proc(5): `cutime` and `cstime`, in
/// hundredths).
fn children_seconds() -> Result<f64, String> {
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |place: usize| after_name.split_whitespace().nth(place)?.parse::<f64>().ok();
    ticks(13).zip(ticks(14)).map(|(user, system)| (user + system) / 100.0).ok_or(format!("read {text:?}"))
}

/// A path of this rate with a buffer of one bandwidth-delay product, at least ten packets.
fn scenario(folder: &Path, rate: f64) -> Result<PathBuf, String> {
    let packets = (rate * 1e3 * RTT_MS / 8.0 / PACKET).ceil().max(10.0);
    let text = format!(
        "duration = '1s'\nnodes = ['near', 'far']\n[[link]]\nname = 'path'\nfrom = 'near'\nto = 'far'\n\
         rate = '{rate}Mbit/s'\ndelay = '{}ms'\nqueue = '{packets}p'\nreverse = {{ queue = '10000p' }}\n",
        RTT_MS / 2.0
    );
    let file = folder.join(format!("{rate}.toml"));
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

fn emu(program: &Path, scenario: &Path, commands: &[(&str, String)]) -> Result<Output, String> {
    let mut command = Command::new(program);
    command.arg("emu").arg(scenario).stdin(Stdio::null());
    for (node, program) in commands {
        command.args(["--at", node, program]);
    }
    command.output().map_err(|error| format!("tfrc emu does not start: {error}"))
}

fn pinged(program: &Path, scenario: &Path, echoes: u32) -> Result<Echoes, String> {
    let output = emu(program, scenario, &[("near", format!("ping -i 0.01 -c {echoes} far"))])?;
    let text = String::from_utf8_lossy(&output.stdout);
    let times = text.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next()?.parse().ok());
    let mut times: Vec<f64> = times.collect();
    // 3: outside of the limits of fidelity, which is what is measured here.
    if !matches!(output.status.code(), Some(0 | 3)) || times.len() < 2 {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    Ok(Echoes { p50: at(0.5), p99: at(0.99) })
}

/// Bits of data a second that iperf3 has carried after the first part of its time.
fn carried(program: &Path, scenario: &Path, control: &str, seconds: u32) -> Result<f64, String> {
    let result = iperf3(program, scenario, control, seconds)?;
    received(&result).ok_or_else(|| format!("iperf3 {control} has carried nothing"))
}

fn received(result: &Value) -> Option<f64> {
    result["end"]["sum_received"]["bits_per_second"].as_f64().filter(|rate| *rate > 0.0)
}

/// iperf3's result of a run of `seconds`, after a warm-up of half that time.
fn iperf3(program: &Path, scenario: &Path, control: &str, seconds: u32) -> Result<Value, String> {
    let client = format!("iperf3 -c far -t {seconds} -O {} -C {control} -J", seconds.div_ceil(2));
    let output = emu(program, scenario, &[("far", "iperf3 -s >/dev/null".to_owned()), ("near", client)])?;
    let told = |_| format!("iperf3 {control}: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).map_err(told)
}
