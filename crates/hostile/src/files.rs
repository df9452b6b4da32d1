//! Mistakes and mishaps with files: which of them lose data.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::program::SOON;

/// The cases of this file.
pub(crate) const CASES: [Case; 6] = [
    Case::new("second-recv", Load::Waiting, second_recv),
    Case::new("port-taken", Load::Waiting, port_taken),
    Case::new("existing-file", Load::Waiting, existing_file),
    Case::new("same-file", Load::Waiting, same_file),
    Case::new("journal-mode", Load::Waiting, journal_mode),
    Case::new("fifo-ctrl-c", Load::Waiting, fifo),
];

/// `recv -o FILE` started twice, the second time in mid-transfer.
fn second_recv(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let plan = TransferPlan { cap: "8M", ..TransferPlan::USUAL };
    let receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let file = honest::input(directory, plan.bytes)?;
    let begin = std::time::Instant::now();
    let mut sender = honest::send(bench, directory, &receiver.address, &file, &plan)?;
    sender.wait_for("connected")?;
    thread::sleep(Duration::from_secs(1));
    let (port, output) = (receiver.port.to_string(), receiver.file.to_string_lossy().into_owned());
    let second = ["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &output, "-1"];
    let second = bench.run(directory, "second", &second)?.end(SOON);
    let ended = sender.end(Duration::from_secs(30));
    let transfer = honest::finish(ended, begin.elapsed(), &file, &receiver.file);
    let mut row = CaseRow::new("the command of `recv` once more after a second");
    row.saw(format!("second: {}, “{}”", second.how, second.last));
    row.bar(!second.is(0), "the second start fails");
    transfer.judge_against(bench, Duration::from_secs(3), &mut row);
    Ok(row)
}

/// A port that another program has.
fn port_taken(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = socket.local_addr().map_err(|error| error.to_string())?.port().to_string();
    let file = directory.join("precious");
    fs::write(&file, b"precious").map_err(|error| error.to_string())?;
    let end = bench
        .run(directory, "recv", &["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &file.to_string_lossy()])?
        .end(SOON);
    let mut row = CaseRow::new("`recv -o FILE` at a port that another program has");
    row.saw(format!("{}, FILE has {} of 8 bytes", end.how, honest::length(&file)));
    row.bar(end.is(1) || end.is(2), "exit 1 or 2");
    row.bar(fs::read(&file).is_ok_and(|bytes| bytes == b"precious"), "FILE as it was");
    Ok(row)
}

/// A file that is there already.
fn existing_file(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let file = directory.join("precious");
    fs::write(&file, b"precious").map_err(|error| error.to_string())?;
    let port = honest::free_port("127.0.0.1")?.to_string();
    let mut receiver = bench.run(
        directory,
        "recv",
        &["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &file.to_string_lossy()],
    )?;
    let end = receiver.end(Duration::from_secs(2));
    let mut row = CaseRow::new("`recv -o FILE` where FILE exists");
    row.saw(format!("{}, FILE has {} of 8 bytes", end.how, honest::length(&file)));
    row.bar(end.is(2), "exit 2");
    row.bar(fs::read(&file).is_ok_and(|bytes| bytes == b"precious"), "FILE as it was");
    Ok(row)
}

/// A capture over the source, a journal over the capture.
fn same_file(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row =
        CaseRow::new("`send -f X` with `--pcap X`, `--journal X`, `--report X`; `--pcap Y --journal Y`");
    for flag in ["--pcap", "--journal", "--report"] {
        let file = honest::input(directory, 10_000)?;
        let before = fs::read(&file).unwrap_or_default();
        let name = file.to_string_lossy();
        let port = honest::free_port("127.0.0.1")?;
        let to = format!("127.0.0.1:{port}");
        let end = bench.run(directory, "send", &["send", &to, "-f", &name, flag, &name])?.end(SOON);
        let intact = fs::read(&file).is_ok_and(|after| after == before);
        row.saw(format!("{flag}: {}, X {}", end.how, if intact { "as it was" } else { "destroyed" }));
        row.bar(end.is(2) && intact, format!("{flag} X: exit 2, X as it was"));
    }
    let both = directory.join("both").to_string_lossy().into_owned();
    let arguments = ["send", "127.0.0.1:9", "-n", "1kB", "--pcap", &both, "--journal", &both];
    let end = bench.run(directory, "send", &arguments)?.end(SOON);
    row.saw(format!("both Y: {}", end.how));
    row.bar(end.is(2), "--pcap Y --journal Y: exit 2");
    Ok(row)
}

/// The mode of a journal, which holds secrets.
fn journal_mode(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let receiver = Listening::raw(bench, directory, "127.0.0.1", &["-1"], super::program::Stream::Own)?;
    let journal = directory.join("journal");
    let name = journal.to_string_lossy();
    let end = bench
        .run(directory, "send", &["send", &receiver.address, "-n", "10k", "--journal", &name])?
        .end(SOON);
    let mode = fs::metadata(&journal).map_err(|error| format!("no journal ({}): {error}", end.last))?;
    let mode = mode.permissions().mode() & 0o777;
    let mut row = CaseRow::new("`send --journal FILE`");
    row.saw(format!("{}, mode {mode:04o}", end.how));
    row.bar(mode & 0o077 == 0, "mode 0600");
    Ok(row)
}

/// A pipe that nobody reads yet, and Ctrl-C.
fn fifo(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let fifo = directory.join("fifo");
    super::namespace::run("mkfifo", &[&fifo.to_string_lossy()])?;
    let port = honest::free_port("127.0.0.1")?.to_string();
    let mut receiver = bench.run(
        directory,
        "recv",
        &["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &fifo.to_string_lossy()],
    )?;
    // Either it listens, or it hangs before it does; the line is not required.
    thread::sleep(Duration::from_secs(1));
    receiver.signal(Signal::INT);
    let end = receiver.end(Duration::from_secs(5));
    let mut row = CaseRow::new("`recv -o FIFO` without a reader, one Ctrl-C");
    row.saw(end.how.to_string());
    row.bar(end.is(0) || end.is(1), "ends at the first Ctrl-C");
    Ok(row)
}
