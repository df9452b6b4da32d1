//! `hostile crowd`: 200 senders to one `tfrc recv` with a file for each, 20 of them killed in
//! the middle. Files are whole and equal or marked partial, and the log accounts for each.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Outcome;
use super::program::{How, Program, Stream};

/// Senders in all, and every how many of them one is killed.
const SENDERS: usize = 200;
const KILLED_EVERY: usize = 10;
/// Bytes of each file: eight seconds at [`CAP`].
const BYTES: usize = 400_000;
/// Cap of each sender in bit/s: 80 Mbit/s from all of them.
const CAP: &str = "400k";
/// Time from the start of a sender to its death.
const MIDDLE: Duration = Duration::from_secs(4);
/// Time for the slowest sender on a busy machine, and for the receiver's patience with the dead.
const PATIENCE: Duration = Duration::from_mins(2);

/// One of the senders.
struct Sender {
    program: Program,
    began: Instant,
    is_victim: bool,
    is_dead: bool,
}

/// Figures of the run, as they are printed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    whole: usize,
    with_losses: usize,
    partial: usize,
    bytes: u64,
    wrong: Vec<String>,
}

/// Runs it with this program.
pub(crate) fn run(binary: &Path) -> Outcome {
    let place = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let (sources, sinks) = (place.path().join("sources"), place.path().join("sinks"));
    for folder in [&sources, &sinks] {
        fs::create_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let connections = SENDERS.to_string();
    let pattern = "in-%n-%a.ts";
    let listening = ["recv", "-o", pattern, "--connections", &connections, "--bind", "127.0.0.1:0"];
    // Its log is not next to the files.
    let mut receiver = Program::start(binary, &sinks, "../recv", &listening, Stream::Own, Stream::Own)?;
    receiver.wait_for("listening on ")?;
    let address = receiver
        .errors()
        .lines()
        .find_map(|line| Some(line.split_once("listening on ")?.1.trim().to_owned()))
        .ok_or("the receiver does not tell its address")?;
    let begin = Instant::now();
    let mut senders = Vec::new();
    for number in 0..SENDERS {
        let file = sources.join(number.to_string());
        fs::write(&file, content(number)).map_err(|error| format!("{}: {error}", file.display()))?;
        let (label, name) = (format!("send-{number}"), number.to_string());
        let sending = ["send", &address, "-f", &name, "-b", CAP];
        let program = Program::start(binary, &sources, &label, &sending, Stream::Own, Stream::Own)?;
        let is_victim = number % KILLED_EVERY == KILLED_EVERY / 2;
        senders.push(Sender { program, began: Instant::now(), is_victim, is_dead: false });
        kill_due(&mut senders);
    }
    let started = begin.elapsed();
    while senders.iter().any(|sender| sender.is_victim && !sender.is_dead) {
        kill_due(&mut senders);
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut wrong = Vec::new();
    for (number, sender) in senders.iter_mut().enumerate() {
        let ended = sender.program.end(PATIENCE);
        let expected = if sender.is_victim { How::Signal(9) } else { How::Exit(0) };
        if ended.how != expected {
            wrong.push(format!("sender {number}: {}, not {expected}: {}", ended.how, ended.last));
        }
    }
    let sent = begin.elapsed();
    let lines = wait_for_lines(&receiver);
    let settled = begin.elapsed();
    let (memory, descriptors) = (receiver.peak_kb(), receiver.descriptors());
    receiver.signal(Signal::TERM);
    let ended = receiver.end(PATIENCE);
    let log = receiver.errors();
    let mut figures = files(&sinks, &log)?;
    figures.wrong.splice(..0, wrong);
    figures.wrong.extend(faults(&log, &figures, lines));
    if !ended.is(0) {
        figures.wrong.push(format!("the receiver: {}", ended.how));
    }
    println!(
        "{} senders started in {:.1} s, {} killed",
        SENDERS,
        started.as_secs_f64(),
        SENDERS / KILLED_EVERY
    );
    println!(
        "senders over after {:.1} s, connections after {:.1} s",
        sent.as_secs_f64(),
        settled.as_secs_f64()
    );
    println!(
        "files: {} whole and equal, {} with losses of the network, {} marked partial; {} bytes",
        figures.whole, figures.with_losses, figures.partial, figures.bytes
    );
    println!(
        "receiver: {}, at most {:.1} MB, {descriptors} descriptors at the end",
        ended.how,
        memory as f64 / 1e3
    );
    println!("log: {} lines; its first, its middle, its last:", log.lines().count());
    let shown = log.lines().count() / 2;
    for line in log.lines().take(4).chain(log.lines().skip(shown).take(3)).chain(log.lines().rev().take(4)) {
        println!("  {line}");
    }
    if figures.wrong.is_empty() { Ok(()) } else { Err(figures.wrong.join("\n  ")) }
}

/// Kills the victims whose time has come.
fn kill_due(senders: &mut [Sender]) {
    for sender in senders {
        if sender.is_victim && !sender.is_dead && sender.began.elapsed() >= MIDDLE {
            sender.program.signal(Signal::KILL);
            sender.is_dead = true;
        }
    }
}

/// Waits until the log has a line for the end of each connection; returns how many it has.
fn wait_for_lines(receiver: &Program) -> usize {
    let begin = Instant::now();
    loop {
        let lines = receiver.errors().lines().filter(|line| number(line).is_some()).count();
        if lines >= SENDERS || begin.elapsed() > PATIENCE {
            return lines;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The number of the connection that a line of the log is about.
fn number(line: &str) -> Option<usize> {
    line.split_once(" connection ")?.1.split_once(" from ")?.0.parse().ok()
}

/// The content of a sender's file: its number, then bytes that follow from the number.
fn content(number: usize) -> Vec<u8> {
    let mut state = number as u64 + 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let rest = std::iter::repeat_with(|| noise().to_le_bytes()).flatten();
    (number as u64).to_le_bytes().into_iter().chain(rest).take(BYTES).collect()
}

/// Compares the files with what was sent.
fn files(sinks: &Path, log: &str) -> Result<Figures, String> {
    let mut figures = Figures::default();
    let entries = fs::read_dir(sinks).map_err(|error| format!("{}: {error}", sinks.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
        figures.bytes += bytes.len() as u64;
        let sent = bytes.first_chunk().map(|first| content(u64::from_le_bytes(*first) as usize));
        let lost =
            log.lines().any(|line| line.contains(&format!("{name} holds ")) && !line.contains(" 0 lost;"));
        match (sent, name.ends_with(".part")) {
            (Some(sent), true) if sent.starts_with(&bytes) && bytes.len() < BYTES => figures.partial += 1,
            (Some(_), true) if lost => figures.partial += 1,
            (Some(sent), false) if sent == bytes => figures.whole += 1,
            (Some(_), false) if lost => figures.with_losses += 1,
            _ => figures.wrong.push(format!("{name}: {} bytes that were not sent so", bytes.len())),
        }
    }
    Ok(figures)
}

/// Departures of the log and the files from what happened.
fn faults(log: &str, figures: &Figures, lines: usize) -> Vec<String> {
    let killed = SENDERS / KILLED_EVERY;
    let told: BTreeSet<usize> = log.lines().filter_map(number).collect();
    let count =
        |words: &str| log.lines().filter(|line| number(line).is_some() && line.contains(words)).count();
    let last = log.lines().last().unwrap_or_default();
    let end = format!("stopped: interrupted after {SENDERS} connections, {killed} of them failed; ");
    let is_sum = last.replace(',', "").ends_with(&format!("{} bytes written", figures.bytes));
    [
        (
            lines != SENDERS || told.len() != SENDERS,
            "the log does not tell of each connection once".to_owned(),
        ),
        (count(" complete: ") != SENDERS - killed, format!("{} are complete", count(" complete: "))),
        (
            count("the peer was silent for 30 s") != killed,
            "not each of the killed was silent for 30 s".to_owned(),
        ),
        (figures.whole + figures.with_losses != SENDERS - killed, "files are missing".to_owned()),
        (figures.partial != killed, "files are not marked partial".to_owned()),
        (!last.starts_with(&end) || !is_sum, format!("the last line is {last:?}")),
    ]
    .into_iter()
    .filter_map(|(is_wrong, words)| is_wrong.then_some(words))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_leaves_one_out_is_noticed() {
        let line = |n: usize, word: &str| format!("t  INFO connection {n} from 127.0.0.1:{n} {word}\n");
        let word = |n: usize| if n <= 20 { "failed: the peer was silent for 30 s" } else { " complete: 1" };
        let log = |all: usize| -> String {
            (1..=all)
                .map(|n| line(n, word(n)))
                .chain(["stopped: interrupted after 200 connections, \
             20 of them failed; 1,234 bytes written"
                    .to_owned()])
                .collect()
        };
        let figures = Figures { whole: 180, partial: 20, bytes: 1234, ..Figures::default() };
        assert_eq!(faults(&log(200), &figures, 200), Vec::<String>::new());
        assert_eq!(faults(&log(199), &figures, 199).len(), 2);
        assert_eq!(content(7)[..8], 7_u64.to_le_bytes());
    }
}
