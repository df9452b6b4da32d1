//! The rate at which the application reads.

use tfrc_units::{Duration, Instant, Rate, f64_from_u64};

/// The read rate, measured from the time when the receive queue was first half full.
#[derive(Debug, Clone)]
pub(super) struct ReadPace {
    since: Instant,
    /// Bytes read since then.
    taken: u64,
    /// The latest windows, in bytes per second; the newest first.
    recent: [Option<Rate>; KEPT],
}

/// A window is at least this long: 25 datagrams at 100 a second.
const WINDOW: Duration = Duration::from_millis(250);
/// Windows kept. The best one counts, so that an application that reads in bursts up to a second
/// apart does not count as slow.
const KEPT: usize = 4;
/// The least rate reported, in bytes per second: about a datagram per second shows that the
/// application reads again.
const LEAST: f64 = 1500.0;

impl ReadPace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { since: now, taken: 0, recent: [None; KEPT] }
    }

    /// Counts bytes that the application has read.
    pub(super) const fn on_read(&mut self, bytes: u64) {
        self.taken = self.taken.saturating_add(bytes);
    }

    /// Closes a complete window. A very long one says little about the present, and earlier ones
    /// nothing.
    pub(super) fn advance(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.since);
        if elapsed < WINDOW {
            return;
        }
        if elapsed > WINDOW * 16 {
            self.recent = [None; KEPT];
        } else {
            self.recent.rotate_right(1);
            if let Some(newest) = self.recent.first_mut() {
                *newest = Some(Rate::of(f64_from_u64(self.taken), elapsed));
            }
        }
        (self.since, self.taken) = (now, 0);
    }

    /// The read rate; `None` before the first window is complete.
    pub(super) fn rate(&self) -> Option<Rate> {
        let best = self.recent.iter().flatten().copied().reduce(Rate::max)?;
        Some(best.max(Rate::from_bytes_per_sec(LEAST)))
    }
}
