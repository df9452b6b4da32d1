//! Ack Vector (RFC 4340 §11.4): which packets arrived, run-length encoded, newest first.

/// The one-bit ECN Nonce Echo, Historic since RFC 8311: always `Zero` in what we send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Nonce {
    /// Nonce 0.
    #[default]
    Zero,
    /// Nonce 1.
    One,
}

/// An Ack Vector option, its cells still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckVector<'a> {
    /// The nonce echo, which is part of the option's type.
    pub nonce: Nonce,
    /// One byte per cell.
    pub cells: &'a [u8],
}

/// A run of packets with one fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRun {
    /// The fate.
    pub state: CellState,
    /// Number of packets, 1..=64.
    pub packets: u8,
}

/// Fate of a packet (RFC 4340 §11.4, table 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellState {
    /// 0: arrived.
    Received,
    /// 1: arrived with a congestion mark.
    ReceivedMarked,
    /// 2: has no meaning yet.
    Reserved,
    /// 3: not here yet.
    NotYetReceived,
}

impl AckVector<'_> {
    /// The cells, from the packet with the Acknowledgement Number backwards.
    pub fn iter(&self) -> impl Iterator<Item = PacketRun> + '_ {
        self.cells.iter().map(|byte| PacketRun {
            state: match byte >> 6 {
                0 => CellState::Received,
                1 => CellState::ReceivedMarked,
                2 => CellState::Reserved,
                _ => CellState::NotYetReceived,
            },
            packets: (byte & 0x3F) + 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn decodes_cells() {
        // RFC 4340 §11.4: a packet arrived, two did not, nine before them did.
        let vector = AckVector { nonce: Nonce::Zero, cells: &[0, 0xC1, 8] };
        let cells: Vec<_> = vector.iter().map(|cell| (cell.state, cell.packets)).collect();
        assert_eq!(
            cells,
            [(CellState::Received, 1), (CellState::NotYetReceived, 2), (CellState::Received, 9)]
        );
    }
}
