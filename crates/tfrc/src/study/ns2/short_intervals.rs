//! How TFRC-SP of ns-2.35 (`ShortIntervals_` 1) counts the losses of a loss interval and separates
//! short ones from long, found by runs of the program (`docs/models/tfrc.md`).

use tfrc_units::f64_from_u64;

use crate::interval::MeasuredInterval;

/// Until this many round-trip times an interval is short.
const SHORT: f64 = 2.0;

/// By how much the receiver sees an interval older than its packets are: the way of the newest of
/// them, half a round-trip time, because it compares its own clock with the sender's timestamp.
const WAY: f64 = 0.5;

/// The length of a short interval: N/K cut to a whole number, even to 0. `None` of a long one.
pub(crate) fn length(interval: &MeasuredInterval) -> Option<f64> {
    let k = f64_from_u64(interval.lost).max(1.0);
    (interval.round_trips < SHORT).then(|| libm::floor(interval.packets / k))
}

/// Memory of the open interval: its losses, and its age and length at the latest report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OpenCount {
    /// K, the losses of the interval.
    lost: u64,
    /// Its age at the latest report: short or long.
    age: Age,
    /// Its length then; 0 before a report.
    packets: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Short,
    Long,
}

impl OpenCount {
    /// A hole that begins an interval counts for one loss in it, however long: all of it went to
    /// the one before.
    pub(crate) const NEW: Self = Self { lost: 1, age: Age::Short, packets: 0.0 };

    /// More losses of the same event.
    pub(crate) const fn add(&mut self, lost: u64) {
        self.lost = self.lost.saturating_add(lost);
    }

    /// A report is made: the interval has `packets` packets, the newest of which was sent
    /// `round_trips` after its first loss and arrived `held` round-trip times ago.
    pub(crate) fn on_report(&mut self, packets: f64, round_trips: f64, held: f64) {
        self.age = if round_trips + WAY + held < SHORT { Age::Short } else { Age::Long };
        self.packets = packets;
    }

    /// The interval while it is open.
    pub(crate) const fn open(&self, measured: MeasuredInterval) -> MeasuredInterval {
        let round_trips = match self.age {
            Age::Short => 0.0,
            Age::Long => f64::INFINITY,
        };
        MeasuredInterval { lost: self.lost, round_trips, ..measured }
    }

    /// The interval when a hole ends it, `rest` packets of which have not been counted. It is short
    /// if it was at the latest report, and also if it lasted no longer than that by the times of
    /// sending.
    pub(crate) const fn closed(&self, measured: MeasuredInterval, rest: u64) -> MeasuredInterval {
        let round_trips = match self.age {
            Age::Short => 0.0,
            Age::Long => measured.round_trips,
        };
        MeasuredInterval { lost: self.lost.saturating_add(rest), round_trips, ..measured }
    }

    /// The length that discounts older intervals, undivided, as the latest report found it.
    pub(crate) const fn grown_to(&self) -> f64 {
        self.packets
    }
}
