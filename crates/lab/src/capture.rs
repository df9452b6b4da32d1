//! Captures of simulated packets: a pcap file of IPv4 packets that Wireshark and tshark read.

use std::io::{self, Write};
use std::net::Ipv4Addr;

use tfrc_units::{Ecn, Instant};

/// pcap with times in nanoseconds.
const MAGIC: u32 = 0xA1B2_3C4D;
/// The longest packet.
const SNAP_LENGTH: u32 = 0x1_0000;
/// The packet begins with its IP header.
const LINK_TYPE_RAW: u32 = 101;
/// DCCP (RFC 4340 §19.1).
const PROTOCOL: u8 = 33;
const TTL: u8 = 64;
const DO_NOT_FRAGMENT: [u8; 2] = [0x40, 0x00];

/// Writes packets, each with the time at which it was seen; virtual time zero is 1970.
///
/// # Errors
/// Those of the writer.
pub fn write_pcap<'a>(
    out: &mut dyn Write,
    packets: impl IntoIterator<Item = &'a (Instant, Vec<u8>)>,
) -> io::Result<()> {
    out.write_all(&MAGIC.to_le_bytes())?;
    for word in [2_u16, 4] {
        out.write_all(&word.to_le_bytes())?;
    }
    for word in [0, 0, SNAP_LENGTH, LINK_TYPE_RAW] {
        out.write_all(&word.to_le_bytes())?;
    }
    for (at, bytes) in packets {
        let (seconds, nanoseconds) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        for word in [seconds, nanoseconds, length, length] {
            out.write_all(&u32::try_from(word).unwrap_or(u32::MAX).to_le_bytes())?;
        }
        out.write_all(bytes)?;
    }
    out.flush()
}

/// A DCCP packet in an IPv4 packet (RFC 791 §3.1).
pub(crate) fn ipv4(from: Ipv4Addr, to: Ipv4Addr, ecn: Ecn, dccp: &[u8]) -> Vec<u8> {
    let length = u16::try_from(dccp.len() + 20).unwrap_or(u16::MAX).to_be_bytes();
    let mut packet = vec![0x45, ecn.bits(), length[0], length[1], 0, 0];
    packet.extend_from_slice(&DO_NOT_FRAGMENT);
    packet.extend_from_slice(&[TTL, PROTOCOL, 0, 0]);
    packet.extend_from_slice(&from.octets());
    packet.extend_from_slice(&to.octets());
    let sum: u32 = packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    let checksum = (!u16::try_from(folded).unwrap_or(u16::MAX)).to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.extend_from_slice(dccp);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_a_packet() {
        // The worked header of a well-known example has this checksum with another length; ours must sum to zero.
        let packet = ipv4(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(11, 0, 0, 1), Ecn::Ect0, &[1, 2, 3]);
        assert_eq!((packet.len(), packet[1], packet[3], packet[9]), (23, 2, 23, 33));
        let sum: u32 = packet[..20].chunks(2).map(|p| u32::from(u16::from_be_bytes([p[0], p[1]]))).sum();
        assert_eq!((sum & 0xFFFF) + (sum >> 16), 0xFFFF);
    }

    #[test]
    fn a_file_has_a_head_and_records() {
        let at = Instant::from_nanos(1_500_000_000);
        let mut file = Vec::new();
        write_pcap(&mut file, &[(at, vec![7; 5])]).unwrap();
        assert_eq!(file.len(), 24 + 16 + 5);
        assert_eq!(file[24..32], [1, 0, 0, 0, 0x00, 0x65, 0xCD, 0x1D]);
    }
}
