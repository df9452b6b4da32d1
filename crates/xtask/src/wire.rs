//! `cargo xtask speed wire`: processor time of `tfrc recv` for each packet over that of a bare
//! receiver, epoll and recvmmsg with the same ancillary data, at the same rate and in bursts of the
//! same mean length.
//!
//! The bursts are those of `tfrc send`, from its capture: datagrams of one turn have the same time.
//! Costs are user and system time of the whole process; that of a session of one datagram is taken
//! off. Ratios are medians over rounds of both in turn.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Outcome, cargo, root};

/// Length of a datagram, bytes.
const BYTES: &str = "1400B";
/// Bytes of a pcap file before its records, and of a record before its packet.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// One way to send.
struct Mode {
    name: &'static str,
    /// Arguments of `tfrc send`.
    rate: &'static [&'static str],
    /// Most of the bare receiver's time, and the aim.
    bars: [f64; 2],
}

const MODES: [Mode; 3] = [
    Mode { name: "15 Mbit/s", rate: &["-b", "15Mbit/s"], bars: [2.0, 1.3] },
    Mode { name: "170 Mbit/s", rate: &["-b", "170Mbit/s"], bars: [2.0, 1.3] },
    Mode { name: "flood", rate: &[], bars: [1.6, 1.3] },
];

/// The processor time and the waits of a receiver.
#[derive(Clone, Copy)]
struct Cost {
    packets: f64,
    cpu_ns: f64,
    waits: f64,
}

/// Measures each mode.
pub(crate) fn run(rounds: u32) -> Outcome {
    let built = cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let bench = Bench { bare: folder.path().join("bare"), folder: folder.path() };
    let compiled =
        Command::new("cc").args(["-O2", "-o"]).arg(&bench.bare).arg(root().join("benches/bare.c")).status();
    if !compiled.is_ok_and(|status| status.success()) {
        return Err("benches/bare.c does not compile".to_owned());
    }
    for mode in &MODES {
        bench.measure(mode, rounds)?;
    }
    Ok(())
}

struct Bench<'a> {
    bare: PathBuf,
    folder: &'a Path,
}

impl Bench<'_> {
    fn measure(&self, mode: &Mode, rounds: u32) -> Outcome {
        let capture = self.folder.join("sent.pcap");
        let path = capture.display().to_string();
        self.session(&[mode.rate, &["-t", "2s", "--pcap", &path, "--overwrite"]].concat())?;
        let train = mean_train(&fs::read(&capture).map_err(|error| format!("{path}: {error}"))?);
        println!("{}: bursts of {train:.2} packets", mode.name);
        println!(
            "{:>7}{:>10}{:>13}{:>13}{:>9}{:>16}",
            "round", "packets/s", "tfrc recv", "bare", "ratio", "packets a wait"
        );
        let mut ratios = Vec::new();
        for round in 1..=rounds {
            let (idle, _) = self.session(&["-n", BYTES])?;
            let (cost, seconds) = self.session(&[mode.rate, &["-t", "5s"]].concat())?;
            let ours = (cost.cpu_ns - idle.cpu_ns) / cost.packets;
            let rate = cost.packets / seconds;
            let bare = self.bare(cost.packets, rate, train.round().max(1.0))?;
            let theirs = bare.cpu_ns / bare.packets;
            let trains = [cost, bare].map(|cost| cost.packets / cost.waits.max(1.0));
            println!(
                "{round:>7}{rate:>10.0}{ours:>10.0} ns{theirs:>10.0} ns{:>9.2}{:>8.2}{:>8.2}",
                ours / theirs,
                trains[0],
                trains[1]
            );
            ratios.push(ours / theirs);
        }
        ratios.sort_by(f64::total_cmp);
        let [bar, aim] = mode.bars;
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
        println!("{:>7}{median:>45.2}   bar {bar}, aim {aim}\n", "median");
        Ok(())
    }

    /// A session of the program: the cost of its receiver, and the length of the transfer, seconds.
    fn session(&self, arguments: &[&str]) -> Result<(Cost, f64), String> {
        let (tfrc, costs) = (root().join("target/release/tfrc"), self.folder.join("cost"));
        let mut receiver = Command::new(&self.bare)
            .arg("cost")
            .arg(&costs)
            .arg(&tfrc)
            .args(["recv", "-1", "--bind", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.bare.display()))?;
        let address = crate::calls::listening(&mut receiver)?;
        let sent = Command::new(&tfrc)
            .args(["send", &address, "-l", BYTES, "--json"])
            .args(arguments)
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", tfrc.display()))?;
        if !sent.status.success() {
            // Nobody else connects to this receiver.
            receiver.kill().map_err(|error| error.to_string())?;
        }
        receiver.wait().map_err(|error| error.to_string())?;
        let document: Value =
            serde_json::from_slice(&sent.stdout).map_err(|error| format!("tfrc send: {error}"))?;
        let known = |key: &str| document[key].as_f64().ok_or_else(|| format!("tfrc send: no {key}"));
        let text = fs::read_to_string(&costs).map_err(|error| format!("{}: {error}", costs.display()))?;
        Ok((Cost { packets: known("received_packets")?, ..cost(&text)? }, known("duration_s")?))
    }

    /// The bare receiver, which gets this many packets.
    fn bare(&self, packets: f64, rate: f64, burst: f64) -> Result<Cost, String> {
        let mut receiver = Command::new(&self.bare)
            .arg("recv")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.bare.display()))?;
        let lines = BufReader::new(receiver.stdout.take().ok_or("no standard output")?);
        let mut lines = lines.lines().map_while(Result::ok);
        let port = lines.next().ok_or("the bare receiver has no port")?;
        let words = [port, format!("{packets:.0}"), format!("{rate:.0}"), format!("{burst:.0}")];
        let sent = Command::new(&self.bare).arg("send").args(words).arg(BYTES.trim_end_matches('B')).status();
        if !sent.is_ok_and(|status| status.success()) {
            return Err("the bare sender failed".to_owned());
        }
        let said = lines.next().ok_or("the bare receiver says nothing")?;
        receiver.wait().map_err(|error| error.to_string())?;
        cost(&said)
    }
}

/// Reads a line of `bare`.
fn cost(line: &str) -> Result<Cost, String> {
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [packets, cpu_ns, waits] => Ok(Cost { packets: *packets, cpu_ns: *cpu_ns, waits: *waits }),
        _ => Err(format!("not a cost: {line}")),
    }
}

/// Packets longer than half a datagram for each time at which some were sent.
fn mean_train(pcap: &[u8]) -> f64 {
    let (mut rest, mut packets, mut turns, mut last) = (pcap.get(FILE_HEADER..).unwrap_or(&[]), 0, 0, None);
    while let Some((header, after)) = rest.split_at_checked(RECORD_HEADER) {
        let (words, _) = header.as_chunks::<4>();
        let [seconds, fraction, length, _] = words else { break };
        let length = u32::from_le_bytes(*length) as usize;
        if length > 700 {
            packets += 1;
            turns += u32::from(last.replace((*seconds, *fraction)) != Some((*seconds, *fraction)));
        }
        rest = after.get(length..).unwrap_or(&[]);
    }
    f64::from(packets) / f64::from(turns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_one_time_are_one_train() {
        let mut pcap = vec![0; FILE_HEADER];
        for (time, length) in
            [(1u32, 1400u32), (1, 1400), (2, 60), (3, 1400), (3, 1400), (3, 1400), (4, 1400)]
        {
            for word in [0, time, length, length] {
                pcap.extend_from_slice(&word.to_le_bytes());
            }
            pcap.resize(pcap.len() + length as usize, 0);
        }
        assert!((mean_train(&pcap) - 2.0).abs() < 1e-9);
    }
}
