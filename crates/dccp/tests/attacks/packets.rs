//! Packets as a stranger writes them.

use tfrc_dccp::wire::{Header, Opt, OptionList, ServiceCode};
use tfrc_testkit::emit;
use tfrc_units::SeqNo48;

/// A packet over UDP, from one DCCP port to another.
pub(crate) fn packet(ports: (u16, u16), header: Header, options: &[Opt<'_>], payload: &[u8]) -> Vec<u8> {
    let mut list = OptionList::new(OptionList::MAX);
    for option in options {
        list.push(option).expect("room");
    }
    emit(ports, header, list.padded(), payload)
}

/// A Request without any option: the shortest packet that asks for an answer.
pub(crate) fn request(ports: (u16, u16), seq: u64) -> Vec<u8> {
    packet(ports, Header::Request { seq: SeqNo48::new(seq), service: ServiceCode::NONE }, &[], &[])
}
