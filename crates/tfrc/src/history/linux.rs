//! The mean loss interval of Linux 6.1's CCID 3 receiver, as its reports show it.
//!
//! RFC 5348 §5.4 averages k intervals after k loss events, the synthetic first one among them. The
//! kernel averages k − 1, at most 8: 1/p stays at the synthetic interval until the second event,
//! and then that interval is gone. It discounts nothing (§5.5 is optional).
//! [`crate::study::Estimator::Linux`] is a receiver with it.

use crate::history::mean::{Weighed, mean_interval as mean_of_rfc, mean_of_closed};
use crate::study::{Estimator, Weights};

/// Loss events from which on this mean is that of RFC 5348 §5.4: the synthetic interval is
/// forgotten there, too.
pub const AGREES_FROM: u32 = 9;

/// Intervals in the mean.
const INTERVALS: usize = 8;

/// 1/p in packets: `first` is the synthetic interval, `open` the one since the latest loss event,
/// `closed` those between loss events, newest first. More than eight of those do not count; without
/// any it is `first`.
#[must_use]
pub fn mean_interval(first: f64, open: f64, closed: impl Iterator<Item = f64>) -> f64 {
    let mut lengths = [0.0; INTERVALS];
    let mut count = 0;
    for (kept, length) in lengths.iter_mut().zip(closed) {
        *kept = length;
        count += 1;
    }
    let closed = lengths.iter().take(count).map(|length| Weighed { length: *length, discount: 1.0 });
    let Some(without) = mean_of_closed(closed.clone(), Weights::Decreasing, 8) else { return first };
    mean_of_rfc(Some(open), without, closed, count, 1.0, &Estimator::default()).unwrap_or(without)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};
    use crate::history::loss_event_rate;
    use crate::study::HistoryDiscounting;

    /// RFC 5348 §5.4 over the same intervals, the synthetic one among them.
    fn by_rfc(lengths: &[f64]) -> f64 {
        let settings = Settings::of_study(|choices| choices.discounting = HistoryDiscounting::Off);
        1.0 / loss_event_rate(lengths, &settings.validate().unwrap_or_default()).get()
    }

    /// Packets 100, 180, 300, 330 and 500 lost, 771 the newest: the kernel reports 148
    /// (`testdata/linux-dccp`, where acknowledgements count, too). By hand (272 + 170 + 30 +
    /// 120)/4; RFC 5348 has the 80 in it at 0.8.
    #[test]
    fn five_losses() {
        let closed = [170.0, 30.0, 120.0, 80.0];
        assert_eq!(mean_interval(57.0, 272.0, closed.into_iter()), 148.0);
        assert!((by_rfc(&[272.0, 170.0, 30.0, 120.0, 80.0, 57.0]) - 656.0 / 4.8).abs() < 1e-9);
    }

    #[test]
    fn the_first_interval_stays_and_then_is_gone() {
        let none = [].into_iter();
        assert_eq!(mean_interval(40.0, 1.0, none.clone()), 40.0);
        assert_eq!(mean_interval(40.0, 900.0, none), 40.0, "however long nothing is lost");
        assert_eq!(mean_interval(40.0, 11.0, [60.0].into_iter()), 60.0);
        assert_eq!(mean_interval(40.0, 101.0, [60.0].into_iter()), 101.0);
    }

    /// From the ninth event on it is the mean of RFC 5348, and not before.
    #[test]
    fn nine_events_are_enough() {
        for events in 1..=20_u32 {
            let closed = (1..events).map(|n| f64::from(10 + 7 * (n * n % 11)));
            let mut lengths = std::vec![33.0];
            lengths.extend(closed.clone());
            lengths.push(400.0);
            let (kernel, rfc) = (mean_interval(400.0, 33.0, closed), by_rfc(&lengths));
            assert_eq!((kernel - rfc).abs() < 1e-9, events >= AGREES_FROM || events == 1, "{events}");
        }
    }

    /// The estimator of a receiver is this rule: lengths newest first, the synthetic one last.
    #[test]
    fn the_estimator_is_this_rule() {
        let settings = Settings::of_study(|choices| choices.estimator = Estimator::Linux);
        let config: Config = settings.validate().unwrap_or_default();
        for events in 1..=12_u32 {
            let closed = (1..events).map(|n| f64::from(10 + 7 * (n * n % 11)));
            let mut lengths = std::vec![333.0];
            lengths.extend(closed.clone());
            lengths.push(40.0);
            let told = 1.0 / loss_event_rate(&lengths, &config).get();
            assert!((told - mean_interval(40.0, 333.0, closed)).abs() < 1e-9, "{events}: {told}");
        }
    }
}
