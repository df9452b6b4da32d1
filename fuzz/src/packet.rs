//! The packet parser: what it accepts can be sent again and means the same.

use std::net::{IpAddr, Ipv4Addr};

use tfrc_dccp::wire::{self, Integrity, Packet, PseudoHeader};

/// Takes the bytes for a datagram, over UDP and over IP.
pub fn check(data: &[u8]) {
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let pseudo = PseudoHeader::new(here, here).map(Integrity::Native);
    for integrity in [Some(Integrity::Udp), pseudo].into_iter().flatten() {
        let Ok(packet) = Packet::parse(data, integrity) else { continue };
        for item in wire::options(packet.header.kind(), packet.options) {
            let _ = std::hint::black_box(item);
        }
        let mut again = Vec::new();
        if packet.emit(&mut again, integrity).is_ok() {
            let reparsed = Packet::parse(&again, integrity).expect("what is emitted parses");
            assert_eq!(reparsed.header, packet.header);
            assert_eq!(reparsed.payload, packet.payload);
        }
    }
}
