//! The outer form of a journal: blocks and their chained check values.

use std::hash::Hasher;
use tfrc_units::saturating;

use siphasher::sip::SipHasher24;

/// The first line of a journal, without the version and the end of the line.
pub(super) const MAGIC: &str = "tfrc journal ";

/// The version that this program writes and reads. It counts up whenever the same records may
/// change what a machine does: 2 since the connection has the send queue.
pub(super) const VERSION: u32 = 2;

/// The largest body accepted; a datagram has at most 64 KiB.
pub(super) const MAX_BODY: u32 = 1 << 20;

/// Length of a block's head: kind, time, length.
pub(super) const HEAD: usize = 13;

/// Binds each block to all before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain(u64);

impl Chain {
    pub(super) const fn new() -> Self {
        Self(0)
    }

    /// The check value of the next block.
    pub(super) fn next(&mut self, head: &[u8], body: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(0x7466_7263, self.0);
        hasher.write(head);
        hasher.write(body);
        self.0 = hasher.finish();
        self.0
    }
}

pub(super) fn head(kind: u8, at_ns: u64, body: usize) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = kind;
    head[1..9].copy_from_slice(&at_ns.to_le_bytes());
    head[9..].copy_from_slice(&saturating::<u32>(body).to_le_bytes());
    head
}

pub(super) fn parse_head(head: &[u8; HEAD]) -> (u8, u64, u32) {
    let (mut at, mut length) = ([0; 8], [0; 4]);
    at.copy_from_slice(&head[1..9]);
    length.copy_from_slice(&head[9..]);
    (head[0], u64::from_le_bytes(at), u32::from_le_bytes(length))
}
