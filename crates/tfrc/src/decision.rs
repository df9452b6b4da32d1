//! Decisions for the host: when to send, when to wake up, what changed.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
#[cfg(feature = "schema")]
use serde::{Deserialize, Serialize};
use tfrc_units::{Duration, Instant, Rate};

use crate::guard::Trip;

/// When the next packet may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendDecision {
    /// Now.
    Now,
    /// Not before this time. It may come sooner if the allowed rate rises: ask again after every
    /// input.
    At(Instant),
    /// Not at all: a circuit breaker or the stop rule has struck.
    /// [`Sender::resume`](crate::Sender::resume) restarts. Rate control alone always allows one
    /// packet in 64 s.
    Stopped(Trip),
}

/// The next time at which `handle_timeout` wants to be called. Late, early and repeated calls do no
/// harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The time of the timer.
    pub at: Instant,
    /// The purpose.
    pub reason: WakeReason,
}

/// Purpose of a timer of the rate control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WakeReason {
    /// The receiver's feedback timer (RFC 5348 §6.2).
    Feedback,
    /// The sender's nofeedback timer (RFC 5348 §4.4).
    NoFeedback,
    /// The circuit breaker's feedback timeout (RFC 8083 §4.1), or the end of a pause
    /// (RFC 3714 §5.3).
    Guard,
}

/// A change of the allowed sending rate X.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateChange {
    /// The time of the change.
    pub at: Instant,
    /// X before the change.
    pub from: Rate,
    /// X after the change.
    pub to: Rate,
    /// The reason of the change.
    pub reason: RateReason,
    /// The round-trip time estimate R, once there is one.
    pub rtt: Option<Duration>,
}

/// Reason why packets leave at no higher rate, in one word for a user who asks.
/// [`RateReason`] is the rule that set X last, whether or not the application uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Limit {
    /// The beginning: the rate doubles each round-trip time (RFC 5348 §4.2, §4.3).
    SlowStart,
    /// The throughput equation, that is: losses (§4.3 step 4).
    Equation,
    /// Twice the rate that arrives, or the like of §4.3's data-limited rules.
    ReceiveRate,
    /// Feedback has not come (§4.4).
    NoFeedback,
    /// The least rate that the settings allow.
    Floor,
    /// The rate that the network has promised (gTFRC).
    Guarantee,
    /// The bound on the queueing delay: the queue is as long as it may be.
    Queue,
    /// Others keep the queue longer than the bound on the queueing delay: the flow takes what
    /// RFC 5348 allows until they are gone.
    Competition,
    /// The application: its cap, or little data.
    Application,
    /// A circuit breaker or the stop rule: nothing may be sent.
    Stopped,
}

impl From<RateReason> for Limit {
    fn from(reason: RateReason) -> Self {
        match reason {
            RateReason::Initial | RateReason::SlowStart => Self::SlowStart,
            RateReason::Equation => Self::Equation,
            RateReason::ReceiveLimit => Self::ReceiveRate,
            RateReason::NoFeedback => Self::NoFeedback,
            RateReason::Floor => Self::Floor,
            RateReason::Guarantee => Self::Guarantee,
            RateReason::QueueDelay => Self::Queue,
            RateReason::Stopped(_) => Self::Stopped,
        }
    }
}

/// Rule that determined the allowed rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateReason {
    /// The first round-trip time sample gave the initial rate (RFC 5348 §4.2).
    Initial,
    /// No loss event yet, and a round-trip time has passed since the last doubling (§4.3 step 4).
    SlowStart,
    /// The throughput equation (§4.3 step 4).
    Equation,
    /// Twice the receive rate, or the like of §4.3's data-limited rules.
    ReceiveLimit,
    /// The nofeedback timer expired (§4.4).
    NoFeedback,
    /// The configured floor, by default one packet in 64 s (§4.3).
    Floor,
    /// The rate that the network has promised (gTFRC).
    Guarantee,
    /// The queueing delay is longer than the flow may make it (`max_queue_delay`).
    QueueDelay,
    /// Nothing may be sent: a circuit breaker or the stop rule has struck.
    Stopped(Trip),
}
