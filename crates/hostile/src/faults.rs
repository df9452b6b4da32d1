//! Faults at either end of a transfer: ends of processes, disks, pipes, networks, clocks.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use tfrc_units::saturating;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Form, Ground, Load};
use super::honest::{self, TransferPlan};
use super::namespace;
use super::program::{SOON, Stream};
use super::session::{Bars, Kept, SILENCE, Session};

/// The cases of this file.
pub(crate) const CASES: [Case; 25] = [
    Case::new("kill-sender", Load::Waiting, |b, d| signal(b, d, Whom::Sender, Signal::KILL)),
    Case::new("kill-receiver", Load::Waiting, |b, d| signal(b, d, Whom::Receiver, Signal::KILL)).long(),
    Case::new("term-sender", Load::Waiting, |b, d| signal(b, d, Whom::Sender, Signal::TERM)),
    Case::new("term-receiver", Load::Waiting, |b, d| signal(b, d, Whom::Receiver, Signal::TERM)),
    Case::new("hup-sender", Load::Waiting, |b, d| signal(b, d, Whom::Sender, Signal::HUP)),
    Case::new("hup-receiver", Load::Waiting, |b, d| signal(b, d, Whom::Receiver, Signal::HUP)),
    Case::new("ctrl-c-twice", Load::Waiting, ctrl_c_twice),
    Case::new("disk-full", Load::Waiting, disk_full),
    Case::new("dev-full", Load::Waiting, dev_full),
    Case::new("reader-closes", Load::Waiting, reader_closes),
    Case::new("writer-killed", Load::Waiting, writer_killed),
    Case::new("source-shrinks", Load::Waiting, source_shrinks),
    Case::new("slow-reader", Load::Waiting, slow_reader),
    Case::new("blackout", Load::Waiting, blackout),
    Case::new("link-killed", Load::Waiting, link_killed).long(),
    Case::new("1-kbit", Load::Waiting, one_kbit),
    Case::new("time-lossy", Load::Waiting, |b, d| lossy(b, d, StopReason::Time)),
    Case::new("ctrl-c-lossy", Load::Waiting, |b, d| lossy(b, d, StopReason::CtrlC)),
    Case::new("suspend-sender", Load::Waiting, |b, d| suspend(b, d, Whom::Sender)),
    Case::new("suspend-receiver", Load::Waiting, |b, d| suspend(b, d, Whom::Receiver)),
    Case::new("stalled-sender", Load::Waiting, |b, d| stalled(b, d, Whom::Sender)),
    Case::new("stalled-receiver", Load::Waiting, |b, d| stalled(b, d, Whom::Receiver)),
    Case::new("second-send", Load::Waiting, second_send),
    Case::new("receiver-restarts", Load::Waiting, receiver_restarts),
    Case::new("no-server", Load::Waiting, no_server),
];

/// A transfer of some twelve seconds, so that something can happen to it.
const SLOW: TransferPlan<'static> = TransferPlan { cap: "2M", ..TransferPlan::USUAL };
/// Time from the start of a transfer until something happens to it.
const MIDDLE: Duration = Duration::from_secs(1);
/// Time for an end "within a few round-trip times" on a busy machine.
const PROMPT: Duration = Duration::from_secs(8);

/// One of the ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    Receiver,
    Sender,
}

/// A signal in mid-transfer.
fn signal(bench: &Bench, directory: &Path, whom: Whom, signal: Signal) -> Result<CaseRow, String> {
    let mut session = Session::start(bench, directory, &SLOW, None)?;
    thread::sleep(MIDDLE);
    let name = match signal {
        Signal::KILL => "SIGKILL",
        Signal::TERM => "SIGTERM",
        _ => "SIGHUP",
    };
    Ok(match whom {
        Whom::Sender => {
            session.sender.signal(signal);
            // A killed sender leaves silence; any other signal ends the session properly, and the
            // file is not whole.
            let (bars, within): (Bars<'_>, _) = if signal == Signal::KILL {
                (Bars { sender: &[], receiver: &[1], kept: Kept::Part }, SILENCE)
            } else {
                (Bars { sender: &[1], receiver: &[1], kept: Kept::Part }, SILENCE)
            };
            session.judge(&format!("{name} to the sender"), PROMPT, within, &bars)
        }
        Whom::Receiver => {
            session.receiver.signal(signal);
            let (bars, within): (Bars<'_>, _) = if signal == Signal::KILL {
                (Bars { sender: &[1], receiver: &[], kept: Kept::Part }, SILENCE)
            } else {
                (Bars { sender: &[1], receiver: &[1], kept: Kept::Part }, PROMPT)
            };
            let mut row = session.judge(&format!("{name} to the receiver"), within, PROMPT, &bars);
            if signal != Signal::KILL {
                let counts = |program: &super::program::Program| {
                    let summary: serde_json::Value =
                        serde_json::from_str(&program.output()).unwrap_or_default();
                    ["received_packets", "lost_packets", "dropped_by_reader_packets"]
                        .map(|key| summary[key].as_u64())
                };
                let (here, there) = (counts(&session.sender), counts(&session.receiver));
                row.bar(here == there, format!("both ends count the same: {here:?}, {there:?}"));
            }
            row
        }
    })
}

/// Two Ctrl-C at once.
fn ctrl_c_twice(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut session = Session::start(bench, directory, &SLOW, Some("rate = \"4Mbit/s\"\ndelay = \"200ms\""))?;
    thread::sleep(MIDDLE);
    session.sender.signal(Signal::INT);
    thread::sleep(Duration::from_millis(100));
    session.sender.signal(Signal::INT);
    let bars = Bars { sender: &[0, 1], receiver: &[0, 1], kept: Kept::AsStatus };
    let mut row =
        session.judge("SIGINT twice, 0.1 s apart, to the sender; RTT 0.4 s", PROMPT, SILENCE, &bars);
    let summary: serde_json::Value = serde_json::from_str(&session.sender.output()).unwrap_or_default();
    row.bar(summary["sent_packets"].is_u64(), "the sender prints its summary");
    let received: serde_json::Value = serde_json::from_str(&session.receiver.output()).unwrap_or_default();
    let failed = |summary: &serde_json::Value| summary["outcome"] == "failed";
    row.bar(failed(&summary) == failed(&received), "both ends have the same status");
    Ok(row)
}

/// A file system of 1 MB under FILE.
fn disk_full(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("mounts need a mount namespace"));
    }
    let small = directory.join("small");
    fs::create_dir_all(&small).map_err(|error| error.to_string())?;
    namespace::mount_memory(&small, "1m")?;
    let output = small.join("out").to_string_lossy().into_owned();
    let plan = TransferPlan { cap: "8M", ..TransferPlan::USUAL };
    let mut session = Session::to(bench, directory, &plan, None, &output, Stream::Own)?;
    let bars = Bars { sender: &[1], receiver: &[1], kept: Kept::Part };
    let mut row = session.judge("FILE on a disk of 1 MiB", SOON, PROMPT, &bars);
    told(
        &mut row,
        &session.sender.errors(),
        &["disk", "space", "No space"],
        "the sender says that the disk is full",
    );
    Ok(row)
}

/// FILE is /dev/full.
fn dev_full(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut session = Session::to(bench, directory, &SLOW, None, "/dev/full", Stream::Own)?;
    let bars = Bars { sender: &[1], receiver: &[1], kept: Kept::Anything };
    let mut row = session.judge("FILE is /dev/full", SOON, PROMPT, &bars);
    let summary: serde_json::Value = serde_json::from_str(&session.receiver.output()).unwrap_or_default();
    let counted = summary["received_bytes"].as_u64();
    row.bar(
        counted.is_none_or(|bytes| bytes == 0),
        format!("nothing was written, {counted:?} bytes are counted"),
    );
    told(
        &mut row,
        &session.sender.errors(),
        &["disk", "space", "No space"],
        "the sender says that the disk is full",
    );
    Ok(row)
}

/// Fails unless `said` has one of `words`.
fn told(row: &mut CaseRow, said: &str, words: &[&str], bar: &str) {
    row.bar(words.iter().any(|word| said.contains(word)), bar);
}

/// `recv -o - | head`.
fn reader_closes(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut session = Session::to(bench, directory, &SLOW, None, "-", Stream::Pipe)?;
    let mut output = session.receiver.take_output().ok_or("no pipe")?;
    let mut head = vec![0; 100_000];
    output.read_exact(&mut head).map_err(|error| error.to_string())?;
    drop(output);
    let bars = Bars { sender: &[1], receiver: &[1], kept: Kept::Anything };
    let row = session.judge("`recv -o -`, whose reader leaves after 100 kB", SOON, PROMPT, &bars);
    Ok(row)
}

/// The program that writes into `send -f -` is killed: its end of the pipe closes, which is an end
/// of the data.
fn writer_killed(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut listening = honest::Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let arguments = ["send", &listening.address, "-f", "-", "-b", "8M"];
    let mut sender = bench.start(directory, "send", &arguments, Stream::Pipe, Stream::Own)?;
    let mut input = sender.take_input().ok_or("no pipe")?;
    input.write_all(&[7; 500_000]).map_err(|error| error.to_string())?;
    drop(input);
    let (sent, received) = (sender.end(SOON), listening.program.end(PROMPT));
    let mut row = CaseRow::new("500,000 bytes into `send -f -`, then the pipe closes");
    row.saw(format!("sender {}: “{}”; receiver {}: “{}”", sent.how, sent.last, received.how, received.last));
    row.honest = format!("FILE {}", honest::length(&listening.file));
    row.bar(sent.is(0) && received.is(0), "exit 0 at both ends");
    row.bar(fs::read(&listening.file).is_ok_and(|all| all == [7; 500_000]), "FILE has what was written");
    Ok(row)
}

/// A source that loses three quarters while it is sent.
fn source_shrinks(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let plan = TransferPlan { bytes: 4_000_000, cap: "5M", ..TransferPlan::USUAL };
    let mut session = Session::start(bench, directory, &plan, None)?;
    thread::sleep(Duration::from_millis(500));
    let file = OpenOptions::new().write(true).open(&session.source).map_err(|error| error.to_string())?;
    file.set_len(1_000_000).map_err(|error| error.to_string())?;
    let bars = Bars { sender: &[1], receiver: &[1], kept: Kept::Part };
    Ok(session.judge("a source of 4 MB is cut to 1 MB while it is sent", SOON, SILENCE, &bars))
}

/// A reader of 200 kB/s at `recv -o -`, a sender of 1 MB/s.
fn slow_reader(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let bytes = bench.form.choose(16_000_000, 8_000_000);
    let plan = TransferPlan { bytes, cap: "8M", ..TransferPlan::USUAL };
    let mut session = Session::to(bench, directory, &plan, None, "-", Stream::Pipe)?;
    let mut output = session.receiver.take_output().ok_or("no pipe")?;
    let reader = thread::spawn(move || {
        let (mut read, begin) = (0_usize, Instant::now());
        let mut buffer = vec![0; 20_000];
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            read += length;
            super::stranger::pace(begin, saturating::<u64>(read), 200_000);
        }
        read
    });
    let most = Duration::from_secs(100);
    let (sender, receiver) = (session.sender.end(most), session.receiver.end(most));
    let read = reader.join().map_err(|_| "the reader panicked")?;
    let bars = Bars { sender: &[], receiver: &[], kept: Kept::Anything };
    let what = "`recv -o -` is read at 200 kB/s, the sender's cap is 1 MB/s";
    let mut row = session.judge_ends(what, &sender, &receiver, &bars);
    row.honest = format!("{read} of {bytes} bytes read");
    let right = i32::from(read != bytes);
    row.bar(sender.is(right), format!("sender: exit {right}"));
    row.bar(receiver.is(right), format!("receiver: exit {right}"));
    row.bar(read * 2 > bytes, "the sender slows down: less than half is dropped");
    Ok(row)
}

/// Nothing passes for some seconds.
fn blackout(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let time = bench.form.choose(10, 3);
    let plan = TransferPlan { bytes: 1_500_000, cap: "1M", send: &["--lossy"], ..TransferPlan::USUAL };
    let mut session = Session::start(bench, directory, &plan, Some("rate = \"4Mbit/s\"\ndelay = \"10ms\""))?;
    thread::sleep(MIDDLE);
    if let Some(link) = &session.link {
        link.signal(Signal::STOP);
        thread::sleep(Duration::from_secs(time));
        link.signal(Signal::CONT);
    }
    let bars = Bars { sender: &[0], receiver: &[0], kept: Kept::AsStatus };
    let what = format!("the network stands still for {time} s");
    Ok(session.judge(&what, SILENCE, PROMPT, &bars))
}

/// The network goes away.
fn link_killed(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut session = Session::start(bench, directory, &SLOW, Some("rate = \"4Mbit/s\"\ndelay = \"10ms\""))?;
    thread::sleep(MIDDLE);
    if let Some(link) = &session.link {
        link.signal(Signal::KILL);
    }
    let bars = Bars { sender: &[1], receiver: &[1], kept: Kept::Part };
    Ok(session.judge("`tfrc link` between them is killed", SILENCE, SILENCE, &bars))
}

/// From 4 Mbit/s to 1 kbit/s after three seconds. Five more and the sender knows a round-trip time
/// of many seconds, by which it might wait for the answer to its Close.
fn one_kbit(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let keys = "rate = \"4Mbit/s\"\ndelay = \"10ms\"\nqueue = \"10p\"\nchanges = [{ at = \"3s\", rate = \"1kbit/s\" }]";
    let plan = TransferPlan { send: &["-t", "16s"], ..SLOW };
    let mut session = Session::start(bench, directory, &plan, Some(keys))?;
    let bars = Bars { sender: &[0, 1], receiver: &[0, 1], kept: Kept::AsStatus };
    let most = Duration::from_secs(16) + PROMPT;
    let what = "4 Mbit/s, 1 kbit/s after 3 s; `send -t 16s`";
    let sender = session.sender.end(SILENCE);
    if bench.form == Form::Short {
        session.receiver.signal(Signal::TERM);
    }
    // The queue of ten packets needs 110 s to drain through 1 kbit/s; only then silence begins.
    let receiver = session.receiver.end(SILENCE * 3);
    let mut row = session.judge_ends(what, &sender, &receiver, &bars);
    row.bar(sender.lasted <= most, format!("the sender ends within {:.0} s", most.as_secs_f64()));
    Ok(row)
}

/// Reason for which a sender on a lossy path stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopReason {
    CtrlC,
    Time,
}

/// 30 % loss both ways.
fn lossy(bench: &Bench, directory: &Path, stop: StopReason) -> Result<CaseRow, String> {
    let keys = "rate = \"4Mbit/s\"\ndelay = \"50ms\"\nloss = \"30%\"\nreverse = { loss = \"30%\" }";
    let send: &[&str] = if stop == StopReason::Time { &["-t", "8s"] } else { &[] };
    let plan = TransferPlan { send, ..SLOW };
    let mut session = Session::start(bench, directory, &plan, Some(keys))?;
    let begin = Instant::now();
    thread::sleep(Duration::from_secs(8));
    if stop == StopReason::CtrlC {
        session.sender.signal(Signal::INT);
    }
    let sender = session.sender.end(Duration::from_secs(40));
    let waited = begin.elapsed().saturating_sub(Duration::from_secs(8));
    let receiver = session.receiver.end(SILENCE);
    // Every answer to Close may be lost until the sender gives up, so that both statuses are right.
    let bars = Bars { sender: &[0, 1], receiver: &[0, 1], kept: Kept::AsStatus };
    let what = match stop {
        StopReason::CtrlC => "30 % loss both ways, RTT 0.1 s; SIGINT after 8 s",
        StopReason::Time => "30 % loss both ways, RTT 0.1 s; `send -t 8s`",
    };
    let mut row = session.judge_ends(what, &sender, &receiver, &bars);
    row.saw(format!("the sender ended {:.1} s after its time", waited.as_secs_f64()));
    row.bar(waited <= PROMPT, format!("the sender ends within {:.0} s", PROMPT.as_secs_f64()));
    Ok(row)
}

/// SIGSTOP, then SIGCONT.
fn suspend(bench: &Bench, directory: &Path, whom: Whom) -> Result<CaseRow, String> {
    let time = bench.form.choose(70, 5);
    let plan = TransferPlan { bytes: bench.form.choose(5_000_000, 1_500_000), ..SLOW };
    let mut session = Session::start(bench, directory, &plan, None)?;
    thread::sleep(MIDDLE);
    let (program, name) = match whom {
        Whom::Receiver => (&session.receiver, "receiver"),
        Whom::Sender => (&session.sender, "sender"),
    };
    program.signal(Signal::STOP);
    thread::sleep(Duration::from_secs(time));
    program.signal(Signal::CONT);
    // 60 s of silence end a session for either end; 5 s do not.
    let bars = match bench.form {
        Form::Long => Bars { sender: &[1], receiver: &[1], kept: Kept::Part },
        Form::Short => Bars { sender: &[0], receiver: &[0], kept: Kept::Whole },
    };
    let note = bench.form.choose("", " (the short form of 70 s)");
    Ok(session.judge(&format!("the {name} suspended for {time} s{note}"), SILENCE, SILENCE, &bars))
}

/// SIGSTOP for two seconds while reports, or data, wait in the socket: the stop is not the
/// round-trip time of the path.
fn stalled(bench: &Bench, directory: &Path, whom: Whom) -> Result<CaseRow, String> {
    let (stop, stopped) = (4.0, 2.0);
    let mut listening = honest::Listening::raw(bench, directory, "127.0.0.1", &["-1"], Stream::Own)?;
    // At a receiver more has to wait than it reads at once.
    let (loss, cap) = match whom {
        Whom::Receiver => ("0%", "12M"),
        Whom::Sender => ("1%", "50M"),
    };
    let keys = format!("rate = \"20Mbit/s\"\ndelay = \"20ms\"\nloss = \"{loss}\"");
    let (_link, entrance) = super::session::link(bench, directory, &keys, &listening.address)?;
    let arguments = ["send", &entrance, "-b", cap, "-t", "9s", "--json-stream"];
    let mut sender = bench.run(directory, "send", &arguments)?;
    sender.wait_for("connected")?;
    thread::sleep(Duration::from_secs_f64(stop));
    let (program, name) = match whom {
        Whom::Receiver => (&listening.program, "receiver"),
        Whom::Sender => (&sender, "sender"),
    };
    program.signal(Signal::STOP);
    thread::sleep(Duration::from_secs_f64(stopped));
    program.signal(Signal::CONT);
    let (sent, received) = (sender.end(SOON), listening.program.end(PROMPT));
    let begin = stop + stopped;
    let rtt = |from, to| stream_mean(&sender.output(), "rtt_s", from, to);
    let rate = |from, to| stream_mean(&sender.output(), "allowed_rate_bps", from, to);
    let (rtt_before, rtt_after) = (rtt(1.0, stop), rtt(begin + 0.5, begin + 3.0));
    let rtt_highest =
        stream_values(&sender.output(), "rtt_s", begin, f64::INFINITY).into_iter().fold(f64::NAN, f64::max);
    let (rate_before, rate_after) = (rate(1.0, stop), rate(begin + 0.5, begin + 3.0));
    let mut row = CaseRow::new(format!(
        "the {name} stands still for 2 s; 20 Mbit/s, RTT 40 ms, {loss} loss, cap {cap}bit/s"
    ));
    row.saw(format!("sender {}, receiver {}", sent.how, received.how));
    row.honest = format!(
        "R {:.0} ms before, {:.0} ms after, {:.0} ms at most; X {:.0} and {:.0} kbit/s",
        rtt_before * 1e3,
        rtt_after * 1e3,
        rtt_highest * 1e3,
        rate_before / 1e3,
        rate_after / 1e3
    );
    row.bar(sent.is(0) && received.is(0), "exit 0 at both ends");
    row.bar(rate_after > 0.0, "it goes on after the stop");
    // One sample of the stop's length would be six times as much.
    row.bar(rtt_highest <= 3.0 * rtt_before, "R after the stop never three times that before");
    // Beside builds the rate is theirs, too.
    if bench.form == Form::Long {
        row.bar(rtt_after <= 2.0 * rtt_before, "R after the stop at most twice that before");
        row.bar(rate_after >= rate_before / 3.0, "X after the stop at least a third of that before");
    }
    Ok(row)
}

/// Values of a key of `--json-stream` in the intervals that end between two times.
fn stream_values(stream: &str, key: &str, from: f64, to: f64) -> Vec<f64> {
    let lines = stream.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let within = lines.filter(|line| line["t_s"].as_f64().is_some_and(|t| from < t && t <= to));
    within.filter_map(|line| line[key].as_f64()).collect()
}

/// Mean of these values, NAN if there are none.
pub(super) fn stream_mean(stream: &str, key: &str, from: f64, to: f64) -> f64 {
    let values = stream_values(stream, key, from, to);
    values.iter().sum::<f64>() / values.len() as f64
}

/// `send` started twice.
fn second_send(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let plan = TransferPlan { cap: "8M", ..TransferPlan::USUAL };
    let mut listening = honest::Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let file = honest::input(directory, plan.bytes)?;
    let mut first = honest::send(bench, directory, &listening.address, &file, &plan)?;
    first.wait_for("connected")?;
    thread::sleep(MIDDLE);
    let mut second = honest::send_as(bench, directory, "second", &listening.address, &file, &plan)?;
    let (second, first) = (second.end(PROMPT), first.end(SOON));
    let receiver = listening.program.end(PROMPT);
    let mut row = CaseRow::new("the command of `send` once more after a second");
    row.saw(format!(
        "first {}, second {}: “{}”, receiver {}",
        first.how, second.how, second.last, receiver.how
    ));
    let equal = honest::equal(&file, &listening.file);
    row.honest = format!("FILE {}", if equal { "equal" } else { "differs" });
    row.bar(first.is(0) && receiver.is(0) && equal, "the first is not disturbed");
    row.bar(second.is(1), "second: exit 1");
    Ok(row)
}

/// kill -9 at the receiver, and another one two seconds later.
fn receiver_restarts(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut listening = honest::Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let file = honest::input(directory, SLOW.bytes)?;
    let mut sender = honest::send(bench, directory, &listening.address, &file, &SLOW)?;
    sender.wait_for("connected")?;
    thread::sleep(MIDDLE);
    listening.program.signal(Signal::KILL);
    listening.program.end(SOON);
    let port = listening.port.to_string();
    let mut again = bench.run(directory, "again", &["recv", "--bind", "127.0.0.1", "-p", &port])?;
    let end = sender.end(SILENCE);
    again.signal(Signal::TERM);
    let ended = again.end(PROMPT);
    let mut row = CaseRow::new("SIGKILL to the receiver, another one at its port");
    row.saw(format!(
        "sender {}, {:.1} s: “{}”; second receiver {}",
        end.how,
        end.lasted.as_secs_f64(),
        end.last,
        ended.how
    ));
    row.bar(end.is(1), "sender: exit 1");
    // The second receiver of a private session cannot forge the secret of the first one's resets.
    if bench.key.is_none() {
        row.bar(end.waited <= SOON, "the sender learns of it at once");
    }
    row.bar(ended.is(0), "second receiver: exit 0 at SIGTERM");
    Ok(row)
}

/// Nobody listens.
fn no_server(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let port = honest::free_port("127.0.0.1")?;
    let end = bench.run(directory, "send", &["send", &format!("127.0.0.1:{port}"), "-n", "1kB"])?.end(SOON);
    let mut row = CaseRow::new("`send` where nobody listens");
    row.saw(format!("{}: “{}”", end.how, end.last));
    row.bar(end.is(1), "exit 1 at once");
    Ok(row)
}
