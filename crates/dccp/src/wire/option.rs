//! Options with their meaning, parsed and emitted.

use alloc::vec::Vec;

use super::bytes::{be, bytes_needed, push_be, u16_at, u32_at, u32_exact};
use super::{
    AckVector, DataDropped, DroppedPackets, Elapsed, FeatureOp, FeatureOption, LossIntervals, Nonce,
    RttEstimate,
};

/// An option that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opt<'a> {
    /// 2: the receiver asks not to be sent more per second for about a round-trip time
    /// (RFC 4340 §11.6).
    SlowReceiver,
    /// 32 to 35: feature negotiation (§6).
    Feature(FeatureOption<'a>),
    /// 36: a piece of a server's Init Cookie (§8.1.4).
    InitCookie(&'a [u8]),
    /// 37: how many packets just before this one carried no data, below 2^48 (§7.7).
    NdpCount(u64),
    /// 38, 39: Ack Vector (§11.4).
    AckVector(AckVector<'a>),
    /// 40: Data Dropped (§11.7).
    DataDropped(DataDropped<'a>),
    /// 41: the sender's clock in units of 10 µs (§13.1).
    Timestamp(u32),
    /// 42: a timestamp received, and for how long it was held (§13.3).
    TimestampEcho {
        /// The timestamp, in units of 10 µs.
        value: u32,
        /// How long ago it arrived; absent means zero.
        elapsed: Option<Elapsed>,
    },
    /// 43: how long ago the packet with the Acknowledgement Number arrived (§13.2).
    ElapsedTime(Elapsed),
    /// 44: CRC-32c of the application data (§9.3).
    DataChecksum(u32),
    /// 126, one of the types for experiments (§19.3): a text of the application, in the Request or
    /// Response and in the Close. Peers that do not know it ignore it (§5.8).
    Note(&'a [u8]),
    /// 128, CCID 3 and 4: the sender's round-trip time (RFC 6323 §3.2).
    RttEstimate(RttEstimate),
    /// 192, CCID 3 and 4: 1/p rounded up, 2^32 − 1 for no loss yet (RFC 4342 §8.5).
    LossEventRate(u32),
    /// 193, CCID 3 and 4: the loss history (RFC 4342 §8.6).
    LossIntervals(LossIntervals<'a>),
    /// 194, CCID 3 and 4: bytes per second received (RFC 4342 §8.3).
    ReceiveRate(u32),
    /// 195, CCID 4: packets lost or marked in each loss interval (RFC 5622 §8.7).
    DroppedPackets(DroppedPackets<'a>),
}

/// Option types by number.
pub(crate) mod kind {
    // RFC 4340 §5.8.1.
    pub(crate) const PADDING: u8 = 0;
    pub(crate) const MANDATORY: u8 = 1;
    pub(crate) const SLOW_RECEIVER: u8 = 2;
    pub(crate) const INIT_COOKIE: u8 = 36;
    pub(crate) const NDP_COUNT: u8 = 37;
    pub(crate) const ACK_VECTOR_0: u8 = 38;
    pub(crate) const ACK_VECTOR_1: u8 = 39;
    pub(crate) const DATA_DROPPED: u8 = 40;
    pub(crate) const TIMESTAMP: u8 = 41;
    pub(crate) const TIMESTAMP_ECHO: u8 = 42;
    pub(crate) const ELAPSED_TIME: u8 = 43;
    pub(crate) const DATA_CHECKSUM: u8 = 44;
    pub(crate) const NOTE: u8 = 126;
    pub(crate) const RTT_ESTIMATE: u8 = 128;
    pub(crate) const LOSS_EVENT_RATE: u8 = 192;
    pub(crate) const LOSS_INTERVALS: u8 = 193;
    pub(crate) const RECEIVE_RATE: u8 = 194;
    pub(crate) const DROPPED_PACKETS: u8 = 195;
}

impl<'a> Opt<'a> {
    /// Parses option `kind` with `data`: `None` if the type is unknown, `Some(None)` if the data is
    /// invalid for it.
    #[inline]
    pub(super) fn parse(kind: u8, data: &'a [u8]) -> Option<Option<Self>> {
        if let Some(op) = FeatureOp::from_kind(kind) {
            return Some(FeatureOption::parse(op, data).map(Self::Feature));
        }
        Some(match kind {
            kind::SLOW_RECEIVER => Some(Self::SlowReceiver),
            kind::INIT_COOKIE => Some(Self::InitCookie(data)),
            kind::NDP_COUNT => (1..=6).contains(&data.len()).then(|| Self::NdpCount(be(data))),
            kind::ACK_VECTOR_0 => Some(Self::AckVector(AckVector { nonce: Nonce::Zero, cells: data })),
            kind::ACK_VECTOR_1 => Some(Self::AckVector(AckVector { nonce: Nonce::One, cells: data })),
            kind::DATA_DROPPED => Some(Self::DataDropped(DataDropped { blocks: data })),
            kind::TIMESTAMP => u32_exact(data).map(Self::Timestamp),
            kind::TIMESTAMP_ECHO => parse_echo(data),
            kind::ELAPSED_TIME => match data.len() {
                2 => u16_at(data, 0).map(|units| Self::ElapsedTime(Elapsed::from_units(u32::from(units)))),
                _ => u32_exact(data).map(|units| Self::ElapsedTime(Elapsed::from_units(units))),
            },
            kind::DATA_CHECKSUM => u32_exact(data).map(Self::DataChecksum),
            kind::NOTE => Some(Self::Note(data)),
            kind::RTT_ESTIMATE => RttEstimate::parse(data).map(Self::RttEstimate),
            kind::LOSS_EVENT_RATE => u32_exact(data).map(Self::LossEventRate),
            kind::LOSS_INTERVALS => LossIntervals::parse(data).map(Self::LossIntervals),
            kind::RECEIVE_RATE => u32_exact(data).map(Self::ReceiveRate),
            kind::DROPPED_PACKETS => DroppedPackets::parse(data).map(Self::DroppedPackets),
            _ => return None,
        })
    }

    /// Its option type.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::SlowReceiver => kind::SLOW_RECEIVER,
            Self::Feature(feature) => feature.op.kind(),
            Self::InitCookie(_) => kind::INIT_COOKIE,
            Self::NdpCount(_) => kind::NDP_COUNT,
            Self::AckVector(AckVector { nonce: Nonce::Zero, .. }) => kind::ACK_VECTOR_0,
            Self::AckVector(AckVector { nonce: Nonce::One, .. }) => kind::ACK_VECTOR_1,
            Self::DataDropped(_) => kind::DATA_DROPPED,
            Self::Timestamp(_) => kind::TIMESTAMP,
            Self::TimestampEcho { .. } => kind::TIMESTAMP_ECHO,
            Self::ElapsedTime(_) => kind::ELAPSED_TIME,
            Self::DataChecksum(_) => kind::DATA_CHECKSUM,
            Self::Note(_) => kind::NOTE,
            Self::RttEstimate(_) => kind::RTT_ESTIMATE,
            Self::LossEventRate(_) => kind::LOSS_EVENT_RATE,
            Self::LossIntervals(_) => kind::LOSS_INTERVALS,
            Self::ReceiveRate(_) => kind::RECEIVE_RATE,
            Self::DroppedPackets(_) => kind::DROPPED_PACKETS,
        }
    }

    fn emit_data(&self, out: &mut Vec<u8>) {
        match self {
            Self::SlowReceiver => {}
            Self::Feature(FeatureOption { feature, values, .. }) => {
                out.push(*feature);
                out.extend_from_slice(values);
            }
            Self::InitCookie(data) | Self::Note(data) => out.extend_from_slice(data),
            // RFC 4340 §7.7.
            Self::NdpCount(n) => push_be(out, *n, bytes_needed(*n).min(6)),
            Self::AckVector(vector) => out.extend_from_slice(vector.cells),
            Self::DataDropped(dropped) => out.extend_from_slice(dropped.blocks),
            Self::Timestamp(n) | Self::DataChecksum(n) | Self::LossEventRate(n) | Self::ReceiveRate(n) => {
                push_be(out, u64::from(*n), 4);
            }
            Self::TimestampEcho { value, elapsed } => {
                push_be(out, u64::from(*value), 4);
                // RFC 4340 §13.3.
                if let Some(elapsed) = elapsed {
                    push_be(out, u64::from(elapsed.units()), elapsed.width());
                }
            }
            Self::ElapsedTime(elapsed) => push_be(out, u64::from(elapsed.units()), elapsed.width()),
            Self::RttEstimate(rtt) => {
                let n = u64::from(rtt.wire());
                // RFC 6323 §3.2.1.
                push_be(out, n, bytes_needed(n));
            }
            Self::LossIntervals(intervals) => {
                out.push(intervals.skip_length);
                out.extend_from_slice(intervals.cells());
            }
            Self::DroppedPackets(dropped) => dropped.emit(out),
        }
    }
}

fn parse_echo<'a>(data: &[u8]) -> Option<Opt<'a>> {
    let units = match data.len() {
        4 => None,
        6 => Some(u32::from(u16_at(data, 4)?)),
        8 => Some(u32_at(data, 4)?),
        _ => return None,
    };
    Some(Opt::TimestampEcho { value: u32_at(data, 0)?, elapsed: units.map(Elapsed::from_units) })
}

/// An option space being filled.
#[derive(Debug, Clone, Default)]
pub struct OptionList {
    bytes: Vec<u8>,
    limit: usize,
}

/// The option does not fit any more, or has more than 253 bytes of data; the list is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("option {kind} does not fit into the {left} bytes of option space left")]
pub struct OptionsFull {
    /// The option's type.
    pub kind: u8,
    /// Bytes still free.
    pub left: usize,
}

impl OptionList {
    /// Empty, for at most `limit` bytes, cut down to what a header can hold.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit: limit.min(Self::MAX) / 4 * 4 }
    }

    /// Bytes of options that fit into any header: 1020 less the longest fixed part.
    pub const MAX: usize = 1020 - 28;

    /// Appends an option.
    ///
    /// # Errors
    /// [`OptionsFull`] if it does not fit.
    #[inline(always)]
    pub fn push(&mut self, option: &Opt<'_>) -> Result<(), OptionsFull> {
        match *option {
            // The options of nearly every packet in one step.
            Opt::LossEventRate(n) | Opt::ReceiveRate(n) | Opt::Timestamp(n) => {
                let [a, b, c, d] = n.to_be_bytes();
                self.put([option.kind(), 6, a, b, c, d])
            }
            Opt::ElapsedTime(elapsed) => match u16::try_from(elapsed.units()) {
                Ok(units) => {
                    let [a, b] = units.to_be_bytes();
                    self.put([kind::ELAPSED_TIME, 4, a, b])
                }
                Err(_) => self.append(&[], option),
            },
            Opt::LossIntervals(intervals) => {
                self.put_with(option.kind(), intervals.skip_length, intervals.cells())
            }
            _ => self.append(&[], option),
        }
    }

    /// Appends an option that the peer must process or reset the connection (RFC 4340 §5.8.2).
    ///
    /// # Errors
    /// [`OptionsFull`] if it does not fit.
    pub fn push_mandatory(&mut self, option: &Opt<'_>) -> Result<(), OptionsFull> {
        self.append(&[kind::MANDATORY], option)
    }

    /// Empties the list and sets a new limit.
    pub fn reset(&mut self, limit: usize) {
        self.bytes.clear();
        self.limit = limit.min(Self::MAX) / 4 * 4;
    }

    /// Bytes still free.
    #[must_use]
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    /// Returns true if nothing was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Pads to a multiple of four bytes and gives the whole.
    #[must_use]
    pub fn padded(&mut self) -> &[u8] {
        // RFC 4340 §5.8.
        self.bytes.resize(self.bytes.len().next_multiple_of(4), kind::PADDING);
        &self.bytes
    }

    /// Appends an option whole: type, length, data.
    #[inline]
    fn put<const N: usize>(&mut self, option: [u8; N]) -> Result<(), OptionsFull> {
        if self.bytes.len() + N <= self.limit {
            self.bytes.extend_from_slice(&option);
            return Ok(());
        }
        let [kind, ..] = option.as_slice() else { return Ok(()) };
        Err(OptionsFull { kind: *kind, left: self.limit - self.bytes.len() })
    }

    /// Appends an option as [`Self::put`], with all of the data but its first byte in a slice of
    /// its own.
    fn put_with(&mut self, kind: u8, first: u8, rest: &[u8]) -> Result<(), OptionsFull> {
        let left = self.limit - self.bytes.len();
        match u8::try_from(rest.len() + 3) {
            Ok(length) if usize::from(length) <= left => {
                self.bytes.reserve(usize::from(length));
                self.bytes.extend_from_slice(&[kind, length, first]);
                self.bytes.extend_from_slice(rest);
                Ok(())
            }
            _ => Err(OptionsFull { kind, left }),
        }
    }

    fn append(&mut self, prefix: &[u8], option: &Opt<'_>) -> Result<(), OptionsFull> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(prefix);
        self.bytes.push(option.kind());
        let mut fits = true;
        if option.kind() >= 32 {
            let at = self.bytes.len();
            self.bytes.push(0);
            option.emit_data(&mut self.bytes);
            // The length counts the type byte, which stands just before `at`.
            let length = u8::try_from(self.bytes.len() - at + 1);
            fits = length.is_ok();
            if let (Ok(length), Some(field)) = (length, self.bytes.get_mut(at)) {
                *field = length;
            }
        }
        if fits && self.bytes.len() <= self.limit {
            return Ok(());
        }
        self.bytes.truncate(start);
        Err(OptionsFull { kind: option.kind(), left: self.limit - start })
    }
}
