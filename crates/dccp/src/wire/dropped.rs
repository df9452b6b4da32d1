//! Data Dropped (RFC 4340 §11.7): packets that arrived but whose data did not reach the
//! application.

/// Why the data of received packets was dropped (RFC 4340 table 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCode {
    /// 0: the protocol does not allow it there.
    ProtocolConstraints,
    /// 1: the application listens no more.
    ApplicationNotListening,
    /// 2: a receive buffer was full.
    ReceiveBuffer,
    /// 3: corrupt.
    Corrupt,
    /// 4..=6: no meaning yet.
    Reserved(
        /// The code.
        u8,
    ),
    /// 7: corrupt, but delivered.
    DeliveredCorrupt,
}

/// A Data Dropped option, its blocks still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DataDropped<'a> {
    /// One byte per block.
    pub blocks: &'a [u8],
}

/// A run of packets treated alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropBlock {
    /// Why those of them that arrived were dropped, or `None` if they were not.
    pub code: Option<DropCode>,
    /// Number of packets: 1..=128 normal ones, 1..=16 dropped ones.
    pub packets: u8,
}

impl DropCode {
    /// True if a packet with this code counts as one with an ECN mark (RFC 4340 §11.7.2): all codes
    /// but the ones about the receiving host.
    #[must_use]
    pub const fn counts_as_marked(self) -> bool {
        !matches!(self, Self::ProtocolConstraints | Self::ApplicationNotListening | Self::ReceiveBuffer)
    }
}

impl DataDropped<'_> {
    /// The blocks, from the packet with the Acknowledgement Number backwards.
    pub fn iter(&self) -> impl Iterator<Item = DropBlock> + '_ {
        self.blocks.iter().map(|byte| {
            if byte & 0x80 == 0 {
                return DropBlock { code: None, packets: byte + 1 };
            }
            let code = match (byte >> 4) & 7 {
                // RFC 4342 §5.2.
                0 => DropCode::ProtocolConstraints,
                1 => DropCode::ApplicationNotListening,
                2 => DropCode::ReceiveBuffer,
                3 => DropCode::Corrupt,
                7 => DropCode::DeliveredCorrupt,
                code => DropCode::Reserved(code),
            };
            DropBlock { code: Some(code), packets: (byte & 0xF) + 1 }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn decodes_the_example_of_the_text() {
        // RFC 4340 §11.7: blocks 0, 160, 3, 162.
        let option = DataDropped { blocks: &[0, 160, 3, 162] };
        let blocks: Vec<_> = option.iter().map(|block| (block.code, block.packets)).collect();
        let full = Some(DropCode::ReceiveBuffer);
        assert_eq!(blocks, [(None, 1), (full, 1), (None, 4), (full, 3)]);
    }
}
