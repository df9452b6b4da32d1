//! Errors of decoding a report.

use thiserror::Error;

/// Why bytes are not the report they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("byte {offset}: {kind}")]
pub struct DecodeError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// Where, counted from the first byte given.
    pub offset: usize,
}

/// Errors that a report can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends before the field that starts here.
    #[error("the input ends within this field")]
    Truncated,
    /// The version is not 2.
    #[error("not RTCP: version {0} instead of 2")]
    Version(u8),
    /// Another kind of message; pass it on.
    #[error("another message: packet type {packet_type}, format {format}")]
    OtherMessage {
        /// The packet type, PT.
        packet_type: u8,
        /// FMT, or the count that stands in its place.
        format: u8,
    },
    /// The padding is longer than the packet.
    #[error("padding of {0} bytes does not fit")]
    Padding(u8),
    /// A status symbol that has no meaning yet.
    #[error("reserved packet status symbol")]
    ReservedSymbol,
    /// More packets in one block than a quarter of the sequence space.
    #[error("{0} packets in one report block, more than 16384")]
    TooManyPackets(u16),
    /// Not a QUIC ACK frame.
    #[error("frame type {0:#x} is not ACK")]
    OtherFrame(u64),
    /// A range reaches below packet number 0.
    #[error("an acknowledged range reaches below packet 0")]
    RangeBelowZero,
}
