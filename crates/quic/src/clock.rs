//! The clock of an endpoint: zero at its creation.

use tfrc_units::{Epoch, Instant};

/// The monotonic clock, as QUIC and the controllers read it too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: std::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: std::time::Instant::now() }
    }

    pub(crate) fn now(self) -> Instant {
        Instant::ZERO + self.start.elapsed().into()
    }

    /// The epoch of the controllers' times.
    pub(crate) const fn epoch(self) -> Epoch {
        Epoch::new(self.start)
    }

    /// A controller's time on this clock.
    pub(crate) fn of_controller(self, at: Instant) -> Instant {
        Instant::ZERO + at.saturating_since(self.epoch().at(self.start))
    }
}
