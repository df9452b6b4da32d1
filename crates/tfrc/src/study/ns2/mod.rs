//! Habits of ns-2.35 that no text on TFRC has, each in a file of its own, and the choices that make
//! ns-2 of the algorithm. A study chooses them once, by
//! [`Revision::Ns2`](crate::study::Revision::Ns2) or one by one; nothing else meets them.

pub(crate) mod ramp;
pub(crate) mod rates;
#[cfg(test)]
mod receiver_tests;
pub(crate) mod reports;
pub(crate) mod short_intervals;
#[cfg(test)]
mod tests;

use tfrc_units::Duration;

use crate::equation::{Equation, EquationForm, RtoPolicy};
use crate::study::{
    AfterExpiration, Choices, EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses,
    FriendChoice, Growth, HistoryDiscounting, InitialRate, LossEventTiming, NoFeedback, NoFeedbackCut,
    OpenInterval, Pairs, RateFloor, RateStep, ReceiveLimit, ReceiveRateWindow, Reschedule, SlowStart,
    Spacing, Weights,
};

/// The choices of ns-2.35 as it comes.
pub(crate) fn choices() -> Choices {
    Choices {
        equation: Equation {
            form: EquationForm::TimeoutTermCapped,
            rto: RtoPolicy::Ticks { tick: Duration::from_millis(100), least: Duration::ZERO },
            ..Equation::default()
        },
        lost_after: 1,
        loss_event_timing: LossEventTiming::SenderTimeAndRound,
        estimator: Estimator::AverageLossInterval {
            intervals: 8,
            weights: Weights::Decreasing,
            open: OpenInterval::WhenLongerLessFirst,
        },
        discounting: HistoryDiscounting::Floor(0.5),
        first_interval: FirstInterval::AtReceiveRate,
        feedback: FeedbackTrigger::Arrival,
        receive_rate: ReceiveRateWindow::SinceReport,
        empty_report: EmptyReport::OnceAfterArrival,
        first_losses: FirstLosses::Unknown,
        initial_rate: InitialRate::Ns2,
        slow_start: SlowStart::Ns2,
        growth: Growth::PacketPerRtt,
        receive_limit: ReceiveLimit::Ns2,
        floor: RateFloor::None,
        no_feedback: NoFeedback {
            round_trips: 2,
            factor: 0.5,
            cut: NoFeedbackCut::RateUnlessDataLimited,
            ask: AfterExpiration::ReportAtOnce,
        },
        rtt_weight: 0.95,
        spacing: Spacing::Damped { weight: 0.95 },
        pairs: Pairs::Off,
        friend_choice: FriendChoice::Told,
        rate_step: RateStep::PerPacket,
        reschedule: Reschedule::InSlowStart,
    }
}

/// Bytes of data in a packet (`packetSize_`).
pub(crate) const PACKET: u32 = 1000;

/// Bytes of headers that TFRC-SP charges for a packet (`headersize_`).
pub(crate) const SP_HEADER: u32 = 32;
