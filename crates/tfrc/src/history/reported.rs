//! p from loss intervals that somebody else reports.

use tfrc_units::Probability;

use crate::config::Config;
use crate::history::intervals::{ClosedInterval, Intervals};

/// The loss event rate from interval lengths alone, newest (still open) first: what a CCID 3 sender computes from a Loss
/// Intervals option (RFC 4342 §6; RFC 5348 §5.4, §5.5). Zero while there is only the open interval. Linear work per interval
/// kept.
///
/// Discount factors are worked out again from the intervals given, as if nothing had come before the oldest of them and each
/// loss had been found by the packets that are needed for it. Under independent losses of 1 to 10 % this lies within 1 % of the
/// receiver's own p on average, but single values may be off by a third.
#[must_use]
pub fn loss_event_rate(lengths: &[f64], config: &Config) -> Probability {
    let Some((open, closed)) = lengths.split_first() else { return Probability::ZERO };
    let settings = config.settings();
    let mut intervals = Intervals::new(settings);
    for length in closed.iter().rev() {
        let found_after = f64::from(settings.lost_after) + 1.0;
        let interval = ClosedInterval { length: *length, discount: 1.0, lossy: 0, lossless: 0 };
        intervals.close(interval, length + found_after);
    }
    intervals.loss_event_rate(*open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{HistoryDiscounting, Settings};

    #[test]
    fn nothing_lost_no_rate() {
        assert_eq!(loss_event_rate(&[], &Config::default()), Probability::ZERO);
        assert_eq!(loss_event_rate(&[1000.0], &Config::default()), Probability::ZERO);
    }

    /// RFC 5348 §5.5: in the total with the open interval the discounts carried over and the new one multiply. The loss after the
    /// 400 was found at 404, so the hundreds carry 200/404; 2000 is more than eight times the mean, so DF is at its floor. It
    /// takes a quarter of the 400's weight and of the hundreds' 1, 1, 0.8, 0.6, 0.4, 0.2.
    #[test]
    fn carried_discounts_count_beside_a_long_open_interval() {
        let mut lengths = [100.0; 10];
        for (length, value) in lengths.iter_mut().zip([2000.0, 400.0]) {
            *length = value;
        }
        let (p, df) = (loss_event_rate(&lengths, &Config::default()).get(), 200.0 / 404.0);
        assert!((p - (1.25 + df) / (2000.0 + 100.0 + 100.0 * df)).abs() < 1e-15, "{p}");
    }

    /// Nine intervals of 100, the newest four times as long: see the same figures in `intervals`.
    #[test]
    fn discounts_like_the_receiver() {
        let mut lengths = [100.0; 10];
        if let Some(open) = lengths.first_mut() {
            *open = 400.0;
        }
        assert!((loss_event_rate(&lengths, &Config::default()).get() - 3.5 / 650.0).abs() < 1e-15);
        let off = Settings { discounting: HistoryDiscounting::Off, ..Settings::default() }.validate();
        assert!(off.is_ok_and(|c| (loss_event_rate(&lengths, &c).get() - 6.0 / 900.0).abs() < 1e-15));
    }
}
