//! CCVal, the counter of quarter round-trip times (RFC 4342 §8.1).

use tfrc_units::{Duration, Instant, saturating};

/// Window counter of a data sender, which it writes into CCVal.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowCounter {
    /// last_WC, modulo 16.
    last: u8,
    /// last_WC_time; `None` before the first packet.
    since: Option<Instant>,
    /// The counter of a packet that has been acknowledged: what follows must be four ahead of it.
    acknowledged: Option<u8>,
}

impl WindowCounter {
    /// CCVal for a data packet sent now.
    pub(crate) fn on_send(&mut self, now: Instant, rtt: Duration) -> u8 {
        let Some(since) = self.since else {
            self.since = Some(now);
            return self.last;
        };
        let elapsed = now.saturating_since(since).as_nanos();
        let quarters = elapsed.saturating_mul(4).checked_div(rtt.as_nanos()).unwrap_or(5).min(5);
        let passed = saturating::<u8>(quarters);
        // Adjacent packets differ by at most five, and an acknowledged counter asks for at most
        // four.
        let step = passed.max(self.step_after_acknowledged());
        if step > 0 {
            self.last = (self.last + step) % 16;
            self.since = Some(now);
        }
        self.last
    }

    /// A packet sent with this counter has been acknowledged.
    pub(crate) const fn on_acknowledged(&mut self, counter: u8) {
        self.acknowledged = Some(counter % 16);
    }

    fn step_after_acknowledged(&mut self) -> u8 {
        self.acknowledged.take().map_or(0, |counter| {
            let ahead = (self.last + 16 - counter) % 16;
            4u8.saturating_sub(ahead)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;
    use tfrc_testkit::at;

    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn counts_quarters_from_the_last_step() {
        let mut counter = WindowCounter::default();
        let sent: Vec<u8> =
            [0, 24, 25, 49, 60, 84, 85].into_iter().map(|ms| counter.on_send(at(ms), RTT)).collect();
        // The step at 60 ms starts a new quarter at 60, not at 50.
        assert_eq!(sent, [0, 0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn never_steps_by_more_than_five() {
        let mut counter = WindowCounter::default();
        counter.on_send(at(0), RTT);
        assert_eq!(counter.on_send(at(10_000), RTT), 5);
        counter.on_acknowledged(5);
        assert_eq!(counter.on_send(at(20_000), RTT), 10);
        assert_eq!(counter.on_send(at(30_000), RTT), 15);
        assert_eq!(counter.on_send(at(40_000), RTT), 4, "modulo 16");
    }

    #[test]
    fn keeps_four_ahead_of_what_is_acknowledged() {
        let mut counter = WindowCounter::default();
        counter.on_send(at(0), RTT);
        counter.on_send(at(25), RTT);
        counter.on_acknowledged(0);
        assert_eq!(counter.on_send(at(26), RTT), 4);
        counter.on_acknowledged(0);
        assert_eq!(counter.on_send(at(27), RTT), 4, "it is four ahead already");
    }

    #[test]
    fn a_zero_round_trip_time_does_no_harm() {
        let mut counter = WindowCounter::default();
        counter.on_send(at(0), Duration::ZERO);
        assert_eq!(counter.on_send(at(0), Duration::ZERO), 5);
    }
}
