//! Strangers at `tfrc recv`: floods, and clients that want the place of others.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tfrc_units::saturating;

use rustix::process::Signal;
use tfrc_dccp::wire::{Header, Reset, ResetCode, SeqAck, Sequence};

use super::engine::{Bench, Case, CaseRow, Load};
use super::honest::{self, Listening, TransferPlan};
use super::program::{Program, SOON, Stream};
use super::stranger::{PORT, Stranger, Xorshift, pace, packet, request, socket};

/// The cases of this file.
pub(crate) const CASES: [Case; 10] = [
    Case::new("garbage", Load::Busy, |b, d| flood(b, d, "garbage", garbage)),
    Case::new("headers", Load::Busy, |b, d| flood(b, d, "headers without sense", headers)),
    Case::new("mutations", Load::Busy, |b, d| flood(b, d, "Requests with changed bytes", mutations)),
    Case::new("request-flood", Load::Busy, |b, d| flood(b, d, "Requests", requests)),
    Case::new("guessed-numbers", Load::Busy, |b, d| flood(b, d, "packets with guessed numbers", guesses)),
    Case::new("churn", Load::Busy, churn),
    Case::new("stalled-reader", Load::Busy, stalled_reader),
    Case::new("squatter", Load::Waiting, squatter),
    Case::new("successor", Load::Waiting, successor),
    Case::new("linger-hold", Load::Waiting, linger_hold),
];

/// Packets of a flood in a second: what one process of two processors can take during a transfer.
const PER_SECOND: u64 = 15_000;
/// Resident memory that a flood may add, in kB: pages of the program that an honest connection
/// touches too, and the tables. The short form attacks the development build, which is not
/// optimised and has twice the pages.
const MORE_KB: u64 = 4_000;
/// Bytes of the headers of UDP and IPv4.
const AROUND: usize = 28;
/// Descriptors of a receiver, at most.
const DESCRIPTORS: usize = 32;
/// Bytes of log that a flood may cost.
const LOG: u64 = 4_000;

/// Memory and log of a receiver before an attack.
pub(crate) struct Before {
    memory_kb: u64,
    log: u64,
}

impl Before {
    /// Takes the values now.
    pub(crate) fn of(program: &Program) -> Self {
        Self { memory_kb: program.memory_kb(), log: program.log_bytes() }
    }

    /// Compares with the values now.
    pub(crate) fn compare(&self, program: &Program, more_kb: u64, log: u64, row: &mut CaseRow) {
        let (peak, descriptors) = (program.peak_kb(), program.descriptors());
        let logged = program.log_bytes().saturating_sub(self.log);
        row.saw(format!(
            "RSS {} → peak {peak} kB, {descriptors} descriptors, {logged} B of log",
            self.memory_kb
        ));
        row.bar(peak > 0, "the receiver still runs");
        row.bar(peak <= self.memory_kb + more_kb, format!("RSS grows by at most {more_kb} kB"));
        row.bar(descriptors <= DESCRIPTORS, format!("at most {DESCRIPTORS} descriptors"));
        row.bar(logged <= log, format!("at most {log} B of log"));
    }
}

/// Ends a receiver that should still run, or have ended well by itself.
pub(crate) fn end_receiver(program: &mut Program, row: &mut CaseRow) {
    let ran = program.runs();
    program.signal(Signal::TERM);
    let end = program.end(SOON);
    row.saw(format!(
        "receiver {}",
        if ran { format!("runs, SIGTERM: {}", end.how) } else { end.how.to_string() }
    ));
    row.bar(end.is(0), format!("receiver: exit 0 ({})", end.last));
}

/// Datagrams from a source that does not wait for answers, during an honest transfer.
fn flood(
    bench: &Bench,
    directory: &Path,
    what: &str,
    next: fn(&mut Xorshift) -> Vec<u8>,
) -> Result<CaseRow, String> {
    let most = bench.form.choose(75_000, 12_000);
    // A receiver that outlives the honest transfer, so that there is something to measure; what the
    // flood took the room of is sent again.
    let pattern = directory.join("out-%n").to_string_lossy().into_owned();
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &["-o", &pattern], Stream::Own)?;
    receiver.file = directory.join("out-1");
    let before = Before::of(&receiver.program);
    let sockets: Vec<UdpSocket> = (0..40).map(|_| socket("127.0.0.1")).collect::<Result<_, _>>()?;
    let over = AtomicBool::new(false);
    let (sent, bytes, back, transfer) = thread::scope(|scope| {
        let attack = scope.spawn(|| {
            let (mut noise, begin) = (Xorshift::new(5), Instant::now());
            let (mut sent, mut bytes, mut back) = (0_u64, 0, 0);
            let mut buffer = [0; 2000];
            // Each with the headers around it, as docs/security.md counts them.
            for socket in sockets.iter().cycle() {
                if sent >= most && over.load(Ordering::Relaxed) || sent >= 4 * most {
                    break;
                }
                bytes += socket.send_to(&next(&mut noise), &receiver.address).map_or(0, |n| n + AROUND);
                while let Ok((length, _)) = socket.recv_from(&mut buffer) {
                    back += length + AROUND;
                }
                sent += 1;
                if sent.is_multiple_of(50) {
                    pace(begin, sent, PER_SECOND);
                }
            }
            (sent, bytes, back)
        });
        let (to, file) = (&receiver.address, &receiver.file);
        let transfer = honest::transfer(bench, directory, to, file, &TransferPlan::USUAL);
        over.store(true, Ordering::Relaxed);
        let (sent, bytes, back) = attack.join().unwrap_or_default();
        (sent, bytes, back, transfer)
    });
    let mut row = CaseRow::new(format!("{sent} {what}, {PER_SECOND}/s, {bytes} B"));
    row.saw(format!("{back} B back"));
    row.bar(back <= 3 * bytes, "at most three times the bytes back");
    before.compare(&receiver.program, bench.form.choose(MORE_KB, 2 * MORE_KB), LOG, &mut row);
    transfer?.judge(bench, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

fn garbage(noise: &mut Xorshift) -> Vec<u8> {
    let length = noise.below(1400);
    std::iter::repeat_with(|| noise.next().to_le_bytes()).flatten().take(length).collect()
}

/// A packet of some type with numbers and ports without sense.
fn headers(noise: &mut Xorshift) -> Vec<u8> {
    let (seq, ack) = (noise.number(), noise.number());
    let port = saturating::<u16>(1024 + noise.below(60_000));
    let header = match noise.below(8) {
        0 => Header::Response { seq, ack, service: tfrc_dccp::wire::ServiceCode::NONE },
        1 => Header::Ack { numbers: SeqAck::Long { seq, ack } },
        2 => Header::DataAck { numbers: SeqAck::Long { seq, ack } },
        3 => Header::Close { seq, ack },
        4 => Header::CloseReq { seq, ack },
        5 => Header::Sync { seq, ack },
        6 => Header::SyncAck { seq, ack },
        _ => Header::Data { seq: Sequence::Long(seq) },
    };
    packet((port, PORT), header, &[], b"data of nobody")
}

fn mutations(noise: &mut Xorshift) -> Vec<u8> {
    let mut bytes = requests(noise);
    for _ in 0..=noise.below(3) {
        let (at, with) = (noise.below(bytes.len()), noise.next().to_le_bytes());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = with[0];
        }
    }
    bytes
}

fn requests(noise: &mut Xorshift) -> Vec<u8> {
    request(saturating::<u16>(1024 + noise.below(60_000)), noise.number())
}

/// Resets, Closes, Syncs and data for connections that may exist, by guessing.
fn guesses(noise: &mut Xorshift) -> Vec<u8> {
    let (seq, ack) = (noise.number(), noise.number());
    let port = saturating::<u16>(49_152 + noise.below(16_384));
    let header = match noise.below(4) {
        0 => Header::Reset { seq, ack, reset: Reset::new(ResetCode::Closed) },
        1 => Header::Close { seq, ack },
        2 => Header::Sync { seq, ack },
        _ => Header::Data { seq: Sequence::Long(seq) },
    };
    packet((port, PORT), header, &[], b"forged")
}

/// Strangers connect and close, as fast as they can.
fn churn(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &[], Stream::Own)?;
    let mut stranger = Stranger::new("127.0.0.1", &receiver.address, 3)?;
    warm_up(&mut stranger)?;
    let before = Before::of(&receiver.program);
    let wished = bench.form.choose(4_000, 800);
    let (begin, mut connections) = (Instant::now(), 0_u64);
    while connections < wished && begin.elapsed() < SOON * 6 {
        if let Some(id) = stranger.connect(Duration::from_millis(200))? {
            stranger.close(id, Duration::from_millis(200));
            connections += 1;
        }
    }
    let time = begin.elapsed().as_secs();
    let mut row = CaseRow::new(format!("{connections} connections of one client"));
    let each = receiver.program.log_bytes().saturating_sub(before.log) / connections.max(1);
    row.saw(format!("{time} s; {each} B of log for each"));
    row.bar(connections == wished, format!("the attack is one: {wished} connections"));
    // Ten lines a second of some hundred bytes, in two streams.
    before.compare(&receiver.program, 1_000, 4_000 * (time + 1), &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Connects and closes until the receiver's table of connections that are over is full: it has 4096
/// places.
pub(crate) fn warm_up(stranger: &mut Stranger) -> Result<(), String> {
    let begin = Instant::now();
    for _ in 0..4_300 {
        if begin.elapsed() > SOON {
            break;
        }
        if let Some(id) = stranger.connect(Duration::from_millis(200))? {
            stranger.close(id, Duration::from_millis(200));
        }
    }
    Ok(())
}

/// Nobody reads the output; strangers connect, send what they may and close.
fn stalled_reader(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &["-o", "-"], Stream::Pipe)?;
    let output = receiver.program.take_output();
    let before = Before::of(&receiver.program);
    let time = bench.form.choose(25, 6);
    let (begin, mut connections, mut datagrams) = (Instant::now(), 0, 0_u64);
    for seed in (0..=250).cycle() {
        if begin.elapsed() >= Duration::from_secs(time) {
            break;
        }
        let mut stranger = Stranger::new("127.0.0.1", &receiver.address, seed)?;
        let Some(id) = stranger.connect(Duration::from_millis(300))? else { continue };
        connections += 1;
        let (since, mut sent) = (Instant::now(), 0_u64);
        while sent < 4200 && since.elapsed() < Duration::from_secs(2) && stranger.state(id).is_some() {
            if stranger.send(id, &[0; 1400]) {
                sent += 1;
            } else {
                thread::sleep(Duration::from_micros(50));
            }
            stranger.turn();
        }
        datagrams += sent;
        stranger.close(id, Duration::from_millis(300));
    }
    let mut row = CaseRow::new(format!(
        "{connections} strangers in {time} s send {datagrams} datagrams and close; nobody reads `recv -o -`"
    ));
    // The log has a line a second and a burst at first, however many come: rates are compared.
    let mut logged = Vec::new();
    for per_second in [20, 2000] {
        let (begin, so_far, mut tried) = (Instant::now(), receiver.program.log_bytes(), 0);
        let socket = socket("127.0.0.1")?;
        let mut numbers = Xorshift::new(per_second);
        while begin.elapsed() < Duration::from_secs(bench.form.choose(25, 5)) {
            let port = saturating::<u16>(1024 + numbers.below(60_000));
            // A full buffer loses it.
            let _ = socket.send_to(&request(port, numbers.number()), &receiver.address);
            tried += 1;
            pace(begin, tried, per_second);
        }
        let bytes = receiver.program.log_bytes().saturating_sub(so_far);
        row.saw(format!("{tried} attempts, {per_second} a second: {bytes} B of log"));
        logged.push(bytes);
    }
    let grows = matches!(logged.as_slice(), [slow, fast] if *fast > slow * 2 + 500);
    row.bar(!grows, "the log does not grow with the rate of attempts");
    // A queue of 4096 datagrams of 1.4 kB, its bookkeeping, and as much again for what comes next.
    before.compare(&receiver.program, 20_000, u64::MAX, &mut row);
    receiver.program.signal(Signal::TERM);
    let end = receiver.program.end(SOON);
    row.saw(format!("SIGTERM: {}", end.how));
    row.bar(end.is(0) || end.is(1), "ends at the first SIGTERM, the pipe still full");
    drop(output);
    Ok(row)
}

/// A stranger connects, answers Syncs and sends nothing.
fn squatter(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut row = CaseRow::new("a stranger connects, answers Syncs and sends no data");
    let idle = bench.knows("recv", "--idle");
    // The squatter's connection must not be the only one that FILE takes.
    let arguments: &[&str] = if idle { &["--idle", "3s", "--append"] } else { &[] };
    let most = Duration::from_secs(if idle { 15 } else { bench.form.choose(75, 15) });
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", arguments)?;
    let mut stranger = Stranger::new("127.0.0.1", &receiver.address, 9)?;
    stranger.connect(SOON)?.ok_or("the stranger does not get in")?;
    let stop = AtomicBool::new(false);
    let begin = Instant::now();
    let (tries, transfer) = thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                stranger.live(Duration::from_millis(20));
            }
        });
        let result = until_in(bench, directory, &receiver, begin, most);
        stop.store(true, Ordering::Relaxed);
        result
    });
    row.bar(idle, "recv has an idle limit before the first data: `--idle`");
    row.saw(format!("{tries} honest tries in {:.1} s", begin.elapsed().as_secs_f64()));
    match transfer? {
        Some(transfer) => transfer.judge(bench, &mut row),
        None => {
            row.honest = "never got in".to_owned();
            row.bar(false, format!("an honest sender gets in within {} s", most.as_secs()));
        }
    }
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

type Tries = (u32, Result<Option<honest::HonestTransfer>, String>);

/// Tries again until a sender is not refused.
fn until_in(bench: &Bench, directory: &Path, receiver: &Listening, begin: Instant, most: Duration) -> Tries {
    let mut tries = 0;
    loop {
        tries += 1;
        match honest::transfer(bench, directory, &receiver.address, &receiver.file, &TransferPlan::USUAL) {
            Ok(transfer) if !transfer.send.is(0) && !transfer.equal => {
                if begin.elapsed() > most {
                    return (tries, Ok(None));
                }
                thread::sleep(Duration::from_millis(500));
            }
            other => return (tries, other.map(Some)),
        }
    }
}

/// A killed sender, and the next one of the same host.
fn successor(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &[], Stream::Own)?;
    let file = honest::input(directory, 3_000_000)?;
    let mut first = honest::send(
        bench,
        directory,
        &receiver.address,
        &file,
        &TransferPlan { cap: "2M", ..TransferPlan::USUAL },
    )?;
    first.wait_for("connected")?;
    thread::sleep(Duration::from_millis(500));
    first.signal(Signal::KILL);
    let begin = Instant::now();
    let most = Duration::from_secs(15);
    let mut tries = 0;
    let mut entered = false;
    while !entered && begin.elapsed() < most {
        tries += 1;
        let next = honest::send_as(bench, directory, "next", &receiver.address, &file, &TransferPlan::USUAL)?
            .end(SOON * 2);
        entered = next.is(0);
        if !entered {
            thread::sleep(Duration::from_millis(500));
        }
    }
    let mut row = CaseRow::new("SIGKILL to a sender; the next one of the same address tries each 0.5 s");
    row.saw(format!("{tries} tries in {:.1} s", begin.elapsed().as_secs_f64()));
    row.honest = if entered { "the next one finishes" } else { "the next one does not get in" }.to_owned();
    row.bar(entered, format!("the next sender gets in within {} s", most.as_secs()));
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Strangers' datagrams at a receiver that has finished.
fn linger_hold(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let transfer =
        honest::transfer(bench, directory, &receiver.address, &receiver.file, &TransferPlan::USUAL)?;
    let socket = socket("127.0.0.1")?;
    let begin = Instant::now();
    let mut sent = 0;
    while receiver.program.runs() && begin.elapsed() < Duration::from_secs(20) {
        // The receiver's port may be closed already.
        let _ = socket.send_to(b"stranger", &receiver.address);
        sent += 1;
        thread::sleep(Duration::from_millis(100));
    }
    let held = begin.elapsed();
    let mut row = CaseRow::new(format!(
        "{sent} senseless datagrams, ten a second, after the end of the honest session"
    ));
    row.saw(format!("`recv -1` runs {:.1} s longer", held.as_secs_f64()));
    // It lingers for two seconds by itself (docs/decisions/0004).
    row.bar(held <= Duration::from_secs(6), "it ends within 6 s");
    transfer.judge(bench, &mut row);
    Ok(row)
}

/// Bytes of a file.
pub(crate) fn content(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}
