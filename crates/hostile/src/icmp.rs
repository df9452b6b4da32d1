//! Forged ICMP messages that quote nothing but addresses and ports, sent over the loopback
//! interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tfrc_units::saturating;

use socket2::{Domain, Protocol, Socket, Type};

use super::engine::{Bench, Case, CaseRow, Ground, Load};
use super::honest::{self, Listening, TransferPlan};
use super::program::Program;
use super::session;
use super::stranger::pace;

/// The cases of this file.
pub(crate) const CASES: [Case; 6] = [
    Case::new("icmp-at-sender", Load::Busy, |bench, directory| {
        at(bench, directory, IcmpTarget::Sender, "127.0.0.1")
    }),
    Case::new("icmp-at-receiver", Load::Busy, |bench, directory| {
        at(bench, directory, IcmpTarget::Receiver, "127.0.0.1")
    }),
    Case::new("icmp6-at-sender", Load::Busy, |bench, directory| {
        at(bench, directory, IcmpTarget::Sender, "::1")
    }),
    Case::new("icmp6-at-receiver", Load::Busy, |bench, directory| {
        at(bench, directory, IcmpTarget::Receiver, "::1")
    }),
    Case::new("icmp-at-link", Load::Busy, at_link),
    Case::new("icmp-pmtu", Load::Busy, too_long),
];

/// Type and code of the ICMPv4 errors: all codes of "destination unreachable" (RFC 792, 1812
/// §5.2.7.1), source quench, time exceeded, parameter problem, redirect.
pub(crate) const KINDS_4: [(u8, u8); 22] = [
    (3, 0),
    (3, 1),
    (3, 2),
    (3, 3),
    (3, 4),
    (3, 5),
    (3, 6),
    (3, 7),
    (3, 8),
    (3, 9),
    (3, 10),
    (3, 11),
    (3, 12),
    (3, 13),
    (3, 14),
    (3, 15),
    (4, 0),
    (5, 1),
    (11, 0),
    (11, 1),
    (12, 0),
    (12, 1),
];
/// Type and code of the ICMPv6 errors (RFC 4443 §3, RFC 4884 excluded): unreachable, too big, time
/// exceeded, parameter problem, and a type that nobody has defined.
pub(crate) const KINDS_6: [(u8, u8); 15] = [
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (1, 6),
    (1, 7),
    (2, 0),
    (3, 0),
    (3, 1),
    (4, 0),
    (4, 1),
    (4, 2),
    (100, 0),
];
/// The MTU in messages that have one: the least of IPv4 (RFC 791).
const MTU: u16 = 68;
/// Messages in a second.
const PER_SECOND: u64 = 2_000;
/// The documented floor of datagrams (docs/security.md): 1200 bytes of DCCP, of which the header
/// and options of a data packet take up to 48.
pub(crate) const LEAST_DATAGRAM: u64 = 1200 - 48;

/// The end that the messages go to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IcmpTarget {
    Receiver,
    Sender,
}

/// A socket that sends ICMP messages, of version 4 or 6.
pub(crate) struct Forger {
    socket: Socket,
    target: IpAddr,
    peer: IpAddr,
}

impl Forger {
    /// Forges messages to `target` about packets that it sent to `peer`.
    pub(crate) fn new(target: IpAddr, peer: IpAddr) -> Result<Self, String> {
        let (domain, protocol) = match target {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6),
        };
        let socket =
            Socket::new(domain, Type::RAW, Some(protocol)).map_err(|error| format!("raw socket: {error}"))?;
        Ok(Self { socket, target, peer })
    }

    /// Sends one message about a packet from port `from` of the target to port `to` of the peer.
    pub(crate) fn send(&self, kind: (u8, u8), from: u16, to: u16) {
        let bytes = match (self.target, self.peer) {
            (IpAddr::V4(target), IpAddr::V4(peer)) => message_4(kind, (target, from), (peer, to)),
            (IpAddr::V6(target), IpAddr::V6(peer)) => message_6(kind, (target, from), (peer, to)),
            _ => return,
        };
        // A full buffer loses the message, as a network may.
        let _ = self.socket.send_to(&bytes, &SocketAddr::new(self.target, 0).into());
    }

    /// The kinds of this version.
    pub(crate) const fn kinds(&self) -> &'static [(u8, u8)] {
        match self.target {
            IpAddr::V4(_) => &KINDS_4,
            IpAddr::V6(_) => &KINDS_6,
        }
    }
}

/// The quoted UDP header: ports, a plausible length, no checksum.
fn udp(from: u16, to: u16) -> [u8; 8] {
    let ([a, b], [c, d], [e, f]) = (from.to_be_bytes(), to.to_be_bytes(), 1400_u16.to_be_bytes());
    [a, b, c, d, e, f, 0, 0]
}

fn message_4(kind: (u8, u8), from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Vec<u8> {
    let (number, code) = kind;
    let [high, low] = MTU.to_be_bytes();
    let rest = match kind {
        (3, 4) => [0, 0, high, low],
        (12, _) => [20, 0, 0, 0],
        (5, _) => to.0.octets(),
        _ => [0; 4],
    };
    let mut bytes = vec![number, code, 0, 0];
    bytes.extend(rest);
    // IPv4 header of 20 bytes: don't fragment, protocol 17.
    bytes.extend([0x45, 0, 0x05, 0x8C, 0, 1, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend(from.0.octets());
    bytes.extend(to.0.octets());
    bytes.extend(udp(from.1, to.1));
    let sum = checksum(&bytes);
    if let Some(field) = bytes.get_mut(2..4) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// The kernel fills in the checksum of ICMPv6 (RFC 3542 §3.1).
fn message_6(kind: (u8, u8), from: (Ipv6Addr, u16), to: (Ipv6Addr, u16)) -> Vec<u8> {
    let (number, code) = kind;
    let mut bytes = vec![number, code, 0, 0];
    bytes.extend(match number {
        2 => u32::from(MTU).to_be_bytes(),
        4 => 40_u32.to_be_bytes(),
        _ => [0; 4],
    });
    bytes.extend([0x60, 0, 0, 0, 0x05, 0x78, 17, 64]);
    bytes.extend(from.0.octets());
    bytes.extend(to.0.octets());
    bytes.extend(udp(from.1, to.1));
    bytes
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
            [high] => u32::from(u16::from_be_bytes([*high, 0])),
            _ => 0,
        })
        .sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    !saturating::<u16>(folded)
}

/// Sends messages of `kinds` until `stop`; gives how many.
fn forge(forger: &Forger, kinds: &[(u8, u8)], ports: (u16, u16), per_second: u64, stop: &AtomicBool) -> u64 {
    let count = AtomicU64::new(0);
    let begin = Instant::now();
    for kind in kinds.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        forger.send(*kind, ports.0, ports.1);
        let sent = count.fetch_add(1, Ordering::Relaxed) + 1;
        if sent.is_multiple_of(20) {
            pace(begin, sent, per_second);
        }
    }
    count.into_inner()
}

/// The UDP port of a sender, once it has one.
pub(crate) fn port_of(program: &mut Program) -> Result<u16, String> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(5) && program.runs() {
        if let Some(port) = program.udp_ports().first() {
            return Ok(*port);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(format!("the sender has no socket: {}", program.errors().trim_end()))
}

/// All kinds of messages at one end of a transfer.
fn at(bench: &Bench, directory: &Path, end: IcmpTarget, address: &str) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("raw sockets need a network namespace"));
    }
    let plan = TransferPlan {
        bytes: bench.form.choose(5_000_000, 1_500_000),
        cap: "5M",
        address,
        ..TransferPlan::USUAL
    };
    let mut receiver = Listening::start(bench, directory, address, &[])?;
    let file = honest::input(directory, plan.bytes)?;
    let begin = Instant::now();
    let mut sender = honest::send(bench, directory, &receiver.address, &file, &plan)?;
    let host: IpAddr = address.parse().map_err(|error| format!("{address}: {error}"))?;
    let forger = Forger::new(host, host)?;
    let near = port_of(&mut sender)?;
    let (target, other) =
        if end == IcmpTarget::Sender { (near, receiver.port) } else { (receiver.port, near) };
    let stop = AtomicBool::new(false);
    let (sent, ended) = thread::scope(|scope| {
        let kinds = forger.kinds();
        let forging = scope.spawn(|| forge(&forger, kinds, (target, other), PER_SECOND, &stop));
        let ended = sender.end(Duration::from_secs(40));
        stop.store(true, Ordering::Relaxed);
        (forging.join().unwrap_or_default(), ended)
    });
    let time = begin.elapsed();
    let mut row = CaseRow::new(format!(
        "{sent} messages of {} kinds, {PER_SECOND}/s, right ports, no number",
        forger.kinds().len()
    ));
    let transfer = honest::finish(ended, time, &file, &receiver.file);
    transfer.judge_against(bench, Duration::from_secs_f64(bits(plan.bytes) / 5e6), &mut row);
    let name = if end == IcmpTarget::Sender { "sender" } else { "receiver" };
    if end == IcmpTarget::Sender {
        row.saw(format!("sender {}", transfer.send.how));
    }
    let alive = receiver.program.runs();
    let finished = !alive && receiver.program.end(Duration::ZERO).is(0);
    row.saw(if alive {
        "receiver runs".to_owned()
    } else {
        format!("receiver: {}", receiver.program.end(Duration::ZERO).last)
    });
    row.bar(alive || finished, format!("the process ends; messages went to the {name}"));
    Ok(row)
}

/// All kinds of messages at every socket of `tfrc link`.
fn at_link(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("raw sockets need a network namespace"));
    }
    let plan =
        TransferPlan { bytes: bench.form.choose(5_000_000, 1_500_000), cap: "5M", ..TransferPlan::USUAL };
    let receiver = Listening::start(bench, directory, "127.0.0.1", &["-1"])?;
    let keys = "rate = \"50Mbit/s\"\ndelay = \"1ms\"";
    let (mut link, entrance) = session::link(bench, directory, keys, &receiver.address)?;
    let file = honest::input(directory, plan.bytes)?;
    let begin = Instant::now();
    let mut sender = honest::send(bench, directory, &entrance, &file, &plan)?;
    sender.wait_for("connected")?;
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let forger = Forger::new(host, host)?;
    let (near, ports, stop) = (port_of(&mut sender)?, link.udp_ports(), AtomicBool::new(false));
    let (sent, ended) = thread::scope(|scope| {
        let forging = scope.spawn(|| {
            let (begin, mut sent) = (Instant::now(), 0);
            // A socket towards the receiver has its port as the peer, the entrance the sender's.
            let targets = || ports.iter().flat_map(|port| [(*port, near), (*port, receiver.port)]);
            for kind in KINDS_4.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                for (from, to) in targets() {
                    forger.send(*kind, from, to);
                    sent += 1;
                }
                pace(begin, sent, PER_SECOND);
            }
            sent
        });
        let ended = sender.end(Duration::from_secs(40));
        stop.store(true, Ordering::Relaxed);
        (forging.join().unwrap_or_default(), ended)
    });
    let mut row =
        CaseRow::new(format!("{sent} messages of {} kinds at the sockets of `tfrc link`", KINDS_4.len()));
    row.saw(if link.runs() {
        "link runs".to_owned()
    } else {
        format!("link: {}", link.end(Duration::ZERO).last)
    });
    row.bar(link.runs(), "the link runs on");
    let transfer = honest::finish(ended, begin.elapsed(), &file, &receiver.file);
    transfer.judge_against(bench, Duration::from_secs_f64(bits(plan.bytes) / 5e6), &mut row);
    Ok(row)
}

/// Bits of this many bytes.
#[expect(clippy::cast_precision_loss, reason = "files of megabytes are far below 2^53")]
fn bits(bytes: usize) -> f64 {
    bytes as f64 * 8.0
}

/// "Fragmentation needed, MTU 68" at a fast sender.
fn too_long(bench: &Bench, directory: &Path) -> Result<CaseRow, String> {
    if bench.place == Ground::Machine {
        return Ok(CaseRow::skipped("raw sockets need a network namespace"));
    }
    let mut row = CaseRow::new("");
    let rates: &[u64] = bench.form.choose(&[2_000, 12_000], &[12_000]);
    let mut sent_all = Vec::new();
    for (number, per_second) in (0..).zip(rates) {
        let directory = directory.join(number.to_string());
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let plan = TransferPlan {
            bytes: bench.form.choose(20_000_000, 10_000_000),
            cap: "60M",
            send: &["--json"],
            ..TransferPlan::USUAL
        };
        let receiver = Listening::start(bench, &directory, "127.0.0.1", &["-1"])?;
        let file = honest::input(&directory, plan.bytes)?;
        let mut sender = honest::send(bench, &directory, &receiver.address, &file, &plan)?;
        let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let forger = Forger::new(host, host)?;
        let near = port_of(&mut sender)?;
        let stop = AtomicBool::new(false);
        let (sent, ended) = thread::scope(|scope| {
            let forging =
                scope.spawn(|| forge(&forger, &[(3, 4)], (near, receiver.port), *per_second, &stop));
            let ended = sender.end(Duration::from_secs(40));
            stop.store(true, Ordering::Relaxed);
            (forging.join().unwrap_or_default(), ended)
        });
        sent_all.push(format!("{sent} at {per_second}/s"));
        row.bar(ended.is(0), format!("sender: {} {}", ended.how, ended.last));
        let summary: serde_json::Value = serde_json::from_str(&sender.output()).unwrap_or_default();
        let [longest, lost, all] = ["max_datagram_bytes", "lost_packets", "sent_packets"]
            .map(|key| summary[key].as_u64().unwrap_or_default());
        row.saw(format!("{per_second}/s: datagrams of {longest} bytes, {lost} of {all} lost"));
        row.bar(longest >= LEAST_DATAGRAM, format!("datagrams of at least {LEAST_DATAGRAM} bytes"));
        row.bar(lost * 1000 <= all, "at most 0.1 % lost");
    }
    row.sent = format!("“fragmentation needed, MTU {MTU}” at 60 Mbit/s: {}", sent_all.join(", "));
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_carry_their_checksum_and_the_quoted_ports() {
        let bytes = message_4((3, 4), (Ipv4Addr::LOCALHOST, 40_000), (Ipv4Addr::new(192, 0, 2, 7), 6511));
        assert_eq!(bytes.len(), 8 + 20 + 8);
        assert_eq!(bytes[..2], [3, 4]);
        assert_eq!(bytes[6..8], [0, 68]);
        assert_eq!(bytes[28..32], [0x9C, 0x40, 0x19, 0x6F]);
        // The sum over a message with its checksum is zero.
        assert_eq!(checksum(&bytes), 0);
        let six = message_6((2, 0), (Ipv6Addr::LOCALHOST, 1), (Ipv6Addr::LOCALHOST, 2));
        assert_eq!((six.len(), &six[4..8]), (8 + 40 + 8, &[0, 0, 0, 68][..]));
    }
}
