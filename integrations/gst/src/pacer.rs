//! The time at which the next packet may leave.

use tfrc_units::{Duration, Instant, Rate};

/// Time that a packet may make up for one that left late: a thread wakes up some milliseconds late.
const SLACK: Duration = Duration::from_millis(5);

/// Gaps of size / rate behind each packet. The rate of now counts, also for a packet that waits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pacer {
    last: Option<Departure>,
}

#[derive(Debug, Clone, Copy)]
struct Departure {
    /// The time it was due, or a [`SLACK`] before it left if that was later.
    at: Instant,
    size: u32,
}

impl Pacer {
    /// The time at which a packet may leave at this rate; `None` for now.
    pub(crate) fn due(&self, now: Instant, rate: Rate) -> Option<Instant> {
        let last = self.last?;
        let due = last.at + rate.time_for(f64::from(last.size));
        (due > now).then_some(due)
    }

    /// A packet of `size` bytes leaves.
    pub(crate) fn on_sent(&mut self, now: Instant, rate: Rate, size: u32) {
        let due = self.last.map(|last| last.at + rate.time_for(f64::from(last.size)));
        let at = due.map_or(now, |due| due.min(now).max(now - SLACK));
        self.last = Some(Departure { at, size });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_bits_per_sec(960e3);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn packets_leave_a_gap_apart_in_the_mean() {
        // 1200 bytes at 960 kbit/s: 10 ms.
        let mut pacer = Pacer::default();
        assert_eq!(pacer.due(at(0), RATE), None);
        pacer.on_sent(at(0), RATE, 1200);
        assert_eq!(pacer.due(at(1), RATE), Some(at(10)));
        // 3 ms late: the next one makes up for it.
        pacer.on_sent(at(13), RATE, 1200);
        assert_eq!(pacer.due(at(13), RATE), Some(at(20)));
        // Idle: no more than the slack is made up for.
        pacer.on_sent(at(500), RATE, 1200);
        assert_eq!(pacer.due(at(500), RATE), Some(at(505)));
    }

    #[test]
    fn a_packet_that_waits_waits_at_the_rate_of_now() {
        let mut pacer = Pacer::default();
        pacer.on_sent(at(0), RATE, 1200);
        assert_eq!(pacer.due(at(1), Rate::from_bits_per_sec(480e3)), Some(at(20)));
        assert_eq!(pacer.due(at(6), Rate::from_bits_per_sec(1920e3)), None);
    }
}
