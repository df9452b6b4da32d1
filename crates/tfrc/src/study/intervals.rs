//! The open loss interval as a study counts it: its end, its place in the mean, its losses.

use super::{OpenInterval, ShortIntervals};
use crate::history::MeasuredInterval;
use crate::study::ns2::short_intervals::OpenCount;

impl OpenInterval {
    /// Packets of the open interval that do not count: the lost packet that began it, or none.
    pub(crate) const fn uncounted(self) -> u64 {
        match self {
            Self::WhenLongerLessFirst => 1,
            Self::Always | Self::Never | Self::WhenLonger => 0,
        }
    }

    /// Returns true if the open interval takes the place of no other while there are fewer closed
    /// ones than are averaged.
    pub(crate) const fn takes_no_place(self) -> bool {
        matches!(self, Self::WhenLongerLessFirst)
    }

    /// Returns true if the discount that passes into older intervals is computed from the open
    /// interval at the latest report.
    pub(crate) const fn discounts_by_reports(self) -> bool {
        matches!(self, Self::WhenLongerLessFirst)
    }
}

/// Record of the open interval for rules that use its state at the latest report. RFC 5348 and
/// RFC 4828 have none.
pub(crate) type OpenRecord = OpenCount;

impl ShortIntervals {
    /// The length of an interval by a rule that measures at reports.
    pub(crate) fn length_by_reports(interval: &MeasuredInterval) -> Option<f64> {
        crate::study::ns2::short_intervals::length(interval)
    }

    /// The losses of a reported interval that a loss ended, by such a rule: no report separates the
    /// hole that ends it from the one that began it.
    pub(crate) const fn lost_in_ended(lost: u64) -> u64 {
        lost.saturating_add(if lost > 0 { 1 } else { 0 })
    }
}
