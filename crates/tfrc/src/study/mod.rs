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
pub(crate) mod ns2;
mod packet_size;
mod profile;
mod revision;
mod sender;
#[cfg(test)]
mod sender_tests;
mod sending;
mod shape;
mod stamp;
#[cfg(test)]
mod tests;

pub use measuring::{
    EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses, HistoryDiscounting, HistoryWindow,
    LossEventTiming, MAX_INTERVALS, OpenInterval, ReceiveRateWindow, Weights,
};
pub use packet_size::{ShortIntervals, SizeCorrection};
pub use profile::Profile;
pub use revision::Revision;
pub use sending::{
    AfterExpiration, Growth, InitialRate, NoFeedback, NoFeedbackCut, Pairs, RateFloor, RateStep,
    ReceiveLimit, Reschedule, SlowStart, Spacing,
};
pub use shape::FriendChoice;
pub use stamp::Stamp;

use crate::equation::Equation;
pub(crate) use intervals::OpenRecord;
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
    /// Packets that leave two by two.
    pub pairs: Pairs,
    /// Rule that chooses the equation's friend at the sender.
    pub friend_choice: FriendChoice,
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
            pairs: Pairs::Off,
            friend_choice: FriendChoice::Told,
            rate_step: RateStep::AtOnce,
            reschedule: Reschedule::Always,
        }
    }
}
