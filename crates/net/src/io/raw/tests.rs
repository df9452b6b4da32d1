//! Raw sockets on the loopback interface. Without the right to them the tests say so and pass.

#![allow(clippy::disallowed_macros, reason = "a test that cannot run says so")]

use tfrc_dccp::connection::PathError;
use tfrc_dccp::wire::{Header, Sequence};
use tfrc_units::{Ecn, SeqNo48};

use super::*;
use crate::io::{Clock, Incoming, Outgoing, Socket, Unsent};

/// Addresses of the loopback network that no other test uses.
const HOSTS: [[&str; 2]; 2] = [["127.0.67.1", "127.0.67.2"], ["::1", "::1"]];

/// A socket at a port that is free; `None` without the right to raw sockets, or without IPv6.
fn bound(host: &str) -> Option<Socket> {
    let host: IpAddr = host.parse().expect("an address");
    match Socket::bind_raw(SocketAddr::new(host, 0), Clock::start()) {
        Ok(socket) => Some(socket),
        Err(error) => {
            eprintln!("not run: no raw socket at {host} ({error})");
            None
        }
    }
}

/// A packet from one port to another, `length` bytes long, without its checksum.
fn packet(from: SocketAddr, to: SocketAddr, length: usize) -> Vec<u8> {
    let seq = SeqNo48::new(7);
    let packet = Packet {
        source_port: from.port(),
        destination_port: to.port(),
        ccval: 0,
        coverage: 0,
        header: Header::Data { seq: Sequence::Long(seq) },
        options: &[],
        payload: &vec![9; length - 16],
    };
    let mut bytes = Vec::new();
    packet.emit(&mut bytes, Integrity::Udp).expect("it fits");
    bytes
}

/// The packets that come until there are `count`: sender, ECN bits, length.
async fn incoming(socket: &mut Socket, count: usize) -> Vec<(SocketAddr, Option<IpAddr>, Ecn, usize)> {
    let mut got = Vec::new();
    while got.len() < count {
        socket.readable().await.expect("a runtime");
        socket.receive().expect("a socket");
        got.extend(
            socket.incoming().map(|Incoming { from, to, ecn, bytes, .. }| (from, to, ecn, bytes.len())),
        );
    }
    got
}

/// One packet alone, then three together; with a codepoint and without, to one peer and to any.
#[tokio::test]
async fn packets_come_with_their_marks_and_ports() {
    for [a, b] in HOSTS {
        for dscp in [0, 10] {
            for connects in [false, true] {
                let (Some(mut from), Some(mut to)) = (bound(a), bound(b)) else { continue };
                let there = to.local_addr().expect("an address");
                if connects {
                    from.connect(there).expect("a route");
                }
                from.set_dscp(tfrc_units::Dscp::new(dscp).expect("below 64")).expect("64-bit Linux");
                let here = from.local_addr().expect("an address");
                let mut bytes = packet(here, there, 500);
                from.seal(there, &mut bytes);
                for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
                    let one = Outgoing { to: there, ecn, bytes: &bytes, segment: None };
                    from.send(one).await.expect("it goes");
                    assert_eq!(from.send_from(0, |n| (n < 3).then_some(one), |_, _| panic!("refused")), None);
                    let got = incoming(&mut to, 4).await;
                    assert_eq!(got, vec![(here, Some(there.ip()), ecn, 500); 4]);
                }
                assert_eq!(from.longest_train(), 1);
                assert!(to.reads_ecn());
            }
        }
    }
}

/// Whoever listens on every address answers from the one that was called.
#[tokio::test]
async fn an_answer_leaves_from_the_address_that_was_called() {
    for (any, called) in [("0.0.0.0", "127.0.67.3"), ("::", "::1")] {
        let (Some(mut caller), Some(mut listens)) = (bound(called), bound(any)) else { continue };
        let here = caller.local_addr().expect("an address");
        let port = listens.local_addr().expect("an address").port();
        let there = SocketAddr::new(here.ip(), port);
        let mut bytes = packet(here, there, 100);
        caller.seal(there, &mut bytes);
        caller
            .send(Outgoing { to: there, ecn: Ecn::NotEct, bytes: &bytes, segment: None })
            .await
            .expect("it goes");
        assert_eq!(incoming(&mut listens, 1).await, [(here, Some(there.ip()), Ecn::NotEct, 100)]);
        let mut bytes = packet(there, here, 90);
        listens.seal(here, &mut bytes);
        listens
            .send(Outgoing { to: here, ecn: Ecn::Ect0, bytes: &bytes, segment: None })
            .await
            .expect("it goes");
        assert_eq!(incoming(&mut caller, 1).await, [(there, Some(here.ip()), Ecn::Ect0, 90)]);
    }
}

#[tokio::test]
async fn what_is_not_for_this_port_or_not_whole_is_dropped() {
    for [a, b] in HOSTS {
        let (Some(mut from), Some(mut to)) = (bound(a), bound(b)) else { continue };
        let (here, there) = (from.local_addr().expect("one"), to.local_addr().expect("one"));
        let other = SocketAddr::new(there.ip(), there.port() ^ 1);
        let good = |length| {
            let mut bytes = packet(here, there, length);
            seal(&mut bytes, PseudoHeader::new(here.ip(), there.ip()).expect("one version"));
            bytes
        };
        let mut wrong = good(300);
        wrong[200] ^= 1;
        let mut unsealed = packet(here, there, 300);
        unsealed[6] = 1;
        let short = good(300)[..11].to_vec();
        let mut elsewhere = packet(here, other, 300);
        from.seal(other, &mut elsewhere);
        let all = [wrong, unsealed, short, elsewhere, Vec::new(), vec![0; 3], good(400)];
        for bytes in &all {
            let _ = from.send(Outgoing { to: there, ecn: Ecn::NotEct, bytes, segment: None }).await;
        }
        assert_eq!(incoming(&mut to, 1).await, [(here, Some(there.ip()), Ecn::NotEct, 400)]);
        assert_eq!(to.corrupt(), 2);
        assert!(to.is_drained());
    }
}

#[tokio::test]
async fn a_port_has_one_process_and_is_free_after_it() {
    let Some(first) = bound("127.0.67.4") else { return };
    let address = first.local_addr().expect("an address");
    let taken = Socket::bind_raw(address, Clock::start());
    assert_eq!(taken.err().map(|error| error.kind()), Some(io::ErrorKind::AddrInUse));
    drop(UdpSocket::bind(address).expect("UDP has ports of its own"));
    drop(first);
    drop(Socket::bind_raw(address, Clock::start()).expect("free again"));
}

/// A packet that is too long for the interface is refused by the system, whose word is found in the
/// error queue.
#[tokio::test]
async fn the_system_refuses_what_is_too_long() {
    for [a, b] in HOSTS {
        let (Some(mut from), Some(to)) = (bound(a), bound(b)) else { continue };
        let (here, there) = (from.local_addr().expect("one"), to.local_addr().expect("one"));
        let bytes = packet(here, there, 65_530);
        let sent = from.send(Outgoing { to: there, ecn: Ecn::NotEct, bytes: &bytes, segment: None }).await;
        assert!(matches!(sent, Err(Unsent::TooLong)), "{sent:?}");
    }
}

/// A router's message that packets of more than 1400 bytes do not pass, with the header of IP and
/// the beginning of a packet of this length (RFC 1191, RFC 4443 §3.2).
fn too_big(from: IpAddr, to: IpAddr, length: u16, beginning: &[u8]) -> Vec<u8> {
    let number = etherparse::IpNumber(33);
    let mut message = Vec::new();
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = etherparse::Ipv4Header::new(length, 64, number, from.octets(), to.octets());
            let mut header = header.expect("short");
            header.header_checksum = header.calc_header_checksum();
            message.extend([3, 4, 0, 0, 0, 0, 5, 0x78]);
            message.extend(header.to_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = etherparse::Ipv6Header {
                payload_length: length,
                next_header: number,
                hop_limit: 64,
                source: from.octets(),
                destination: to.octets(),
                ..etherparse::Ipv6Header::default()
            };
            message.extend([2, 0, 0, 0, 0, 0, 5, 0x78]);
            message.extend(header.to_bytes());
        }
        mixed => panic!("two versions: {mixed:?}"),
    }
    message.extend(beginning);
    // The system writes the checksum of ICMPv6 (RFC 3542 §3.1).
    if from.is_ipv4() {
        let sum: u32 = message.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        let folded = (sum & 0xFFFF) + (sum >> 16);
        let sum = !u16::try_from((folded & 0xFFFF) + (folded >> 16)).expect("folded twice");
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    message
}

/// A router's message about a packet comes with its destination and beginning.
#[tokio::test]
async fn a_message_of_the_network_names_the_packet() {
    let four = (Domain::IPV4, Protocol::ICMPV4, 1380);
    for (hosts, (domain, protocol, limit)) in
        [(["127.0.67.5", "127.0.67.6"], four), (["::1"; 2], (Domain::IPV6, Protocol::ICMPV6, 1360))]
    {
        let [Some(mut from), Some(to)] = hosts.map(bound) else { continue };
        let (here, there) = (from.local_addr().expect("one"), to.local_addr().expect("one"));
        let bytes = packet(here, there, 100);
        let icmp = socket2::Socket::new(domain, Type::RAW, Some(protocol)).expect("the same right");
        let message = too_big(here.ip(), there.ip(), 100, &bytes[..16]);
        icmp.send_to(&message, &without_port(here).into()).expect("it goes");
        let mut said = Vec::new();
        while said.is_empty() {
            from.readable().await.expect("a runtime");
            from.receive().expect("a socket");
            let mut take = |to, quoted: &[u8], error| said.push((to, quoted.to_vec(), error));
            from.take_errors(&mut take).expect("a socket");
        }
        assert_eq!(said, [(there, bytes[..16].to_vec(), PathError::TooLong { limit })]);
    }
}
