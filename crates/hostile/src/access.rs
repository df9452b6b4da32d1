//! Access: strangers' bytes in FILE, and other clients' cookies.

use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tfrc_dccp::wire::{Header, Opt, OptionList, PacketType, SeqAck, options};
use tfrc_units::SeqNo48;

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::honest::{self, Listening, TransferPlan};
use super::namespace::{ADDRESSES, PREFIX, TWO_ADDRESSES};
use super::path::parse;
use super::program::{SOON, Stream};
use super::stranger::{PORT, Stranger, packet, request, socket};
use super::strangers::{content, end_receiver};

/// The cases of this file.
pub(crate) const CASES: [Case; 7] = [
    Case::new("first-come", Load::Waiting, first_come),
    Case::new("mixed-file", Load::Waiting, mixed),
    Case::new("connect-and-close", Load::Waiting, connect_and_close),
    Case::new("per-source-64", Load::Waiting, per_source),
    Case::new("cookies-elsewhere", Load::Waiting, cookies),
    Case::new("cookie-outlives", Load::Busy, cookie_outlives),
    Case::new("dead-address", Load::Waiting, dead_address),
];

/// A stranger's ten bytes.
const TEN: &[u8] = b"strangers!";

/// A stranger at `address` leaves ten bytes, if it gets in.
fn ten_bytes(address: &str, to: &str, seed: u8) -> Result<bool, String> {
    let mut stranger = Stranger::new(address, to, seed)?;
    let Some(id) = stranger.connect(Duration::from_secs(2))? else { return Ok(false) };
    let begin = Instant::now();
    while !stranger.send(id, TEN) && begin.elapsed() < Duration::from_secs(2) {
        stranger.live(Duration::from_millis(5));
    }
    stranger.live(Duration::from_millis(50));
    stranger.close(id, Duration::from_secs(2));
    Ok(true)
}

/// Strangers before and after the honest sender, where only the honest one may come.
fn first_come(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let allow = bench.knows("recv", "--allow");
    let arguments: &[&str] = if allow { &["--allow", "127.0.0.1"] } else { &[] };
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", arguments)?;
    // Another address of the loopback interface.
    let before = ten_bytes("127.0.0.2", &receiver.address, 21)?;
    let transfer =
        honest::transfer(bench, directory, &receiver.address, &receiver.file, &TransferPlan::USUAL)?;
    let after = receiver.program.runs() && ten_bytes("127.0.0.2", &receiver.address, 22)?;
    let mut row = CaseRow::new(
        "ten bytes of a stranger before and after the honest sender; `--allow` the honest address",
    );
    let got = |came| if came { "gets in" } else { "is kept out" };
    row.saw(format!("the stranger {} before, {} after", got(before), got(after)));
    row.bar(allow, "recv has `--allow`");
    row.bar(!before && !after, "the stranger is kept out");
    transfer.judge(bench, &mut row);
    let equal = honest::equal(&directory.join("in"), &receiver.file);
    row.bar(equal, "FILE has the honest bytes alone");
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Without `--allow`: a file must not hold the bytes of two connections.
fn mixed(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &[])?;
    let came = ten_bytes("127.0.0.2", &receiver.address, 23)?;
    let file = honest::input(directory, 100_000)?;
    // With the file complete the receiver may be gone.
    let sender = honest::send(bench, directory, &receiver.address, &file, &TransferPlan::USUAL)?.end(SOON);
    thread::sleep(Duration::from_millis(300));
    let (honest, arrived) = (content(&file), content(&receiver.file));
    let mut row = CaseRow::new("ten bytes of a stranger, then an honest file, nobody excluded");
    row.saw(format!("stranger {}, FILE {} B", if came { "came" } else { "refused" }, arrived.len()));
    row.honest = sender.how.to_string();
    row.bar(arrived == TEN || arrived == honest, "FILE has the bytes of one connection");
    row.bar(sender.is(0) == (arrived == honest), "the honest sender's status says what became of its file");
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// A stranger who connects and closes, with `-1`.
fn connect_and_close(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let mut stranger = Stranger::new("127.0.0.1", &receiver.address, 24)?;
    let id = stranger.connect(SOON)?.ok_or("the stranger does not get in")?;
    stranger.live(Duration::from_millis(100));
    stranger.close(id, SOON);
    let end = receiver.program.end(SOON);
    let mut row = CaseRow::new("a stranger connects to `recv -1 -o FILE` and closes without data");
    row.saw(format!("receiver {}: “{}”", end.how, end.last));
    row.bar(!end.is(0), "no exit 0 for an empty file that nobody sent");
    row.bar(!end.crashed(), "no crash");
    Ok(row)
}

/// Requests of several addresses of one /64 under `--per-source 2`.
fn per_source(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("several IPv6 addresses need a network namespace"));
    }
    let mut receiver = Listening::raw(bench, directory, "::", &["--per-source", "2"], Stream::Own)?;
    let to: SocketAddr =
        format!("[{PREFIX}1]:{}", receiver.port).parse().map_err(|error| format!("{error}"))?;
    let mut kept = 0;
    for number in 2..=ADDRESSES {
        let socket = socket(&format!("{PREFIX}{number}"))?;
        let seq = SeqNo48::new(1000);
        socket.send_to(&request(5000, seq), to).map_err(|error| error.to_string())?;
        let answer = answer(&socket)?;
        // A Response without an Init Cookie: the Request is remembered, and counts.
        let remembered = parse(&answer).is_some_and(|packet| {
            packet.header.kind() == PacketType::Response && cookie_of(&answer).is_empty()
        });
        kept += usize::from(remembered);
    }
    let mut row =
        CaseRow::new(format!("Requests of {} addresses of one /64 at `recv --per-source 2`", ADDRESSES - 1));
    row.saw(format!("{kept} remembered"));
    row.bar(kept <= 2, "two of a /64 at most");
    row.bar(kept >= 1, "one at least");
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// Waits up to a second for a datagram.
fn answer(socket: &std::net::UdpSocket) -> Result<Vec<u8>, String> {
    let mut buffer = vec![0; 2000];
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        if let Ok(length) = socket.recv(&mut buffer) {
            buffer.truncate(length);
            return Ok(buffer);
        }
        thread::sleep(Duration::from_micros(200));
    }
    Err("no answer".to_owned())
}

/// The Init Cookies of a packet.
fn cookie_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let Some(packet) = parse(bytes) else { return Vec::new() };
    options(packet.header.kind(), packet.options)
        .flatten()
        .filter_map(|item| match item.option {
            Ok(Opt::InitCookie(piece)) => Some(piece.to_vec()),
            _ => None,
        })
        .collect()
}

/// An acknowledgement that brings cookies back.
fn redeem(port: u16, seq: SeqNo48, ack: SeqNo48, cookies: &[Vec<u8>]) -> Vec<u8> {
    let mut list = OptionList::new(OptionList::MAX);
    for cookie in cookies {
        // A server's own cookie fits.
        let _ = list.push(&Opt::InitCookie(cookie));
    }
    packet((port, PORT), Header::Ack { numbers: SeqAck::Long { seq, ack } }, list.padded(), &[])
}

/// A cookie with the numbers that belong to it.
struct Cookie {
    socket: std::net::UdpSocket,
    ack: SeqNo48,
    pieces: Vec<Vec<u8>>,
}

/// First Sequence Number of clients made by hand.
const ISS: u64 = 77_000;

/// Fills the table of half-open connections, then gets a cookie.
fn cookie(to: &str) -> Result<Option<Cookie>, String> {
    let crowd = socket("127.0.0.1")?;
    // The table has 128 places (docs/security.md).
    for port in 10_000..10_200 {
        let _ = crowd.send_to(&request(port, SeqNo48::new(u64::from(port))), to);
    }
    thread::sleep(Duration::from_millis(50));
    let socket = socket("127.0.0.1")?;
    socket.send_to(&request(5000, SeqNo48::new(ISS)), to).map_err(|error| error.to_string())?;
    let response = answer(&socket)?;
    let pieces = cookie_of(&response);
    let Some(Header::Response { seq: ack, .. }) = parse(&response).map(|packet| packet.header) else {
        return Ok(None);
    };
    Ok((!pieces.is_empty()).then_some(Cookie { socket, ack, pieces }))
}

/// The type of the answer to a redeemed cookie; `None` is silence.
fn outcome(socket: &std::net::UdpSocket, bytes: &[u8], to: &str) -> Option<PacketType> {
    socket.send_to(bytes, to).ok()?;
    answer(socket).ok().and_then(|bytes| parse(&bytes).map(|packet| packet.header.kind()))
}

/// A cookie from another port, changed, with a wrong number, and without content.
fn cookies(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::start(bench, directory, "127.0.0.1", &[])?;
    let Some(cookie) = cookie(&receiver.address)? else {
        return Err("no Init Cookie under pressure".to_owned());
    };
    let mut row = CaseRow::new(
        "an Init Cookie from another UDP port, another DCCP port, changed, with a wrong number, empty",
    );
    let next = SeqNo48::new(ISS + 1);
    let mut changed = cookie.pieces.clone();
    if let Some(byte) = changed.first_mut().and_then(|piece| piece.last_mut()) {
        *byte ^= 1;
    }
    let other = socket("127.0.0.1")?;
    let right = redeem(5000, next, cookie.ack, &cookie.pieces);
    let tries = [
        ("UDP port", &other, right.clone()),
        ("DCCP port", &cookie.socket, redeem(5001, next, cookie.ack, &cookie.pieces)),
        ("changed", &cookie.socket, redeem(5000, next, cookie.ack, &changed)),
        ("number", &cookie.socket, redeem(5000, next, cookie.ack.add(1), &cookie.pieces)),
        ("empty", &cookie.socket, redeem(5000, next, cookie.ack, &[Vec::new()])),
    ];
    for (name, socket, bytes) in &tries {
        let answer = outcome(socket, bytes, &receiver.address);
        row.saw(format!("{name}: {}", answer.map_or("silence".to_owned(), |kind| format!("{kind:?}"))));
        row.bar(matches!(answer, None | Some(PacketType::Reset)), format!("{name}: refused"));
    }
    let transfer =
        honest::transfer(bench, directory, &receiver.address, &receiver.file, &TransferPlan::USUAL)?;
    transfer.judge(bench, &mut row);
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

/// A used cookie after the record of its connection had to make room for 4096 others.
fn cookie_outlives(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let mut receiver = Listening::raw(bench, directory, "127.0.0.1", &[], Stream::Own)?;
    let Some(cookie) = cookie(&receiver.address)? else {
        return Err("no Init Cookie under pressure".to_owned());
    };
    let right = redeem(5000, SeqNo48::new(ISS + 1), cookie.ack, &cookie.pieces);
    let to = receiver.address.clone();
    let first = outcome(&cookie.socket, &right, &to);
    let close = packet((5000, PORT), Header::Close { seq: SeqNo48::new(ISS + 2), ack: cookie.ack }, &[], &[]);
    cookie.socket.send_to(&close, &to).map_err(|error| error.to_string())?;
    thread::sleep(Duration::from_millis(200));
    let mut stranger = Stranger::new("127.0.0.1", &to, 31)?;
    let (begin, mut others) = (Instant::now(), 0);
    // Within the life of the cookie.
    while others < 4_200 && begin.elapsed() < Duration::from_secs(100) {
        if let Some(id) = stranger.connect(Duration::from_millis(300))? {
            stranger.close(id, Duration::from_millis(300));
            others += 1;
        }
    }
    while answer_waiting(&cookie.socket) {}
    let again = outcome(&cookie.socket, &right, &to);
    let mut row = CaseRow::new(format!(
        "a cookie is used, its connection closed, {others} others follow, and the cookie comes again"
    ));
    row.saw(format!("first {first:?}, again {again:?}"));
    row.bar(others >= 4_200, "the attack is one: 4200 connections");
    row.bar(matches!(again, None | Some(PacketType::Reset)), "a used cookie opens nothing");
    end_receiver(&mut receiver.program, &mut row);
    Ok(row)
}

fn answer_waiting(socket: &std::net::UdpSocket) -> bool {
    socket.recv(&mut [0; 2000]).is_ok()
}

/// A name of two addresses, of which the first is dead.
fn dead_address(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    let name = match bench.place {
        Ground::Own => TWO_ADDRESSES,
        Ground::Machine => "localhost",
    };
    let receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let to = format!("{name}:{}", receiver.port);
    let transfer = honest::transfer(bench, directory, &to, &receiver.file, &TransferPlan::USUAL)?;
    let mut row =
        CaseRow::new("`send NAME`, whose addresses are ::1 and 127.0.0.1, to a receiver at the second");
    row.saw(format!("{}: “{}”", transfer.send.how, transfer.send.last));
    transfer.judge(bench, &mut row);
    Ok(row)
}
