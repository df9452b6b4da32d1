//! The loss history as it crosses the wire (RFC 4342 §8.5, 8.6).

use alloc::vec::Vec;

use tfrc::Estimator;
use tfrc_units::{Probability, f64_from_u64, u64_from_f64};

use crate::wire::{LossInterval, LossIntervals, Nonce};

/// The value that says that nothing was lost yet.
const NO_LOSS: u32 = u32::MAX;

/// The Loss Event Rate option's number: 1/p rounded up. A small p stays above zero: it never reads as "no loss".
pub(crate) fn rate_to_wire(p: Probability) -> u32 {
    if p.is_zero() {
        return NO_LOSS;
    }
    let inverse = 1.0 / p.get();
    let cut = u64_from_f64(inverse);
    let rounded_up = if f64_from_u64(cut) < inverse { cut.saturating_add(1) } else { cut };
    u32::try_from(rounded_up).unwrap_or(NO_LOSS).min(NO_LOSS - 1)
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
pub(crate) fn to_wire(intervals: impl Iterator<Item = tfrc::LossInterval>) -> Vec<LossInterval> {
    let cut = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    intervals
        .take(LossIntervals::MAX_INTERVALS)
        .map(|interval| LossInterval {
            lossless_length: cut(interval.lossless_length),
            nonce: Nonce::Zero,
            loss_length: cut(interval.loss_length),
            data_length: cut(u64_from_f64(interval.data_length + 0.5)),
        })
        .collect()
}

/// The loss event rate p that intervals, newest first, imply (RFC 4342 §6, RFC 5348 §5.4).
pub(crate) fn rate_of(intervals: &LossIntervals<'_>, estimator: &Estimator) -> Probability {
    let lengths: Vec<f64> = intervals.iter().map(|interval| f64::from(interval.data_length.max(1))).collect();
    tfrc::loss_event_rate(&lengths, estimator)
}

/// The p to go by when a receiver sends both options. The intervals are exact where the rate is rounded; but a receiver that
/// discounts old history (RFC 5348 §5.5) has a smaller p than its intervals show, by no more than the sum of the weights.
pub(crate) fn combine(from_intervals: Probability, reported: Option<u32>) -> Probability {
    /// Sum of the weights of RFC 5348 §5.4: with all old ones discounted away, the newest counts this many times more.
    const MOST_DISCOUNT: f64 = 6.0;
    let Some(reported) = reported else { return from_intervals };
    let p = from_intervals.get();
    let rounding = 1.0 / (1.0 / p + 1.0);
    let claimed = rate_from_wire(reported).get();
    if from_intervals.is_zero() || claimed >= rounding {
        return from_intervals;
    }
    Probability::saturating(claimed.max(p / MOST_DISCOUNT))
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
    fn rounding_is_no_discount() {
        // 1/p = 3.5 is reported as 4.
        assert_eq!(combine(p(1.0 / 3.5), Some(4)), p(1.0 / 3.5));
        assert_eq!(combine(p(0.01), Some(100)), p(0.01));
        assert_eq!(combine(p(0.01), None), p(0.01));
        assert_eq!(combine(Probability::ZERO, Some(5)), Probability::ZERO);
    }

    #[test]
    fn a_discount_is_believed_within_its_bounds() {
        assert_eq!(combine(p(0.01), Some(200)), p(0.005));
        assert_eq!(combine(p(0.06), Some(1_000_000)), p(0.01));
        assert_eq!(combine(p(0.06), Some(u32::MAX)), p(0.01), "a history of losses does not vanish");
    }
}
