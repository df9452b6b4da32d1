//! Room in the window for acknowledgements that come in lumps: how many more were delivered within
//! a stretch of time than the estimated rate accounts for.

use tfrc_units::{Instant, saturating, u64_from_f64};

/// Rounds of each of the two windows of the maximum.
const WINDOW_ROUNDS: u32 = 5;
/// The most that the room may hold, in seconds at the estimated rate.
const MOST_SECONDS: f64 = 0.1;
/// A stretch ends at this many segments.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub(super) struct Aggregation {
    start: Instant,
    delivered: u64,
    rounds: u32,
    /// The maximum of this window and of the one before.
    most: [u32; 2],
}

impl Aggregation {
    pub(super) const fn new(now: Instant) -> Self {
        Self { start: now, delivered: 0, rounds: 0, most: [0; 2] }
    }

    /// A round of the connection begins.
    pub(super) const fn round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            let [now, _] = self.most;
            (self.rounds, self.most) = (0, [0, now]);
        }
    }

    /// An acknowledgement has delivered segments.
    pub(super) fn update(&mut self, now: Instant, delivered: u32, rate: f64, cwnd: u32) {
        let expected = |since: Instant| u64_from_f64(rate * now.saturating_since(since).as_secs_f64());
        let mut due = expected(self.start);
        if self.delivered <= due || self.delivered + u64::from(delivered) >= LONGEST {
            (self.start, self.delivered, due) = (now, 0, 0);
        }
        self.delivered += u64::from(delivered);
        let more = saturating::<u32>(self.delivered.saturating_sub(due)).min(cwnd);
        let [most, _] = &mut self.most;
        *most = more.max(*most);
    }

    /// Segments to add to the window.
    pub(super) fn room(&self, rate: f64) -> u32 {
        let [now, before] = self.most;
        now.max(before).min(saturating::<u32>(u64_from_f64(rate * MOST_SECONDS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_units::Duration;

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    #[test]
    fn lumps_make_room_and_an_even_flow_makes_one_segment() {
        let mut even = Aggregation::new(ms(0));
        (0..500).for_each(|n| even.update(ms(n), 1, 1000.0, 100));
        assert_eq!(even.room(1000.0), 1);
        // Ten at once each 10 ms.
        let mut lumps = Aggregation::new(ms(0));
        (0..50).for_each(|n| lumps.update(ms(10 * n), 10, 1000.0, 100));
        assert_eq!(lumps.room(1000.0), 10);
        // At most what 100 ms carry, and no more than the window.
        assert_eq!(lumps.room(50.0), 5);
        let mut small = Aggregation::new(ms(0));
        small.update(ms(0), 10, 1000.0, 4);
        assert_eq!(small.room(1000.0), 4);
    }

    #[test]
    fn it_lasts_for_five_to_ten_rounds() {
        let mut lump = Aggregation::new(ms(0));
        lump.update(ms(0), 10, 1000.0, 100);
        let rounds = (1..20).take_while(|_| {
            lump.round();
            lump.room(1000.0) == 10
        });
        assert_eq!(rounds.count(), 9);
    }
}
