//! Captures of simulated packets, as IPv4 packets for a pcap file.

use std::net::Ipv4Addr;

use etherparse::{IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, PacketBuilder};
use tfrc_units::{Ecn, Instant};

/// DCCP (RFC 4340 §19.1).
const PROTOCOL: IpNumber = IpNumber(33);
/// The time to live of packets that no router has passed on: the usual first value (RFC 1700).
const TTL: u8 = 64;

/// An IPv4 packet, and when it was seen.
pub type Captured = (Instant, Vec<u8>);

/// A DCCP packet in an IPv4 packet (RFC 791 §3.1); empty for one longer than IPv4 carries.
pub(crate) fn ipv4(from: Ipv4Addr, to: Ipv4Addr, ecn: Ecn, dccp: &[u8]) -> Vec<u8> {
    let header = Ipv4Header {
        ecn: ecn.bits().try_into().unwrap_or_default(),
        time_to_live: TTL,
        source: from.octets(),
        destination: to.octets(),
        ..Ipv4Header::default()
    };
    let builder = PacketBuilder::ip(IpHeaders::Ipv4(header, Ipv4Extensions::default()));
    let mut packet = Vec::with_capacity(builder.size(dccp.len()));
    if builder.write(&mut packet, PROTOCOL, dccp).is_err() {
        packet.clear();
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_packet() {
        // Don't Fragment, and a checksum with which the header sums to zero.
        let packet = ipv4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(11, 0, 0, 1), Ecn::Ect0, &[1, 2, 3]);
        assert_eq!((packet.len(), packet[1], packet[3], packet[9]), (23, 2, 23, 33));
        assert_eq!(
            (&packet[4..9], &packet[12..]),
            (&[0, 0, 0x40, 0, 64][..], &[10, 0, 0, 1, 11, 0, 0, 1, 1, 2, 3][..])
        );
        let sum: u32 = packet[..20].chunks(2).map(|p| u32::from(u16::from_be_bytes([p[0], p[1]]))).sum();
        assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
    }
}
