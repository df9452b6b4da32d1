//! TCP-Friendly Rate Control (RFC 5348): how fast a datagram sender may go when it competes with
//! TCP.
//!
//! Sans-IO machines: they take time and packets and return decisions. Nothing here allocates,
//! reads a clock or panics on any input of a peer; the same inputs give the same answers on
//! every platform.
//!
//! * [`Receiver`] takes in packets as they arrive and says when to send which [`Report`].
//! * [`Sender`] takes in those reports and says how fast, and when the next packet may go.
//! * [`SentRecord`] connects the two: it knows when the packet that a report names was sent.
//! * [`Advisor`] is both in one, at the sender, for transports whose receivers report packets one
//!   by one (RFC 5348 §7).
//!
//! [`Settings`] hold what the user of a sender would set; the default is RFC 5348. The algorithm
//! that a paper studied is one of them, and its choices are in [`study`].
//!
//! A packet and its report, 50 ms each way:
//!
//! ```
//! use tfrc::{Arrival, Config, PacketKind, Receiver, SendDecision, Sender, SentRecord};
//! use tfrc_units::{Duration, Ecn, Instant, Rate};
//!
//! let config = Config::default();
//! let (mut sender, mut record) = (Sender::new(&config), SentRecord::new());
//! let mut receiver = Receiver::new(&config);
//! let mut now = Instant::ZERO;
//! assert_eq!(sender.next_send(now), SendDecision::Now);
//! sender.on_sent(now, 1460);
//! let seq = record.on_sent(now);
//! // Before the first feedback: one packet a second.
//! assert_eq!(sender.next_send(now), SendDecision::At(now + Duration::from_secs(1)));
//!
//! now += Duration::from_millis(50);
//! receiver.on_packet(now, Arrival {
//!     seq,
//!     size: 1460,
//!     ecn: Ecn::NotEct,
//!     rtt: sender.rtt(),
//!     window_counter: 0,
//!     kind: PacketKind::Data,
//!     non_data_before: 0,
//! });
//! let report = receiver.poll_feedback(now).ok_or("the first packet is reported at once")?;
//!
//! now += Duration::from_millis(50);
//! let feedback = record.feedback(&report).ok_or("the packet was sent")?;
//! sender.on_feedback(now, feedback);
//! // Then 4380 bytes per round-trip time.
//! assert_eq!(sender.allowed_rate(), Rate::of(4380.0, Duration::from_millis(100)));
//! # Ok::<(), &'static str>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

/// Programs of the crate's front page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FrontPage;

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod advisor;
mod clock;
pub mod config;
mod count;
mod decision;
mod ecn;
pub mod equation;
pub mod guard;
pub mod history;
mod interval;
mod rare;
mod receiver;
mod recent;
mod ring;
mod sender;
mod sent_record;
pub mod study;

pub use advisor::Advisor;
pub use config::{Config, ConfigError, Settings};
pub use count::PacketCount;
pub use decision::{Limit, RateChange, RateReason, SendDecision, Wake, WakeReason};
pub use ecn::{EcnFault, EcnWatch};
pub use receiver::{Arrival, FeedbackReason, PacketKind, Receiver, Report};
pub use sender::{Feedback, LossReport, Sender};
pub use sent_record::SentRecord;
