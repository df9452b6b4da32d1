//! CCID 3, TFRC (RFC 4342 read with RFC 5348 and RFC 6323): how the state machines of the `tfrc` crate speak DCCP.
//!
//! A half-connection has a sender at one end, [`DataSender`], and a receiver at the other, [`DataReceiver`]. An end of a
//! connection has one of each.

mod counter;
mod intervals;
mod receiver;
mod receiver_rtt;
mod sender;
mod sent;

pub(crate) use receiver::{DataReceiver, RttSource, Seen};
pub(crate) use sender::{DataSender, FeedbackOptions, Verdict};
pub(crate) use sent::SentKind;
