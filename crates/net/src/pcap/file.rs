//! The pcap file format, version 2.4 with times in nanoseconds.

use std::io::{self, Write};
use tfrc_units::saturating;

/// First four bytes of a file whose times are in nanoseconds.
const MAGIC: u32 = 0xA1B2_3C4D;
const VERSION: (u16, u16) = (2, 4);
/// Length of the longest packet.
const SNAP_LENGTH: u32 = 0x1_0000;

/// First header of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkType {
    /// Ethernet.
    Ethernet,
    /// IPv4 or IPv6, by the version in its first bits.
    Raw,
    /// Linux cooked capture, version 1: [`cooked`] has its header.
    Cooked,
}

impl LinkType {
    const fn number(self) -> u32 {
        match self {
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Cooked => 113,
        }
    }
}

/// The header of a cooked capture before an IPv4 packet, which says which way the packet goes:
/// `outgoing` from the host with the tap, otherwise to it. The interface is one without addresses.
#[must_use]
pub const fn cooked(outgoing: bool) -> [u8; 16] {
    let to_whom = if outgoing { 4 } else { 0 };
    [0, to_whom, 0xFF, 0xFE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00]
}

/// A pcap file that is being written.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the head of a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, link: LinkType) -> io::Result<Self> {
        let mut head = [0; 24];
        head[..4].copy_from_slice(&MAGIC.to_le_bytes());
        head[4..6].copy_from_slice(&VERSION.0.to_le_bytes());
        head[6..8].copy_from_slice(&VERSION.1.to_le_bytes());
        // Eight zeros: times in UTC, their accuracy not stated.
        head[16..20].copy_from_slice(&SNAP_LENGTH.to_le_bytes());
        head[20..].copy_from_slice(&link.number().to_le_bytes());
        out.write_all(&head)?;
        Ok(Self { out })
    }

    /// Adds a packet seen at a time since the Unix epoch.
    ///
    /// # Errors
    /// Those of the output.
    pub fn packet(&mut self, at: std::time::Duration, bytes: &[u8]) -> io::Result<()> {
        self.beginning(at, bytes, saturating::<u32>(bytes.len()))
    }

    /// Adds the first bytes of a packet of `length`, seen at a time since the Unix epoch.
    ///
    /// # Errors
    /// Those of the output.
    pub fn beginning(&mut self, at: std::time::Duration, bytes: &[u8], length: u32) -> io::Result<()> {
        let kept = saturating::<u32>(bytes.len());
        let length = length.max(kept);
        let seconds = saturating::<u32>(at.as_secs());
        let mut head = [0; 16];
        for (field, value) in head.chunks_exact_mut(4).zip([seconds, at.subsec_nanos(), kept, length]) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        self.out.write_all(&head)?;
        self.out.write_all(bytes)
    }

    /// Hands what was written to the system.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_head_and_records() -> io::Result<()> {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, LinkType::Raw)?;
        writer.packet(std::time::Duration::from_millis(1500), &[7; 5])?;
        writer.beginning(std::time::Duration::ZERO, &[8; 2], 1500)?;
        writer.flush()?;
        assert_eq!(file.len(), 24 + 16 + 5 + 16 + 2);
        assert_eq!(file[53..], [2, 0, 0, 0, 0xDC, 5, 0, 0, 8, 8]);
        assert_eq!(file[..8], [0x4D, 0x3C, 0xB2, 0xA1, 2, 0, 4, 0]);
        assert_eq!(file[16..24], [0, 0, 1, 0, 101, 0, 0, 0]);
        assert_eq!(file[24..40], [1, 0, 0, 0, 0x00, 0x65, 0xCD, 0x1D, 5, 0, 0, 0, 5, 0, 0, 0]);
        Ok(())
    }
}
