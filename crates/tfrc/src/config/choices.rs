//! The ranges of an algorithm's choices.

use crate::config::ConfigError;
use crate::equation::{EquationForm, RtoPolicy};
use crate::study::{
    Choices, Estimator, FeedbackTrigger, HistoryDiscounting, LossEventTiming, MAX_INTERVALS, Pairs,
    RateFloor, ReceiveLimit, Spacing,
};

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
        let waits = self.no_feedback.round_trips >= 1;
        let leaves_a_share = self.no_feedback.factor > 0.0 && self.no_feedback.factor < 1.0;
        check(waits && leaves_a_share, ConfigError::NoFeedback)?;
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
            Estimator::Linux => {}
        }
        if let HistoryDiscounting::Floor(floor) = self.discounting {
            check(floor > 0.0 && floor <= 1.0, ConfigError::DiscountFloor)?;
        }
        check(weight_ok(self.rtt_weight), ConfigError::FilterWeight)?;
        if let Spacing::Damped { weight } = self.spacing {
            check(weight_ok(weight), ConfigError::FilterWeight)?;
        }
        if let Pairs::Above(packets) = self.pairs {
            check(packets >= 2.0 && packets.is_finite(), ConfigError::Pairs)?;
        }
        let counter_only = self.feedback == FeedbackTrigger::WindowCounter;
        let by_time = self.loss_event_timing != LossEventTiming::WindowCounter;
        check(!(counter_only && by_time), ConfigError::Trigger)
    }
}
