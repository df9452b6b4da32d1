//! HyStart of the kernel's CUBIC: the first slow start ends before losses, by a train of
//! acknowledgements as long as half of the round trip, or by round trips that have become longer
//! (Ha and Rhee, Computer Networks 55(9), 2011).

use tfrc_units::{Duration, Instant};

/// No end is looked for below this window, in segments.
const LOW_WINDOW: u32 = 16;
/// The largest distance of acknowledgements of one train.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// The time by which a host may hold segments back to send them together.
const AGGREGATION: Duration = Duration::from_millis(1);
/// Samples of a round before its shortest round trip is judged.
const SAMPLES: u32 = 8;
/// Bounds of the lengthening that ends slow start: an eighth of the least round trip.
const LEAST_LENGTHENING: Duration = Duration::from_millis(4);
const MOST_LENGTHENING: Duration = Duration::from_millis(16);

/// The search for the end of slow start.
#[derive(Debug, Clone, Copy)]
pub(super) struct HyStart {
    round: Option<Round>,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Until the next timeout.
    Found,
    Searching,
}

#[derive(Debug, Clone, Copy)]
struct Round {
    start: Instant,
    last: Instant,
    /// One past the last segment sent at its start.
    end: u32,
    shortest: Option<Duration>,
    samples: u32,
}

/// An acknowledgement in slow start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard {
    pub(super) now: Instant,
    pub(super) window: u32,
    /// First segment that is not acknowledged, and one past the last sent.
    pub(super) una: u32,
    pub(super) high: u32,
    pub(super) rtt: Duration,
    /// The least round trip of the connection.
    pub(super) least: Duration,
}

impl HyStart {
    pub(super) const NEW: Self = Self { round: None, outcome: Outcome::Searching };

    /// Returns true if slow start should end at this acknowledgement.
    pub(super) fn ends(&mut self, heard: Heard) -> bool {
        if self.outcome == Outcome::Found {
            return false;
        }
        let fresh = Round { start: heard.now, last: heard.now, end: heard.high, shortest: None, samples: 0 };
        let round = match &mut self.round {
            Some(round) if heard.una <= round.end => round,
            round => round.insert(fresh),
        };
        if heard.window < LOW_WINDOW {
            return false;
        }
        let mut found = false;
        if heard.now.saturating_since(round.last) <= TRAIN_GAP {
            round.last = heard.now;
            let longest = (heard.least + AGGREGATION) / 2;
            found |= heard.now.saturating_since(round.start) > longest;
        }
        let shortest = *round.shortest.insert(round.shortest.map_or(heard.rtt, |x| x.min(heard.rtt)));
        if round.samples < SAMPLES {
            round.samples += 1;
        } else {
            let lengthening = (heard.least / 8).clamp(LEAST_LENGTHENING, MOST_LENGTHENING);
            found |= shortest > heard.least + lengthening;
        }
        if found {
            self.outcome = Outcome::Found;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(100);

    fn heard(now_us: u64, una: u32, high: u32, rtt_ms: u64) -> Heard {
        Heard {
            now: Instant::ZERO + Duration::from_micros(now_us),
            window: 20,
            una,
            high,
            rtt: Duration::from_millis(rtt_ms),
            least: LEAST,
        }
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_it() {
        // Acknowledgements 2 ms apart: the train of 50.5 ms is exceeded at the 27th.
        let mut search = HyStart::NEW;
        let end = (0..40).position(|n| search.ends(heard(2000 * n, 1, 100, 100)));
        assert_eq!(end, Some(26));
        // Further apart there is no train.
        let mut search = HyStart::NEW;
        assert!((0..40).all(|n| !search.ends(heard(2001 * n, 1, 100, 100))));
    }

    #[test]
    fn longer_round_trips_end_it() {
        // An eighth of 100 ms: beyond 112.5 ms, at the ninth acknowledgement of a round.
        for (rtt, end) in [(112, None), (113, Some(8))] {
            let mut search = HyStart::NEW;
            assert_eq!((0..40).position(|n| search.ends(heard(5000 * n, 1, 100, rtt))), end, "{rtt}");
        }
        // One short round trip of a round is enough to go on.
        let mut search = HyStart::NEW;
        search.ends(heard(0, 1, 100, 100));
        assert!((1..40).all(|n| !search.ends(heard(5000 * n, 1, 100, 150))));
        // The next round has its own.
        let end = (40..80).position(|n| search.ends(heard(5000 * n, 101, 200, 150)));
        assert_eq!(end, Some(8));
    }

    #[test]
    fn the_lengthening_has_bounds() {
        for (least, rtt, ends) in [(8, 12, false), (8, 13, true), (800, 816, false), (800, 817, true)] {
            let mut search = HyStart::NEW;
            let least = Duration::from_millis(least);
            let found = (0..20).any(|n| search.ends(Heard { least, ..heard(5000 * n, 1, 100, rtt) }));
            assert_eq!(found, ends, "{least:?} {rtt}");
        }
    }

    #[test]
    fn small_windows_are_left_alone() {
        let mut search = HyStart::NEW;
        assert!((0..40).all(|n| !search.ends(Heard { window: 15, ..heard(5000 * n, 1, 100, 300) })));
    }
}
