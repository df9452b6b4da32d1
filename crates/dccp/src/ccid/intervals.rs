//! The loss history as it crosses the wire (RFC 4342 §8.5, 8.6).

use tfrc::config::PacketSize;
use tfrc::study::Choices;
use tfrc_units::{Probability, f64_from_u64, saturating, u64_from_f64};

use crate::wire::{LossInterval, LossIntervals, Nonce};

/// The value that says that nothing was lost yet.
const NO_LOSS: u32 = u32::MAX;

/// The Loss Event Rate option's number: 1/p rounded up. A small p stays above zero: it never reads
/// as "no loss".
pub(crate) fn rate_to_wire(p: Probability) -> u32 {
    if p.is_zero() {
        return NO_LOSS;
    }
    let inverse = 1.0 / p.get();
    let cut = u64_from_f64(inverse);
    let rounded_up = if f64_from_u64(cut) < inverse { cut.saturating_add(1) } else { cut };
    saturating::<u32>(rounded_up).min(NO_LOSS - 1)
}

/// The loss event rate that a Loss Event Rate option reports.
pub(crate) fn rate_from_wire(inverse: u32) -> Probability {
    match inverse {
        NO_LOSS => Probability::ZERO,
        0 => Probability::ONE,
        n => Probability::saturating(1.0 / f64::from(n)),
    }
}

/// Intervals for the option, from what the receiver keeps.
pub(crate) fn to_wire(
    intervals: impl Iterator<Item = tfrc::history::LossInterval>,
) -> impl Iterator<Item = LossInterval> {
    let cut = |n: u64| saturating::<u32>(n);
    intervals.take(LossIntervals::MAX_INTERVALS).map(move |interval| LossInterval {
        lossless_length: cut(interval.lossless_length),
        nonce: Nonce::Zero,
        loss_length: cut(interval.loss_length),
        data_length: cut(u64_from_f64(interval.data_length + 0.5)),
    })
}

/// Returns true if the sender computes p from loss intervals by the rules that a receiver has.
pub(crate) fn measures_as_receivers_do(config: &tfrc::Config) -> bool {
    let settings = config.settings();
    let (ours, theirs) = (settings.algorithm.choices(), Choices::default());
    let by_reports =
        matches!(settings.packet_size, PacketSize::TfrcSp(sp) if sp.short_intervals.goes_by_reports());
    ours.estimator == theirs.estimator && ours.discounting == theirs.discounting && !by_reports
}

/// The loss event rate to use when a receiver sends both options. The receiver's own rate is the
/// better one, because it covers the whole history, but it is rounded: 1/p up to a whole number.
/// Clamps the p computed from the intervals to the range of values that round to the reported loss
/// event rate, by at most a factor of two: the sender can check the intervals, not the rate.
pub(crate) fn combine(from_intervals: Probability, reported: Option<u32>) -> Probability {
    let Some(reported) = reported else { return from_intervals };
    if from_intervals.is_zero() || reported == 0 {
        return from_intervals;
    }
    let inverse = 1.0 / from_intervals.get();
    let reported = f64::from(reported);
    let (shortest, longest) = ((reported - 1.0).max(inverse / 2.0), reported.min(inverse * 2.0));
    if shortest > longest {
        let nearest = if shortest > inverse { inverse * 2.0 } else { inverse / 2.0 };
        return Probability::saturating(1.0 / nearest);
    }
    Probability::saturating(1.0 / inverse.clamp(shortest, longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(x: f64) -> Probability {
        Probability::new(x).expect("a probability")
    }

    #[test]
    fn rates_are_rounded_up_and_never_vanish() {
        assert_eq!(rate_to_wire(Probability::ZERO), u32::MAX);
        assert_eq!(rate_to_wire(p(0.01)), 100);
        assert_eq!(rate_to_wire(p(0.3)), 4);
        assert_eq!(rate_to_wire(Probability::ONE), 1);
        assert_eq!(rate_to_wire(p(1e-15)), u32::MAX - 1);
        assert!(rate_from_wire(u32::MAX).is_zero());
        assert!(!rate_from_wire(u32::MAX - 1).is_zero());
        assert_eq!(rate_from_wire(0), Probability::ONE);
        assert_eq!(rate_from_wire(100), p(0.01));
    }

    #[test]
    fn rounding_changes_nothing() {
        // 1/p = 3.5 is reported as 4.
        assert_eq!(combine(p(1.0 / 3.5), Some(4)), p(1.0 / 3.5));
        assert_eq!(combine(p(0.01), Some(100)), p(0.01));
        assert_eq!(combine(p(0.01), None), p(0.01));
        assert_eq!(combine(Probability::ZERO, Some(5)), Probability::ZERO);
    }

    #[test]
    fn the_receivers_own_rate_counts_within_a_factor_of_two() {
        assert_eq!(combine(p(0.01), Some(120)), p(1.0 / 119.0));
        assert_eq!(combine(p(0.01), Some(80)), p(1.0 / 80.0));
        assert_eq!(combine(p(0.01), Some(u32::MAX)), p(0.005), "a history of losses does not vanish");
        assert_eq!(combine(p(0.01), Some(1)), p(0.02));
    }
}
