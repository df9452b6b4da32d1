//! Content of TCP packets. Small and without allocation: a segment lives in the engine's arena.

use core::num::NonZeroU64;

use tfrc_units::Instant;

/// Which connection of a pair of agents a segment belongs to. A place is used again by later
/// generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ConnectionId {
    /// Place among the connections of the pair, from 0.
    pub place: u32,
    /// Number of earlier connections at this place, modulo 2^16.
    pub generation: u16,
}

/// A time in eight bytes also where it may be absent; exact to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(NonZeroU64);

impl Stamp {
    /// The stamp of a time. The last representable nanosecond shares its stamp with the one before
    /// it.
    #[must_use]
    pub const fn new(at: Instant) -> Self {
        match NonZeroU64::new(at.as_nanos().saturating_add(1)) {
            Some(x) => Self(x),
            None => Self(NonZeroU64::MAX),
        }
    }

    /// The time.
    #[must_use]
    pub const fn at(self) -> Instant {
        Instant::from_nanos(self.0.get() - 1)
    }
}

/// Kind of a segment from the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataKind {
    /// Data.
    Data,
    /// The opening of a connection; it takes no sequence number here.
    Syn,
}

/// The sender's answer to a congestion echo (CWR of RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduced {
    /// Nothing to echo.
    No,
    /// The window has been reduced since the last such segment.
    Yes,
}

/// Position of a segment in its transfer: last or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fin {
    /// The last one.
    Last,
    /// More follow.
    More,
}

/// A segment from the sender to the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// The connection.
    pub connection: ConnectionId,
    /// Kind of the segment.
    pub kind: DataKind,
    /// Sequence number, in segments.
    pub seq: u32,
    /// Bytes of data.
    pub len: u32,
    /// The time of sending, with timestamps (RFC 7323 §3).
    pub stamp: Option<Stamp>,
    /// The answer to a congestion echo.
    pub reduced: Reduced,
    /// Position in the transfer: last or not.
    pub fin: Fin,
    /// For the application: segments asked of the other end, by web requests. The machines leave it
    /// at 0.
    pub ask: u32,
}

/// Segments `start` to `end` − 1. Empty if the two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// The first segment.
    pub start: u32,
    /// One past the last.
    pub end: u32,
}

impl SackBlock {
    /// A block of one segment.
    #[must_use]
    pub const fn one(seq: u32) -> Self {
        Self { start: seq, end: seq.saturating_add(1) }
    }

    /// Number of segments in the block.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Returns true if the block has no segments.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns true if the block contains `seq`.
    #[must_use]
    pub const fn contains(self, seq: u32) -> bool {
        self.start <= seq && seq < self.end
    }
}

/// Kind of a segment from the sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckKind {
    /// An acknowledgement.
    Ack,
    /// The answer to a SYN.
    SynAck,
}

/// Echo of congestion marks that the sink has seen (ECE of RFC 3168 §6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnEcho {
    /// A marked packet has arrived since the last reduction.
    Congestion,
    /// None.
    None,
}

/// A segment from the sink to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The connection.
    pub connection: ConnectionId,
    /// Kind of the segment.
    pub kind: AckKind,
    /// The first segment that has not arrived.
    pub next: u32,
    /// Blocks that have arrived beyond `next`, the newest first (RFC 2018 §4); unused blocks are
    /// empty.
    pub sack: [SackBlock; 3],
    /// The time stamp sent back (RFC 7323 §4.3).
    pub echo: Option<Stamp>,
    /// Congestion marks.
    pub ecn: EcnEcho,
}
