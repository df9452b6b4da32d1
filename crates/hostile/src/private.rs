//! Private sessions (`--quic`): keys that are wrong, attackers on the path and off it, and the
//! cases of plain sessions that hold for them.

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tfrc_units::saturating;

use rustix::process::Signal;

use super::engine::{Bench, Case, CaseRow, Form, Ground, Load};
use super::honest::{self, Listening, TransferPlan};
use super::path::{Deeds, RunningPath, Way};
use super::program::{SOON, Stream};
use super::stranger::{Xorshift, pace, socket};
use super::strangers::{Before, end_receiver};

/// The cases of this file, of private sessions alone.
pub(crate) const CASES: [Case; 8] = [
    Case::new("quic-wrong-key", Load::Waiting, wrong_key),
    Case::new("quic-allow-key", Load::Waiting, allow_key),
    Case::new("quic-no-fallback", Load::Waiting, no_fallback),
    Case::new("quic-rebinding", Load::Waiting, rebinding),
    Case::new("quic-changed-bytes", Load::Waiting, changed_bytes),
    Case::new("quic-injected", Load::Waiting, injected),
    Case::new("quic-hellos", Load::Busy, hellos),
    Case::new("quic-held", Load::Busy, held),
];

/// Hostile datagrams by the million, a group of its own.
pub(crate) const DATAGRAMS: [Case; 1] = [Case::new("quic-datagrams", Load::Busy, datagrams)];

/// Cases of plain sessions that private ones have to pass too. Those that speak DCCP do not apply.
pub(crate) const ALSO: [&str; 24] = [
    "icmp-at-sender",
    "icmp-at-receiver",
    "icmp-pmtu",
    "mtu-1280",
    "mtu-falls",
    "mtu-datagrams",
    "garbage",
    "successor",
    "linger-hold",
    "dead-address",
    "replay-session",
    "replay-beside",
    "copied-sooner",
    "reorder",
    "kill-sender",
    "term-receiver",
    "disk-full",
    "reader-closes",
    "slow-reader",
    "blackout",
    "time-lossy",
    "suspend-receiver",
    "late-output",
    "two-senders",
];

/// Those that only the long form has, as their mechanism is that of one above.
pub(crate) const ALSO_LONG: [&str; 38] = [
    "icmp6-at-sender",
    "icmp6-at-receiver",
    "icmp-at-link",
    "mtu-1350",
    "pmtu-1300",
    "pmtu-1300-silent",
    "link-slots",
    "veth-icmp4",
    "veth-icmp6",
    "kill-receiver",
    "receiver-restarts",
    "term-sender",
    "hup-sender",
    "hup-receiver",
    "ctrl-c-twice",
    "dev-full",
    "writer-killed",
    "source-shrinks",
    "link-killed",
    "1-kbit",
    "ctrl-c-lossy",
    "suspend-sender",
    "stalled-sender",
    "stalled-receiver",
    "second-send",
    "no-server",
    "late-exec",
    "interrupted-file",
    "metrics-silent",
    "pattern-fifo",
    "two-receivers",
    "busy-herd",
    "source-fails",
    "file-size-limit",
    "few-descriptors",
    "no-descriptors",
    "few-threads",
    "terminal-gone",
];

/// Names of cases for private sessions alone begin so.
const OWN: &str = "quic-";
/// Bytes of a client's first datagram, at least (RFC 9000 §14.1).
const FIRST: usize = 1200;
/// A key that nobody has.
const NOBODY: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// Time for a refusal or a place on a busy machine; alone it takes two round trips.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(4);
/// Bytes of log for what is no session, at most.
pub(crate) const LOG: u64 = 4_000;
/// Handshakes at once that a receiver keeps, some 30 kB each, and room for what they touch first.
pub(crate) const MORE_KB: u64 = 24_000;

/// True for a case of plain sessions.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.starts_with(OWN)
}

/// True for a case that holds for private sessions.
pub(crate) fn applies(name: &str, form: Form) -> bool {
    !is_plain(name) || ALSO.contains(&name) || form == Form::Long && ALSO_LONG.contains(&name)
}

/// Makes the sessions of a run private; false if the program has none, or the machine gives no
/// place for its keys.
pub(crate) fn begin(bench: &mut Bench) -> Result<bool, String> {
    if bench.place == Ground::Machine || !bench.knows("send", "--quic") {
        eprintln!("no private sessions: the program has no --quic, or there is no namespace for its keys");
        return Ok(false);
    }
    bench.directory.push("private");
    fs::create_dir_all(&bench.directory).map_err(|error| error.to_string())?;
    match fingerprint(bench) {
        Ok(key) => bench.key = Some(key),
        // A build without the feature names it.
        Err(why) if why.contains("--features quic") => {
            eprintln!("no private sessions: {why}");
            return Ok(false);
        }
        Err(why) => return Err(why),
    }
    bench.undisturbed = honest::undisturbed(bench)?;
    Ok(true)
}

/// The fingerprint of the run's key, which a first receiver makes and prints.
fn fingerprint(bench: &Bench) -> Result<String, String> {
    let port = honest::free_port("127.0.0.1")?.to_string();
    let arguments = ["recv", "--quic", "--bind", "127.0.0.1", "-p", &port];
    let mut program = bench.run(&bench.directory, "key", &arguments)?;
    program.wait_for("SHA256:")?;
    program.wait_for("listening")?;
    let said = program.errors();
    let word = said.split_whitespace().find(|word| word.starts_with("SHA256:"));
    word.map(|word| word.trim_end_matches(';').to_owned()).ok_or_else(|| format!("no fingerprint: {said}"))
}

/// A sender that expects another key; then one that expects the right one.
fn wrong_key(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &[])?;
    let file = honest::input(directory, 100_000)?;
    let plan = TransferPlan { send: &["--peer-key", NOBODY], ..TransferPlan::USUAL };
    let end = honest::send_as(bench, directory, "wrong", &receiver.address, &file, &plan)?.end(SOON);
    let left = receiver.file.exists();
    let mut row = CaseRow::new("a sender that expects another key, then an honest one");
    row.saw(format!("{} after {:.2} s: “{}”", end.how, end.lasted.as_secs_f64(), end.last));
    row.bar(end.is(2) && end.lasted <= AT_ONCE, "exit 2 at once");
    row.bar(!left, "no byte arrives");
    let transfer =
        honest::transfer(bench, directory, &receiver.address, &receiver.file, &TransferPlan::USUAL)?;
    transfer.judge(bench, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// A sender whose key the receiver does not let in.
fn allow_key(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let key = bench.key.as_deref().ok_or("no key")?;
    let mut row = CaseRow::new("`recv --allow-key` of somebody else, then of the sender");
    let file = honest::input(directory, 100_000)?;
    let plan = TransferPlan { bytes: 100_000, ..TransferPlan::USUAL };
    for (allowed, right) in [(NOBODY, false), (key, true)] {
        let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["--allow-key", allowed])?;
        let end = honest::send(bench, directory, &receiver.address, &file, &plan)?.end(SOON);
        row.saw(format!("{} after {:.2} s: “{}”", end.how, end.lasted.as_secs_f64(), end.last));
        if right {
            row.bar(end.is(0) && honest::equal(&file, &receiver.file), "the named sender's file arrives");
        } else {
            row.bar(!end.is(0) && end.lasted <= AT_ONCE, "the other is refused at once");
            row.bar(!receiver.file.exists(), "no byte arrives");
        }
        receiver.program.signal(Signal::TERM);
        let receiver = receiver.program.end(SOON);
        row.bar(!receiver.crashed(), "the receiver does not crash");
    }
    Ok(row)
}

/// A private sender at a plain receiver, and the other way round: no end gives way.
fn no_fallback(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let plain =
        Bench { binary: bench.binary.clone(), directory: bench.directory.clone(), key: None, ..*bench };
    let mut row = CaseRow::new("`send --quic` to `recv`, and `send` to `recv --quic`");
    let file = honest::input(directory, 100_000)?;
    let plan = TransferPlan { bytes: 100_000, ..TransferPlan::USUAL };
    for (name, here, there) in [("--quic to plain", bench, &plain), ("plain to --quic", &plain, bench)] {
        let mut receiver = Listening::start(there, directory, "127.0.0.1", &[])?;
        let mut sender = honest::send(here, directory, &receiver.address, &file, &plan)?;
        let end = sender.end(bench.form.choose(SOON * 4, SOON));
        row.saw(format!("{name}: {} “{}”", end.how, end.last));
        row.bar(!end.is(0) && !end.crashed(), format!("{name}: no success"));
        row.bar(!receiver.file.exists(), format!("{name}: no byte arrives"));
        receiver.program.signal(Signal::TERM);
        receiver.program.end(SOON);
    }
    Ok(row)
}

/// A translator that gives the client another port again and again.
fn rebinding(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let (mut count, moves) = (0_u32, Arc::new(AtomicBool::new(false)));
    let moved = Arc::clone(&moves);
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        count += u32::from(way == Way::There);
        if way == Way::There && count.is_multiple_of(300) {
            deeds.move_port();
            moved.store(true, Ordering::Relaxed);
        }
        deeds.send(way, bytes);
    })?;
    let plan = TransferPlan { cap: "8M", ..TransferPlan::USUAL };
    let transfer = honest::transfer(bench, directory, &path.entrance, &receiver.file, &plan)?;
    let received = receiver.program.end(SOON);
    let mut row = CaseRow::new("the client's address has another port after each 300 of its datagrams");
    row.saw(format!("sender {}: “{}”; receiver {}", transfer.send.how, transfer.send.last, received.how));
    row.honest = if transfer.equal { "bytes equal" } else { "bytes differ" }.to_owned();
    row.bar(moves.load(Ordering::Relaxed), "the port changes");
    row.bar(transfer.send.is(0) && received.is(0), "exit 0 at both ends");
    row.bar(transfer.equal, "bytes equal");
    Ok(row)
}

/// One byte of one datagram in twenty changed, both ways: as if they were lost.
fn changed_bytes(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1", "--json"])?;
    let mut noise = Xorshift::new(11);
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        let mut bytes = bytes.to_vec();
        if noise.below(20) == 0 {
            let (at, with) = (noise.below(bytes.len()), noise.below(255));
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= saturating::<u8>(with + 1);
            }
        }
        deeds.send(way, bytes);
    })?;
    let plan = TransferPlan { bytes: 1_000_000, send: &["--lossy"], ..TransferPlan::USUAL };
    let file = honest::input(directory, plan.bytes)?;
    let end = honest::send(bench, directory, &path.entrance, &file, &plan)?.end(SOON * 4);
    let received = receiver.program.end(SOON);
    let summary: serde_json::Value = serde_json::from_str(&receiver.program.output()).unwrap_or_default();
    let (mut source, arrived) =
        (fs::read(&file).unwrap_or_default(), fs::read(&receiver.file).unwrap_or_default());
    for hole in summary["holes"].as_array().into_iter().flatten() {
        let number = |n: usize| saturating::<usize>(hole[n].as_u64().unwrap_or(0));
        if let Some(hole) = source.get_mut(number(0)..number(0).saturating_add(number(1))) {
            hole.fill(0);
        }
    }
    let mut row = CaseRow::new("a byte of one datagram in twenty changed, both ways");
    row.saw(format!("sender {}: “{}”; receiver {}", end.how, end.last, received.how));
    row.honest =
        format!("{} of {} bytes, {} datagrams lost", arrived.len(), source.len(), summary["lost_packets"]);
    row.bar(end.is(0) && received.is(0), "exit 0 at both ends");
    row.bar(summary["lost_packets"].as_u64().is_some_and(|lost| lost > 0), "what was changed counts as lost");
    let counted = summary["received_bytes"].as_u64().zip(summary["missing_bytes"].as_u64());
    let counted = counted.map(|(here, missing)| here + missing);
    row.bar(counted == Some(saturating(arrived.len())), "counted bytes are those in FILE");
    row.bar(arrived == source, "FILE is the source with the holes that were named");
    Ok(row)
}

/// With each datagram the attacker sends a forgery made of it: a reset, a first packet, a
/// negotiation of versions, a Retry, a copy with another seal.
fn injected(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let (mut noise, mut count) = (Xorshift::new(12), 0_u32);
    let path = RunningPath::lay(&receiver.address, move |way, bytes, deeds: &mut Deeds| {
        count += 1;
        // Not before the handshake is over, which such an attacker can end (docs/security.md).
        if count > 40 {
            deeds.send(way, forged(&mut noise, bytes));
        }
        deeds.send(way, bytes);
    })?;
    let transfer = honest::transfer(bench, directory, &path.entrance, &receiver.file, &TransferPlan::USUAL)?;
    let received = receiver.program.end(SOON);
    let mut row = CaseRow::new("before each datagram a forged one with its connection ID, both ways");
    row.saw(format!("receiver {}", received.how));
    row.bar(received.is(0), format!("receiver: exit 0 ({})", received.last));
    transfer.judge(bench, &mut row);
    Ok(row)
}

/// The forgery that an attacker makes of a datagram.
fn forged(noise: &mut Xorshift, seen: &[u8]) -> Vec<u8> {
    let mut bytes = seen.to_vec();
    match noise.below(5) {
        // As a stateless reset: bytes that look like noise, and a token it has to guess.
        0 => {
            let kept = 9.min(bytes.len());
            let rest = bytes.get_mut(kept..).unwrap_or_default();
            rest.iter_mut().for_each(|byte| *byte = noise.next().to_le_bytes()[0]);
        }
        // The seal of another packet.
        1 => bytes.iter_mut().rev().take(16).for_each(|byte| *byte ^= 0x55),
        // Version negotiation: version 0, and one that nobody has.
        2 => bytes = long(0x80, 0, noise, 40),
        // An Initial packet, whose keys everybody can compute from its number.
        3 => bytes = long(0xc3, 1, noise, FIRST),
        // A Retry.
        _ => bytes = long(0xf0, 1, noise, 60),
    }
    bytes
}

/// A packet with a long header (RFC 9000 §17.2) and nothing sensible behind it.
fn long(first: u8, version: u32, noise: &mut Xorshift, length: usize) -> Vec<u8> {
    let mut bytes = vec![first];
    bytes.extend(version.to_be_bytes());
    for _ in 0..2 {
        let id = noise.below(21);
        bytes.push(saturating(id));
        bytes.extend(random(noise, id));
    }
    // No token, and a length that fits (two bytes).
    let rest = length.saturating_sub(bytes.len() + 3);
    bytes.push(0);
    bytes.extend((saturating::<u16>(rest) | 0x4000).to_be_bytes());
    bytes.extend(random(noise, rest));
    bytes
}

fn random(noise: &mut Xorshift, length: usize) -> Vec<u8> {
    std::iter::repeat_with(|| noise.next().to_le_bytes()).flatten().take(length).collect()
}

/// The client's datagrams of an honest session.
fn recorded(bench: &Bench, directory: &Path, to: &str) -> Result<Vec<Vec<u8>>, String> {
    let all: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let record = Arc::clone(&all);
    let path = RunningPath::lay(to, move |way, bytes, deeds: &mut Deeds| {
        if way == Way::There
            && let Ok(mut all) = record.lock()
        {
            all.push(bytes.to_vec());
        }
        deeds.send(way, bytes);
    })?;
    let file = honest::input(directory, 20_000)?;
    let end =
        honest::send_as(bench, directory, "recorded", &path.entrance, &file, &TransferPlan::USUAL)?.end(SOON);
    let all = all.lock().map_err(|_| "poisoned")?.clone();
    if end.is(0) && !all.is_empty() { Ok(all) } else { Err(format!("nothing recorded: {}", end.last)) }
}

/// A receiver of a file for each connection.
pub(crate) fn many(bench: &Bench, directory: &Path) -> Result<Listening, String> {
    let pattern = directory.join("in-%n").to_string_lossy().into_owned();
    Listening::raw(bench, directory, "127.0.0.1", &["-o", &pattern], Stream::Own)
}

/// First datagrams of `count` clients, each of which begins a handshake of its own.
pub(crate) fn collected(bench: &Bench, directory: &Path, count: usize) -> Result<Vec<Vec<u8>>, String> {
    let silent = socket("127.0.0.1")?;
    let to = silent.local_addr().map_err(|error| error.to_string())?.to_string();
    let clients = (0..count)
        .map(|n| bench.run(directory, &format!("client-{n}"), &["send", &to, "-n", "1kB"]))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut hellos, mut buffer, begin) = (BTreeMap::new(), [0; 2000], Instant::now());
    while hellos.len() < count && begin.elapsed() < SOON * 2 {
        match silent.recv_from(&mut buffer) {
            Ok((length, from)) => {
                hellos.entry(from).or_insert_with(|| buffer.get(..length).unwrap_or_default().to_vec());
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
    drop(clients);
    if hellos.len() == count {
        Ok(hellos.into_values().collect())
    } else {
        Err("clients are silent".to_owned())
    }
}

/// Handshakes that are begun and never go on, from a port each.
fn hellos(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = many(bench, directory)?;
    // More than the 32 from which on a client has to prove its address.
    let count = bench.form.choose(300, 48);
    let hellos = collected(bench, directory, count)?;
    let before = Before::of(&receiver.program);
    let mut sockets = Vec::new();
    let mut sent = 0;
    for hello in &hellos {
        let socket = socket("127.0.0.1")?;
        sent += socket.send_to(hello, &receiver.address).unwrap_or(0);
        sockets.push(socket);
    }
    let file = honest::input(directory, 300_000)?;
    let plan = TransferPlan { bytes: 300_000, ..TransferPlan::USUAL };
    let end = honest::send(bench, directory, &receiver.address, &file, &plan)?.end(SOON);
    // Answers are repeated for as long as a handshake may take.
    thread::sleep(bench.form.choose(Duration::from_secs(11), Duration::from_secs(2)));
    let (mut back, mut retries, mut buffer) = (0, 0, [0; 2000]);
    for socket in &sockets {
        while let Ok((length, _)) = socket.recv_from(&mut buffer) {
            back += length;
            retries += usize::from(is_retry(&buffer));
        }
    }
    let mut row = CaseRow::new(format!("{count} handshakes that are begun and never go on, {sent} B"));
    row.saw(format!("{back} B back, {retries} have to prove their address"));
    row.honest = format!("{}, {:.1} s: “{}”", end.how, end.lasted.as_secs_f64(), end.last);
    // RFC 9000 §8.1: three times, until the address is proved.
    row.bar(back > 0 && back <= 3 * sent, "at most three times the bytes back");
    row.bar(retries > 0, "under pressure a client proves its address");
    row.bar(end.is(0), "an honest sender gets in meanwhile");
    before.compare(&receiver.program, MORE_KB, LOG, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Handshakes of strangers at an address of their own, who prove it and then never go on.
struct Siege {
    /// HOST:PORT of a path on which clients hear nothing but a Retry.
    entrance: String,
    over: Arc<AtomicBool>,
    proved: Arc<AtomicUsize>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Siege {
    fn lay(server: &str) -> Result<Self, String> {
        let near = socket("127.0.0.1")?;
        let entrance = near.local_addr().map_err(|error| error.to_string())?.to_string();
        let (over, proved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (ended, count, server) = (Arc::clone(&over), Arc::clone(&proved), server.to_owned());
        let thread = thread::spawn(move || {
            let (mut clients, mut buffer) = (BTreeMap::<_, UdpSocket>::new(), [0; 2000]);
            while !ended.load(Ordering::Relaxed) {
                while let Ok((length, from)) = near.recv_from(&mut buffer) {
                    let Ok(own) = socket("127.0.0.2") else { continue };
                    let far = clients.entry(from).or_insert(own);
                    let _ = far.send_to(buffer.get(..length).unwrap_or_default(), &server);
                }
                for (client, far) in &clients {
                    while let Ok((length, _)) = far.recv_from(&mut buffer) {
                        if is_retry(&buffer) {
                            count.fetch_add(1, Ordering::Relaxed);
                            let _ = near.send_to(buffer.get(..length).unwrap_or_default(), client);
                        }
                    }
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        Ok(Self { entrance, over, proved, thread: Some(thread) })
    }
}

impl Drop for Siege {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// True for a Retry packet (RFC 9000 §17.2.5).
fn is_retry(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|byte| byte & 0xf0 == 0xf0)
}

/// More strangers at one address than it may have handshakes, in the long form more than there are
/// places, while honest senders come.
fn held(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    /// Handshakes that begin before a client has to prove its address.
    const UNPROVED: usize = 32;
    let mut receiver = many(bench, directory)?;
    let before = Before::of(&receiver.program);
    let siege = Siege::lay(&receiver.address)?;
    let count = bench.form.choose(300, 80);
    let clients = (0..count)
        .map(|n| bench.run(directory, &format!("stranger-{n}"), &["send", &siege.entrance, "-n", "1kB"]))
        .collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    while siege.proved.load(Ordering::Relaxed) < count - UNPROVED && begin.elapsed() < SOON * 2 {
        thread::sleep(Duration::from_millis(5));
    }
    let file = honest::input(directory, 20_000)?;
    let plan = TransferPlan { bytes: 20_000, ..TransferPlan::USUAL };
    let mut row = CaseRow::new(format!("{count} strangers at 127.0.0.2 who hold their handshakes"));
    let mut well = 0;
    for n in 0..3 {
        let label = format!("honest-{n}");
        let end = honest::send_as(bench, directory, &label, &receiver.address, &file, &plan)?.end(SOON * 4);
        well += usize::from(end.is(0));
        row.honest = format!("{well} of {}; the last: {} “{}”", n + 1, end.how, end.last);
    }
    let proved = siege.proved.load(Ordering::Relaxed);
    drop((clients, siege));
    row.saw(format!("{proved} times an address was proved"));
    row.bar(proved >= count - UNPROVED, "the strangers prove their address");
    row.bar(well == 3, "every honest sender gets in meanwhile");
    before.compare(&receiver.program, MORE_KB, LOG, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Hostile datagrams of every kind while honest senders come and go.
fn datagrams(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    /// As many as one process of two processors can take during transfers.
    const PER_SECOND: u64 = 20_000;
    let mut receiver = many(bench, directory)?;
    let seen = recorded(bench, directory, &receiver.address)?;
    let begun = collected(bench, directory, bench.form.choose(100, 10))?;
    let before = Before::of(&receiver.program);
    let sockets: Vec<UdpSocket> = (0..40).map(|_| socket("127.0.0.1")).collect::<Result<_, _>>()?;
    let over = AtomicBool::new(false);
    let file = honest::input(directory, 300_000)?;
    let plan = TransferPlan { bytes: 300_000, ..TransferPlan::USUAL };
    let ((sent, bytes, back), ends) = thread::scope(|scope| {
        let attack = scope.spawn(|| {
            let (mut noise, begin) = (Xorshift::new(45), Instant::now());
            let (mut sent, mut bytes, mut back) = (0_u64, 0_usize, 0_usize);
            let mut buffer = [0; 2000];
            for socket in sockets.iter().cycle() {
                if sent >= bench.datagrams {
                    break;
                }
                // A full buffer loses it.
                bytes += socket.send_to(&hostile(&mut noise, &seen, &begun), &receiver.address).unwrap_or(0);
                while let Ok((length, _)) = socket.recv_from(&mut buffer) {
                    back += length;
                }
                sent += 1;
                if sent.is_multiple_of(50) {
                    pace(begin, sent, PER_SECOND);
                }
            }
            over.store(true, Ordering::Relaxed);
            (sent, bytes, back)
        });
        let mut ends = Vec::new();
        while ends.is_empty() || !over.load(Ordering::Relaxed) {
            match honest::send(bench, directory, &receiver.address, &file, &plan) {
                Ok(mut sender) => ends.push(sender.end(SOON * 2)),
                Err(_) => break,
            }
        }
        (attack.join().unwrap_or_default(), ends)
    });
    let well = ends.iter().filter(|end| end.is(0)).count();
    let mut row = CaseRow::new(format!(
        "{sent} datagrams of twelve kinds, {bytes} B: noise, long headers, versions, resets, changed and \
         repeated packets of a session"
    ));
    row.saw(format!("{back} B back"));
    row.honest = format!("{well} of {} finish", ends.len());
    if let Some(end) = ends.iter().find(|end| !end.is(0)) {
        row.honest.push_str(&format!("; one: {} “{}”", end.how, end.last));
    }
    row.bar(well == ends.len() && well > 0, "every honest transfer finishes");
    row.bar(back <= 3 * bytes, "at most three times the bytes back");
    let log = LOG + 500 * saturating::<u64>(ends.len());
    before.compare(&receiver.program, MORE_KB, log, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// One hostile datagram; `seen` are those of a session that is over, `begun` the first ones of
/// handshakes.
fn hostile(noise: &mut Xorshift, seen: &[Vec<u8>], begun: &[Vec<u8>]) -> Vec<u8> {
    let one =
        |of: &[Vec<u8>], noise: &mut Xorshift| of.get(noise.below(of.len())).cloned().unwrap_or_default();
    let changed = |mut bytes: Vec<u8>, noise: &mut Xorshift| {
        for _ in 0..=noise.below(3) {
            let (at, with) = (noise.below(bytes.len()), noise.next().to_le_bytes());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = with[0];
            }
        }
        bytes
    };
    let low = saturating::<u8>(noise.below(16));
    match noise.below(12) {
        0 => {
            let length = noise.below(1400);
            random(noise, length)
        }
        // Initial packets, long enough and not.
        1 => long(0xc0 | low, 1, noise, FIRST),
        2 => {
            let length = 30 + noise.below(FIRST);
            long(0xc0 | low, 1, noise, length)
        }
        // Versions that nobody has, one of which asks for negotiation (RFC 9000 §15), and none.
        3 => long(0xc0 | low, saturating(noise.below(1 << 31)), noise, FIRST),
        4 => long(0xc0 | low, 0x1a2a_3a4a, noise, 100),
        5 => long(0x80 | low, 0, noise, 50),
        // 0-RTT, Handshake, Retry.
        6 => long(0xd0 | low << 1 & 0x30 | 0xc0, 1, noise, 400),
        // A short header: an answer would be a stateless reset.
        7 => {
            let length = 1 + noise.below(1400);
            [vec![0x40 | low], random(noise, length)].concat()
        }
        8 => {
            let bytes = one(begun, noise);
            changed(bytes, noise)
        }
        9 => {
            let bytes = one(seen, noise);
            changed(bytes, noise)
        }
        // Repeated from another port; the first of a handshake begins it.
        10 => one(begun, noise),
        _ => one(seen, noise),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_datagrams_are_of_every_kind() {
        let seen = [vec![0xc0; FIRST], vec![0x40; 700]];
        let mut noise = Xorshift::new(2);
        let all: Vec<_> = (0..2000).map(|_| hostile(&mut noise, &seen, &seen[..1])).collect();
        let is = |mask: u8, value: u8| {
            all.iter().filter(|bytes| bytes.first().is_some_and(|b| b & mask == value)).count()
        };
        assert!(is(0x80, 0x80) > 500 && is(0xc0, 0x40) > 200, "long and short headers");
        assert!(all.iter().any(|bytes| *bytes == seen[0]) && all.iter().any(|bytes| *bytes == seen[1]));
        assert!(all.iter().all(|bytes| bytes.len() < 1500));
        assert_eq!(long(0xc0, 1, &mut noise, FIRST).len(), FIRST);
    }
}
