//! RTP transport-wide congestion control feedback
//! (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1): RTCP PT 205, FMT 15.
//!
//! The sender numbers all packets of a transport with 16 bits; the receiver says of each whether it
//! came, and when by its own clock. How long it held the last of them before it reported, it does
//! not say.

mod adapter;
mod encode;
#[cfg(test)]
mod tests;

pub use adapter::Adapter;
pub use encode::{EncodeError, Ssrcs, encode};

use crate::reader::ByteReader;
use crate::rtcp::RtcpPacket;
use crate::{DecodeError, ErrorKind};

/// FMT.
const FORMAT: u8 = 15;
/// Deltas count 250 µs, the reference time counts 64 ms: 256 of those.
const TICKS_PER_REFERENCE: i64 = 256;

/// A packet as the report sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketStatus {
    /// Its transport-wide sequence number.
    pub seq: u16,
    /// When it came, in ticks of 250 µs from the report's reference time; `None` if it has not come
    /// so far.
    pub arrival: Option<i64>,
}

/// A report known to be whole.
#[derive(Debug, Clone, Copy)]
pub struct TwccReport<'a> {
    /// SSRC of the sender of the report.
    pub sender_ssrc: u32,
    /// SSRC of the media source; any of those on the transport.
    pub media_ssrc: u32,
    /// The first sequence number reported.
    pub base_seq: u16,
    /// Packets reported.
    pub count: u16,
    /// The 24-bit reference time, in 64 ms.
    pub reference_time: u32,
    /// Number of the report, modulo 256.
    pub feedback_count: u8,
    chunks: ByteReader<'a>,
    deltas: ByteReader<'a>,
}

/// Reads one RTCP packet. No work or memory depends on a length that has not been checked; a report
/// has at most 65535 packets.
///
/// # Errors
/// [`DecodeError`] if it is another message, is cut short, or uses the reserved symbol.
pub fn decode(bytes: &[u8]) -> Result<TwccReport<'_>, DecodeError> {
    let mut at = RtcpPacket::feedback(bytes, FORMAT)?;
    let (sender_ssrc, media_ssrc) = (at.u32()?, at.u32()?);
    let (base_seq, count) = (at.u16()?, at.u16()?);
    let (reference_time, feedback_count) = (at.u24()?, at.u8()?);
    let chunks = at;
    let mut symbols = Symbols { at, left: count, chunk: Chunk::default() };
    let mut delta_bytes = 0;
    while let Some(symbol) = symbols.next()? {
        delta_bytes += symbol.delta_bytes();
    }
    let deltas = symbols.at;
    symbols.at.take(delta_bytes)?;
    Ok(TwccReport {
        sender_ssrc,
        media_ssrc,
        base_seq,
        count,
        reference_time,
        feedback_count,
        chunks,
        deltas,
    })
}

impl<'a> TwccReport<'a> {
    /// The packets in order of sequence.
    pub fn packets(&self) -> impl Iterator<Item = PacketStatus> + use<'a> {
        let mut symbols = Symbols { at: self.chunks, left: self.count, chunk: Chunk::default() };
        let (mut deltas, mut ticks) = (self.deltas, 0i64);
        let mut seq = self.base_seq;
        core::iter::from_fn(move || {
            // All of it was read once by `decode`, so errors cannot come up here; they would end
            // the report.
            let symbol = symbols.next().ok()??;
            let delta = match symbol {
                Symbol::NotReceived => None,
                Symbol::Small => Some(i64::from(deltas.u8().ok()?)),
                Symbol::Large => Some(i64::from(deltas.i16().ok()?)),
            };
            let arrival = delta.map(|delta| {
                ticks += delta;
                ticks
            });
            let status = PacketStatus { seq, arrival };
            seq = seq.wrapping_add(1);
            Some(status)
        })
    }
}

/// Symbol of one packet in a report: not received, or received with a delta of one or two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symbol {
    NotReceived,
    /// It came, with a delta of one byte, not negative.
    Small,
    /// It came, with a delta of two bytes.
    Large,
}

impl Symbol {
    const fn delta_bytes(self) -> usize {
        match self {
            Self::NotReceived => 0,
            Self::Small => 1,
            Self::Large => 2,
        }
    }

    const fn bits(self) -> u16 {
        match self {
            Self::NotReceived => 0,
            Self::Small => 1,
            Self::Large => 2,
        }
    }

    const fn from_bits(bits: u16) -> Option<Self> {
        match bits & 3 {
            0 => Some(Self::NotReceived),
            1 => Some(Self::Small),
            2 => Some(Self::Large),
            _ => None,
        }
    }
}

/// Symbols still to come from the chunk at hand: `left` of them, each in the top `width` bits, or
/// all the same.
#[derive(Debug, Clone, Copy, Default)]
struct Chunk {
    bits: u16,
    /// 0 for a run of one symbol.
    width: u8,
    left: u16,
}

/// A run length chunk: a zero bit, two of symbol, 13 of length. A status vector chunk: a one bit, a
/// bit of size, then 14 symbols of one bit or 7 of two.
#[derive(Debug, Clone, Copy)]
struct Symbols<'a> {
    at: ByteReader<'a>,
    left: u16,
    chunk: Chunk,
}

impl Symbols<'_> {
    fn next(&mut self) -> Result<Option<Symbol>, DecodeError> {
        if self.left == 0 {
            return Ok(None);
        }
        while self.chunk.left == 0 {
            let bits = self.at.u16()?;
            self.chunk = match bits >> 14 {
                0 | 1 => Chunk { bits: bits >> 13, width: 0, left: bits & 0x1FFF },
                2 => Chunk { bits: bits << 2, width: 1, left: 14 },
                _ => Chunk { bits: bits << 2, width: 2, left: 7 },
            };
        }
        let bits = match self.chunk.width {
            0 => self.chunk.bits,
            width => self.chunk.bits >> (16 - width),
        };
        let symbol = Symbol::from_bits(bits);
        self.chunk.bits = if self.chunk.width == 0 { bits } else { self.chunk.bits << self.chunk.width };
        self.chunk.left -= 1;
        self.left -= 1;
        let reserved =
            DecodeError { kind: ErrorKind::ReservedSymbol, offset: self.at.offset().saturating_sub(2) };
        symbol.map(Some).ok_or(reserved)
    }
}
