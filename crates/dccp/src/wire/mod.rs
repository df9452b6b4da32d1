//! Packets and options of DCCP, parsed and emitted (RFC 4340 §5, 6, 7.7, 8.1.4, 9, 11, 13;
//! RFC 4342 §8; RFC 5622 §8.7; RFC 6323 §3.2).
//!
//! [`Packet::parse`] checks a datagram as step 1 of RFC 4340 §8.5 asks; what it returns is legal,
//! and what is legal can be emitted. Option space is walked by [`options`], which applies the rules
//! of §5.8 and never fails on what a peer sent: it stops, or says what was not understood.

mod ackvec;
mod bytes;
mod checksum;
mod dropped;
mod drops;
mod elapsed;
mod feature;
mod interval;
mod option;
mod packet;
mod quoted;
mod raw;
mod reset;
mod rtt;
mod service;
mod walk;

#[cfg(test)]
mod tests;

pub use ackvec::{AckVector, CellState, Nonce, PacketRun};
pub use checksum::{Integrity, PseudoHeader};
pub use dropped::{DataDropped, DropBlock, DropCode};
pub use drops::DroppedPackets;
pub use elapsed::Elapsed;
pub use feature::{FeatureOp, FeatureOption};
pub use interval::{LossInterval, LossIntervals};
pub use option::{Opt, OptionList, OptionsFull};
pub use packet::{EmitError, Header, Packet, PacketType, ParseError, SeqAck, Sequence, seal};
pub use quoted::Quoted;
pub use raw::{OptionError, OptionErrorKind, RawOption, RawOptions};
pub use reset::{Reset, ResetCode};
pub use rtt::RttEstimate;
pub use service::ServiceCode;
pub use walk::{Item, MandatoryMisplaced, Refusal, Walk, options};

pub(crate) use bytes::be as number_of;
pub(crate) use option::kind as option_kind;
