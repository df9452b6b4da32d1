//! An attacker on the path: replays, another port, one changed number; and strangers at `tfrc
//! link`.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tfrc_dccp::wire::{Header, Packet, SeqAck};

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::path::{Deeds, RunningPath, Way, parse};
use super::peers::leapt;
use super::program::{How, SOON, Stream};
use super::session::{self, SILENCE};
use super::stranger::{Xorshift, emit, pace, packet, socket};
use super::strangers::{Before, end_receiver};

/// The cases of this file.
pub(crate) const CASES: [Case; 7] = [
    Case::new("replay-session", Load::Busy, replay),
    Case::new("replay-beside", Load::Busy, replay_beside),
    Case::new("port-change", Load::Waiting, port_change),
    Case::new("changed-number", Load::Waiting, changed_number).long(),
    Case::new("link-slots", Load::Waiting, link_slots),
    Case::new("idle-blind", Load::Waiting, idle_blind),
    Case::new("reorder", Load::Waiting, reorder),
];

/// A recorded session again, from its own port's neighbour, three times.
fn replay(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &[])?;
    let recorded: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let record = Arc::clone(&recorded);
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        if way == Way::There
            && let Ok(mut all) = record.lock()
        {
            all.push(bytes.to_vec());
        }
        deeds.send(way, bytes);
    })?;
    let transfer = honest::transfer(bench, directory, &path.entrance, &receiver.file, &TransferPlan::USUAL)?;
    let before = Before::of(&receiver.program);
    let all = recorded.lock().map_err(|_| "poisoned")?.clone();
    let (socket, begin) = (socket("127.0.0.1")?, Instant::now());
    let mut sent = 0;
    for bytes in all.iter().cycle().take(3 * all.len()) {
        // The receiver may be gone: its file is complete.
        let _ = socket.send_to(bytes, &receiver.address);
        sent += 1;
        pace(begin, sent, 5_000);
    }
    let mut row = CaseRow::new(format!(
        "{} datagrams of a session that is over, three times, from another port",
        all.len()
    ));
    if receiver.program.runs() {
        before.compare(&receiver.program, 4_000, 4_000, &mut row);
    }
    transfer.judge(bench, &mut row);
    row.bar(honest::equal(&directory.join("in"), &receiver.file), "not a byte is taken twice");
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Each datagram eleven times, in mid-session.
fn replay_beside(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &[])?;
    let path = RunningPath::lay(&receiver.address, |way, bytes, deeds: &mut Deeds| {
        (0..11).for_each(|_| deeds.send(way, bytes));
    })?;
    let transfer = honest::transfer(bench, directory, &path.entrance, &receiver.file, &TransferPlan::USUAL)?;
    let mut row = CaseRow::new("each datagram eleven times, both ways");
    transfer.judge(bench, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// A translator that forgets: the client comes from another port.
fn port_change(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let mut count = 0;
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        count += 1;
        if count == 300 {
            deeds.move_port();
        }
        deeds.send(way, bytes);
    })?;
    let plan = TransferPlan { cap: "5M", ..TransferPlan::USUAL };
    let file = honest::input(directory, plan.bytes)?;
    let end = honest::send(bench, directory, &path.entrance, &file, &plan)?.end(SILENCE);
    let received = receiver.program.end(SILENCE);
    let mut row = CaseRow::new("the client's address has another port from the 300th datagram on");
    row.saw(format!("sender {}, {:.1} s: “{}”", end.how, end.lasted.as_secs_f64(), end.last));
    row.saw(format!(
        "receiver {}, {:.1} s: “{}”",
        received.how,
        received.lasted.as_secs_f64(),
        received.last
    ));
    row.bar(end.is(1), "sender: exit 1");
    row.bar(received.is(1), "receiver: exit 1");
    Ok(row)
}

/// One number inside the window changed, so that the ends are out of step.
fn changed_number(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let mut count = 0;
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        count += u32::from(way == Way::There);
        // The window is 1000 packets wide here; three quarters of it are ahead (RFC 4340 §7.5.1).
        let changed = parse(bytes)
            .filter(|_| way == Way::There && count == 200)
            .and_then(|packet| Some(emit(&Packet { header: leapt(packet.header, 700)?, ..packet })));
        deeds.send(way, changed.unwrap_or_else(|| bytes.to_vec()));
    })?;
    let plan = TransferPlan { cap: "1M", ..TransferPlan::USUAL };
    let file = honest::input(directory, plan.bytes)?;
    let mut sender = honest::send(bench, directory, &path.entrance, &file, &plan)?;
    // One end gives up after a minute, the other a minute after it hears nothing any more.
    let most = Duration::from_secs(150);
    let (end, received) = (sender.end(most), receiver.program.end(SOON));
    let mut row = CaseRow::new("one Sequence Number of a 1 Mbit/s flow is 700 too high");
    row.saw(format!("sender {}: “{}”; receiver {}: “{}”", end.how, end.last, received.how, received.last));
    let equal = honest::equal(&file, &receiver.file);
    row.honest = if equal { "bytes equal" } else { "bytes differ" }.to_owned();
    let stays = |how| matches!(how, How::StillRunning(_));
    row.bar(!stays(end.how) && !stays(received.how), format!("both end within {} s", most.as_secs()));
    row.bar(end.is(0) == equal, "the sender's status says what became of the file");
    row.bar(received.is(0) == equal, "the receiver's status says what became of the file");
    Ok(row)
}

/// 300 datagrams of one byte from 300 ports at `tfrc link`, then an honest sender.
fn link_slots(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let (program, entrance) =
        session::link(bench, directory, "rate = \"50Mbit/s\"\ndelay = \"5ms\"", &receiver.address)?;
    let mut sockets = Vec::new();
    for _ in 0..300 {
        let socket = socket("127.0.0.1")?;
        socket.send_to(&[1], &entrance).map_err(|error| error.to_string())?;
        sockets.push(socket);
    }
    std::thread::sleep(Duration::from_millis(200));
    let mut row = CaseRow::new("300 datagrams of one byte from 300 ports at `tfrc link`");
    let peak = program.peak_kb();
    row.saw(format!("link: RSS peak {peak} kB, {} descriptors", program.descriptors()));
    row.bar(peak < 128_000, "the link's memory stays below 128 MB");
    let transfer = honest::transfer(bench, directory, &entrance, &receiver.file, &TransferPlan::USUAL)?;
    transfer.judge(bench, &mut row);
    Ok(row)
}

/// Packets with guessed numbers at an idle sender, whose receiver asks if it is still there.
fn idle_blind(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    const PER_SECOND: u64 = 100;
    const SECONDS: u64 = 12;
    /// Answers a second to invalid packets, after as many at once (RFC 4340 §7.5.4).
    const ANSWERS: u64 = 8;
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1", "--silence", "8s"])?;
    let ports = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&ports);
    let answers = Arc::new(AtomicU64::new(0));
    let answered = Arc::clone(&answers);
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        if let Some(packet) = parse(bytes) {
            match (way, packet.header) {
                (Way::Back, _) => {
                    if let Ok(mut ports) = seen.lock() {
                        *ports = Some((packet.source_port, packet.destination_port));
                    }
                }
                (Way::There, Header::Sync { .. }) => _ = answered.fetch_add(1, Ordering::Relaxed),
                (Way::There, _) => {}
            }
        }
        deeds.send(way, bytes);
    })?;
    let arguments = ["send", &path.entrance, "-f", "-", "-b", "5M"];
    let mut sender = bench.start(directory, "send", &arguments, Stream::Pipe, Stream::Own)?;
    let mut input = sender.take_input().ok_or("no pipe")?;
    input.write_all(&[1; 20_000]).map_err(|error| error.to_string())?;
    sender.wait_for("connected")?;
    let ports = ports.lock().map_err(|_| "poisoned")?.ok_or("nothing came back")?;
    let (mut noise, begin) = (Xorshift::new(3), Instant::now());
    for n in 1..=SECONDS * PER_SECOND {
        let numbers = SeqAck::Long { seq: noise.number(), ack: noise.number() };
        path.add(Way::Back, packet(ports, Header::Ack { numbers }, &[], &[]));
        pace(begin, n, PER_SECOND);
    }
    // A sender that has given up has closed its end.
    let _ = input.write_all(&[2; 20_000]);
    drop(input);
    let (end, received) = (sender.end(SOON), receiver.program.end(SOON));
    let mut row = CaseRow::new(format!(
        "{PER_SECOND} Acks a second with guessed numbers at a sender that is idle for {SECONDS} s; `recv --silence 8s`"
    ));
    row.saw(format!("sender {}: “{}”; receiver {}: “{}”", end.how, end.last, received.how, received.last));
    row.honest = format!("FILE {}", honest::length(&receiver.file));
    let answers = answers.load(Ordering::Relaxed);
    row.saw(format!("{answers} Syncs in answer"));
    row.bar(answers > 0, "an invalid packet is answered with a Sync");
    row.bar(answers <= ANSWERS * (SECONDS + 2), format!("at most {ANSWERS} Syncs a second"));
    row.bar(end.is(0) && received.is(0), "exit 0 at both ends");
    let whole = [[1; 20_000], [2; 20_000]].concat();
    row.bar(std::fs::read(&receiver.file).is_ok_and(|all| all == whole), "FILE has what was written");
    Ok(row)
}

/// 5 % of the datagrams 30 ms late.
fn reorder(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1", "--json"])?;
    let keys = "rate = \"100Mbit/s\"\ndelay = \"20ms\"\nreorder = { share = \"5%\", extra = \"30ms\" }";
    let (_program, entrance) = session::link(bench, directory, keys, &receiver.address)?;
    let plan = TransferPlan { bytes: 2_000_000, cap: "5M", ..TransferPlan::USUAL };
    let transfer = honest::transfer(bench, directory, &entrance, &receiver.file, &plan)?;
    let received = receiver.program.end(SOON);
    let summary: serde_json::Value = serde_json::from_str(&receiver.program.output()).unwrap_or_default();
    let number = |key: &str| summary[key].as_u64().unwrap_or_default();
    let (late, sent) = (number("late_packets"), number("sent_packets"));
    let mut row = CaseRow::new("5 % of the datagrams come 30 ms late; RTT 40 ms, 5 Mbit/s");
    row.saw(format!(
        "{late} of {sent} datagrams thrown away as late; sender {}, receiver {}",
        transfer.send.how, received.how
    ));
    row.honest = if transfer.equal { "bytes equal" } else { "bytes differ" }.to_owned();
    // 0.5 %: the first few teach the receiver how late a datagram can be.
    row.bar(late * 200 <= sent, "at most 0.5 % late");
    row.bar(transfer.send.is(0), "sender: exit 0");
    Ok(row)
}
