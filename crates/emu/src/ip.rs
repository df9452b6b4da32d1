//! IPv4 packets as the engine sees them: who to whom, ECN, ports.

use std::net::Ipv4Addr;

use tfrc_units::Ecn;

use crate::undeliverable::Destination;

/// Bytes before the IP packet in an Ethernet frame.
pub(crate) const ETHERNET: usize = 14;
/// `EtherType` of IPv4 and IPv6 (RFC 894, RFC 2464).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// Network of the nodes, and the length of its prefix: all nodes are neighbours.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);
pub(crate) const PREFIX: u8 = 16;
/// The network's broadcast address (RFC 919).
const NETWORK_BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 77, 255, 255);

/// Address of the node of this number.
pub(crate) const fn address(number: u8) -> Ipv4Addr {
    let [a, b, c, _] = NETWORK.octets();
    Ipv4Addr::new(a, b, c, number)
}

/// Fields of an IPv4 packet (RFC 791) that decide on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IpHeader {
    pub(crate) destination: Ipv4Addr,
    pub(crate) ecn: Ecn,
    /// Total length, bytes.
    pub(crate) length: u32,
    /// Protocol number, source port and destination port, of whole UDP and TCP packets.
    pub(crate) ports: Option<(u8, u16, u16)>,
}

/// Protocol numbers whose first four bytes are ports (RFC 9293 §3.1, RFC 768).
const TCP: u8 = 6;
const UDP: u8 = 17;

impl IpHeader {
    /// Reads the header of the packet in an Ethernet frame.
    ///
    /// # Errors
    /// The kind of a frame that holds no whole packet of IPv4.
    pub(crate) fn of_frame(frame: &[u8]) -> Result<Self, Destination> {
        let kind = frame.get(ETHERNET - 2..ETHERNET).and_then(|two| two.try_into().ok());
        match kind.map(u16::from_be_bytes) {
            Some(IPV4) => frame.get(ETHERNET..).and_then(Self::read).ok_or(Destination::Broken),
            Some(IPV6) => Err(Destination::Ipv6),
            kind => Err(Destination::Other(kind.unwrap_or_default())),
        }
    }

    /// True for a packet that every node gets: of a multicast group (RFC 1112), or a broadcast
    /// (RFC 919).
    pub(crate) fn is_for_everyone(&self) -> bool {
        self.destination.is_multicast() || self.is_broadcast()
    }

    /// True for a broadcast, to the network of the nodes or without one.
    pub(crate) fn is_broadcast(&self) -> bool {
        self.destination.is_broadcast() || self.destination == NETWORK_BROADCAST
    }

    /// Reads the header of a packet; `None` if it is not IPv4 or not whole.
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let at = |i: usize| packet.get(i).copied();
        let word = |i: usize| Some(u16::from_be_bytes([at(i)?, at(i + 1)?]));
        let first = at(0)?;
        let (version, header) = (first >> 4, usize::from(first & 0xf) * 4);
        let length = word(2)?;
        if version != 4 || header < 20 || usize::from(length) < header || packet.len() < usize::from(length) {
            return None;
        }
        let is_fragment = word(6)? & 0x3fff != 0;
        let protocol = at(9)?;
        let ports = (matches!(protocol, TCP | UDP) && !is_fragment)
            .then(|| Some((protocol, word(header)?, word(header + 2)?)))
            .flatten();
        Some(Self {
            destination: Ipv4Addr::new(at(16)?, at(17)?, at(18)?, at(19)?),
            ecn: Ecn::from_bits(at(1)?),
            length: u32::from(length),
            ports,
        })
    }
}

/// Writes the ECN bits of an IPv4 packet and brings its header checksum up to date (RFC 1624,
/// equation 3).
pub(crate) fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let Some([version, service, .., high, low]) = packet.get_mut(..12).map(|header| {
        let header: &mut [u8; 12] = header.try_into().unwrap_or_else(|_| unreachable!("twelve bytes"));
        header
    }) else {
        return;
    };
    let before = u16::from_be_bytes([*version, *service]);
    *service = (*service & !0b11) | ecn.bits();
    let after = u16::from_be_bytes([*version, *service]);
    let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    [*high, *low] = (!(folded as u16)).to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP packet from 10.77.0.1 port 7 to 10.77.0.2 port 9 with eight bytes behind its header.
    fn packet() -> [u8; 28] {
        let mut packet = [0; 28];
        packet[..20]
            .copy_from_slice(&[0x45, 0, 0, 28, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
        packet[20..24].copy_from_slice(&[0, 7, 0, 9]);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    /// RFC 1071; 0 over a header whose checksum is right.
    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
        !(((sum & 0xffff) + (sum >> 16)) as u16)
    }

    #[test]
    fn fields() {
        let header = IpHeader::read(&packet()).unwrap();
        assert_eq!(header.destination, Ipv4Addr::new(10, 77, 0, 2));
        assert_eq!((header.length, header.ecn, header.ports), (28, Ecn::NotEct, Some((17, 7, 9))));
        let mut fragment = packet();
        fragment[6] = 0x20;
        assert_eq!(IpHeader::read(&fragment).unwrap().ports, None);
        for short in 0..28 {
            assert_eq!(IpHeader::read(&packet()[..short]), None, "{short} bytes");
        }
    }

    #[test]
    fn receivers_of_a_frame() {
        let frame = |kind: [u8; 2], packet: &[u8]| [&[0; 12], &kind[..], packet].concat();
        let to = |address: [u8; 4]| {
            let mut packet = packet();
            packet[16..20].copy_from_slice(&address);
            IpHeader::of_frame(&frame([8, 0], &packet)).unwrap().is_for_everyone()
        };
        for everyone in [[224, 0, 0, 251], [239, 255, 1, 2], [255; 4], [10, 77, 255, 255]] {
            assert!(to(everyone), "{everyone:?}");
        }
        for one in [[10, 77, 0, 2], [10, 77, 0, 255], [223, 255, 255, 255], [240, 0, 0, 1]] {
            assert!(!to(one), "{one:?}");
        }
        for (kind, packet, expected) in [
            ([0x86, 0xdd], &packet()[..], Destination::Ipv6),
            ([0x88, 0xcc], &[], Destination::Other(0x88cc)),
            ([8, 0], &packet()[..27], Destination::Broken),
        ] {
            assert_eq!(IpHeader::of_frame(&frame(kind, packet)), Err(expected));
        }
        assert_eq!(IpHeader::of_frame(&[0; 13]), Err(Destination::Other(0)));
    }

    #[test]
    fn marks_keep_the_checksum() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let mut packet = packet();
            set_ecn(&mut packet, ecn);
            assert_eq!(IpHeader::read(&packet).unwrap().ecn, ecn);
            assert_eq!(checksum(&packet[..20]), 0, "{ecn:?}");
        }
        set_ecn(&mut [0; 5], Ecn::Ce);
    }
}
