//! Delivery rate samples: how fast the path has delivered between a segment's sending and its
//! acknowledgement (draft-cheng-iccrg-delivery-rate-estimation).

use tfrc_units::{Duration, Instant, f64_from_u64};

/// State of deliveries when a segment was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    supply: Supply,
}

/// Supply of data when a segment was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Supply {
    /// It filled the path.
    Enough,
    /// Less than the path could carry was in flight, on purpose: a rate says what was sent.
    Short,
}

/// Counts of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    delivered: u64,
    /// Time of the last delivery.
    at: Instant,
    /// Sending time of the segment that was delivered last, or of the first after an idle time.
    first_sent: Instant,
    lost: u64,
    /// The supply is short until more than this number is delivered.
    short_until: Option<u64>,
    /// Segment sent last among those that the acknowledgement at hand delivers.
    latest: Option<Latest>,
}

#[derive(Debug, Clone, Copy)]
struct Latest {
    serial: u64,
    sent: Instant,
    snapshot: Snapshot,
}

/// The rate that one acknowledgement shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct RateSample {
    /// Segments a second.
    pub(super) rate: f64,
    /// Segments delivered when the acknowledged one was sent.
    pub(super) prior_delivered: u64,
    pub(super) supply: Supply,
}

impl Snapshot {
    /// The state at the start.
    pub(super) const START: Self =
        Self { delivered: 0, delivered_at: Instant::ZERO, first_sent: Instant::ZERO, supply: Supply::Enough };
}

impl Delivery {
    pub(super) const fn new() -> Self {
        let (at, first_sent) = (Instant::ZERO, Instant::ZERO);
        Self { delivered: 0, at, first_sent, lost: 0, short_until: None, latest: None }
    }

    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) const fn at(&self) -> Instant {
        self.at
    }

    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn on_lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
    }

    /// Segments have arrived that had arrived before.
    pub(super) fn on_duplicates(&mut self, segments: u32) {
        self.delivered += u64::from(segments);
    }

    /// A segment goes out.
    pub(super) fn on_sent(&mut self, now: Instant, traffic: Traffic) -> Snapshot {
        if traffic == Traffic::None {
            (self.first_sent, self.at) = (now, now);
        }
        let supply = if self.short_until.is_some() { Supply::Short } else { Supply::Enough };
        let (delivered, delivered_at, first_sent) = (self.delivered, self.at, self.first_sent);
        Snapshot { delivered, delivered_at, first_sent, supply }
    }

    /// A segment has arrived, which was sent at `sent` as the transmission `serial`.
    pub(super) fn on_delivered(&mut self, serial: u64, sent: Instant, snapshot: Snapshot) {
        self.delivered += 1;
        if self.latest.is_none_or(|latest| latest.serial < serial) {
            self.latest = Some(Latest { serial, sent, snapshot });
            self.first_sent = sent;
        }
    }

    /// The supply is short until all that is in flight, and one more, is delivered.
    pub(super) fn is_short(&mut self, in_flight: u32) {
        self.short_until = Some(self.delivered + u64::from(in_flight));
    }

    /// All that an acknowledgement delivers is taken in.
    pub(super) fn sample(&mut self, now: Instant, least_rtt: Option<Duration>) -> Option<RateSample> {
        if self.short_until.is_some_and(|until| self.delivered > until) {
            self.short_until = None;
        }
        let Latest { sent, snapshot, .. } = self.latest.take()?;
        self.at = now;
        let sending = sent.saturating_since(snapshot.first_sent);
        let acknowledging = now.saturating_since(snapshot.delivered_at);
        let interval = sending.max(acknowledging);
        // What is shorter than any round trip is no measure of the path.
        if interval.is_zero() || least_rtt.is_some_and(|least| interval < least) {
            return None;
        }
        let delivered = f64_from_u64(self.delivered - snapshot.delivered);
        let rate = delivered / interval.as_secs_f64();
        Some(RateSample { rate, prior_delivered: snapshot.delivered, supply: snapshot.supply })
    }
}

/// Segments in the network before one is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    None,
    Some,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    /// Ten segments at once, acknowledged one a millisecond from 100 ms on; each is replaced.
    #[test]
    fn the_rate_is_that_of_the_acknowledgements() {
        let mut delivery = Delivery::new();
        let mut out = std::collections::VecDeque::new();
        for n in 0..10 {
            let traffic = if n == 0 { Traffic::None } else { Traffic::Some };
            out.push_back((n, ms(0), delivery.on_sent(ms(0), traffic)));
        }
        let mut rates = Vec::new();
        for n in 0..30 {
            let now = ms(100 + n + 90 * (n / 10));
            let (serial, sent, snapshot) = out.pop_front().unwrap();
            delivery.on_delivered(serial, sent, snapshot);
            rates.push(delivery.sample(now, Some(Duration::from_millis(100))).unwrap().rate);
            out.push_back((10 + n, now, delivery.on_sent(now, Traffic::Some)));
        }
        // The first segment: one in 100 ms. The tenth: ten in 109 ms.
        assert!((rates[0] - 10.0).abs() < 1e-9 && (rates[9] - 10.0 / 0.109).abs() < 1e-9, "{rates:?}");
        // The first window was sent at once, so the second counts by its sending: 10 in 101 ms.
        assert!((rates[11] - 10.0 / 0.101).abs() < 1e-9, "{rates:?}");
        // Then 10 in each round trip of 100 ms.
        assert!(rates[20..].iter().all(|rate| (rate - 100.0).abs() < 1e-9), "{rates:?}");
    }

    #[test]
    fn a_burst_of_acknowledgements_does_not_count_faster_than_the_sending() {
        // Ten segments in 90 ms, all acknowledged at once at 200 ms, the earlier ones at 100 ms.
        let mut delivery = Delivery::new();
        let snapshots: Vec<Snapshot> = (0..10)
            .map(|n| delivery.on_sent(ms(9 * n), if n == 0 { Traffic::None } else { Traffic::Some }))
            .collect();
        for (serial, snapshot) in (0..10).zip(snapshots) {
            delivery.on_delivered(serial, ms(9 * serial), snapshot);
        }
        let sample = delivery.sample(ms(200), None).unwrap();
        assert!((sample.rate - 10.0 / 0.2).abs() < 1e-9 && sample.prior_delivered == 0, "{sample:?}");
    }

    #[test]
    fn a_short_supply_ends_with_what_was_in_flight() {
        // Two in flight when it becomes short: those sent until the third delivery say so.
        let mut delivery = Delivery::new();
        let first = [delivery.on_sent(ms(0), Traffic::None), delivery.on_sent(ms(0), Traffic::Some)];
        delivery.is_short(2);
        let later = delivery.on_sent(ms(1), Traffic::Some);
        let mut supply = |serial, snapshot| {
            delivery.on_delivered(serial, ms(0), snapshot);
            let seen = delivery.sample(ms(100 + serial), None).unwrap().supply;
            (seen, delivery.on_sent(ms(100 + serial), Traffic::Some).supply)
        };
        use Supply::{Enough, Short};
        assert_eq!(supply(1, first[0]), (Enough, Short));
        assert_eq!(supply(2, first[1]), (Enough, Short));
        assert_eq!(supply(3, later), (Short, Enough));
    }

    #[test]
    fn less_than_a_round_trip_is_no_sample() {
        let mut delivery = Delivery::new();
        let snapshot = delivery.on_sent(ms(0), Traffic::None);
        delivery.on_delivered(1, ms(0), snapshot);
        assert!(delivery.sample(ms(50), Some(Duration::from_millis(51))).is_none());
        assert!(delivery.sample(ms(60), None).is_none(), "nothing was delivered since");
    }
}
