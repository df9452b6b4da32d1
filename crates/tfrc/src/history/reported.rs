//! p from reported loss intervals.

use tfrc_units::{Probability, f64_from_u64};

use crate::config::Config;
use crate::history::intervals::{ClosedInterval, Intervals, open_policy};
use crate::history::length::LengthRule;
use crate::interval::MeasuredInterval;
use crate::ring::InPlace;
use crate::study::{MAX_INTERVALS, ShortIntervals};

/// A loss interval as a report gives it, with what TFRC-SP wants to know besides its length
/// (RFC 5622 §8.6, §8.7).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReportedInterval {
    /// N, its length in data packets.
    pub length: f64,
    /// K, how many of them were lost or marked: the Drop Count, or the Loss Length where there is
    /// none.
    pub lost: u64,
    /// How long it lasted in round-trip times, as the sender knows from its own send times. Up to 2
    /// it is short; infinite if long.
    pub round_trips: f64,
}

/// The loss event rate from interval lengths alone, newest (still open) first: what a CCID 3 sender
/// computes from a Loss Intervals option (RFC 4342 §6; RFC 5348 §5.4, §5.5). Zero while there is
/// only the open interval. Linear work per interval kept.
///
/// Discount factors are worked out again from the intervals given, as if nothing had come before
/// the oldest of them and each loss had been found by the packets that are needed for it. Under
/// independent losses of 1 to 10 % this lies within 1 % of the receiver's own p on average, but
/// single values may be off by a third.
///
/// Of the estimators, an exponentially weighted mean begins at the oldest interval given, and a
/// dynamic history window is as long as the events it must hold. That of Linux takes the oldest of
/// up to nine intervals for the synthetic first one.
#[must_use]
pub fn loss_event_rate(lengths: &[f64], config: &Config) -> Probability {
    let uncounted = uncounted_in_open(config);
    let oldest_first = lengths.iter().enumerate().rev().map(|(age, length)| {
        let length = if age == 0 { (length - uncounted).max(1.0) } else { *length };
        (length, OpenInMean::Counts)
    });
    from_oldest(oldest_first, config)
}

/// Packets of the open interval that do not count.
fn uncounted_in_open(config: &Config) -> f64 {
    f64_from_u64(open_policy(&config.settings().algorithm.choices().estimator).uncounted())
}

/// The loss event rate from the lengths, losses and durations of the intervals, newest (still open)
/// first: what a CCID 4 sender computes from Loss Intervals and Dropped Packets options (RFC 5622
/// §5, §8.7). The lengths are those of RFC 4828 §3 if the configuration is TFRC-SP. A count above
/// the length is taken for the length.
#[must_use]
pub fn loss_event_rate_of(intervals: &[ReportedInterval], config: &Config) -> Probability {
    let rule = LengthRule::new(&config.settings().packet_size);
    let (newest, uncounted) = (0, uncounted_in_open(config));
    let oldest_first = intervals.iter().enumerate().rev().map(|(age, i)| {
        let packets = if age == newest { i.length - uncounted } else { i.length }.max(1.0);
        let lost = if rule == LengthRule::ByReports && age > newest {
            ShortIntervals::lost_in_ended(i.lost)
        } else {
            i.lost
        };
        let measured = MeasuredInterval {
            packets,
            lost,
            round_trips: i.round_trips,
            size: f64::from(config.settings().segment.initial()),
        };
        let standing =
            if rule.open_counts(i.round_trips) { OpenInMean::Counts } else { OpenInMean::LeftOutWhileOpen };
        (rule.length(&measured), standing)
    });
    from_oldest(oldest_first, config)
}

/// Standing of an interval while it is open: counted in the mean or left out (RFC 4828 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenInMean {
    Counts,
    LeftOutWhileOpen,
}

/// From lengths oldest first, the open one last.
fn from_oldest(lengths: impl ExactSizeIterator<Item = (f64, OpenInMean)>, config: &Config) -> Probability {
    let settings = config.settings();
    // Nothing of it outlives the call: no heap for it.
    let mut intervals: Intervals<InPlace<ClosedInterval, MAX_INTERVALS>> = Intervals::new(settings);
    let closed = lengths.len().saturating_sub(1);
    let mut open = None;
    for (i, (length, standing)) in lengths.enumerate() {
        let counts = standing == OpenInMean::Counts;
        if i == closed {
            open = counts.then_some(length);
        } else {
            let found_after = f64::from(settings.algorithm.choices().lost_after) + 1.0;
            // The first is the synthetic one, or older than any estimator looks.
            let lost = u64::from(i > 0);
            let interval =
                ClosedInterval { packets: length, length, discount: 1.0, lossy: 0, lossless: 0, lost };
            intervals.close(interval, if counts { length + found_after } else { 0.0 });
        }
    }
    intervals.loss_event_rate(open, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{PacketSize, Settings, TfrcSp};
    use crate::study::HistoryDiscounting;

    #[test]
    fn nothing_lost_no_rate() {
        assert_eq!(loss_event_rate(&[], &Config::default()), Probability::ZERO);
        assert_eq!(loss_event_rate(&[1000.0], &Config::default()), Probability::ZERO);
    }

    /// RFC 5348 §5.5: in the total with the open interval the discounts carried over and the new
    /// one multiply. The loss after the 400 was found at 404, so the hundreds carry 200/404; 2000
    /// is more than eight times the mean, so DF is at its floor. It takes a quarter of the 400's
    /// weight and of the hundreds' 1, 1, 0.8, 0.6, 0.4, 0.2.
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
        let off = Settings::of_study(|c| c.discounting = HistoryDiscounting::Off).validate();
        assert!(off.is_ok_and(|c| (loss_event_rate(&lengths, &c).get() - 6.0 / 900.0).abs() < 1e-15));
    }

    /// RFC 4828 §3 by hand: eight short intervals of 12 packets with 3 losses each, and a short
    /// open one that must not count.
    #[test]
    fn short_intervals_of_tfrc_sp() {
        let rate = |intervals: &[ReportedInterval], packet_size, discounting| {
            let settings = Settings { packet_size, ..Settings::of_study(|c| c.discounting = discounting) };
            settings.validate().map_or(0.0, |config| 1.0 / loss_event_rate_of(intervals, &config).get())
        };
        let sp = PacketSize::TfrcSp(TfrcSp::default());
        let (off, on) = (HistoryDiscounting::Off, HistoryDiscounting::Floor(0.25));
        let interval = |length, lost, round_trips| ReportedInterval { length, lost, round_trips };
        let mut intervals = [interval(12.0, 3, 1.5); 9];
        assert_eq!((rate(&intervals, sp, off), rate(&intervals, sp, on)), (4.0, 4.0));
        // The newest closed one long: one loss event in it, 12 packets, (12 +
        // 4·(1+1+1+.8+.6+.4+.2))/6.
        intervals[1].round_trips = 2.5;
        assert!((rate(&intervals, sp, off) - 32.0 / 6.0).abs() < 1e-12);
        // It had grown to 16 when its end was found, so DF = 8/16: (12 + 4·2.5)/3.5.
        assert!((rate(&intervals, sp, on) - 22.0 / 3.5).abs() < 1e-12);
        // No longer short, the open one of 40 counts: (40 + 12 + 4·(1+1+.8+.6+.4+.2))/6.
        intervals[0] = interval(40.0, 3, 4.0);
        assert!((rate(&intervals, sp, off) - 68.0 / 6.0).abs() < 1e-12);
        assert!((rate(&intervals, PacketSize::Own, off) - 100.0 / 6.0).abs() < 1e-12);
        assert_eq!(loss_event_rate_of(&[], &Config::default()), Probability::ZERO);
    }
}
