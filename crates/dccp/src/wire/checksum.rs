//! The Internet checksum of the header (RFC 4340 §9).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tfrc_units::saturating;

/// Checksum that protects a packet's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// IP protocol 33: the header checksum with a pseudo-header from the network layer.
    Native(PseudoHeader),
    /// Inside UDP, whose checksum does the work: ours is sent as zero and ignored on receipt
    /// (RFC 6773 §3.3). Also where the host makes and checks the checksum.
    Udp,
}

/// The addresses that the checksum of a native packet covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PseudoHeader {
    /// Over IPv4: source, then destination.
    V4(Ipv4Addr, Ipv4Addr),
    /// Over IPv6: source, then destination.
    V6(Ipv6Addr, Ipv6Addr),
}

/// The IP protocol number of DCCP.
const PROTOCOL: u8 = 33;

impl PseudoHeader {
    /// For a packet from `source` to `destination`, or `None` if they are of two IP versions.
    #[must_use]
    pub const fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4(source, destination)),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6(source, destination)),
            _ => None,
        }
    }

    /// Its part of the sum, for a DCCP packet of `length` bytes.
    fn sum(self, length: usize) -> u64 {
        let addresses = match self {
            Self::V4(source, destination) => sum(&source.octets()) + sum(&destination.octets()),
            Self::V6(source, destination) => sum(&source.octets()) + sum(&destination.octets()),
        };
        // Word for word the length is the same number in either version: 16 bits, or 32 with the
        // upper ones zero here.
        addresses + u64::from(PROTOCOL) + saturating::<u64>(length).min(u64::MAX >> 32)
    }
}

/// The value for the Checksum field of `packet`, whose field is zero, of which the first `covered`
/// bytes are protected.
pub(super) fn compute(pseudo: PseudoHeader, packet: &[u8], covered: usize) -> u16 {
    !fold(pseudo.sum(packet.len()) + sum(packet.get(..covered).unwrap_or(packet)))
}

/// Returns true if the Checksum field of `packet` is right for its first `covered` bytes.
pub(super) fn verify(pseudo: PseudoHeader, packet: &[u8], covered: usize) -> bool {
    compute(pseudo, packet, covered) == 0
}

/// Sum of the 16-bit words of `bytes`, an odd last byte padded with zero on the right.
fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |byte| u64::from(*byte) << 8);
    words.by_ref().map(super::bytes::be).fold(last, u64::wrapping_add)
}

/// To 16 bits, carries added back in.
fn fold(mut sum: u64) -> u16 {
    loop {
        match u16::try_from(sum) {
            Ok(sum) => return sum,
            Err(_) => sum = (sum & 0xFFFF) + (sum >> 16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_words_and_folds_carries() {
        // The worked example of RFC 1071 §3.
        assert_eq!(fold(sum(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7])), 0xDDF2);
        assert_eq!(sum(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
    }

    #[test]
    fn two_ip_versions_have_no_pseudo_header() {
        assert_eq!(PseudoHeader::new(Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()), None);
    }
}
