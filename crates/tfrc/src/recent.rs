//! The least of values seen lately.

use tfrc_units::{Duration, Instant, saturating};

/// A stretch of time. The least value of one or two of them is long enough to meet a packet without
/// delay, and short against the drift of clocks (10 s at 100 ppm are 1 ms) and the changes of
/// paths.
const MEMORY: Duration = Duration::from_secs(10);

/// The least of the values seen over the current stretch of [`MEMORY`] and the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecentLeast {
    since: Instant,
    current: i64,
    previous: i64,
}

impl RecentLeast {
    pub(crate) const fn new(now: Instant, value: i64) -> Self {
        Self { since: now, current: value, previous: value }
    }

    pub(crate) fn least(&self) -> i64 {
        self.current.min(self.previous)
    }

    /// Takes in a value.
    pub(crate) fn update(this: &mut Option<Self>, now: Instant, value: i64) {
        *this = Some(match *this {
            None => Self::new(now, value),
            Some(old) if now.saturating_since(old.since) >= MEMORY * 2 => Self::new(now, value),
            Some(old) if now.saturating_since(old.since) >= MEMORY => {
                Self { since: now, current: value, previous: old.current }
            }
            Some(old) => Self { current: old.current.min(value), ..old },
        });
    }
}

/// The least round trip from a packet to its report, seen lately and seen at all. The time for
/// which the receiver held the packet is in it: a receiver can overstate that time, not the whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeastRoundTrip {
    recent: Option<RecentLeast>,
    ever: Duration,
}

impl LeastRoundTrip {
    pub(crate) const NOTHING: Self = Self { recent: None, ever: Duration::MAX };

    /// A report has come so long after its newest packet was sent. Returns the least of late.
    fn on_report(&mut self, now: Instant, round_trip: Duration) -> Duration {
        self.ever = self.ever.min(round_trip);
        RecentLeast::update(&mut self.recent, now, saturating::<i64>(round_trip.as_nanos()));
        let least = self.recent.map_or(0, |recent| recent.least());
        Duration::from_nanos(saturating::<u64>(least.max(0)))
    }

    /// The least round trip that a report which came `whole` after its newest packet was sent can
    /// mean, if the receiver says it held the packet for `held`: the least ever, as in RFC 9002
    /// §5.3. A hold as long as the whole says nothing; then it is the least of late.
    pub(crate) fn bound(&mut self, now: Instant, whole: Duration, held: Duration) -> Duration {
        let recent = self.on_report(now, whole);
        if held >= whole { recent } else { self.ever }
    }

    /// The sample of a report that came `whole` after its newest packet was sent, of a receiver
    /// that says it held the packet for `held`. A receiver that follows RFC 5348 §6.2 holds a
    /// packet for a round-trip time at most, so half of the least round trip is left; and a hold as
    /// long as the whole says nothing.
    pub(crate) fn sample(&mut self, now: Instant, whole: Duration, held: Duration) -> Duration {
        let least = self.bound(now, whole, held);
        if held >= whole { least } else { whole.saturating_sub(held).max(least / 2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    /// A shorter path counts at once; a longer one after 20 s at the latest.
    #[test]
    fn the_least_round_trip_follows_the_path() {
        let mut least = LeastRoundTrip::NOTHING;
        let ms = |now, ms| (at(now), Duration::from_millis(ms));
        let mut hear = |(now, trip)| least.on_report(now, trip).as_nanos() / 1_000_000;
        assert_eq!(hear(ms(0, 60)), 60);
        assert_eq!(hear(ms(100, 50)), 50);
        assert_eq!(hear(ms(200, 90)), 50);
        assert_eq!(hear(ms(300, 20)), 20);
        let found = (1..300).map(|n| 300 + n * 100).find(|now| hear(ms(*now, 80)) == 80);
        assert!(found.is_some_and(|at| (10_000..=20_400).contains(&at)), "{found:?}");
        assert_eq!(
            hear((at(100_000), Duration::MAX)),
            u64::try_from(i64::MAX).map_or(0, |ns| ns / 1_000_000)
        );
    }

    /// A hold takes off half of the least round trip at most, and nothing if it is impossible. A
    /// long one is believed where a shorter round trip has been seen.
    #[test]
    fn what_a_hold_takes_off() {
        let mut least = LeastRoundTrip::NOTHING;
        let mut sample = |now, whole, held| {
            let ms = Duration::from_millis;
            least.sample(at(now), ms(whole), ms(held)).as_nanos() / 1_000_000
        };
        let reports = [(0, 120, 20, 100), (100, 120, 90, 60), (200, 150, 0, 150), (300, 110, 110, 110)];
        for (now, whole, held, expected) in reports {
            assert_eq!(sample(now, whole, held), expected);
        }
        assert_eq!(sample(400, 130, 9000), 110);
        assert_eq!(sample(60_000, 9000, 8900), 100, "the whole before the silence was 110");
        assert_eq!(sample(61_000, 9000, 9000), 9000);
    }
}
