//! Ranges of the choices, and the values that RFC 5348 names.

use super::*;
use crate::{ConfigError, Settings};

/// §4.3 step 2, §4.5, §5.1, §5.4, §5.5 and §3.1 of RFC 5348 name these values.
#[test]
fn the_default_is_what_the_rfc_recommends() {
    let c = Choices::default();
    assert_eq!((c.rtt_weight, c.spacing), (0.9, Spacing::Damped { weight: 0.9 }));
    assert_eq!((c.lost_after, c.discounting), (3, HistoryDiscounting::Floor(0.25)));
    let (weights, open) = (Weights::Decreasing, OpenInterval::WhenLonger);
    assert_eq!(c.estimator, Estimator::AverageLossInterval { intervals: 8, weights, open });
    assert_eq!((c.equation, c.equation.packets_per_ack), (Equation::default(), 1));
}

fn refused(change: impl FnOnce(&mut Choices)) -> Option<ConfigError> {
    Settings::of_study(change).validate().err()
}

#[test]
fn each_range_is_checked() {
    let intervals = |intervals| Estimator::AverageLossInterval {
        intervals,
        weights: Weights::Constant,
        open: OpenInterval::Never,
    };
    assert_eq!(refused(|c| c.estimator = intervals(32)), None);
    assert_eq!(refused(|c| c.estimator = intervals(33)), Some(ConfigError::Intervals));
    assert_eq!(refused(|c| c.equation.packets_per_ack = 0), Some(ConfigError::PacketsPerAck));
    assert_eq!(refused(|c| c.lost_after = 0), Some(ConfigError::LostAfter));
    assert_eq!(refused(|c| c.lost_after = 9), Some(ConfigError::LostAfter));
    assert_eq!(refused(|c| c.discounting = HistoryDiscounting::Floor(0.0)), Some(ConfigError::DiscountFloor));
    let ewma = |weight| Estimator::EwmaLossInterval { weight, open: OpenInterval::WhenLonger };
    assert_eq!(refused(|c| c.estimator = ewma(0.75)), None);
    assert_eq!(refused(|c| c.estimator = ewma(1.0)), Some(ConfigError::FilterWeight));
    let window = Estimator::DynamicHistoryWindow { events: 0, window: HistoryWindow::ByRate };
    assert_eq!(refused(|c| c.estimator = window), Some(ConfigError::Intervals));
    assert_eq!(refused(|c| c.rtt_weight = 1.0), Some(ConfigError::FilterWeight));
    assert_eq!(
        refused(|c| c.spacing = Spacing::Damped { weight: f64::NAN }),
        Some(ConfigError::FilterWeight)
    );
    assert_eq!(refused(|c| c.feedback = FeedbackTrigger::WindowCounter), Some(ConfigError::Trigger));
}

#[test]
fn ranges_of_the_nofeedback_rule() {
    let check = |round_trips, factor| {
        refused(|c| c.no_feedback = NoFeedback { round_trips, factor, ..NoFeedback::default() })
    };
    assert_eq!(check(2, 0.9), None);
    for (round_trips, factor) in [(0, 0.5), (4, 0.0), (4, 1.0), (4, f64::NAN)] {
        assert_eq!(check(round_trips, factor), Some(ConfigError::NoFeedback));
    }
}
