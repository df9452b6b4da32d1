//! The algorithm of a study: for reproducing papers; leave it at the default to send.
//!
//! [`Settings`](crate::Settings) hold one [`Algorithm`]. It is RFC 5348 unless a study names
//! another [`Revision`], or deviates from one in single [`Choices`]. `docs/models/tfrc.md` has each
//! choice with its source.
//!
//! ```
//! use tfrc::Settings;
//! use tfrc::study::{Algorithm, ReceiveLimit, Revision};
//!
//! let unlimited = Algorithm::of(Revision::Rfc5348)
//!     .with(|choices| choices.receive_limit = ReceiveLimit::Unlimited);
//! let config = Settings { algorithm: unlimited, ..Settings::default() }.validate();
//! assert!(config.is_ok());
//! ```

mod intervals;
mod measuring;
mod ns2;
mod packet_size;
mod revision;
mod sender;
#[cfg(test)]
mod sender_tests;
mod sending;
mod stamp;
#[cfg(test)]
mod tests;

pub use measuring::{
    EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses, HistoryDiscounting, HistoryWindow,
    LossEventTiming, MAX_INTERVALS, OpenInterval, ReceiveRateWindow, Weights,
};
pub use packet_size::{ShortIntervals, SizeCorrection};
pub use revision::Revision;
pub use sending::{
    AfterExpiration, Growth, InitialRate, NoFeedback, NoFeedbackCut, RateFloor, RateStep, ReceiveLimit,
    Reschedule, SlowStart, Spacing,
};
pub use stamp::Stamp;

use crate::config::ConfigError;
use crate::equation::{Equation, EquationForm, RtoPolicy};
pub(crate) use intervals::OpenRecord;
pub(crate) use ns2::ticks;
pub(crate) use sender::SenderStudy;
pub(crate) use sending::{LatestReport, Quiet, Rise, Supply};
pub(crate) use stamp::{Moment, SenderClock};

/// A revision of the algorithm and deviations from it. The default is RFC 5348.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Algorithm(Choices);

impl Algorithm {
    /// RFC 5348 as it is written.
    #[must_use]
    pub fn rfc5348() -> Self {
        Self::default()
    }

    /// The algorithm of a revision; what its text leaves open is as in RFC 5348.
    #[must_use]
    pub fn of(revision: Revision) -> Self {
        Self(revision.choices())
    }

    /// Deviates: `change` sets single choices. Ranges are checked by
    /// [`Settings::validate`](crate::Settings::validate).
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Choices)) -> Self {
        change(&mut self.0);
        self
    }

    /// The choices that it is made of.
    #[must_use]
    pub const fn choices(&self) -> &Choices {
        &self.0
    }

    /// The choices, to change them in place.
    pub const fn choices_mut(&mut self) -> &mut Choices {
        &mut self.0
    }
}

#[cfg(test)]
impl crate::Settings {
    /// The default but for some choices of the algorithm.
    pub(crate) fn of_study(change: impl FnOnce(&mut Choices)) -> Self {
        Self { algorithm: Algorithm::default().with(change), ..Self::default() }
    }
}

/// Every choice of an [`Algorithm`]; the default is RFC 5348.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choices {
    /// The throughput equation (RFC 5348 §3.1).
    pub equation: Equation,
    /// NDUPACK: a missing packet is lost when this many later ones have arrived (§5.1). 1 to 8.
    pub lost_after: u8,
    /// Rule that gathers losses into loss events (§5.2).
    pub loss_event_timing: LossEventTiming,
    /// Rule that makes a loss event rate of loss intervals (§5.4).
    pub estimator: Estimator,
    /// Discounting of the history by a long current interval (§5.5).
    pub discounting: HistoryDiscounting,
    /// The length given to the interval before the first loss event (§6.3.1).
    pub first_interval: FirstInterval,
    /// Time of the receiver's reports (§6).
    pub feedback: FeedbackTrigger,
    /// The time over which the receiver measures X_recv (§6.2).
    pub receive_rate: ReceiveRateWindow,
    /// Reports of the receiver without data since its last report (§6.2).
    pub empty_report: EmptyReport,
    /// Treatment of packets known to have been sent before the first that arrives (§6.3.1).
    pub first_losses: FirstLosses,
    /// q, the weight of the old estimate in the round-trip time filter (§4.3 step 2), in [0, 1).
    pub rtt_weight: f64,
    /// The rate before and after the first round-trip time sample (§4.2).
    pub initial_rate: InitialRate,
    /// Growth of the rate before the first loss event (§4.3 step 4).
    pub slow_start: SlowStart,
    /// Rise of the rate to that of the equation (§4.3 step 4).
    pub growth: Growth,
    /// Limit of the rate by the receive rate (§4.3).
    pub receive_limit: ReceiveLimit,
    /// The least rate (§4.3).
    pub floor: RateFloor,
    /// The nofeedback timer (§4.4).
    pub no_feedback: NoFeedback,
    /// Spacing of packets (§4.5).
    pub spacing: Spacing,
    /// Way of a risen rate into the spacing in slow start.
    pub rate_step: RateStep,
    /// Effect of a new rate on the next send time (§4.6).
    pub reschedule: Reschedule,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            equation: Equation::default(),
            lost_after: 3,
            loss_event_timing: LossEventTiming::ArrivalTime,
            estimator: Estimator::default(),
            discounting: HistoryDiscounting::Floor(0.25),
            first_interval: FirstInterval::AtMaximumReceiveRate,
            feedback: FeedbackTrigger::Timer,
            receive_rate: ReceiveRateWindow::RoundTrip,
            empty_report: EmptyReport::Never,
            first_losses: FirstLosses::Counted,
            rtt_weight: 0.9,
            initial_rate: InitialRate::Rfc3390,
            slow_start: SlowStart::KeepInitialRate,
            growth: Growth::ToEquation,
            receive_limit: ReceiveLimit::RecentMaximum,
            floor: RateFloor::PacketPer64Seconds,
            no_feedback: NoFeedback::default(),
            spacing: Spacing::Damped { weight: 0.9 },
            rate_step: RateStep::AtOnce,
            reschedule: Reschedule::Always,
        }
    }
}

impl Choices {
    /// Checks every range; the error names the first choice out of it.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let check = |ok: bool, error| if ok { Ok(()) } else { Err(error) };
        let weight_ok = |w: f64| (0.0..1.0).contains(&w);
        check(self.equation.packets_per_ack >= 1, ConfigError::PacketsPerAck)?;
        let forward_only = matches!(self.equation.form, EquationForm::FullPftk(_));
        let tick_ok = !matches!(self.equation.rto, RtoPolicy::Ticks { tick, .. } if tick.is_zero());
        let scale_ok = self.equation.scale > 0.0 && self.equation.scale.is_finite();
        check(!forward_only && tick_ok && scale_ok, ConfigError::Equation)?;
        let limit_may_be_zero =
            matches!(self.receive_limit, ReceiveLimit::RecentMaximum | ReceiveLimit::Latest);
        check(!(limit_may_be_zero && self.floor == RateFloor::None), ConfigError::Floor)?;
        self.no_feedback.validate()?;
        check((1..=8).contains(&self.lost_after), ConfigError::LostAfter)?;
        let in_history = |count: u8| (1..=MAX_INTERVALS).contains(&usize::from(count));
        match self.estimator {
            Estimator::AverageLossInterval { intervals: count, .. }
            | Estimator::DynamicHistoryWindow { events: count, .. } => {
                check(in_history(count), ConfigError::Intervals)?;
            }
            Estimator::EwmaLossInterval { weight, .. } => {
                check(weight_ok(weight), ConfigError::FilterWeight)?;
            }
        }
        if let HistoryDiscounting::Floor(floor) = self.discounting {
            check(floor > 0.0 && floor <= 1.0, ConfigError::DiscountFloor)?;
        }
        check(weight_ok(self.rtt_weight), ConfigError::FilterWeight)?;
        if let Spacing::Damped { weight } = self.spacing {
            check(weight_ok(weight), ConfigError::FilterWeight)?;
        }
        let counter_only = self.feedback == FeedbackTrigger::WindowCounter;
        let by_time = self.loss_event_timing != LossEventTiming::WindowCounter;
        check(!(counter_only && by_time), ConfigError::Trigger)
    }
}
