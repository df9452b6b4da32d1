//! DCCP packets as a stranger writes them, over UDP.

use tfrc_dccp::wire::{Header, Integrity, Packet};

/// A packet from one DCCP port to another. Options are bytes, whole words of four.
#[must_use]
pub fn emit(ports: (u16, u16), header: Header, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let (source_port, destination_port) = ports;
    let packet = Packet { source_port, destination_port, ccval: 0, coverage: 0, header, options, payload };
    packet.emit(&mut out, Integrity::Udp).expect("legal");
    out
}

/// A packet that must be a legal one.
#[must_use]
pub fn parse(bytes: &[u8]) -> Packet<'_> {
    Packet::parse(bytes, Integrity::Udp).expect("it parses")
}
