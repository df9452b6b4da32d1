//! Datagrams lost, as they are counted while a connection goes on.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant};

/// The time for which a datagram whose place has been given up may still come, too late. No path
/// that a receiver puts in order delays a part of its packets by more than four round-trip times.
const TOO_LATE: Duration = Duration::from_secs(1);

/// The number of datagrams lost, which never falls: a place that was given up is a loss once
/// nothing has come for it for a second.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Places given up by these times, of the last second.
    given_up: VecDeque<(Instant, u64)>,
    /// Those given up a second ago.
    settled: u64,
    lost: u64,
}

impl Losses {
    /// The number of datagrams that are lost for good. `given_up` places were given up until now;
    /// for `filled` of them something came all the same, or was dropped here.
    pub(super) fn see(&mut self, now: Instant, given_up: u64, filled: u64) -> u64 {
        self.given_up.push_back((now, given_up));
        while let Some((at, count)) = self.given_up.front().copied()
            && now.saturating_since(at) >= TOO_LATE
        {
            self.settled = count;
            self.given_up.pop_front();
        }
        self.lost = self.lost.max(self.settled.saturating_sub(filled));
        self.lost
    }

    /// The datagrams lost at the end of a connection, as `total` says, those counted before in any
    /// case.
    pub(super) fn end(&mut self, total: u64) -> u64 {
        self.lost = self.lost.max(total);
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_place_is_lost_when_nothing_came_for_it_for_a_second() {
        let mut losses = Losses::default();
        assert_eq!(losses.see(at(0), 3, 0), 0);
        assert_eq!(losses.see(at(500), 5, 1), 0, "one of them came");
        assert_eq!(losses.see(at(999), 5, 1), 0);
        assert_eq!(losses.see(at(1000), 5, 1), 2);
        assert_eq!(losses.see(at(1500), 5, 1), 4);
        assert_eq!(losses.end(6), 6);
    }

    /// A path that brings each fifth packet too late and loses none.
    #[test]
    fn what_comes_too_late_is_not_lost() {
        let mut losses = Losses::default();
        for n in 0..100 {
            assert_eq!(losses.see(at(100 * n), 10 * n, (10 * n).saturating_sub(5)), 0, "{n}");
        }
        assert_eq!(losses.end(0), 0);
    }

    #[test]
    fn the_count_never_falls() {
        let mut losses = Losses::default();
        losses.see(at(0), 2, 0);
        assert_eq!(losses.see(at(1000), 2, 0), 2);
        assert_eq!(losses.see(at(3000), 2, 1), 2, "two seconds too late");
        assert_eq!(losses.end(1), 2);
    }
}
