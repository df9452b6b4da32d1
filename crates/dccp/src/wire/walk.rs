//! The options of a packet in order, with the rules about where each may stand (RFC 4340 §5.8,
//! tables 3; §5.8.2).

use super::option::{Opt, kind};
use super::{OptionError, PacketType, RawOption, RawOptions};

/// The options of a packet of type `packet`, as they are to be processed.
///
/// Padding is left out, as is everything that must be ignored on a Data packet. A nonsensical
/// length ends the walk (see [`Walk::error`]).
#[must_use]
pub const fn options(packet: PacketType, space: &[u8]) -> Walk<'_> {
    Walk { packet, raw: RawOptions::new(space), error: None }
}

/// One option with the weight it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// The option as it stood on the wire.
    pub raw: RawOption<'a>,
    /// True if it was preceded by Mandatory: then an option that is not processed must reset the
    /// connection.
    pub mandatory: bool,
    /// The option decoded, or the reason why it must not be processed.
    pub option: Result<Opt<'a>, Refusal>,
}

/// Why an option is not processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The type is unknown here.
    Unknown,
    /// Its data is invalid for its type.
    Invalid,
    /// It does not belong on this type of packet.
    Misplaced,
}

/// Mandatory with nothing, or another Mandatory, after it: the connection is in error
/// (RFC 4340 §5.8.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset} of the options: Mandatory needs an option after it")]
pub struct MandatoryMisplaced {
    /// Where the Mandatory option stands.
    pub offset: usize,
}

/// Iterates over the options of a packet; made by [`options`].
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    packet: PacketType,
    raw: RawOptions<'a>,
    error: Option<OptionError>,
}

impl<'a> Walk<'a> {
    /// The nonsensical length that ended the walk, if one did.
    #[must_use]
    pub const fn error(&self) -> Option<OptionError> {
        self.error
    }

    #[inline]
    fn next_raw(&mut self) -> Option<RawOption<'a>> {
        match self.raw.next()? {
            Ok(raw) => Some(raw),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Item<'a>, MandatoryMisplaced>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut raw = self.next_raw()?;
            let mut mandatory = false;
            if raw.kind == kind::MANDATORY {
                if self.packet == PacketType::Data {
                    continue;
                }
                let misplaced = MandatoryMisplaced { offset: raw.offset };
                match self.next_raw() {
                    Some(next) if next.kind != kind::MANDATORY => raw = next,
                    _ => return Some(Err(misplaced)),
                }
                mandatory = true;
            }
            let place = place(self.packet, raw.kind);
            if raw.kind == kind::PADDING || place == OptionRule::Ignored {
                continue;
            }
            let option = match Opt::parse(raw.kind, raw.data) {
                None => Err(Refusal::Unknown),
                Some(_) if place == OptionRule::Misplaced => Err(Refusal::Misplaced),
                Some(None) => Err(Refusal::Invalid),
                Some(Some(option)) => Ok(option),
            };
            return Some(Ok(Item { raw, mandatory, option }));
        }
    }
}

/// Verdict on the place of an option: right or wrong for its packet's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionRule {
    Right,
    Misplaced,
    /// As misplaced, but on a Data packet, where that has no consequence at all (RFC 4340 §7.5.5).
    Ignored,
}

#[inline]
fn place(packet: PacketType, option: u8) -> OptionRule {
    // RFC 4340 §8.1.4, RFC 4340 §11, RFC 4340 §11.4, RFC 4340 §11.7, RFC 4340 §13.2,
    // RFC 4342 §8.6.1.
    let needs_ack = matches!(
        option,
        33 | 35
            | kind::ACK_VECTOR_0
            | kind::ACK_VECTOR_1
            | kind::DATA_DROPPED
            | kind::ELAPSED_TIME
            | kind::LOSS_INTERVALS
            | kind::DROPPED_PACKETS
            | kind::INIT_COOKIE
    );
    match packet {
        // RFC 4340 §6, RFC 4342 §8, RFC 4342 §8.3, RFC 4342 §8.5, RFC 4342 §8.6.
        PacketType::Data => match option {
            kind::PADDING
            | kind::SLOW_RECEIVER
            | kind::NDP_COUNT
            | kind::TIMESTAMP
            | kind::TIMESTAMP_ECHO
            // RFC 5622 §8.
            | kind::DATA_CHECKSUM
            | kind::RTT_ESTIMATE => OptionRule::Right,
            _ => OptionRule::Ignored,
        },
        PacketType::Request if needs_ack => OptionRule::Misplaced,
        _ => OptionRule::Right,
    }
}
