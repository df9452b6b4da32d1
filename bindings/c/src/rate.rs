//! The allowed rate of a sender or an advisor: limits, changes, stops.

use tfrc::ConfigError;
use tfrc::config::RateCap;
use tfrc::guard::Stopped;
use tfrc_units::{Duration, Rate};

use crate::status::Status;
use crate::values::{NEVER, cap, rate};

/// Why a sender has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Trip {
    /// It has not.
    None = 0,
    /// Packets are sent and no feedback comes back (RFC 8083 §4.1).
    FeedbackTimeout = 1,
    /// Feedback says that nothing arrives (RFC 8083 §4.2).
    MediaTimeout = 2,
    /// More than ten times what a TCP would send (RFC 8083 §4.3).
    Congestion = 3,
    /// The loss rate is too high for the application's least rate (RFC 3714 §5).
    DropRate = 4,
    /// A reason that this library is older than.
    Other = 5,
}

/// The rule that set the allowed rate last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum RateReason {
    /// There is no sender.
    None = 0,
    /// The first round-trip time gave the initial rate (RFC 5348 §4.2).
    Initial = 1,
    /// Slow start: no loss event yet (§4.3).
    SlowStart = 2,
    /// The throughput equation (§4.3).
    Equation = 3,
    /// Twice the receive rate, or the like (§4.3).
    ReceiveLimit = 4,
    /// The nofeedback timer expired (§4.4).
    NoFeedback = 5,
    /// One packet in 64 s (§4.3).
    Floor = 6,
    /// The rate that the network has promised.
    Guarantee = 7,
    /// A circuit breaker or the stop rule has struck.
    Stopped = 8,
    /// A rule that this library is older than.
    Other = 9,
    /// The queueing delay is longer than the flow may make it.
    QueueDelay = 10,
}

/// A change of the allowed sending rate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct RateChange {
    /// When, ns.
    pub at: u64,
    /// The rate before, bit/s.
    pub from_bps: f64,
    /// The rate now, bit/s.
    pub to_bps: f64,
    /// R, ns; `TFRC_NEVER` before the first sample.
    pub rtt: u64,
    /// The rule that set the rate.
    pub reason: RateReason,
}

/// Sets a cap from C.
pub(crate) fn set_cap(bps: f64, set: impl FnOnce(RateCap) -> Result<(), ConfigError>) -> Status {
    if cap(bps).is_some_and(|cap| set(cap).is_ok()) { Status::Ok } else { Status::Range }
}

/// Sets a floor from C.
pub(crate) fn set_floor(bps: f64, set: impl FnOnce(Rate)) -> Status {
    rate(bps).map(set).map_or(Status::Range, |()| Status::Ok)
}

/// Writes an event, if there is one.
pub(crate) fn poll_event(change: Option<tfrc::RateChange>, event: &mut RateChange) -> Status {
    let Some(change) = change else { return Status::Nothing };
    *event = RateChange {
        at: change.at.as_nanos(),
        from_bps: change.from.bits_per_sec(),
        to_bps: change.to.bits_per_sec(),
        rtt: change.rtt.map_or(NEVER, Duration::as_nanos),
        reason: change.reason.into(),
    };
    Status::Ok
}

/// The reason of a stop.
pub(crate) fn trip(stopped: Option<Stopped>) -> Trip {
    stopped.map_or(Trip::None, |stopped| match stopped.trip {
        tfrc::guard::Trip::FeedbackTimeout => Trip::FeedbackTimeout,
        tfrc::guard::Trip::MediaTimeout => Trip::MediaTimeout,
        tfrc::guard::Trip::Congestion => Trip::Congestion,
        tfrc::guard::Trip::DropRate => Trip::DropRate,
        _ => Trip::Other,
    })
}

impl From<tfrc::RateReason> for RateReason {
    fn from(reason: tfrc::RateReason) -> Self {
        use tfrc::RateReason as Core;
        match reason {
            Core::Initial => Self::Initial,
            Core::SlowStart => Self::SlowStart,
            Core::Equation => Self::Equation,
            Core::ReceiveLimit => Self::ReceiveLimit,
            Core::NoFeedback => Self::NoFeedback,
            Core::Floor => Self::Floor,
            Core::Guarantee => Self::Guarantee,
            Core::QueueDelay => Self::QueueDelay,
            Core::Stopped(_) => Self::Stopped,
            _ => Self::Other,
        }
    }
}
