//! `cargo xtask measure demo`: TFRC against simulated TCPs in the emulated bottleneck of
//! `tfrc demo`, in real time.
//!
//! Five runs side by side of each case. The bars are those of the field: TFRC's share between half
//! and twice a fair one, its rate at 0.2 s less variable than TCP's, and a TCP that comes late soon
//! has its share.

use std::process::{Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::{Outcome, cargo, root};

/// Runs of each case, side by side.
const RUNS: usize = 5;
/// A share within these is fair.
const FAIR: std::ops::RangeInclusive<f64> = 0.5..=2.0;
/// When the late TCP comes, as a share of the run.
const LATE: f64 = 1.0 / 3.0;
/// The time over which a late TCP's rate is averaged, in seconds.
const STRETCH: f64 = 5.0;
/// Within this, in seconds, it has to reach the lower end of [`FAIR`].
const SOON: f64 = 30.0;

/// Measurements of one run.
struct DemoFigures {
    share: f64,
    cov_ratio: f64,
    equivalence: f64,
    /// The last TCP: seconds from its start until it had its share.
    joined: Option<f64>,
}

/// Runs all cases for `seconds` each and prints a table.
pub(crate) fn demo(seconds: u32) -> Outcome {
    let built = cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    println!("{RUNS} runs of {seconds} s at once, in each of four cases …");
    println!(
        "\nTCPs  the last at  run   share  CoV ratio  equivalence  last TCP has its share after\n{}",
        "-".repeat(80)
    );
    let mut outside = Vec::new();
    for late in [None, Some(f64::from(seconds) * LATE)] {
        for tcp in [1, 4] {
            let runs: Vec<_> = (0..RUNS).map(|_| thread::spawn(move || run(seconds, tcp, late))).collect();
            for (number, run) in (1..).zip(runs) {
                let seen = run.join().map_err(|_| "a thread panicked".to_owned())??;
                let at = late.map_or("start".to_owned(), |at| format!("{at:.1} s"));
                let joined = seen.joined.map_or("never".to_owned(), |time| format!("{time:.1} s"));
                println!(
                    "{tcp:>4}  {at:>11}  {number:>3}  {:>6.2} {:>10.2} {:>12.2}  {joined:>10}",
                    seen.share, seen.cov_ratio, seen.equivalence
                );
                let soon = late.is_none() || seen.joined.is_some_and(|time| time <= SOON);
                if !(FAIR.contains(&seen.share) && seen.cov_ratio < 1.0 && soon) {
                    outside.push(format!("{tcp} TCPs, the last at {at}, run {number}"));
                }
            }
        }
    }
    println!(
        "\nshare: TFRC's rate over the link's divided by the flows. CoV ratio: coefficient of variation of the sending rate at \
         0.2 s,\nTFRC over TCP. equivalence: the lesser of both rates over the greater, at 0.2 s. A TCP has its share when its \
         goodput\nover {STRETCH} s is {} of a fair one.",
        FAIR.start()
    );
    if outside.is_empty() { Ok(()) } else { Err(format!("outside the bars: {}", outside.join("; "))) }
}

fn run(seconds: u32, tcp: u32, late: Option<f64>) -> Result<DemoFigures, String> {
    let mut command = Command::new(root().join("target/release/tfrc"));
    command.args(["demo", "--json-stream", "--duration", &format!("{seconds}s"), "--tcp", &tcp.to_string()]);
    if let Some(at) = late {
        command.args(["--tcp-start", &format!("{at:.3}s")]);
    }
    let out =
        command.stderr(Stdio::null()).output().map_err(|error| format!("tfrc does not start: {error}"))?;
    let text = String::from_utf8(out.stdout).map_err(|error| error.to_string())?;
    seen(&text, tcp, late.unwrap_or(0.0))
}

/// Reads the stream of a run.
fn seen(text: &str, tcp: u32, start: f64) -> Result<DemoFigures, String> {
    let last = format!("tcp-{tcp}");
    let mut goodputs = Vec::new();
    let mut end = None;
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        match record["type"].as_str() {
            Some("interval") if record["flow"] == last.as_str() => {
                let number = |key: &str| record[key].as_f64().ok_or_else(|| format!("no {key}: {line}"));
                goodputs.push((number("t_s")?, number("interval_s")?, number("goodput_bps")?));
            }
            Some("end") => end = Some(record),
            Some("error") => return Err(line.to_owned()),
            _ => {}
        }
    }
    let end = end.ok_or("a run ended without a summary")?;
    let number = |key: &str| end[key].as_f64().ok_or_else(|| format!("no {key} in {end}"));
    let enough = number("bottleneck_bps")? / f64::from(tcp + 1) * FAIR.start();
    Ok(DemoFigures {
        share: number("share")?,
        cov_ratio: number("cov_ratio")?,
        equivalence: number("equivalence_ratio")?,
        joined: joined(&goodputs, start, enough),
    })
}

/// How long after `start` the goodput over the [`STRETCH`] before reaches `enough`. A sample is its
/// time, its length and the goodput.
fn joined(goodputs: &[(f64, f64, f64)], start: f64, enough: f64) -> Option<f64> {
    let since: Vec<_> = goodputs.iter().filter(|(at, length, _)| at - length >= start).collect();
    since.iter().map(|(now, ..)| *now).filter(|now| now - start >= STRETCH).find_map(|now| {
        let stretch = since.iter().filter(|(at, ..)| *at > now - STRETCH && *at <= now);
        let (bits, time) =
            stretch.fold((0.0, 0.0), |(b, t), (_, length, rate)| (b + rate * length, t + length));
        (time > 0.0 && bits / time >= enough).then_some(now - start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_flow_has_its_share_when_its_mean_does() {
        // Nothing until 20 s, then 0.1 Mbit/s more each second.
        let rate = |second: f64| (second - 20.0).max(0.0) * 1e5;
        let goodputs: Vec<_> = (1..=60).map(f64::from).map(|t| (t, 1.0, rate(t))).collect();
        // The mean of 0.8 to 1.2 Mbit/s is 1.0, at 32 s.
        assert_eq!(joined(&goodputs, 20.0, 1e6), Some(12.0));
        assert_eq!(joined(&goodputs, 20.0, 1e7), None);
        // Not before a whole stretch has gone.
        assert_eq!(joined(&goodputs, 20.0, 0.0), Some(STRETCH));
    }

    #[test]
    fn the_stream_of_a_run() {
        let end =
            r#"{"type":"end","bottleneck_bps":2e6,"share":1.5,"cov_ratio":0.5,"equivalence_ratio":0.75}"#;
        let mut lines: Vec<String> = (1..=10)
            .map(|t| {
                format!(r#"{{"type":"interval","flow":"tcp-2","t_s":{t},"interval_s":1,"goodput_bps":4e5}}"#)
            })
            .collect();
        lines.push(
            r#"{"type":"interval","flow":"tcp-1","t_s":1,"interval_s":1,"goodput_bps":9e9}"#.to_owned(),
        );
        assert!(seen(&lines.join("\n"), 2, 0.0).is_err());
        lines.push(end.to_owned());
        let seen = seen(&lines.join("\n"), 2, 0.0).expect("right");
        assert_eq!((seen.share, seen.cov_ratio, seen.equivalence, seen.joined), (1.5, 0.5, 0.75, Some(5.0)));
    }
}
