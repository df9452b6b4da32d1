//! PIE, RFC 8033, decided at arrival (§5.2 allows it). The line's schedule says at any time how
//! long a packet would wait, so the periodic updates since the last arrival are made up for at the
//! next one, at their proper times.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};
use tfrc_units::{Duration, Instant, Probability};

use super::{Arrival, Limit, Marking, QueueState, QueueVerdict};
use crate::Stream;
use crate::trace::DropCause;

/// Proportional integral controller enhanced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pie {
    /// How much fits at all.
    pub limit: Limit,
    /// Delay to aim at: QDELAY_REF, 15 ms.
    pub target: Duration,
    /// Time between updates of the drop probability: T_UPDATE, 15 ms.
    pub update: Duration,
    /// How long a burst passes unharmed: MAX_BURST, 150 ms.
    pub max_burst: Duration,
    /// Weight of the distance from the target, per second; 1/8.
    pub alpha: f64,
    /// Weight of the trend, per second; 5/4.
    pub beta: f64,
    /// Bytes of a typical packet: while no more than two of them wait nothing is dropped.
    pub mean_packet: u32,
    /// ECN (§5.1); `Below(0.1)` there.
    pub marking: Marking,
    /// When the controller works at all (§5.3).
    pub activation: Activation,
    /// How drops are spread over packets (§5.4).
    pub randomness: Randomness,
    /// How much the probability may grow in one update (§5.5).
    pub step: StepLimit,
}

/// When PIE's controller works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Activation {
    /// Always (RFC 8033 §4).
    Always,
    /// From when the queue is a third full until congestion has gone (RFC 8033 §5.3).
    ThirdFull,
}

/// How PIE's drops are spread over packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Randomness {
    /// None before the probabilities since the last drop add up to 0.85, for certain at 8.5
    /// (RFC 8033 §5.4).
    Bounded,
    /// Each packet on its own (RFC 8033 §4.1).
    Independent,
}

/// How much PIE's probability may grow in one update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum StepLimit {
    /// By 0.02 at most once it is 0.1 or more (RFC 8033 §5.5).
    Capped,
    /// By what the control law says.
    Uncapped,
}

impl Pie {
    /// The basic scheme of RFC 8033 §4 with its recommended values, without ECN.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self {
            limit,
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: 1000,
            marking: Marking::Off,
            activation: Activation::Always,
            randomness: Randomness::Independent,
            step: StepLimit::Uncapped,
        }
    }

    /// With the enhancements of RFC 8033 §5: ECN below 0.1, activation, derandomization, bounded
    /// steps.
    #[must_use]
    pub const fn enhanced(limit: Limit) -> Self {
        Self {
            marking: Marking::Below(Probability::saturating(0.1)),
            activation: Activation::ThirdFull,
            randomness: Randomness::Bounded,
            step: StepLimit::Capped,
            ..Self::new(limit)
        }
    }

    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.update.is_zero() {
            return Some("PIE's time between updates must be above zero");
        }
        if !(self.alpha >= 0.0 && self.beta >= 0.0 && self.alpha.is_finite() && self.beta.is_finite()) {
            return Some("PIE's weights alpha and beta must not be negative");
        }
        None
    }
}

/// The state of a PIE queue.
#[derive(Debug)]
pub(crate) struct PieProcess {
    pie: Pie,
    probability: f64,
    /// Delay at the latest update, seconds.
    old_delay: f64,
    burst_left: Duration,
    /// Sum of probabilities since the latest drop.
    accumulated: f64,
    next_update: Instant,
    active: Working,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Working {
    No,
    Yes,
}

impl PieProcess {
    pub(crate) fn new(pie: Pie) -> Self {
        Self {
            pie,
            probability: 0.0,
            old_delay: 0.0,
            burst_left: pie.max_burst,
            accumulated: 0.0,
            next_update: Instant::ZERO + pie.update,
            active: match pie.activation {
                Activation::Always => Working::Yes,
                Activation::ThirdFull => Working::No,
            },
        }
    }

    /// Makes the updates due by `now`, on a line that will be `free` unless more arrives.
    pub(crate) fn settle(&mut self, now: Instant, free: Instant) {
        while self.next_update <= now {
            let at = self.next_update;
            self.next_update = at + self.pie.update;
            let rests =
                free <= at && self.probability <= 0.0 && self.old_delay <= 0.0 && self.burst_left.is_zero();
            if rests || self.active == Working::No {
                // Nothing changes any more: go straight to the first update after now.
                let behind = now.saturating_since(self.next_update).as_nanos();
                let periods = behind.checked_div(self.pie.update.as_nanos()).unwrap_or(0);
                self.next_update += self.pie.update * periods;
                continue;
            }
            self.update(free.saturating_since(at).as_secs_f64());
        }
    }

    pub(crate) fn arrive(&mut self, arrival: &Arrival, stream: &mut Stream) -> QueueVerdict {
        self.settle(arrival.now, arrival.free);
        if arrival.overflows(self.pie.limit) {
            self.accumulated = 0.0;
            return QueueVerdict::Drop(DropCause::Queue);
        }
        let half = self.pie.target.as_secs_f64() / 2.0;
        let delay = arrival.free.saturating_since(arrival.now).as_secs_f64();
        let calm = self.probability <= 0.0 && delay < half && self.old_delay < half;
        match self.pie.activation {
            Activation::Always if calm => self.burst_left = self.pie.max_burst,
            Activation::ThirdFull if self.active == Working::Yes && calm => self.active = Working::No,
            Activation::ThirdFull
                if self.active == Working::No && self.pie.limit.is_third_full(arrival.waiting) =>
            {
                self.active = Working::Yes;
                self.burst_left = self.pie.max_burst;
                self.probability = 0.0;
                self.old_delay = 0.0;
                self.accumulated = 0.0;
                self.next_update = arrival.now + self.pie.update;
            }
            _ => {}
        }
        if self.active == Working::No || !self.burst_left.is_zero() || !self.strikes(arrival, half, stream) {
            return QueueVerdict::Pass;
        }
        self.accumulated = 0.0;
        self.pie.marking.verdict(arrival.ecn, self.probability)
    }

    pub(crate) fn state(&self) -> QueueState {
        QueueState { probability: Some(self.probability), ..QueueState::default() }
    }

    /// RFC 8033 §4.1 and §5.4.
    fn strikes(&mut self, arrival: &Arrival, half: f64, stream: &mut Stream) -> bool {
        let short = arrival.waiting.bytes <= 2 * u64::from(self.pie.mean_packet);
        if short || (self.old_delay < half && self.probability < 0.2) {
            return false;
        }
        if self.pie.randomness == Randomness::Bounded {
            if self.probability <= 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        stream.uniform() < self.probability
    }

    /// RFC 8033 §4.2, with the delay now, in seconds.
    fn update(&mut self, delay: f64) {
        let mut step = self.pie.alpha * (delay - self.pie.target.as_secs_f64())
            + self.pie.beta * (delay - self.old_delay);
        step /= match self.probability {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.pie.step == StepLimit::Capped && self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay <= 0.0 && self.old_delay <= 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_delay = delay;
        self.burst_left = self.burst_left.saturating_sub(self.pie.update);
    }
}

#[cfg(test)]
mod tests;
