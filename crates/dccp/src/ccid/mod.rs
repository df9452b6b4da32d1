//! CCID 3, TFRC (RFC 4342 read with RFC 5348 and RFC 6323), and CCID 4, TFRC-SP (RFC 5622): how the
//! state machines of the `tfrc` crate speak DCCP. Both are the same code; [`ccid4`] has what
//! differs.
//!
//! A half-connection has a sender at one end, [`DataSender`], and a receiver at the other,
//! [`DataReceiver`]. An end of a connection has one of each.

mod ccid4;
mod corrupt;
mod counter;
mod identifier;
mod intervals;
mod losses;
mod receiver;
mod receiver_rtt;
mod sender;
mod sent;
mod skip;
mod verify;

pub(crate) use ccid4::path_mss;
pub use identifier::Ccid;
pub(crate) use receiver::{ConnectionPacket, DataReceiver, RttSource};
pub(crate) use sender::{DataSender, FeedbackOptions, FeedbackVerdict};
pub(crate) use sent::SentKind;
pub use skip::SkippedNumbers;
pub(crate) use skip::Skipper;
pub use verify::Verification;
