//! A limit on what a receiver says about connections, so that strangers cannot fill a disk with
//! log.

use tfrc_units::{Duration, Instant};

/// The others are summed up this often.
const SUM: Duration = Duration::from_secs(1);

/// Rate of what is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogRate {
    /// Connections that are spoken of one by one at once, after a quiet time.
    burst: u32,
    /// One more may be spoken of after this time.
    pause: Duration,
}

impl LogRate {
    /// For connections with their summaries, some 2 kB long: 180 MB a day at most.
    pub(crate) const SUMMARIES: Self = Self { burst: 10, pause: Duration::from_secs(1) };
    /// For connections in a line of some 200 bytes: 180 MB a day at most.
    pub(crate) const LINES: Self = Self { burst: 1000, pause: Duration::from_millis(100) };
}

/// Says which connections are spoken of, and counts the others.
#[derive(Debug)]
pub(crate) struct LogLimit {
    rate: LogRate,
    left: u32,
    /// When `left` last grew.
    refilled: Instant,
    /// When the others were last summed up.
    summed_up: Instant,
    others: u64,
    failed: u64,
}

impl LogLimit {
    pub(crate) fn new(now: Instant, rate: LogRate) -> Self {
        Self { rate, left: rate.burst, refilled: now, summed_up: now, others: 0, failed: 0 }
    }

    /// True if one more connection may be spoken of.
    pub(crate) fn admit(&mut self, now: Instant) -> bool {
        while self.left < self.rate.burst && now.saturating_since(self.refilled) >= self.rate.pause {
            self.left += 1;
            self.refilled += self.rate.pause;
        }
        if self.left == self.rate.burst {
            self.refilled = now;
        }
        let admitted = self.left > 0;
        self.left = self.left.saturating_sub(1);
        admitted
    }

    /// A connection has ended that was not spoken of.
    pub(crate) fn passed_over(&mut self, has_failed: bool) {
        self.others += 1;
        self.failed += u64::from(has_failed);
    }

    /// A phrase about the connections that were not spoken of, if there were any and it is time for
    /// it.
    pub(crate) fn sum_up(&mut self, now: Instant) -> Option<String> {
        if self.others == 0 || now.saturating_since(self.summed_up) < SUM {
            return None;
        }
        self.summed_up = now;
        self.rest()
    }

    /// Sums up at the end of the run.
    pub(crate) fn rest(&mut self) -> Option<String> {
        let (others, failed) = (std::mem::take(&mut self.others), std::mem::take(&mut self.failed));
        let failed = if failed == 0 { String::new() } else { format!(", {failed} of them failed") };
        (others > 0)
            .then(|| format!("{others} more connection{}{failed}", if others == 1 { "" } else { "s" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_flood_of_connections_makes_a_few_lines() {
        let mut limit = LogLimit::new(at(0), LogRate::SUMMARIES);
        let (mut shown, mut lines, mut counted) = (0, 0, 0);
        // 2000 connections a second, for 100 seconds.
        for i in 0..200_000 {
            let now = at(i / 2);
            if limit.admit(now) {
                shown += 1;
            } else {
                limit.passed_over(i % 2 == 0);
                counted += 1;
            }
            lines += u64::from(limit.sum_up(now).is_some());
        }
        assert_eq!((shown, lines), (10 + 99, 99));
        assert_eq!(shown + counted, 200_000);
        assert!(limit.rest().is_some_and(|text| text.contains("more connections, ")));
        assert_eq!(limit.rest(), None);
    }

    #[test]
    fn after_a_quiet_time_there_is_room_for_a_burst_again() {
        let mut limit = LogLimit::new(at(0), LogRate::SUMMARIES);
        let burst = |limit: &mut LogLimit, ms| (0..20).filter(|_| limit.admit(at(ms))).count();
        assert_eq!(burst(&mut limit, 0), 10);
        assert_eq!(burst(&mut limit, 3500), 3);
        assert_eq!(burst(&mut limit, 1_000_000), 10);
        assert_eq!(burst(&mut limit, 1_000_999), 0);
        limit.passed_over(true);
        assert_eq!(limit.sum_up(at(1_001_000)).as_deref(), Some("1 more connection, 1 of them failed"));
    }
}
