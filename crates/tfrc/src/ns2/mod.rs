//! Habits of ns-2.35 that no text on TFRC has, each in a file of its own, and the settings that
//! make ns-2 of the algorithm.

pub(crate) mod empty_report;
pub(crate) mod short_intervals;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace;

use tfrc_units::Duration;

use crate::config::{
    AfterExpiration, BurstCredit, EmptyReport, Estimator, FeedbackTrigger, FirstInterval, FirstLosses,
    Growth, HistoryDiscounting, InitialRate, LossEventTiming, NoFeedback, NoFeedbackCut, OpenInterval,
    RateFloor, RateStep, ReceiveLimit, ReceiveRateWindow, Reschedule, SegmentSize, Settings, SlowStart,
    Spacing, Weights,
};
use crate::equation::{Equation, EquationForm, RtoPolicy};

/// The settings of ns-2.35 as it comes.
pub(crate) fn settings() -> Settings {
    Settings {
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
        segment: SegmentSize::Mean { initial: 1000 },
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
        rate_step: RateStep::PerPacket,
        reschedule: Reschedule::InSlowStart,
        credit: BurstCredit::Time(Duration::ZERO),
        ..Settings::default()
    }
}
