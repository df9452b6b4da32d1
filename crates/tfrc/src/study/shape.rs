//! The friend of the equation by the shape in which the queue grows: a choice of a study.
//!
//! Between two losses the window of a Reno, and so the queue behind it, grows along a straight line
//! over round trips; that of a CUBIC along a cubic. Samples of the round-trip time show the queue.
//! docs/models/tfrc.md has what this is worth, and where it does not work.

use tfrc_units::{Duration, Instant};

use crate::equation::Friend;

/// The rule that chooses the friend of the equation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "schema",
    derive(tfrc_units::schema::Deserialize, tfrc_units::schema::JsonSchema),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum FriendChoice {
    /// The friend that the settings name.
    #[default]
    Told,
    /// At first the friend that the settings name; after some growths of the queue it is Reno if
    /// they were straight, and CUBIC if they were not. The rate lies between those of both.
    ByShape,
}

/// A growth counts from this many round trips on, and from this many samples on.
const LEAST_ROUNDS: f64 = 6.0;
const LEAST_SAMPLES: u32 = 5;
/// Its rise, as a part of the least round-trip time, and in seconds.
const LEAST_RISE: (f64, f64) = (0.1, 0.004);
/// The weight of a new growth in the mean, at least.
const LEAST_WEIGHT: f64 = 0.15;
/// Below the first the growths are straight, above the second they are not.
const BOUNDS: (f64, f64) = (0.06, 0.09);

/// The growth of the queue, and the mean distance of past growths from straight lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueShape {
    growth: Growth,
    /// When the last sample came.
    last: Option<Instant>,
    /// Mean of the distances, as parts of the rise.
    distance: f64,
    /// Growths in the mean, as far as they have to be told apart.
    growths: u8,
    friend: Friend,
}

/// Samples s at rounds t from the lowest one on. Every sender has room for it, so it keeps sums.
#[derive(Debug, Clone, Copy)]
struct Growth {
    /// The least and the greatest sample, in seconds.
    low: f64,
    high: f64,
    /// Round trips since the least.
    rounds: f64,
    t: f64,
    s: f64,
    tt: f64,
    ts: f64,
    ss: f64,
    /// Up to the greatest: the distance from a straight line, and the round trips.
    top_distance: f64,
    top_rounds: f64,
    samples: u32,
    /// Up to the greatest.
    top_samples: u32,
}

impl Growth {
    const NOTHING: Self = Self {
        low: 0.0,
        high: 0.0,
        rounds: 0.0,
        t: 0.0,
        s: 0.0,
        tt: 0.0,
        ts: 0.0,
        ss: 0.0,
        top_distance: 0.0,
        top_rounds: 0.0,
        samples: 0,
        top_samples: 0,
    };

    const fn from(sample: f64) -> Self {
        Self { low: sample, high: sample, samples: 1, top_samples: 1, ..Self::NOTHING }
    }

    /// Returns true if a sample is so far below the greatest that somebody has slowed down.
    fn ends_at(&self, sample: f64) -> bool {
        let rise = self.high - self.low;
        sample < self.high - 0.5 * rise && rise > (LEAST_RISE.0 * self.low).max(LEAST_RISE.1)
    }

    fn add(&mut self, rounds: f64, sample: f64) {
        self.rounds += rounds;
        let (t, s) = (self.rounds, sample - self.low);
        self.samples = self.samples.saturating_add(1);
        self.t += t;
        self.s += s;
        self.tt += t * t;
        self.ts += t * s;
        self.ss += s * s;
        if sample >= self.high {
            self.high = sample;
            self.top_distance = self.distance();
            (self.top_rounds, self.top_samples) = (self.rounds, self.samples);
        }
    }

    /// Standard deviation of the samples from the straight line that fits them best.
    fn distance(&self) -> f64 {
        let n = f64::from(self.samples);
        let (t, s) = (self.t / n, self.s / n);
        let (tt, ts, ss) = (self.tt / n - t * t, self.ts / n - t * s, self.ss / n - s * s);
        libm::sqrt((ss - ts * ts / tt).max(0.0))
    }

    /// The distance from a straight line as a part of the rise, for a growth that is long enough.
    fn shape(&self) -> Option<f64> {
        let is_long = self.top_samples >= LEAST_SAMPLES && self.top_rounds >= LEAST_ROUNDS;
        is_long.then(|| self.top_distance / (self.high - self.low))
    }
}

impl QueueShape {
    /// Nothing is known but the friend that the settings name.
    pub(crate) const fn new(told: Friend) -> Self {
        let distance = match told {
            Friend::Reno => BOUNDS.0,
            Friend::Cubic => BOUNDS.1,
        };
        Self { growth: Growth::NOTHING, last: None, distance, growths: 1, friend: told }
    }

    /// A sample of the round-trip time, at least a grain of the clock; the friend from now on.
    pub(crate) fn on_sample(&mut self, now: Instant, sample: Duration) -> Friend {
        let seconds = sample.max(Duration::from_nanos(1)).as_secs_f64();
        let since = self.last.map_or(Duration::ZERO, |last| now.saturating_since(last));
        self.last = Some(now);
        if self.growth.ends_at(seconds) {
            if let Some(shape) = self.growth.shape() {
                self.judge(shape);
            }
            self.growth = Growth::from(seconds);
        } else if self.growth.samples == 0 || seconds <= self.growth.low {
            self.growth = Growth::from(seconds);
        } else {
            self.growth.add(since.as_secs_f64() / seconds, seconds);
        }
        self.friend
    }

    fn judge(&mut self, shape: f64) {
        self.growths = self.growths.saturating_add(1);
        let weight = (1.0 / f64::from(self.growths)).max(LEAST_WEIGHT);
        self.distance += weight * (shape - self.distance);
        if self.distance < BOUNDS.0 {
            self.friend = Friend::Reno;
        } else if self.distance > BOUNDS.1 {
            self.friend = Friend::Cubic;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The friend after `growths` growths of twenty round trips, from 100 ms by 50 ms, of a form
    /// from 0 to 1.
    fn after(told: Friend, growths: u32, form: impl Fn(f64) -> f64) -> Friend {
        let mut shape = QueueShape::new(told);
        let mut now = Instant::ZERO;
        for _ in 0..=growths {
            for n in 0..=20 {
                let sample = Duration::from_secs_f64(0.1 + 0.05 * form(f64::from(n) / 20.0));
                now += sample;
                shape.on_sample(now, sample);
            }
        }
        shape.friend
    }

    /// RFC 9438 §4.2: a cubic around the inflection, which is Reno's line nowhere.
    #[test]
    fn lines_are_reno_and_cubics_are_cubic() {
        for told in [Friend::Reno, Friend::Cubic] {
            assert_eq!(after(told, 10, |x| x), Friend::Reno);
            assert_eq!(after(told, 10, |x| 1.0 - libm::pow(1.0 - x, 3.0)), Friend::Cubic, "concave");
            assert_eq!(after(told, 10, |x| x * x * x), Friend::Cubic, "convex");
        }
    }

    /// Without a queue that grows, or with too few growths, the friend is that of the settings.
    #[test]
    fn nothing_is_known_without_growth() {
        for told in [Friend::Reno, Friend::Cubic] {
            assert_eq!(after(told, 10, |_| 0.0), told, "no queue");
            assert_eq!(after(told, 10, |x| 0.05 * x), told, "2.5 ms of it");
            assert_eq!(after(told, 0, |x| 1.0 - x), told);
        }
    }

    proptest! {
        /// Any samples give a friend, and a distance that is a number.
        #[test]
        fn any_samples(samples in proptest::collection::vec((0u64..1 << 62, 0u64..1 << 40), 0..200)) {
            let mut shape = QueueShape::new(Friend::Cubic);
            for (now, sample) in samples {
                shape.on_sample(Instant::from_nanos(now), Duration::from_nanos(sample));
                prop_assert!(shape.distance.is_finite());
            }
        }
    }
}
