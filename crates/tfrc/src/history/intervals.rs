//! The loss intervals kept, with their discount factors (RFC 5348 §5.3, §5.4, §5.5).

use tfrc_units::Probability;

use crate::config::Settings;
use crate::history::mean::{Weighed, mean_interval, mean_of_closed};
use crate::history::{dynamic_window, linux};
use crate::ring::{BoundedQueue, Memory, Store};
use crate::study::{Estimator, HistoryDiscounting, MAX_INTERVALS, OpenInterval};

/// A loss interval that a later loss event has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClosedInterval {
    /// Length in data packets; for the very first interval the synthetic one of §6.3.1.
    pub(crate) packets: f64,
    /// The length that counts: N/K of a short interval in TFRC-SP, else mostly `packets`.
    pub(crate) length: f64,
    /// DF_i.
    pub(crate) discount: f64,
    /// Sequence numbers from the first to the last loss in it (0 for the very first interval).
    pub(crate) lossy: u64,
    /// Sequence numbers after that, up to the next loss event.
    pub(crate) lossless: u64,
    /// Packets lost or marked (0 for the very first interval).
    pub(crate) lost: u64,
}

/// I_1 … I_n, newest last.
#[derive(Debug, Clone)]
pub(crate) struct Intervals<Room = Memory<ClosedInterval, MAX_INTERVALS>> {
    closed: BoundedQueue<ClosedInterval, Room>,
    keep: usize,
    /// The weighted mean of `closed` (§5.4), which only a new loss event changes.
    mean: Option<f64>,
    /// The exponentially weighted mean of all intervals.
    ewma: Option<f64>,
    estimator: Estimator,
    discounting: HistoryDiscounting,
}

impl<Room: Store<ClosedInterval>> Intervals<Room> {
    pub(crate) fn new(settings: &Settings) -> Self {
        let choices = settings.algorithm.choices();
        let keep = match choices.estimator {
            Estimator::AverageLossInterval { intervals, .. } => usize::from(intervals),
            // What the wire wants: nine with the open one (RFC 4342 §8.6.1).
            Estimator::EwmaLossInterval { .. } | Estimator::Linux => 8,
            Estimator::DynamicHistoryWindow { .. } => MAX_INTERVALS,
        };
        Self {
            closed: BoundedQueue::new(),
            keep,
            mean: None,
            ewma: None,
            estimator: choices.estimator,
            discounting: choices.discounting,
        }
    }

    /// These rules without any interval.
    pub(crate) fn emptied(&self) -> Self {
        let Self { keep, estimator, discounting, .. } = *self;
        Self { closed: BoundedQueue::new(), keep, mean: None, ewma: None, estimator, discounting }
    }

    /// A new loss event ends the current interval (§5.5, the shift): the general discount factor
    /// reached by then passes into those of the older ones. DF follows every packet that arrives
    /// (§5.5), so when the loss event is found it is computed from `grown_to`, the length the
    /// interval had then, with the packets that revealed the loss in it.
    pub(crate) fn close(&mut self, mut interval: ClosedInterval, grown_to: f64) {
        let df = self.general_discount(grown_to);
        for i in 0..self.closed.len() {
            if let Some(older) = self.closed.get_mut(i) {
                older.discount *= df;
            }
        }
        interval.discount = 1.0;
        if let Estimator::EwmaLossInterval { weight, .. } = self.estimator {
            let old = self.ewma.unwrap_or(interval.length);
            self.ewma = Some(weight * old + (1.0 - weight) * interval.length);
        }
        if self.closed.len() == self.keep {
            self.closed.pop_front();
        }
        self.closed.push(interval);
        if let Estimator::AverageLossInterval { intervals, weights, .. } = self.estimator {
            self.mean = mean_of_closed(self.newest_first(), weights, intervals);
        }
    }

    /// p with the current interval at `open` packets, `None` if it must not count; zero before the
    /// first loss event. A dynamic history window reaches back `window` packets at least.
    pub(crate) fn loss_event_rate(&self, open: Option<f64>, window: f64) -> Probability {
        self.discounted_rate(open, open.unwrap_or(0.0), window)
    }

    /// Computes the rate as [`Self::loss_event_rate`], with the discount factor of a current
    /// interval of `grown_to` packets.
    pub(crate) fn discounted_rate(&self, open: Option<f64>, grown_to: f64, window: f64) -> Probability {
        let mean = match &self.estimator {
            estimator @ Estimator::AverageLossInterval { .. } => {
                let df = self.general_discount(grown_to);
                let closed = self.newest_first();
                self.mean.and_then(|without| {
                    mean_interval(open, without, closed, self.closed.len(), df, estimator)
                })
            }
            Estimator::EwmaLossInterval { weight, open: policy } => {
                self.ewma.map(|mean| match (policy, open) {
                    (OpenInterval::Never, _) | (_, None) => mean,
                    (OpenInterval::Always, Some(open)) => weight * mean + (1.0 - weight) * open,
                    (_, Some(open)) => mean.max(weight * mean + (1.0 - weight) * open),
                })
            }
            Estimator::DynamicHistoryWindow { events, .. } => self.closed.get(0).and_then(|oldest| {
                // The synthetic first interval stands for all that came before it.
                let lengths = self.newest_first().map(|i| i.length).chain(core::iter::repeat(oldest.length));
                dynamic_window::mean_interval(
                    open.into_iter().chain(lengths.take(MAX_INTERVALS)),
                    *events,
                    window,
                )
            }),
            Estimator::Linux => self.closed.get(0).map(|oldest| {
                // Nothing was lost in the synthetic interval.
                let between = self.iter().filter(|i| i.lost > 0).map(|i| i.length);
                linux::mean_interval(oldest.length, open.unwrap_or(0.0), between)
            }),
        };
        mean.map_or(Probability::ZERO, |mean| Probability::saturating(1.0 / mean))
    }

    /// Returns the rule by which the open interval counts.
    pub(crate) const fn open_policy(&self) -> OpenInterval {
        open_policy(&self.estimator)
    }

    /// I_1 first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ClosedInterval> + '_ {
        self.closed.iter().rev()
    }

    /// DF of an average loss interval: 1 until the current interval is more than twice the mean of
    /// the closed ones, then falling to the floor.
    fn general_discount(&self, open: f64) -> f64 {
        let HistoryDiscounting::Floor(floor) = self.discounting else { return 1.0 };
        match self.mean {
            Some(mean) if open > 2.0 * mean => (2.0 * mean / open).max(floor),
            _ => 1.0,
        }
    }

    fn newest_first(&self) -> impl Iterator<Item = Weighed> + '_ {
        self.iter().map(|i| Weighed { length: i.length, discount: i.discount })
    }
}

/// Returns the rule by which this estimator counts the open interval.
pub(crate) const fn open_policy(estimator: &Estimator) -> OpenInterval {
    match estimator {
        Estimator::AverageLossInterval { open, .. } | Estimator::EwmaLossInterval { open, .. } => *open,
        Estimator::DynamicHistoryWindow { .. } | Estimator::Linux => OpenInterval::WhenLonger,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(length: f64) -> ClosedInterval {
        ClosedInterval { packets: length, length, discount: 1.0, lossy: 1, lossless: 0, lost: 1 }
    }

    fn after(lengths: &[f64], discounting: HistoryDiscounting) -> Intervals {
        let mut intervals: Intervals = Intervals::new(&Settings::of_study(|c| c.discounting = discounting));
        for length in lengths {
            intervals.close(closed(*length), *length);
        }
        intervals
    }

    #[test]
    fn steady_intervals_give_their_inverse() {
        for discounting in [HistoryDiscounting::Off, HistoryDiscounting::Floor(0.25)] {
            assert_eq!(after(&[100.0; 12], discounting).loss_event_rate(Some(1.0), 0.0).get(), 0.01);
        }
    }

    /// RFC 5348 §5.5 worked by hand: nine intervals of 100, the current one at 400, so DF =
    /// max(200/400, 0.25) = 0.5 and I_tot0 = 400 + 0.5·100·(1+1+1+0.8+0.6+0.4+0.2) = 650 over
    /// W_tot0 = 1 + 0.5·5 = 3.5.
    #[test]
    fn a_long_open_interval_discounts_the_others() {
        let p = after(&[100.0; 9], HistoryDiscounting::Floor(0.25)).loss_event_rate(Some(400.0), 0.0).get();
        assert!((p - 3.5 / 650.0).abs() < 1e-15);
        let p = after(&[100.0; 9], HistoryDiscounting::Off).loss_event_rate(Some(400.0), 0.0).get();
        assert!((p - 6.0 / 900.0).abs() < 1e-15);
    }

    #[test]
    fn the_floor_holds() {
        let p = after(&[100.0; 9], HistoryDiscounting::Floor(0.25)).loss_event_rate(Some(4000.0), 0.0).get();
        assert!((p - (1.0 + 0.25 * 5.0) / (4000.0 + 0.25 * 500.0)).abs() < 1e-15);
    }

    /// A loss event found when the current interval, 400 long, had grown to 800: DF is at its floor
    /// of 0.25.
    #[test]
    fn the_discount_goes_by_the_length_at_detection() {
        let mut intervals = after(&[100.0; 8], HistoryDiscounting::Floor(0.25));
        intervals.close(closed(400.0), 800.0);
        let old = 0.25 * (1.0 + 1.0 + 1.0 + 0.8 + 0.6 + 0.4 + 0.2);
        let p = intervals.loss_event_rate(Some(1.0), 0.0).get();
        assert!((p - (1.0 + old) / (400.0 + 100.0 * old)).abs() < 1e-15, "{p}");
    }

    /// After a loss the discount reached by then stays with the old intervals: the new one of 400
    /// weighs double.
    #[test]
    fn the_discount_is_carried_over() {
        let intervals = after(
            &[100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 400.0],
            HistoryDiscounting::Floor(0.25),
        );
        let p = intervals.loss_event_rate(Some(1.0), 0.0).get();
        let old = 0.5 * (1.0 + 1.0 + 1.0 + 0.8 + 0.6 + 0.4 + 0.2);
        assert!((p - (1.0 + old) / (400.0 + 100.0 * old)).abs() < 1e-15, "{p}");
    }

    fn estimated(estimator: Estimator, lengths: &[f64], open: Option<f64>, window: f64) -> f64 {
        let mut intervals: Intervals = Intervals::new(&Settings::of_study(|c| c.estimator = estimator));
        for length in lengths {
            intervals.close(closed(*length), *length);
        }
        1.0 / intervals.loss_event_rate(open, window).get()
    }

    /// A ← hA + (1 − h)I at each interval, A of the first; the open one when it makes the mean
    /// longer.
    #[test]
    fn exponentially_weighted_intervals() {
        let ewma = |open| Estimator::EwmaLossInterval { weight: 0.75, open };
        let after = |open, length| estimated(ewma(open), &[100.0, 20.0, 60.0], Some(length), 0.0);
        // 100, then 80, then 75.
        assert_eq!(after(OpenInterval::Never, 1000.0), 75.0);
        assert_eq!(after(OpenInterval::WhenLonger, 60.0), 75.0);
        assert_eq!(after(OpenInterval::WhenLonger, 95.0), 80.0);
        assert_eq!(estimated(ewma(OpenInterval::WhenLonger), &[100.0; 50], None, 0.0), 100.0);
    }

    /// With four events: the open interval and three before it; before the first interval lies more
    /// of the same.
    #[test]
    fn a_window_of_events() {
        let window =
            Estimator::DynamicHistoryWindow { events: 4, window: crate::study::HistoryWindow::ByEvents };
        assert_eq!(estimated(window, &[500.0, 10.0, 20.0, 30.0], Some(40.0), 0.0), 25.0);
        assert_eq!(estimated(window, &[50.0], Some(10.0), 0.0), 40.0);
        assert_eq!(estimated(window, &[500.0, 10.0, 20.0, 30.0], Some(40.0), 1000.0), 1000.0 / 5.0);
        assert_eq!(estimated(window, &[10.0; 60], Some(10.0), 1e9), 10.0);
    }

    /// An open interval that must not count leaves the mean of the closed ones, however long it is
    /// (RFC 4828 §3).
    #[test]
    fn the_open_interval_may_be_left_out() {
        let intervals = after(&[100.0; 9], HistoryDiscounting::Off);
        assert_eq!(intervals.loss_event_rate(None, 0.0).get(), 0.01);
        assert!(intervals.loss_event_rate(Some(4000.0), 0.0).get() < 0.01);
    }
}
