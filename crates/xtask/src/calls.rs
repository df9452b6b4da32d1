//! `cargo xtask calls`: system calls of `tfrc send` and `tfrc recv` for each packet, counted by
//! strace, against ceilings.
//!
//! Counts depend on the machine a little: a busy one has more packets in a batch, and more wake-ups
//! for reports that are late. The ceilings leave a call of room for that.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::python::built;
use crate::{Outcome, build_command};

/// Rate at which each packet has its own wake-up, and the length of the run.
const RATE: &str = "15Mbit/s";
const TIME: &str = "3s";
/// Maximum system calls for a packet: waking other threads, and all. A packet that is sent when it
/// is due needs three, one that is read when it comes two and a report for every third one another;
/// a pipe gets each packet when it comes.
const FUTEX: f64 = 0.5;
const ALL: f64 = 5.0;
const ALL_WITH_PIPE: f64 = 6.0;

/// Counts the calls of both ends, with the data going nowhere, to a file and to a pipe.
pub(crate) fn check() -> Outcome {
    if !build_command().status().is_ok_and(|status| status.success()) {
        return Err("the command does not build".to_owned());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("data").display().to_string();
    for (output, most, arguments) in [
        ("nowhere", ALL, &[][..]),
        ("to a file", ALL, &["-o", &file]),
        ("to a pipe", ALL_WITH_PIPE, &["-o", "-"]),
    ] {
        let ends = session(folder.path(), arguments)?;
        for (end, Calls { packets, futex, all }) in ["recv", "send"].into_iter().zip(ends) {
            let (futex, all) = (futex / packets, all / packets);
            println!(
                "   {end}, data {output}: {packets} packets, {futex:.3} futex and {all:.2} calls for each"
            );
            if packets < 1000.0 || futex > FUTEX || all > most {
                return Err(format!(
                    "{end} with data {output}: at most {FUTEX} futex and {most} calls for each of 1000 packets or more"
                ));
            }
        }
    }
    Ok(())
}

/// The counts of one end.
struct Calls {
    packets: f64,
    futex: f64,
    all: f64,
}

/// Runs a session with a receiver that has these arguments too; the calls of receiver and sender.
fn session(folder: &Path, arguments: &[&str]) -> Result<[Calls; 2], String> {
    let [recv, send] = ["recv", "send"].map(|end| folder.join(end));
    let mut receiver = traced(&recv)
        .args(["recv", "-1", "--bind", "127.0.0.1", "-p", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_started)?;
    let drain = receiver
        .stdout
        .take()
        .map(|mut out| std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink())));
    let sent = sender(&send, &mut receiver);
    // A receiver that nobody called would wait indefinitely.
    if sent.is_err() {
        let _ = receiver.kill();
    }
    let status = receiver.wait().map_err(|error| error.to_string())?;
    if let Some(drain) = drain {
        let _ = drain.join();
    }
    let document = sent?;
    if !status.success() {
        return Err(format!("tfrc recv ended with {status}"));
    }
    let packets = |key: &str| document[key].as_f64().unwrap_or(0.0);
    Ok([calls(&recv, packets("received_packets"))?, calls(&send, packets("sent_packets"))?])
}

/// Sends to the receiver; the summary.
fn sender(counts: &Path, receiver: &mut Child) -> Result<Value, String> {
    let address = listening(receiver)?;
    let output = traced(counts)
        .args(["send", &address, "-b", RATE, "-t", TIME, "--json"])
        .stderr(Stdio::null())
        .output()
        .map_err(not_started)?;
    serde_json::from_slice(&output.stdout).map_err(|error| format!("tfrc send: {error}"))
}

/// The address at which a `tfrc recv` with a pipe for its standard error listens. What it says
/// later is read, so that it does not stop at a full pipe.
///
/// # Errors
/// A sentence if it ends without listening.
pub(crate) fn listening(receiver: &mut Child) -> Result<String, String> {
    let lines = BufReader::new(receiver.stderr.take().ok_or("no standard error")?);
    let mut lines = lines.lines().map_while(Result::ok);
    let address = lines
        .find_map(|line| line.strip_prefix("listening on ").map(str::to_owned))
        .ok_or("tfrc recv does not listen")?;
    std::thread::spawn(move || lines.for_each(drop));
    Ok(address)
}

/// The command under strace, which writes its counts to a file.
fn traced(counts: &Path) -> Command {
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-o"]).arg(counts).args(["timeout", "60"]).arg(built().join("debug/tfrc"));
    command
}

fn not_started(error: std::io::Error) -> String {
    format!("strace (Debian package strace) does not start: {error}")
}

/// Reads the table of strace: a line for each call has its number in the fourth column and its name
/// in the last one.
fn calls(counts: &Path, packets: f64) -> Result<Calls, String> {
    let text = std::fs::read_to_string(counts).map_err(|error| format!("strace: {error}"))?;
    let count = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().last() == Some(name))?;
        line.split_whitespace().nth(3)?.parse::<f64>().ok()
    };
    let all = count("total").ok_or_else(|| format!("strace says: {text}"))?;
    Ok(Calls { packets, futex: count("futex").unwrap_or(0.0), all })
}
