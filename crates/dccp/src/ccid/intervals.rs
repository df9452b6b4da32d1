//! The loss history as it crosses the wire (RFC 4342 §8.5, 8.6).

use tfrc::config::PacketSize;
use tfrc::equation::{Equation, InverseError};
use tfrc::study::Choices;
use tfrc_units::{Duration, Probability, Rate, SeqNo48, f64_from_u64, saturating, u64_from_f64};

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
    // RFC 4342 §8.6.1.
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

/// The synthetic first interval of a receiver (RFC 5348 §6.3.1) by the equation of the sender.
///
/// A receiver inverts RFC 5348's equation for its highest receive rate, whatever the sender's
/// profile: nothing on the wire says that one. The sender knows the equation of both, so it finds
/// that rate again and inverts its own. Reports repeat the interval; it is converted once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FirstInterval {
    /// Where the datagrams begin.
    first: Option<SeqNo48>,
    /// The newest one reported, in packets, and by the sender's equation.
    converted: Option<(u32, u32)>,
}

impl FirstInterval {
    /// A datagram goes with this number.
    pub(crate) fn on_datagram(&mut self, seq: SeqNo48) {
        self.first.get_or_insert(seq);
    }

    /// Converts the oldest interval of a report if it is the synthetic one: it then reaches the
    /// first datagram, or is longer than its numbers. Returns true if it did.
    pub(crate) fn convert(
        &mut self,
        own: &Equation,
        rtt: Duration,
        end: SeqNo48,
        intervals: &mut [LossInterval],
    ) -> bool {
        let length = |i: &LossInterval| u64::from(i.lossless_length) + u64::from(i.loss_length);
        let all: u64 = intervals.iter().map(length).sum();
        // The newest one is open, and it alone says that nothing was lost.
        let Some(oldest) = intervals.get_mut(1..).and_then(<[_]>::last_mut) else { return false };
        let reaches = self.first.is_some_and(|first| !end.sub(all).is_after(first));
        if *own == Equation::default() || !(reaches || u64::from(oldest.data_length) > length(oldest)) {
            return false;
        }
        let reported = oldest.data_length;
        let packets = match self.converted {
            Some((known, converted)) if known == reported => converted,
            _ => saturating::<u32>(u64_from_f64(by_equation(own, rtt, f64::from(reported.max(1))) + 0.5))
                .max(1),
        };
        self.converted = Some((reported, packets));
        oldest.data_length = packets;
        true
    }
}

/// The loss interval at which `own` gives the rate that RFC 5348's equation gives at `packets`.
fn by_equation(own: &Equation, rtt: Duration, packets: f64) -> f64 {
    // The packet size is a factor of both equations.
    let rate = Equation::default().rate(1.0, rtt, Probability::saturating(1.0 / packets));
    interval_at(own, 1.0, rtt, rate)
}

/// The loss interval, in packets, at which an equation gives this rate.
pub(crate) fn interval_at(equation: &Equation, segment: f64, rtt: Duration, rate: Rate) -> f64 {
    match equation.loss_event_rate(segment, rtt, rate) {
        Ok(p) => 1.0 / p.get(),
        Err(InverseError::RateTooHigh) => f64::INFINITY,
        Err(_) => 1.0,
    }
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
    // RFC 4342 §9.2.
    let (shortest, longest) = ((reported - 1.0).max(inverse / 2.0), reported.min(inverse * 2.0));
    if shortest > longest {
        let nearest = if shortest > inverse { inverse * 2.0 } else { inverse / 2.0 };
        return Probability::saturating(1.0 / nearest);
    }
    Probability::saturating(1.0 / inverse.clamp(shortest, longest))
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

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

    fn balanced() -> Equation {
        let mut choices = Choices::default();
        tfrc::study::Profile::Balanced.choose(&mut choices);
        choices.equation
    }

    const R: Duration = Duration::from_millis(100);

    #[test]
    fn a_converted_interval_allows_the_rate_of_the_one_reported() {
        for rtt in [5, 20, 100, 500].map(Duration::from_millis) {
            for packets in [1.0, 2.0, 10.0, 100.0, 1e4, 1e6] {
                let rate = |equation: Equation, packets: f64| equation.rate(1.0, rtt, p(1.0 / packets));
                let theirs = rate(Equation::default(), packets).bytes_per_sec();
                let converted = by_equation(&balanced(), rtt, packets);
                let ours = rate(balanced(), converted).bytes_per_sec();
                let least = rate(balanced(), 1.0).bytes_per_sec();
                assert!((ours / theirs.max(least) - 1.0).abs() < 1e-9, "{rtt:?} {packets}: {ours} {theirs}");
            }
        }
    }

    /// The newest interval is open; each has the numbers and the length in packets given.
    fn list(intervals: &[(u32, u32)]) -> Vec<LossInterval> {
        let of = |&(numbers, packets): &(u32, u32)| LossInterval {
            lossless_length: numbers,
            nonce: Nonce::Zero,
            loss_length: 0,
            data_length: packets,
        };
        intervals.iter().map(of).collect()
    }

    #[test]
    fn the_oldest_interval_is_converted_while_it_is_the_first() {
        let seq = SeqNo48::new;
        let data = |intervals: &[LossInterval]| intervals.iter().map(|i| i.data_length).collect::<Vec<_>>();
        let mut first = FirstInterval::default();
        first.on_datagram(seq(1000));
        first.on_datagram(seq(1001));
        let mut convert = |own: Equation, rtt: Duration, end: u64, intervals: &[(u32, u32)]| {
            let mut intervals = list(intervals);
            let converted = first.convert(&own, rtt, seq(end), &mut intervals);
            (converted, data(&intervals))
        };
        let rfc = Equation::default();
        assert_eq!(convert(balanced(), R, 1300, &[(300, 0)]), (false, vec![0]), "nothing was lost");
        assert_eq!(convert(rfc, R, 1400, &[(100, 100), (300, 9000)]), (false, vec![100, 9000]));
        let (converted, now) = convert(balanced(), R, 1400, &[(100, 100), (300, 9000)]);
        let once = now.last().copied().unwrap_or_default();
        assert!(converted && now.first() == Some(&100) && (1000..8000).contains(&once), "{now:?}");
        let again = convert(balanced(), R * 4, 1500, &[(50, 50), (150, 150), (300, 9000)]);
        assert_eq!(again, (true, vec![50, 150, once]), "as at first, whatever R is now");
        // It may be shorter than its numbers.
        let (converted, now) = convert(balanced(), R, 7100, &[(100, 100), (6000, 5000)]);
        assert!(converted && now.last().is_some_and(|last| *last < 4500), "{now:?}");
        // It has left the list; or is longer than its numbers, wherever the list begins.
        assert_eq!(convert(balanced(), R, 1500, &[(50, 50), (200, 200)]), (false, vec![50, 200]));
        assert!(convert(balanced(), R, 1500, &[(50, 50), (200, 900)]).0);
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
