//! TCP-Friendly Rate Control (RFC 5348): how fast a datagram sender may go beside TCP.
//!
//! Sans-IO machines: time and packets are given, decisions are answered. Nothing here allocates, reads a clock or
//! panics on anything a peer may say; the same inputs give the same answers on every platform.
//!
//! * [`Receiver`] takes in packets as they arrive and says when to send which [`Report`].
//! * [`Sender`] takes in those reports and says how fast, and when the next packet may go.
//! * [`Advisor`] is both in one, at the sender, for transports whose receivers report packets one by one (RFC 5348 §7).
//!
//! [`Settings`] hold what somebody who sends would set; the default is RFC 5348. The algorithm that a
//! paper studied is one of them, and its choices are in [`study`].
//!
//! ```
//! use tfrc::{Config, Feedback, LossReport, PacketCount, SendDecision, Sender};
//! use tfrc_units::{Duration, Instant, Probability, Rate};
//!
//! let mut sender = Sender::new(&Config::default());
//! let start = Instant::ZERO;
//! assert_eq!(sender.next_send(start), SendDecision::Now);
//! sender.on_sent(start, 1460);
//! // Before the first feedback: one packet a second.
//! assert_eq!(sender.next_send(start), SendDecision::At(start + Duration::from_secs(1)));
//!
//! let now = start + Duration::from_millis(100);
//! sender.on_feedback(now, Feedback {
//!     newest_sent_at: start,
//!     elapsed: Duration::ZERO,
//!     receive_rate: Rate::ZERO,
//!     loss_event_rate: Probability::ZERO,
//!     losses: LossReport::NoNewLoss,
//!     count: PacketCount::Unknown,
//! });
//! // Then 4380 bytes per round-trip time.
//! assert_eq!(sender.allowed_rate(), Rate::of(4380.0, Duration::from_millis(100)));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod advisor;
pub mod config;
mod count;
mod decision;
pub mod equation;
pub mod guard;
pub mod history;
mod receiver;
mod ring;
mod sender;
pub mod study;

pub use advisor::Advisor;
pub use config::{Config, ConfigError, Settings};
pub use count::PacketCount;
pub use decision::{RateChange, RateReason, SendDecision, Wake, WakeReason};
pub use receiver::{Arrival, FeedbackReason, PacketKind, Receiver, Report};
pub use sender::{Feedback, LossReport, Sender};
