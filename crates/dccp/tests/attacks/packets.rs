//! Packets as a stranger writes them.

use tfrc_dccp::wire::{Header, Integrity, Opt, OptionList, Packet, ServiceCode};
use tfrc_units::SeqNo48;

/// A packet over UDP, from one DCCP port to another.
pub(crate) fn packet(ports: (u16, u16), header: Header, options: &[Opt<'_>], payload: &[u8]) -> Vec<u8> {
    let mut list = OptionList::new(OptionList::MAX);
    for option in options {
        list.push(option).expect("room");
    }
    raw(ports, header, list.padded(), payload)
}

/// The same with options as bytes.
pub(crate) fn raw(ports: (u16, u16), header: Header, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let packet = Packet {
        source_port: ports.0,
        destination_port: ports.1,
        ccval: 0,
        coverage: 0,
        header,
        options,
        payload,
    };
    packet.emit(&mut out, Integrity::Udp).expect("legal");
    out
}

/// A Request without any option: the shortest packet that asks for an answer.
pub(crate) fn request(ports: (u16, u16), seq: u64) -> Vec<u8> {
    packet(ports, Header::Request { seq: SeqNo48::new(seq), service: ServiceCode::NONE }, &[], &[])
}

pub(crate) fn parse(bytes: &[u8]) -> Packet<'_> {
    Packet::parse(bytes, Integrity::Udp).expect("what is sent parses")
}

/// Numbers without a pattern, the same in each run.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
