//! Limits of the process and of its user, and files without an end: they end one connection or one
//! run, with a sentence, and never the server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, TransferPlan};
use super::namespace;
use super::program::{Ended, Program, SOON};

/// The cases of this file.
pub(crate) const CASES: [Case; 4] = [
    Case::new("file-size-limit", Load::Waiting, file_size),
    Case::new("few-descriptors", Load::Waiting, few_descriptors),
    Case::new("no-descriptors", Load::Waiting, no_descriptors),
    Case::new("few-threads", Load::Waiting, few_threads),
];

/// A transfer that is over in tenths of a second.
const SMALL: TransferPlan<'static> = TransferPlan { bytes: 200_000, ..TransferPlan::USUAL };

/// Starts `prefix tfrc arguments`, with its words in files named by `label`.
fn limited(
    bench: &Bench,
    directory: &Path,
    label: &str,
    prefix: &[&str],
    arguments: &[&str],
) -> Result<Program, String> {
    let (first, rest) = prefix.split_first().ok_or("no prefix")?;
    let binary = bench.binary.to_string_lossy();
    let all = [rest, &[&*binary], &bench.words(arguments)].concat();
    let (input, output) = (super::program::Stream::Own, super::program::Stream::Own);
    Program::start(Path::new(first), directory, label, &all, input, output)
}

/// A receiver of a file for each connection, under a limit; its address.
fn receiver(
    bench: &Bench,
    directory: &Path,
    prefix: &[&str],
    more: &[&str],
) -> Result<(Program, String), String> {
    let port = honest::free_port("127.0.0.1")?.to_string();
    let pattern = directory.join("in-%n").to_string_lossy().into_owned();
    let fixed = ["recv", "--bind", "127.0.0.1", "-p", &port, "-o", &pattern];
    let mut program = limited(bench, directory, "recv", prefix, &[&fixed[..], more].concat())?;
    program.wait_for("listening")?;
    Ok((program, format!("127.0.0.1:{port}")))
}

/// The number of files `in-N` that are equal to `source`.
fn whole(directory: &Path, source: &Path) -> usize {
    (1..=64).filter(|number| honest::equal(source, &directory.join(format!("in-{number}")))).count()
}

/// The number of those that ended with each status.
fn counts(ends: &[Ended]) -> String {
    let ended = |code| ends.iter().filter(|end| end.is(code)).count();
    format!("{} of {} senders exit 0, {} exit 1", ended(0), ends.len(), ended(1))
}

/// `LimitFSIZE=` of a service: one sender of too much, then four that fit.
fn file_size(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("1 MB and four times 200 kB, where files may have 500 kB (`RLIMIT_FSIZE`)");
    let (mut server, address) = receiver(bench, directory, &["prlimit", "--fsize=500000"], &[])?;
    let large = honest::input(directory, 1_000_000)?;
    let first = honest::send(bench, directory, &address, &large, &TransferPlan::USUAL)?.end(SOON);
    let small = honest::input(directory, SMALL.bytes)?;
    let mut ends = Vec::new();
    for _ in 0..4 {
        ends.push(honest::send(bench, directory, &address, &small, &SMALL)?.end(SOON));
    }
    server.signal(Signal::TERM);
    let server = server.end(SOON);
    let whole = whole(directory, &small);
    row.saw(format!("1 MB: {}; {}, {whole} files whole; receiver {}", first.how, counts(&ends), server.how));
    row.bar(first.is(1), "1 MB: exit 1");
    row.bar(ends.iter().all(|end| end.is(0)) && whole == 4, "the four that fit: exit 0, equal bytes");
    row.bar(server.is(0), "receiver: exit 0 at SIGTERM");
    Ok(row)
}

/// More senders at once than there are descriptors for.
fn few_descriptors(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("20 senders with `--wait` at a receiver with 40 descriptors");
    let (mut server, address) = receiver(bench, directory, &["prlimit", "--nofile=40"], &[])?;
    let plan = TransferPlan { send: &["--wait", "40s"], ..SMALL };
    let file = honest::input(directory, plan.bytes)?;
    let start = |n: usize| honest::send_as(bench, directory, &format!("send-{n}"), &address, &file, &plan);
    let mut senders = (0..20).map(start).collect::<Result<Vec<_>, _>>()?;
    let ends: Vec<Ended> = senders.iter_mut().map(|one| one.end(Duration::from_mins(1))).collect();
    let unwritten = ends.iter().filter(|end| end.last.contains("cannot write")).count();
    server.signal(Signal::TERM);
    let said = server.errors();
    let end = server.end(SOON);
    let whole = whole(directory, &file);
    row.saw(format!(
        "{}, {unwritten} accepted and not written, {whole} files whole; receiver {}",
        counts(&ends),
        end.how
    ));
    row.bar(unwritten == 0 && !said.contains("Too many open files"), "nobody is accepted and then fails");
    row.bar(ends.iter().all(|end| end.is(0)) && whole == 20, "all senders: exit 0, equal bytes");
    row.bar(end.is(0), "receiver: exit 0 at SIGTERM");
    Ok(row)
}

/// So few descriptors that nothing can begin.
fn no_descriptors(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("commands with 5 to 9 descriptors");
    for most in 5..=9 {
        let limit = format!("--nofile={most}");
        for (label, arguments) in
            [("recv", ["recv", "-o", "x"].as_slice()), ("send", &["send", "127.0.0.1:9", "-t", "1s"])]
        {
            let end = limited(bench, directory, label, &["prlimit", &limit], arguments)?.end(SOON);
            row.saw(format!("{label}, {most}: {}", end.how));
            row.bar(end.is(1), format!("{label} with {most}: exit 1"));
            row.bar(
                end.last.contains("ulimit -n"),
                format!("{label} with {most}: a sentence with the remedy"),
            );
        }
    }
    Ok(row)
}

/// A user who may start few threads. Root has no such limit.
fn few_threads(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let user = ["setpriv", "--reuid=65534", "--clear-groups"];
    let binary = bench.binary.to_string_lossy();
    let able = [&user[..], &[&*binary, "--version"]].concat();
    if let Err(why) = able.split_first().map_or(Ok(()), |(name, rest)| namespace::run(name, rest)) {
        return Ok(CaseRow::skipped(format!("no other user here: {why}")));
    }
    fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).map_err(|error| error.to_string())?;
    let mut row = CaseRow::new("`recv -o PATTERN` of a user with 2 to 8 threads; one sender, SIGTERM");
    let file = honest::input(directory, SMALL.bytes)?;
    let mut served = 0;
    for most in 2..=8 {
        let limit = format!("--nproc={most}");
        let prefix = [&user[..], &["prlimit", &limit]].concat();
        match receiver(bench, directory, &prefix, &["--overwrite"]) {
            Ok((mut server, address)) => {
                served += 1;
                let sent = honest::send(bench, directory, &address, &file, &SMALL)?.end(SOON);
                server.signal(Signal::TERM);
                let end = server.end(SOON);
                row.saw(format!("{most}: sender {}, receiver {}", sent.how, end.how));
                // Without a thread to write with, this connection fails, and its sender hears why.
                let told = sent.is(0) || (sent.is(1) && sent.last.contains("receiver"));
                row.bar(told, format!("{most}: the sender succeeds or hears why"));
                row.bar(
                    !sent.is(0) || honest::equal(&file, &directory.join("in-1")),
                    format!("{most}: bytes"),
                );
                row.bar(end.is(0), format!("{most}: receiver exit 0 at SIGTERM"));
            }
            Err(why) => {
                row.saw(format!("{most}: does not start"));
                let is_sentence = why.contains("exit status: 1") && why.contains("ulimit -u");
                row.bar(is_sentence, format!("{most}: exit 1 with the remedy, not {why}"));
            }
        }
    }
    row.bar(served > 0, "one of the limits is enough");
    Ok(row)
}
