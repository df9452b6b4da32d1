//! Ends before the end: output that is not yet written, files that will not be, clients that do not
//! leave.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tfrc_dccp::wire::PacketType;

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::namespace;
use super::path::{RunningPath, Way, parse};
use super::program::{SOON, Stream};
use super::stranger::{Stranger, emit};

/// The cases of this file.
pub(crate) const CASES: [Case; 8] = [
    Case::new("late-output", Load::Waiting, |b, d| late(b, d, &["-1", "-o", "-"])),
    Case::new("late-exec", Load::Waiting, |b, d| late(b, d, &["--exec", "sleep 300"])),
    Case::new("no-words", Load::Waiting, |b, d| closing_text(b, d, "")),
    Case::new("newer-words", Load::Waiting, |b, d| {
        let text = "received 0 bytes 0 late 0 dropped 0 loss-events 0 of 0 ended moonrise";
        closing_text(b, d, text)
    }),
    Case::new("interrupted-file", Load::Waiting, interrupted_file),
    Case::new("idle-hold", Load::Waiting, idle_hold),
    Case::new("metrics-silent", Load::Waiting, metrics_silent),
    Case::new("pattern-fifo", Load::Waiting, pattern_fifo),
];

/// Data that fit into the receiver's queues: the sender has closed long before they are written.
const SHORT: TransferPlan<'static> = TransferPlan { bytes: 1_000_000, ..TransferPlan::USUAL };

/// An output that stands still for longer than the sender waits.
fn late(bench: &Bench, directory: &Path, arguments: &[&str]) -> Result<CaseRow, String> {
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", arguments, Stream::Pipe)?;
    let output = receiver.program.take_output();
    let file = honest::input(directory, SHORT.bytes)?;
    let mut sender = honest::send(bench, directory, &receiver.address, &file, &SHORT)?;
    let end = sender.end(Duration::from_secs(40));
    drop(output);
    receiver.program.signal(Signal::TERM);
    let receiver = receiver.program.end(SOON);
    let mut row =
        CaseRow::new(format!("1 MB to `recv {}`, which takes next to nothing", arguments.join(" ")));
    row.saw(format!("sender {}, {:.1} s: “{}”", end.how, end.lasted.as_secs_f64(), end.last));
    row.saw(format!("receiver {}", receiver.how));
    row.bar(end.is(1), "sender: exit 1, for the data are not written");
    row.bar(end.last.starts_with("unconfirmed:"), "the sender says that nobody confirmed");
    row.bar(!receiver.crashed() && !receiver.how.to_string().contains("still"), "receiver: ends");
    Ok(row)
}

/// A Reset that answers the Close with this text in place of the receiver's counts.
fn closing_text(bench: &Bench, directory: &Path, text: &'static str) -> Result<CaseRow, String> {
    let receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds| {
        let packet = parse(bytes).filter(|_| way == Way::Back);
        // A kernel does not introduce itself either: padding stands in the place of that option.
        if let Some(packet) = packet.filter(|packet| packet.header.kind() == PacketType::Response) {
            let options = without_note(packet.options);
            return deeds.send(way, emit(&tfrc_dccp::wire::Packet { options: &options, ..packet }));
        }
        let reset = packet.filter(|packet| packet.header.kind() == PacketType::Reset);
        match reset {
            Some(packet) => {
                deeds.send(way, emit(&tfrc_dccp::wire::Packet { payload: text.as_bytes(), ..packet }));
            }
            None => deeds.send(way, bytes),
        }
    })?;
    let plan = TransferPlan { bytes: 100_000, send: &["--json"], ..TransferPlan::USUAL };
    let file = honest::input(directory, plan.bytes)?;
    let mut sender = honest::send(bench, directory, &path.entrance, &file, &plan)?;
    let end = sender.end(SOON);
    let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
    let reason = summary["reason"].as_str().unwrap_or_default();
    let mut row = CaseRow::new(match text {
        "" => "a receiver whose last Reset has no text, as that of a Linux kernel".to_owned(),
        text => format!("a receiver that says “{text}”"),
    });
    row.saw(format!("sender {}: “{}”", end.how, end.last));
    if text.is_empty() {
        row.bar(end.is(0), "sender: exit 0");
        row.bar(reason.contains("nobody confirmed"), "the summary says that nobody confirmed");
    } else {
        row.bar(end.is(1), "sender: exit 1, for the receiver ended the session");
        row.bar(summary["outcome"] == "failed", "the outcome is a failure");
    }
    Ok(row)
}

/// An option space without the option in which `tfrc` introduces itself: experiments have type 126
/// (RFC 4340 §19.3).
fn without_note(options: &[u8]) -> Vec<u8> {
    let mut left = options.to_vec();
    let mut at = 0;
    while let Some(kind) = left.get(at).copied() {
        let length = if kind < 32 { 1 } else { left.get(at + 1).map_or(1, |length| usize::from(*length)) };
        if kind == 126
            && let Some(note) = left.get_mut(at..at + length)
        {
            note.fill(0);
        }
        at += length.max(1);
    }
    left
}

/// `recv -o FILE --overwrite`, interrupted in mid-transfer and before anybody connects.
fn interrupted_file(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("SIGINT to `recv -o FILE --overwrite`, in mid-transfer and before");
    let plan = TransferPlan { cap: "2M", ..TransferPlan::USUAL };
    let old = b"last week's";
    let file = honest::input(directory, plan.bytes)?;
    for connected in [true, false] {
        fs::write(directory.join("out"), old).map_err(|error| error.to_string())?;
        let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["--overwrite"])?;
        let mut sender = None;
        if connected {
            let mut program = honest::send(bench, directory, &receiver.address, &file, &plan)?;
            program.wait_for("connected")?;
            thread::sleep(Duration::from_secs(1));
            sender = Some(program);
        }
        receiver.program.signal(Signal::INT);
        let end = receiver.program.end(SOON);
        drop(sender);
        let kept = fs::read(directory.join("out")).is_ok_and(|bytes| bytes == old);
        row.saw(format!("{}: “{}”, FILE {}", end.how, end.last, if kept { "as it was" } else { "changed" }));
        row.bar(end.is(1) && kept, "exit 1 where FILE is not what was sent");
    }
    Ok(row)
}

/// Clients that send a byte and then answer nothing, not even the request to close.
fn idle_hold(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let pattern = directory.join("in-%n").to_string_lossy().into_owned();
    let arguments = ["-o", &pattern, "--connections", "4", "--idle-timeout", "1s"];
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &arguments, Stream::Own)?;
    let mut strangers = Vec::new();
    for seed in 0..4 {
        // Of another address than the honest sender's, which would else take the place of a silent
        // one.
        let mut stranger = Stranger::new("127.0.0.2", &receiver.address, seed)?;
        let id = stranger.connect(SOON)?.ok_or("a stranger does not get in")?;
        stranger.send(id, b"x");
        stranger.live(Duration::from_millis(100));
        strangers.push(stranger);
    }
    let file = honest::input(directory, 100_000)?;
    let plan = TransferPlan { bytes: 100_000, ..TransferPlan::USUAL };
    let (begin, most) = (Instant::now(), Duration::from_secs(12));
    let mut entered = false;
    while !entered && begin.elapsed() < most {
        entered = honest::send(bench, directory, &receiver.address, &file, &plan)?.end(SOON).is(0);
        thread::sleep(Duration::from_millis(200));
    }
    let waited = begin.elapsed().as_secs_f64();
    let mut row =
        CaseRow::new("four clients of `--connections 4 --idle-timeout 1s` send a byte and fall silent");
    row.honest = match entered {
        true => format!("in after {waited:.1} s"),
        false => format!("not in after {waited:.0} s"),
    };
    row.bar(entered, "an honest sender gets a place within 12 s");
    receiver.program.signal(Signal::TERM);
    let end = receiver.program.end(SOON);
    row.bar(end.is(0), "receiver: exit 0 at SIGTERM");
    Ok(row)
}

/// Connections to the page of metrics that say nothing.
fn metrics_silent(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let arguments = ["--metrics", "127.0.0.1:0"];
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &arguments, Stream::Own)?;
    receiver.program.wait_for("metrics at http://")?;
    let said = receiver.program.errors();
    let place = said.split("metrics at http://").nth(1).and_then(|rest| rest.split('/').next());
    let place: SocketAddr = place.and_then(|text| text.parse().ok()).ok_or("no address of the metrics")?;
    let count = 300;
    let silent: Vec<TcpStream> = (0..count)
        .filter_map(|_| TcpStream::connect_timeout(&place, Duration::from_millis(200)).ok())
        .collect();
    let begin = Instant::now();
    let scrape = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&place, Duration::from_secs(5))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page)?;
        Ok(page)
    };
    let page = scrape();
    let waited = begin.elapsed();
    let mut row = CaseRow::new(format!("{count} silent connections to the page of metrics"));
    let answered = page.as_ref().is_ok_and(|page| page.contains("tfrc_recv_open_connections"));
    row.saw(format!(
        "{} of them stand; a scrape {} after {:.2} s",
        silent.len(),
        if answered { "is answered" } else { "fails" },
        waited.as_secs_f64()
    ));
    row.bar(answered && waited <= Duration::from_secs(1), "a scrape is answered within a second");
    receiver.program.signal(Signal::TERM);
    row.bar(receiver.program.end(SOON).is(0), "receiver: exit 0 at SIGTERM");
    Ok(row)
}

/// A pipe that somebody has put where the next file would be.
fn pattern_fifo(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    namespace::run("mkfifo", &[&directory.join("in-1").to_string_lossy()])?;
    let pattern = directory.join("in-%n").to_string_lossy().into_owned();
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &["-o", &pattern], Stream::Own)?;
    let file = honest::input(directory, 100_000)?;
    let plan = TransferPlan { bytes: 100_000, ..TransferPlan::USUAL };
    let mut ends = Vec::new();
    for _ in 0..2 {
        ends.push(
            honest::send(bench, directory, &receiver.address, &file, &plan)?.end(Duration::from_secs(25)),
        );
    }
    receiver.program.signal(Signal::TERM);
    let receiver = receiver.program.end(Duration::from_secs(20));
    let mut row = CaseRow::new("a FIFO without a reader has the name of the first of two files");
    let words: Vec<String> = ends.iter().map(|end| format!("{}: “{}”", end.how, end.last)).collect();
    row.saw(format!(
        "senders {}; receiver {}, {:.1} s",
        words.join(", "),
        receiver.how,
        receiver.waited.as_secs_f64()
    ));
    row.bar(
        matches!(ends.as_slice(), [first, second] if first.is(1) && second.is(0)),
        "senders: exit 1 and 0",
    );
    row.bar(honest::equal(&file, &directory.join("in-2")), "the second file is whole");
    row.bar(receiver.is(0) && receiver.waited <= Duration::from_secs(4), "receiver: ends within 4 s");
    Ok(row)
}
