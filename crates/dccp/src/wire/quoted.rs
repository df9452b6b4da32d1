//! DCCP headers quoted in ICMP messages.

use tfrc_units::SeqNo48;

use super::bytes::{be, u16_at};

/// Fields of a packet that an ICMP message about it quotes: enough to check that we sent it.
/// Options and data may be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted {
    /// The sender's DCCP port.
    pub source_port: u16,
    /// The receiver's DCCP port.
    pub destination_port: u16,
    /// Its sequence number.
    pub seq: SeqNo48,
}

impl Quoted {
    /// Reads the beginning of a packet with a sequence number of 48 bits; a shorter number proves
    /// too little and gives `None`, as does less than the first 16 bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let extended = bytes.get(8)? & 1 == 1;
        Some(Self {
            source_port: u16_at(bytes, 0)?,
            destination_port: u16_at(bytes, 2)?,
            // RFC 4340 §14.1.
            seq: bytes.get(10..16).map(be).filter(|_| extended).map(SeqNo48::new)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bytes_with_a_long_number() {
        let packet = [0x19, 0x6f, 0xc0, 1, 4, 0, 0, 0, 0b101, 0, 1, 2, 3, 4, 5, 6, 9];
        let quoted =
            Quoted { source_port: 6511, destination_port: 0xc001, seq: SeqNo48::new(0x0102_0304_0506) };
        assert_eq!((Quoted::parse(&packet), Quoted::parse(&packet[..16])), (Some(quoted), Some(quoted)));
        assert_eq!((Quoted::parse(&packet[..15]), Quoted::parse(&[])), (None, None));
        let mut short = packet;
        short[8] = 0b100;
        assert_eq!(Quoted::parse(&short), None);
    }
}
