//! `cargo xtask measure bernoulli`: the built command in real time.
//!
//! Under independent losses of probability p that nothing else hinders, a flow should in the long
//! run send L packets per round-trip time, where 1/f(p_e) = L and p_e = p/(1 + p L): the losses of
//! one round-trip time are one loss event. Here the built command sends over `tfrc link` with real
//! datagrams and real timers.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

use crate::{Outcome, cargo, root};

/// Loss probabilities, and the scenario of each.
const LOSSES: [(f64, &str); 3] = [(0.01, "loss-1.toml"), (0.05, "loss-5.toml"), (0.10, "loss-10.toml")];
/// The round-trip time of these scenarios, in seconds.
const NOMINAL_RTT: f64 = 0.1;
/// The beginning that is not measured, in seconds: slow start and the first loss events.
const WARMUP: f64 = 10.0;

/// The bars: rate and loss event rate, as a share of what they should be.
const RATE_BAND: f64 = 0.12;
const LOSS_BAND: f64 = 0.10;

/// Runs the three for `seconds`, at once, and prints a table.
pub(crate) fn bernoulli(seconds: u32) -> Outcome {
    if f64::from(seconds) < 2.0 * WARMUP {
        return Err(format!("--seconds {seconds}: at least {} are needed", 2.0 * WARMUP));
    }
    let built = cargo().args(["build", "--locked", "--release", "--package", "tfrc-cli"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    println!("sending for {seconds} s over three links of {} ms …", NOMINAL_RTT * 1e3);
    let runs: Vec<_> = LOSSES.map(|(p, file)| (p, thread::spawn(move || run(file, seconds)))).into();
    println!(
        "\n    p   packets  RTT ms      L  measured  ratio  at 100 ms    p_e  measured  ratio  packet loss\n{}",
        "-".repeat(98)
    );
    let mut within = true;
    for (p, run) in runs {
        let seen = run.join().map_err(|_| "a thread panicked".to_owned())??;
        let (fixed, expected) = (fixed_point(p), p / (1.0 + p * fixed_point(p)));
        let per_rtt = seen.packets / seen.time * seen.rtt;
        let nominal = seen.packets / seen.time * NOMINAL_RTT;
        println!(
            "{p:>5}  {:>8}  {:>6.2} {fixed:>6.3}  {per_rtt:>8.3} {:>6.3}  {:>9.3} {expected:>6.4} {:>9.4} {:>6.3} {:>12.4}",
            seen.packets,
            seen.rtt * 1e3,
            per_rtt / fixed,
            nominal / fixed,
            seen.loss_event_rate,
            seen.loss_event_rate / expected,
            seen.packet_loss_rate
        );
        within &= (per_rtt / fixed - 1.0).abs() <= RATE_BAND;
        within &= (seen.loss_event_rate / expected - 1.0).abs() <= LOSS_BAND;
    }
    println!(
        "\nL: packets per round-trip time, with the mean round-trip time measured; `at 100 ms`: the same ratio with that \
         of the path.\npackets: after the first {WARMUP} s. p_e: loss events per packet after slow start."
    );
    if within {
        Ok(())
    } else {
        Err(format!("a rate is off by more than {RATE_BAND}, or a loss event rate by more than {LOSS_BAND}"))
    }
}

/// Measurements of one sender.
struct SenderFigures {
    packets: f64,
    time: f64,
    rtt: f64,
    loss_event_rate: f64,
    packet_loss_rate: f64,
}

fn run(scenario: &str, seconds: u32) -> Result<SenderFigures, String> {
    let mut receiver = Running::start(&["recv", "--bind", "127.0.0.1", "-p", "0", "-1", "--json"])?;
    let listens = receiver.word_of("listening on", 2)?;
    let scenario = root().join("scenarios").join(scenario).display().to_string();
    let mut link = Running::start(&["link", &scenario, "--listen", "127.0.0.1:0", "--to", &listens])?;
    let entrance = link.word_of("relaying", 1)?;
    let time = format!("{seconds}s");
    let mut sender = Running::start(&["send", &entrance, "-t", &time, "--json-stream"])?;
    let lines = sender.output()?;
    lines.lines().try_fold(Sums::default(), Sums::add)?.seen()
}

/// A child process, killed when this is dropped.
struct Running {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
}

impl Running {
    fn start(args: &[&str]) -> Result<Self, String> {
        let mut child = Command::new(root().join("target/release/tfrc"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("tfrc does not start: {error}"))?;
        let errors = child.stderr.take().ok_or("no standard error")?;
        Ok(Self { child, errors: BufReader::new(errors) })
    }

    /// A word of the next line that begins so.
    fn word_of(&mut self, beginning: &str, word: usize) -> Result<String, String> {
        let mut line = String::new();
        while !line.starts_with(beginning) {
            line.clear();
            if self.errors.read_line(&mut line).map_err(|error| error.to_string())? == 0 {
                return Err(format!("tfrc ended without saying `{beginning} …`"));
            }
        }
        line.split_whitespace().nth(word).map(str::to_owned).ok_or(line)
    }

    /// All that it writes until it ends.
    fn output(&mut self) -> Result<String, String> {
        let mut out = self.child.stdout.take().ok_or("no standard output")?;
        let mut text = String::new();
        out.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sums over the intervals after the warm-up, and the summary.
#[derive(Default)]
struct Sums {
    packets: f64,
    time: f64,
    rtt: f64,
    end: Option<Value>,
}

impl Sums {
    fn add(mut self, line: &str) -> Result<Self, String> {
        let record: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let number = |key: &str| record[key].as_f64();
        match record["type"].as_str() {
            Some("interval") => {
                if let (Some(t), Some(time), Some(packets), Some(rtt)) =
                    (number("t_s"), number("interval_s"), number("sent_packets"), number("rtt_s"))
                    && t - time >= WARMUP
                {
                    self.packets += packets;
                    self.time += time;
                    self.rtt += rtt * time;
                }
            }
            Some("end") => self.end = Some(record),
            Some("error") => return Err(line.to_owned()),
            _ => {}
        }
        Ok(self)
    }

    fn seen(self) -> Result<SenderFigures, String> {
        let end = self.end.ok_or("the sender ended without a summary")?;
        let number = |key: &str| end[key].as_f64().ok_or_else(|| format!("no {key} in {end}"));
        Ok(SenderFigures {
            packets: self.packets,
            time: self.time,
            rtt: self.rtt / self.time,
            loss_event_rate: number("loss_event_rate")?,
            packet_loss_rate: number("packet_loss_rate")?,
        })
    }
}

/// 1/f(p): the throughput equation in packets per round-trip time, with t_RTO = 4R (RFC 5348 §3.1).
fn packets_per_rtt(p: f64) -> f64 {
    1.0 / ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p))
}

/// L with 1/f(p/(1 + p L)) = L, by halving: the left side falls short of L when L is too large.
fn fixed_point(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if packets_per_rtt(p / (1.0 + p * middle)) > middle { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the design, worked out elsewhere.
    #[test]
    fn fixed_points() {
        for (p, wanted) in [(0.01, 11.995), (0.05, 4.349), (0.1, 2.271)] {
            assert!((fixed_point(p) - wanted).abs() < 5e-4, "{p}: {}", fixed_point(p));
        }
    }

    #[test]
    fn sums_leave_the_beginning_out() {
        let lines = [
            r#"{"type":"start","role":"send"}"#,
            r#"{"type":"interval","t_s":10.05,"interval_s":0.1,"sent_packets":99,"rtt_s":0.1}"#,
            r#"{"type":"interval","t_s":11.0,"interval_s":0.5,"sent_packets":10,"rtt_s":0.1}"#,
            r#"{"type":"interval","t_s":12.0,"interval_s":1.5,"sent_packets":20,"rtt_s":0.2}"#,
            r#"{"type":"end","loss_event_rate":0.01,"packet_loss_rate":0.02}"#,
        ];
        let seen =
            lines.into_iter().try_fold(Sums::default(), Sums::add).and_then(Sums::seen).expect("right");
        assert!((seen.packets - 30.0).abs() < 1e-9 && (seen.time - 2.0).abs() < 1e-9);
        assert!((seen.rtt - 0.175).abs() < 1e-9);
        assert!(Sums::default().seen().is_err());
    }
}
