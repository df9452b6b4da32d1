//! Rules that stop sending altogether.
//!
//! * The circuit breaker of RFC 8083, on by default together with a guarantee
//!   ([`Promise`](crate::config::Promise)): a sender that does not slow down below a promised rate
//!   needs something that notices a broken or badly congested path.
//! * The stop rule of RFC 3714, for an application that has a least rate: TCP at the same loss
//!   would send less.
//! * [`SizeAdvice`] for applications that can still make their packets smaller (RFC 4828 §6).

mod advice;
mod breaker;
mod fraction;
mod stop;
#[cfg(test)]
mod tests;

use core::fmt;

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};
use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::config::Settings;
use crate::count::PacketCount;
use crate::rare::{Rare, rare};

pub use advice::{Advice, AdviceError, MAX_SIZES, SizeAdvice, SizeAdviceSettings};
pub use breaker::{BreakerLimits, CircuitBreaker};
pub use stop::{AfterStop, MinimumRate, StopRule};

use breaker::Breaker;
use fraction::SenderRecord;
use stop::Stop;

/// Why a sender has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Trip {
    /// Packets are sent and no feedback comes back (RFC 8083 §4.1).
    FeedbackTimeout,
    /// Feedback comes back and says that nothing arrives (RFC 8083 §4.2).
    MediaTimeout,
    /// More than ten times what a TCP would send on this path (RFC 8083 §4.3).
    Congestion,
    /// The persistent loss rate is too high for the application's least rate (RFC 3714 §5).
    DropRate,
}

impl fmt::Display for Trip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FeedbackTimeout => "no feedback although packets were sent",
            Self::MediaTimeout => "feedback says that no packet arrives",
            Self::Congestion => "sending more than ten times what TCP would",
            Self::DropRate => "the loss rate is too high for the least rate of the application",
        })
    }
}

/// A sender that has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The rule that struck.
    pub trip: Trip,
    /// The time at which it struck.
    pub at: Instant,
    /// The earliest restart.
    pub resume_at: Instant,
    /// The restart: automatic at that time, or by the application.
    pub after: AfterStop,
}

/// A stopped sender may not restart yet, or has not stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResumeError {
    /// Not before this time: a stop lasts at least as long as what caused it (RFC 8083 §4.5).
    TooEarly(Instant),
    /// It has not stopped.
    NotStopped,
}

impl fmt::Display for ResumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooEarly(at) => {
                write!(f, "too early to resume: wait until {:.3} s", at.as_secs_f64())
            }
            Self::NotStopped => f.write_str("the sender has not stopped"),
        }
    }
}

impl core::error::Error for ResumeError {}

/// Feedback, as far as the guard needs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    /// When the newest packet that arrived was sent.
    pub(crate) newest_sent_at: Instant,
    pub(crate) p: Probability,
    pub(crate) receive_rate: Rate,
    pub(crate) count: PacketCount,
    pub(crate) rtt: Duration,
    /// s, bytes.
    pub(crate) segment: f64,
}

/// Both rules, if there are any: few connections have one.
#[derive(Debug, Clone)]
pub(crate) struct Guard(Option<Rare<Watch>>);

/// The rules in force, their record, and whether one of them has struck.
#[derive(Debug, Clone)]
struct Watch {
    breaker: Option<Breaker>,
    stop: Option<Stop>,
    record: SenderRecord,
    stopped: Option<Stopped>,
}

impl Guard {
    pub(crate) fn new(settings: &Settings) -> Self {
        let guarded = settings.circuit_breaker.is_in_force(settings.guarantee);
        let breaker = guarded.then(|| Breaker::new(settings.breaker_limits));
        let stop = settings.stop_rule.minimum().map(Stop::new);
        let watches = breaker.is_some() || stop.is_some();
        Self(watches.then(|| rare(Watch { breaker, stop, record: SenderRecord::new(), stopped: None })))
    }

    /// Returns true if a circuit breaker or a stop rule is in force.
    pub(crate) const fn watches(&self) -> bool {
        self.0.is_some()
    }

    /// Notes a packet; at the rate in force the next one follows after `spacing`. Sending ends an
    /// expired suspension.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u32, spacing: Duration) {
        let Some(watch) = &mut self.0 else { return };
        watch.resume_if_due(now);
        watch.record.on_sent(now, size);
        if let Some(breaker) = &mut watch.breaker {
            breaker.on_sent(now, size, spacing);
        }
        if let Some(stop) = &mut watch.stop {
            stop.on_sent(now, size);
        }
    }

    pub(crate) fn on_feedback(&mut self, now: Instant, heard: Heard) {
        let Some(watch) = &mut self.0 else { return };
        let sums = watch.record.on_feedback(now, &heard);
        if watch.stopped.is_some() {
            return;
        }
        let broken = watch.breaker.as_mut().and_then(|breaker| breaker.on_feedback(now, heard, sums));
        let below = watch.stop.as_mut().and_then(|stop| stop.on_feedback(now, heard, sums));
        watch.stopped = broken.or(below);
    }

    /// Serves the timers: a feedback timeout strikes, a suspension ends.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let Some(watch) = &mut self.0 else { return };
        watch.resume_if_due(now);
        if watch.stopped.is_none() {
            watch.stopped = watch.breaker.as_mut().and_then(|breaker| breaker.on_time(now));
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let watch = self.0.as_ref()?;
        match watch.stopped {
            Some(stopped) => (stopped.after == AfterStop::Suspend).then_some(stopped.resume_at),
            None => watch.breaker.as_ref().and_then(Breaker::deadline),
        }
    }

    #[inline]
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.0.as_ref().and_then(|watch| watch.stopped)
    }

    pub(crate) fn resume(&mut self, now: Instant) -> Result<(), ResumeError> {
        let stopped = self.stopped().ok_or(ResumeError::NotStopped)?;
        if now < stopped.resume_at {
            return Err(ResumeError::TooEarly(stopped.resume_at));
        }
        if let Some(watch) = &mut self.0 {
            watch.begin_again();
        }
        Ok(())
    }
}

impl Watch {
    fn resume_if_due(&mut self, now: Instant) {
        if self.stopped.is_some_and(|s| s.after == AfterStop::Suspend && s.resume_at <= now) {
            self.begin_again();
        }
    }

    /// Restarts the measurement: older measurements say nothing about the time after a stop.
    fn begin_again(&mut self) {
        self.stopped = None;
        self.breaker = self.breaker.as_ref().map(Breaker::afresh);
        self.stop = self.stop.as_ref().map(Stop::afresh);
    }
}
