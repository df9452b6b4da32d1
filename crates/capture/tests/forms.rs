//! One recording in every form of file, link header and carrier: the answer is the same.

use std::net::{Ipv4Addr, Ipv6Addr};

use tfrc_capture::document::Carrier;
use tfrc_capture::{CaptureError, Options, Recording, native, read};
use tfrc_dccp::wire::{Integrity, Packet, PseudoHeader};

use crate::linux::path;

/// A packet of `linux-bidir-50ms`: time in nanoseconds, IPv4 packet.
struct Taken {
    at: u64,
    ip: Vec<u8>,
}

fn taken() -> Vec<Taken> {
    let file = std::fs::read(path("linux-bidir-50ms")).expect("a capture of testdata");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let (mut at, mut all) = (24, Vec::new());
    while at < file.len() {
        let (kept, time) =
            (word(at + 8) as usize, u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * 1000);
        // After the Ethernet header.
        all.push(Taken { at: time, ip: file[at + 30..at + 16 + kept].to_vec() });
        at += 16 + kept;
    }
    all
}

/// A pcap file with times in nanoseconds, of which `snap` bytes of each frame are kept.
pub(crate) fn pcap(link: u32, snap: usize, frames: impl Iterator<Item = (u64, Vec<u8>)>) -> Vec<u8> {
    let mut file = Vec::new();
    for field in [0xA1B2_3C4D, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend_from_slice(&u32::to_le_bytes(field));
    }
    for (at, frame) in frames {
        let kept = &frame[..frame.len().min(snap)];
        for field in [at / 1_000_000_000, at % 1_000_000_000, kept.len() as u64, frame.len() as u64] {
            file.extend_from_slice(&(field as u32).to_le_bytes());
        }
        file.extend_from_slice(kept);
    }
    file
}

/// A pcapng file in network order with two interfaces in turn: microseconds and nanoseconds.
fn pcapng(link: u16, frames: impl Iterator<Item = (u64, Vec<u8>)>) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, content: &[u8]| {
        let length = (content.len().next_multiple_of(4) + 12) as u32;
        file.extend_from_slice(&kind.to_be_bytes());
        file.extend_from_slice(&length.to_be_bytes());
        file.extend_from_slice(content);
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend_from_slice(&length.to_be_bytes());
    };
    block(0x0A0D_0D0A, &[0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let [high, low] = link.to_be_bytes();
    block(1, &[high, low, 0, 0, 0, 0, 0, 0]);
    block(1, &[high, low, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0]);
    for (n, (at, frame)) in frames.enumerate() {
        let (interface, units) = if n % 2 == 0 { (0_u32, at / 1000) } else { (1, at) };
        let mut content = interface.to_be_bytes().to_vec();
        content.extend_from_slice(&units.to_be_bytes());
        content.extend_from_slice(&(frame.len() as u32).to_be_bytes());
        content.extend_from_slice(&(frame.len() as u32).to_be_bytes());
        content.extend_from_slice(&frame);
        block(6, &content);
    }
    file
}

fn ethernet(tags: &[u8], kind: u16, ip: &[u8]) -> Vec<u8> {
    [&[0; 12], tags, &kind.to_be_bytes(), ip].concat()
}

fn frames(wrap: impl Fn(&[u8]) -> Vec<u8>) -> impl Iterator<Item = (u64, Vec<u8>)> {
    taken().into_iter().map(move |packet| (packet.at, wrap(&packet.ip)))
}

fn v4(address: &[u8]) -> Ipv4Addr {
    Ipv4Addr::new(address[0], address[1], address[2], address[3])
}

/// The DCCP packet in UDP, port 40000 of both hosts, its own checksum zero.
fn in_udp(ip: &[u8]) -> Vec<u8> {
    let mut dccp = ip[20..].to_vec();
    dccp[6..8].fill(0);
    let length = (dccp.len() + 8) as u16;
    let mut packet = ip[..20].to_vec();
    packet[2..4].copy_from_slice(&(length + 20).to_be_bytes());
    packet[9] = 17;
    for field in [40_000, 40_000, length, 0xFFFF] {
        packet.extend_from_slice(&field.to_be_bytes());
    }
    packet.extend_from_slice(&dccp);
    packet
}

/// The DCCP packet over IPv6, with its checksum.
fn over_ipv6(ip: &[u8]) -> Vec<u8> {
    let (from, to) = (v4(&ip[12..16]).to_ipv6_mapped(), v4(&ip[16..20]).to_ipv6_mapped());
    let mut dccp = Vec::new();
    let packet = Packet::parse(&ip[20..], Integrity::Udp).expect("a packet");
    packet.emit(&mut dccp, Integrity::Native(PseudoHeader::V6(from, to))).expect("it fits");
    let mut all = vec![0x60, 0, 0, 0];
    all.extend_from_slice(&(dccp.len() as u16).to_be_bytes());
    all.extend_from_slice(&[33, 64]);
    for address in [from, to].map(|address: Ipv6Addr| address.octets()) {
        all.extend_from_slice(&address);
    }
    all.extend_from_slice(&dccp);
    all
}

fn recording(file: &[u8]) -> Recording {
    read(file, &Options::default()).expect("a capture")
}

/// The parts of the answer that do not depend on the form.
fn same(form: &str, found: &Recording, carrier: Carrier) {
    let wanted = recording(&std::fs::read(path("linux-bidir-50ms")).expect("a capture of testdata"));
    let ([found], [wanted]) = (found.connections.as_slice(), wanted.connections.as_slice()) else {
        panic!("{form}: {found:?}");
    };
    assert_eq!(found.carrier, carrier, "{form}");
    assert_eq!(
        (found.tap, &found.rtt, &found.dialogue),
        (wanted.tap, &wanted.rtt, &wanted.dialogue),
        "{form}"
    );
    assert_eq!(found.broken, wanted.broken, "{form}");
    assert_eq!(found.directions, wanted.directions, "{form}");
}

#[test]
fn every_link_header_and_both_formats() {
    let tag: &[u8] = &[0x81, 0, 0, 7];
    same("vlan", &recording(&pcap(1, 65_535, frames(|ip| ethernet(tag, 0x0800, ip)))), Carrier::Ip);
    let two = [0x88, 0xA8, 0, 7, 0x81, 0, 0, 9];
    same("two tags", &recording(&pcap(1, 65_535, frames(move |ip| ethernet(&two, 0x0800, ip)))), Carrier::Ip);
    same("raw", &recording(&pcap(101, 65_535, frames(<[u8]>::to_vec))), Carrier::Ip);
    same("ipv4", &recording(&pcapng(228, frames(<[u8]>::to_vec))), Carrier::Ip);
    same("ipv6", &recording(&pcapng(101, frames(over_ipv6))), Carrier::Ip);
    let sll2 = |ip: &[u8]| [&[0x08, 0, 0, 0, 0, 0, 0, 2, 0, 1][..], &[0; 10], ip].concat();
    let found = recording(&pcapng(276, frames(sll2)));
    assert_eq!(found.format, "pcapng");
    // Each packet came to the host with the tap, so that its place is found as elsewhere.
    same("sll2", &found, Carrier::Ip);
}

/// Of 60 bytes all headers and options of data packets are there.
#[test]
fn frames_that_are_cut() {
    let found = recording(&pcap(101, 60, frames(<[u8]>::to_vec)));
    assert!(found.cut_packets > 600, "{}", found.cut_packets);
    let [connection] = found.connections.as_slice() else { panic!("{found:?}") };
    let direction = &connection.directions[1];
    assert_eq!((direction.data_packets, direction.data_bytes), (318, 63_600));
    let losses = direction.losses.as_ref().expect("the tap is at the receiver");
    assert_eq!((losses.data, losses.acknowledgements, losses.events), (2, 2, 2));
}

/// The Request makes the ports known; packets of another kind on other ports are only counted.
#[test]
fn in_udp_on_any_port_and_back() {
    let file = pcap(101, 65_535, frames(in_udp));
    same("udp", &recording(&file), Carrier::Udp);

    let mut packets = Vec::new();
    let count = native(file.as_slice(), &Options::default(), |at, packet| {
        packets.push((at.as_nanos() as u64, packet.to_vec()));
        Ok(())
    });
    assert_eq!(count.expect("a capture"), 814);
    same("native", &recording(&pcap(101, 65_535, packets.into_iter())), Carrier::Ip);

    // Without the Request they are UDP, unless the port is given.
    let late = pcap(101, 65_535, frames(in_udp).skip(1));
    let unknown = recording(&late);
    assert_eq!((unknown.connections.len(), unknown.other.get("UDP")), (0, Some(&813)));
    let options = Options { ports: [40_000].into(), ..Options::default() };
    let known = read(late.as_slice(), &options).expect("a capture");
    assert_eq!(known.connections.len(), 1);
    assert_eq!(known.connections[0].directions[1].data_packets, 318);
}

#[test]
fn no_captures() {
    let error = |bytes: &[u8]| read(bytes, &Options::default()).expect_err("no capture");
    assert!(matches!(error(b""), CaptureError::Empty));
    assert!(error(b"GET / HTTP/1.1").to_string().contains("47 45 54"), "{}", error(b"GET / HTTP/1.1"));
    assert!(matches!(error(&[0x1F, 0x8B, 8, 0, 0]), CaptureError::Compressed { program: "gunzip" }));
    let empty = recording(&pcap(1, 65_535, std::iter::empty()));
    assert_eq!((empty.packets, empty.connections.len(), empty.fault), (0, 0, None));
    let arp = recording(&pcap(1, 65_535, std::iter::once((0, ethernet(&[], 0x0806, &[0; 28])))));
    assert_eq!(arp.other.values().sum::<u64>(), 1);
}

/// A thousand connections, each with other ports: memory is bounded.
#[test]
fn connections_beyond_the_limit_are_counted() {
    let request = taken().swap_remove(0);
    let frames = (0..1000_u16).map(|n| {
        let mut ip = in_udp(&request.ip);
        ip[20..22].copy_from_slice(&(n + 1).to_be_bytes());
        (u64::from(n) * 1000, ip)
    });
    let found = recording(&pcap(101, 65_535, frames));
    assert_eq!((found.connections.len() as u64 + found.left_out, found.connections.len()), (1000, 256));
}
