//! DCCP as protocol 33 with checksums, for programs that do not read DCCP in UDP.

use std::net::IpAddr;

use etherparse::{IpNumber, Ipv4Header, Ipv6Header};
use tfrc_dccp::wire::{Integrity, Packet, PseudoHeader};

use crate::link::IpPacket;

/// The time to live of a packet whose own is not kept: the usual first value (RFC 1700).
const TTL: u8 = 64;
/// DCCP (RFC 4340 §19.1).
const DCCP: IpNumber = IpNumber(33);

/// Writes an IP packet with a DCCP packet in it. A packet that was inside UDP gets a checksum; a
/// native one keeps its own.
pub(crate) fn write(ip: &IpPacket<'_>, bytes: &[u8], was_in_udp: bool, out: &mut Vec<u8>) -> Option<()> {
    let mut content = Vec::new();
    match was_in_udp {
        true => {
            let packet = Packet::parse(bytes, Integrity::Udp).ok()?;
            packet.emit(&mut content, Integrity::Native(PseudoHeader::new(ip.from, ip.to)?)).ok()?;
        }
        false => content.extend_from_slice(bytes),
    }
    out.clear();
    match (ip.from, ip.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let length = u16::try_from(content.len()).ok()?;
            let mut header = Ipv4Header::new(length, TTL, DCCP, from.octets(), to.octets()).ok()?;
            header.ecn = ip.ecn.bits().try_into().unwrap_or_default();
            header.dont_fragment = true;
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = Ipv6Header {
                traffic_class: ip.ecn.bits(),
                payload_length: u16::try_from(content.len()).ok()?,
                next_header: DCCP,
                hop_limit: TTL,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv6Header::default()
            };
            out.extend_from_slice(&header.to_bytes());
        }
        _ => return None,
    }
    out.extend_from_slice(&content);
    Some(())
}
