//! The monotonic clock.

use tfrc_units::{Duration, Instant};

/// The monotonic clock, read as time since the clock was made. Read it once per batch of work.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    /// A clock that shows zero now.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch_ns: monotonic_ns() }
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.epoch_ns))
    }

    /// `at` on the system's own monotonic clock, for timers that want an absolute time.
    #[cfg(target_os = "linux")]
    pub(super) fn on_system_clock(self, at: Instant) -> Duration {
        Duration::from_nanos(self.epoch_ns.saturating_add(at.as_nanos()))
    }
}

#[cfg(unix)]
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    seconds.unwrap_or(0) * 1_000_000_000 + nanos.unwrap_or(0)
}

#[cfg(not(unix))]
fn monotonic_ns() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    Duration::from(START.get_or_init(std::time::Instant::now).elapsed()).as_nanos()
}
