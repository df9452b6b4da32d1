//! Parts of sender and receiver: two with the same part, receivers that are busy, strangers who
//! come to a sender, and sources that end early.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, TransferPlan};
use super::program::{Ended, Program, SOON};
use super::session::{self, part_of};
use super::stranger::Stranger;

/// The cases of this file.
pub(crate) const CASES: [Case; 5] = [
    Case::new("two-senders", Load::Waiting, two_senders),
    Case::new("two-receivers", Load::Waiting, two_receivers),
    Case::new("busy-herd", Load::Waiting, busy_herd),
    Case::new("strangers-at-sender", Load::Waiting, strangers_at_sender),
    Case::new("source-fails", Load::Waiting, source_fails),
];

/// Time in which both ends find out, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(4);

/// Starts a program that listens; it, and where.
fn listening(bench: &Bench, directory: &Path, arguments: &[&str]) -> Result<(Program, String), String> {
    let port = honest::free_port("127.0.0.1")?.to_string();
    let all = [&arguments[..1], &["--bind", "127.0.0.1", "-p", &port], &arguments[1..]].concat();
    let mut program = bench.run(directory, arguments[0], &all)?;
    program.wait_for("listening")?;
    Ok((program, format!("127.0.0.1:{port}")))
}

/// Both ends are judged: exit 1, soon, for a reason that has this word in it.
fn both_fail(row: &mut CaseRow, word: &str, here: &Ended, there: &Ended) {
    for (name, end) in [("caller", here), ("listener", there)] {
        row.saw(format!("{name} {}, {:.1} s: “{}”", end.how, end.waited.as_secs_f64(), end.last));
        row.bar(end.is(1) && end.waited <= AT_ONCE, format!("{name}: exit 1 within 4 s"));
        row.bar(end.last.contains(word), format!("{name} says why"));
    }
}

fn two_senders(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let source = honest::input(directory, 300_000)?;
    let name = source.to_string_lossy();
    let (mut listener, to) = listening(bench, directory, &["send", "-R", "-f", &name])?;
    let mut caller = bench.run(directory, "caller", &["send", &to, "-f", &name, "--wait", "30s"])?;
    let (here, there) = (caller.end(SOON), listener.end(SOON));
    let mut row = CaseRow::new("`send` calls `send -R`");
    both_fail(&mut row, "sends, too", &here, &there);
    Ok(row)
}

fn two_receivers(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("`recv --from` calls `recv -1`, and `recv -o FILE`");
    let (one, other) = (directory.join("one"), directory.join("other"));
    let (one, other) = (one.to_string_lossy().into_owned(), other.to_string_lossy().into_owned());
    for arguments in [&["recv", "-1"][..], &["recv", "-o", &one]] {
        let (mut listener, to) = listening(bench, directory, arguments)?;
        let mut caller = bench.run(directory, "caller", &["recv", "--from", &to, "-o", &other])?;
        let (here, there) = (caller.end(SOON), listener.end(SOON));
        both_fail(&mut row, "receives, too", &here, &there);
    }
    let none =
        [&one, &other].iter().all(|file| !Path::new(file).exists() && !part_of(Path::new(file)).exists());
    row.bar(none, "no file is left");
    Ok(row)
}

/// Sixteen senders that wait, at a receiver with three places, 200 ms away.
fn busy_herd(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let pattern = directory.join("in-%n").to_string_lossy().into_owned();
    let arguments = ["recv", "-o", &pattern, "--connections", "3"];
    let (mut receiver, to) = listening(bench, directory, &arguments)?;
    let keys = "rate = \"100Mbit/s\"\ndelay = \"100ms\"";
    let (mut link, entrance) = session::link(bench, directory, keys, &to)?;
    let plan = TransferPlan { bytes: 200_000, cap: "20M", send: &["--wait", "90s"], ..TransferPlan::USUAL };
    let source = honest::input(directory, plan.bytes)?;
    let begin = Instant::now();
    let mut senders = Vec::new();
    for number in 0..16 {
        senders.push(honest::send_as(
            bench,
            directory,
            &format!("send-{number}"),
            &entrance,
            &source,
            &plan,
        )?);
    }
    let ends: Vec<Ended> = senders.iter_mut().map(|sender| sender.end(Duration::from_secs(100))).collect();
    let waited = begin.elapsed();
    receiver.signal(Signal::TERM);
    let received = receiver.end(SOON);
    link.signal(Signal::INT);
    link.end(SOON);
    let well = ends.iter().filter(|end| end.is(0)).count();
    let content = fs::read(&source).unwrap_or_default();
    let files = fs::read_dir(directory).map_err(|error| error.to_string())?.flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("in-"));
    let whole = files.filter(|file| fs::read(file.path()).is_ok_and(|bytes| bytes == content)).count();
    let mut row = CaseRow::new("16 senders with `--wait 90s`, 200 kB each, at three places; RTT 200 ms");
    row.saw(format!("{well} of 16 senders exit 0, {:.0} s", waited.as_secs_f64()));
    if let Some(end) = ends.iter().find(|end| !end.is(0)) {
        row.saw(format!("one says “{}”", end.last));
    }
    row.honest = format!("{whole} whole files; receiver {}", received.how);
    row.bar(well == 16, "every sender ends well");
    row.bar(whole == 16, "sixteen whole files");
    row.bar(received.is(0), "receiver: exit 0 at SIGTERM");
    Ok(row)
}

/// Strangers who connect to `send -R` and close, reset, vanish or stay silent, before an honest
/// receiver.
fn strangers_at_sender(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let source = honest::input(directory, 300_000)?;
    let (mut sender, to) =
        listening(bench, directory, &["send", "-R", "--json", "-f", &source.to_string_lossy()])?;
    let mut came = 0;
    for (seed, deed) in (40..).zip(["close", "reset", "vanish", "silence"]) {
        let mut stranger = Stranger::new("127.0.0.2", &to, seed)?;
        let Some(id) = stranger.connect(Duration::from_secs(15))? else { continue };
        came += 1;
        match deed {
            "close" => drop(stranger.close(id, Duration::from_secs(2))),
            "reset" => stranger.release(id),
            // Nothing goes out, and the socket is there or not.
            "vanish" => drop(stranger),
            _ => {}
        }
    }
    let file = directory.join("out");
    let mut receiver = bench.run(
        directory,
        "recv",
        &["recv", "--from", &to, "-o", &file.to_string_lossy(), "--wait", "60s"],
    )?;
    let (received, sent) = (receiver.end(Duration::from_secs(70)), sender.end(SOON));
    let mut row = CaseRow::new("four strangers at `send -R` who close, reset, vanish and fall silent");
    row.saw(format!("{came} of them connected; sender {}: “{}”", sent.how, sent.last));
    row.honest = format!("receiver {}: “{}”", received.how, received.last);
    row.bar(came >= 1, "strangers get in");
    row.bar(sent.is(0) && received.is(0), "exit 0 at both ends");
    row.bar(honest::equal(&source, &file), "the honest receiver has the file");
    Ok(row)
}

/// A file that becomes shorter while it is sent, at a receiver of many.
fn source_fails(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let pattern = directory.join("in-%n").to_string_lossy().into_owned();
    let (mut receiver, to) = listening(bench, directory, &["recv", "-o", &pattern])?;
    let plan = TransferPlan { bytes: 2_000_000, cap: "5M", ..TransferPlan::USUAL };
    let source = honest::input(directory, plan.bytes)?;
    let mut sender = honest::send(bench, directory, &to, &source, &plan)?;
    sender.wait_for("connected")?;
    thread::sleep(Duration::from_millis(500));
    let file = fs::OpenOptions::new().write(true).open(&source).map_err(|error| error.to_string())?;
    file.set_len(500_000).map_err(|error| error.to_string())?;
    let sent = sender.end(SOON);
    receiver.signal(Signal::TERM);
    let received = receiver.end(SOON);
    let first = directory.join("in-1");
    let mut row = CaseRow::new("a source becomes shorter at `recv -o PATTERN`");
    row.saw(format!("sender {}: “{}”", sent.how, sent.last));
    row.honest = format!("in-1 {}, in-1.part {}", honest::length(&first), honest::length(&part_of(&first)));
    row.bar(sent.is(1), "sender: exit 1");
    row.bar(!first.exists() && part_of(&first).exists(), "the file keeps the name of an unfinished one");
    row.bar(received.is(0) && received.last.contains("1 of them failed"), "the receiver counts it as failed");
    Ok(row)
}
