//! The retransmission timeout as the kernel computes it: the deviation term has a floor of 200 ms,
//! follows the largest deviation of a round trip at once and falls by a quarter a round trip.

use tfrc_units::{Duration, Instant};

use crate::tcp::settings::Settings;

/// Doublings beyond this change nothing: any timeout is at its maximum long before.
const MOST_DOUBLINGS: u32 = 30;

#[derive(Debug, Clone)]
pub(super) struct Timeout {
    estimate: Option<Estimate>,
    doublings: u32,
    initial: Duration,
    least: Duration,
    most: Duration,
}

/// In seconds. Deviations are four times the mean, as they enter the timeout.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    srtt: f64,
    deviation: f64,
    /// The largest deviation of this round trip.
    largest: f64,
    /// The term of the timeout.
    term: f64,
    /// The round trip ends when this segment is acknowledged.
    round_end: u32,
}

impl Timeout {
    pub(super) const fn new(settings: &Settings) -> Self {
        Self {
            estimate: None,
            doublings: 0,
            initial: settings.initial_rto,
            least: settings.min_rto,
            most: settings.max_rto,
        }
    }

    /// The timeout until the first sample becomes at least this.
    pub(super) fn fall_back(&mut self, initial: Duration) {
        self.initial = self.initial.max(initial);
        self.doublings = 0;
    }

    /// A round trip of data below `una`; `high` is one past the last segment sent.
    pub(super) fn sample(&mut self, rtt: Duration, una: u32, high: u32) {
        self.doublings = 0;
        let (rtt, least) = (rtt.as_secs_f64(), self.least.as_secs_f64());
        let Some(estimate) = &mut self.estimate else {
            let deviation = 2.0 * rtt;
            let term = deviation.max(least);
            self.estimate = Some(Estimate { srtt: rtt, deviation, largest: term, term, round_end: high });
            return;
        };
        let error = rtt - estimate.srtt;
        estimate.srtt += error / 8.0;
        let change = error.abs() - estimate.deviation / 4.0;
        // A round trip that is shorter by more than usual counts an eighth: it does not make the
        // timeout longer.
        estimate.deviation += if error < 0.0 && change > 0.0 { change / 8.0 } else { change };
        estimate.largest = estimate.largest.max(estimate.deviation);
        estimate.term = estimate.term.max(estimate.largest);
        if una > estimate.round_end {
            if estimate.largest < estimate.term {
                estimate.term -= (estimate.term - estimate.largest) / 4.0;
            }
            estimate.round_end = high;
            estimate.largest = least;
        }
    }

    /// Something new is acknowledged.
    pub(super) const fn end_backoff(&mut self) {
        self.doublings = 0;
    }

    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_secs_f64(estimate.srtt))
    }

    pub(super) const fn least(&self) -> Duration {
        self.least
    }

    pub(super) fn get(&self) -> Duration {
        let base = self
            .estimate
            .map_or(self.initial, |estimate| Duration::from_secs_f64(estimate.srtt + estimate.term));
        let doubled = base.as_nanos().saturating_mul(1 << self.doublings);
        Duration::from_nanos(doubled).min(self.most)
    }

    /// The rest of the timeout of a segment sent at `sent`, at least a millisecond.
    pub(super) fn rest(&self, sent: Instant, now: Instant) -> Duration {
        (sent + self.get()).saturating_since(now).max(Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Variant;

    const fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    fn near(x: Duration, y: Duration) -> bool {
        x.as_nanos().abs_diff(y.as_nanos()) <= 10
    }

    #[test]
    fn a_steady_path_has_its_round_trip_and_the_floor() {
        let mut timeout = Timeout::new(&Settings::linux(Variant::Sack));
        assert_eq!(timeout.get(), ms(1000));
        timeout.sample(ms(10), 0, 10);
        assert!(near(timeout.get(), ms(210)), "{:?}", timeout.get());
        for n in 1..100 {
            timeout.sample(ms(10), 10 * n, 10 * n + 10);
        }
        assert!(near(timeout.get(), ms(210)), "{:?}", timeout.get());
    }

    #[test]
    fn the_first_sample_of_a_long_path_triples() {
        // RFC 6298 §2.2: 3R where twice R is above the floor.
        let mut timeout = Timeout::new(&Settings::linux(Variant::Sack));
        timeout.sample(ms(300), 0, 10);
        assert!(near(timeout.get(), ms(900)), "{:?}", timeout.get());
        // Then the term falls by a quarter of its distance to the largest deviation, a round trip.
        timeout.sample(ms(300), 11, 21);
        assert!(near(timeout.get(), ms(900)), "{:?}", timeout.get());
        timeout.sample(ms(300), 22, 32);
        // The deviation was 450, then 337.5 (×4 of the mean: 600 → 450 → 337.5).
        assert!(near(timeout.get(), Duration::from_micros(300_000 + 600_000 - (600_000 - 337_500) / 4)));
    }

    #[test]
    fn a_longer_round_trip_counts_at_once_and_a_shorter_one_little() {
        let start = |rtt| {
            let mut timeout = Timeout::new(&Settings::linux(Variant::Sack));
            (0..200).for_each(|n| timeout.sample(ms(1000), 2 * n, 2 * n + 1));
            timeout.sample(rtt, 400, 401);
            timeout.get()
        };
        // SRTT 1050 and 950 ms. Up by 400 ms: the term becomes that; down: an eighth, the floor.
        assert!(near(start(ms(1400)), ms(1050 + 400)), "{:?}", start(ms(1400)));
        assert!(near(start(ms(600)), ms(950 + 200)), "{:?}", start(ms(600)));
    }

    #[test]
    fn it_doubles_to_the_maximum() {
        let mut timeout = Timeout::new(&Settings::linux(Variant::Sack));
        let seen: Vec<u64> = (0..9)
            .map(|_| {
                let now = timeout.get().as_nanos() / 1_000_000_000;
                timeout.back_off();
                now
            })
            .collect();
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 64, 120, 120]);
    }
}
