//! The grain of the clock whose times a host passes.

use tfrc_units::Duration;

/// Grain of the host's clock: the step between two neighbouring readings.
///
/// A round trip shorter than a grain reads as nothing; it then counts as one grain, so that X is
/// that of a longer round trip, never of a shorter one. docs/models/clock.md has the rates that
/// follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ClockGrain {
    /// The least step between the times that the host passes, once several steps have been equal to
    /// it or a packet and its report have come at the same time. For any clock.
    #[default]
    Measured,
    /// This step; zero for a clock that shows every time, such as that of a simulator.
    Known(Duration),
}
