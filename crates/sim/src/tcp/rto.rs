//! The retransmission timeout (RFC 6298).

use tfrc_units::{Duration, Instant, f64_from_u64, saturating, u64_from_f64};

use super::settings::Settings;
use super::study::RttArithmetic;

/// Doublings beyond this change nothing: any timeout is at its maximum long before.
const MOST_DOUBLINGS: u32 = 30;

/// From round-trip times to the timeout.
#[derive(Debug, Clone)]
pub(crate) struct Rto {
    estimate: RttEstimate,
    doublings: u32,
    /// After the fourth doubling in a row BSD takes the next sample for the first (RFC 6298 §5
    /// permits it).
    doubtful: bool,
    /// Current timeout, which [`Rto::timeout`] returns.
    timeout: Duration,
}

#[derive(Debug, Clone, Copy)]
enum RttEstimate {
    /// In seconds: SRTT and RTTVAR.
    Exact {
        srtt: f64,
        var: f64,
    },
    /// In ticks, times 8 and times 4.
    Fixed {
        srtt: i64,
        var: i64,
    },
    None,
}

/// A round trip as it was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RttSample {
    pub(crate) sent: Instant,
    pub(crate) back: Instant,
    pub(crate) by: Measure,
}

/// Measure of a round trip in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// The ticks that pass meanwhile: of 1.4 ticks one or two.
    Clock,
    /// The time that a timestamp gives, to the nearest tick.
    Stamp,
}

impl RttSample {
    pub(crate) const fn time(self) -> Duration {
        self.back.saturating_since(self.sent)
    }

    fn ticks(self, tick: Duration) -> i64 {
        let tick = tick.as_nanos().max(1);
        let passed = match self.by {
            Measure::Clock => (self.back.as_nanos() / tick).saturating_sub(self.sent.as_nanos() / tick),
            Measure::Stamp => self.time().as_nanos().saturating_add(tick / 2) / tick,
        };
        saturating::<i64>(passed)
    }
}

/// Effect of a sample on the doubling of the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backoff {
    End,
    /// It came with a congestion echo ([`super::study::EcnAtOne::BackOff`]).
    Keep,
}

impl Rto {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut rto =
            Self { estimate: RttEstimate::None, doublings: 0, doubtful: false, timeout: Duration::ZERO };
        rto.compute(settings);
        rto
    }

    /// A round-trip time of data that was sent once (RFC 6298 §5 (5.7), note).
    pub(crate) fn sample(&mut self, trip: RttSample, backoff: Backoff, settings: &Settings) {
        if backoff == Backoff::End {
            self.doublings = 0;
        }
        if core::mem::take(&mut self.doubtful)
            && settings.algorithm.choices().rtt_arithmetic == RttArithmetic::FixedPoint
        {
            self.estimate = RttEstimate::None;
        }
        self.estimate = match settings.algorithm.choices().rtt_arithmetic {
            RttArithmetic::Exact => self.exact(trip.time().as_secs_f64()),
            RttArithmetic::FixedPoint => self.fixed(trip.ticks(settings.tick)),
            RttArithmetic::WholeTicks => {
                let ticks = saturating::<u32>(trip.ticks(settings.tick));
                self.exact(f64::from(ticks) * settings.tick.as_secs_f64())
            }
        };
        self.compute(settings);
    }

    /// RFC 6298 §2.2 and §2.3.
    fn exact(&self, rtt: f64) -> RttEstimate {
        match self.estimate {
            RttEstimate::Exact { srtt, var } => RttEstimate::Exact {
                // The variation first, with the old mean.
                var: 0.75 * var + 0.25 * (srtt - rtt).abs(),
                srtt: 0.875 * srtt + 0.125 * rtt,
            },
            RttEstimate::Fixed { .. } | RttEstimate::None => RttEstimate::Exact { srtt: rtt, var: rtt / 2.0 },
        }
    }

    /// Updates the estimate as BSD does (Jacobson 1988, appendix A), with RFC 6298 §2.2 and §2.3 in
    /// integers: shifts cut off.
    fn fixed(&self, rtt: i64) -> RttEstimate {
        let rtt = rtt.clamp(1, 1 << 40);
        match self.estimate {
            RttEstimate::Fixed { srtt, var } => {
                let delta = rtt - (srtt >> 3);
                RttEstimate::Fixed {
                    srtt: (srtt + delta).max(1),
                    var: (var + delta.abs() - (var >> 2)).max(1),
                }
            }
            RttEstimate::Exact { .. } | RttEstimate::None => {
                RttEstimate::Fixed { srtt: rtt << 3, var: rtt << 1 }
            }
        }
    }

    /// The smoothed round-trip time, once there is a sample.
    pub(crate) fn srtt(&self, settings: &Settings) -> Option<Duration> {
        match self.estimate {
            RttEstimate::Exact { srtt, .. } => Some(Duration::from_secs_f64(srtt)),
            RttEstimate::Fixed { srtt, .. } => Some(eighths(srtt, settings.tick)),
            RttEstimate::None => None,
        }
    }

    /// The timeout of a segment sent now.
    #[inline]
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    fn compute(&mut self, settings: &Settings) {
        let base = match self.estimate {
            RttEstimate::Exact { srtt, var } => {
                Duration::from_secs_f64(srtt + settings.tick.as_secs_f64().max(4.0 * var))
            }
            // `srtt` is in eighths of a tick, `var` in quarters; BSD truncates the sum to whole
            // ticks.
            RttEstimate::Fixed { srtt, var } => eighths((srtt + (var << 3)) >> 3 << 3, settings.tick),
            RttEstimate::None => settings.initial_rto,
        };
        // RFC 6298 §2.4: the minimum counts before the backoff.
        let base = base.max(settings.min_rto);
        let backed_off = u64_from_f64(f64_from_u64(base.as_nanos()) * f64_from_u64(1 << self.doublings));
        self.timeout = Duration::from_nanos(backed_off).min(settings.max_rto);
    }

    /// The timer has expired (RFC 6298 §5 (5.5)).
    pub(crate) fn back_off(&mut self, settings: &Settings) {
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
        self.doubtful |= self.doublings > 3;
        self.compute(settings);
    }

    /// Ends the backoff without a sample.
    pub(crate) fn end_backoff(&mut self, settings: &Settings) {
        self.doublings = 0;
        self.compute(settings);
    }
}

fn eighths(x: i64, tick: Duration) -> Duration {
    let x = saturating::<u64>(x.max(0));
    Duration::from_nanos((tick.as_nanos().saturating_mul(x)) / 8)
}

#[cfg(test)]
mod tests {
    use super::super::settings::Variant;
    use super::*;

    const fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    /// A round trip of `time` milliseconds, from a timestamp.
    const fn stamped(time: u64) -> RttSample {
        RttSample { sent: Instant::ZERO, back: Instant::from_nanos(time * 1_000_000), by: Measure::Stamp }
    }

    fn settings(arithmetic: RttArithmetic) -> Settings {
        Settings { min_rto: Duration::ZERO, tick: ms(10), ..Settings::rfc(Variant::Sack) }
            .with(|c| c.rtt_arithmetic = arithmetic)
    }

    #[test]
    fn first_and_second_sample() {
        // RFC 6298 §2.1: 1 s. §2.2: R + max(G, 4·R/2) = 3R. §2.3 for 100 then 140 ms: RTTVAR
        // 0.75·50 + 0.25·40 = 47.5, SRTT 0.875·100 + 0.125·140 = 105, RTO 295 ms.
        let s = settings(RttArithmetic::Exact);
        let mut rto = Rto::new(&s);
        assert_eq!(rto.timeout(), ms(1000));
        rto.sample(stamped(100), Backoff::End, &s);
        assert_eq!(rto.timeout(), ms(300));
        rto.sample(stamped(140), Backoff::End, &s);
        assert!(rto.timeout().as_nanos().abs_diff(295_000_000) <= 1);
        assert!(rto.srtt(&s).is_some_and(|x| x.as_nanos().abs_diff(105_000_000) <= 1));
    }

    #[test]
    fn the_granularity_is_the_least_of_the_variation_term() {
        let s = settings(RttArithmetic::Exact);
        let mut rto = Rto::new(&s);
        for _ in 0..100 {
            rto.sample(stamped(100), Backoff::End, &s);
        }
        assert!(rto.timeout().as_nanos().abs_diff(110_000_000) <= 1);
    }

    #[test]
    fn minimum_maximum_and_backoff() {
        let s = Settings { min_rto: ms(1000), ..settings(RttArithmetic::Exact) };
        let mut rto = Rto::new(&s);
        rto.sample(stamped(100), Backoff::End, &s);
        let mut seen = Vec::new();
        for _ in 0..8 {
            seen.push(rto.timeout().as_nanos() / 1_000_000_000);
            rto.back_off(&s);
        }
        // RFC 6298 §2.4, §5 (5.5), §2.5: 1 s, doubled, at most 60 s.
        assert_eq!(seen, [1, 2, 4, 8, 16, 32, 60, 60]);
        rto.sample(stamped(100), Backoff::End, &s);
        assert_eq!(rto.timeout(), ms(1000));
    }

    #[test]
    fn integers_of_ticks() {
        // docs/ns2-facts.md §1: on a steady path the timeout becomes (round(R/tick) + 3) ticks;
        // here R = 243 ms.
        let s = settings(RttArithmetic::FixedPoint);
        let mut rto = Rto::new(&s);
        rto.sample(stamped(243), Backoff::End, &s);
        assert_eq!(rto.timeout(), ms(720)); // 24 + 4·12 ticks
        for _ in 0..100 {
            rto.sample(stamped(243), Backoff::End, &s);
        }
        assert_eq!(rto.timeout(), ms(270));
        assert_eq!(rto.srtt(&s), Some(ms(240)));
    }

    #[test]
    fn samples_in_whole_ticks() {
        let s = settings(RttArithmetic::WholeTicks);
        let mut rto = Rto::new(&s);
        rto.sample(stamped(243), Backoff::End, &s);
        assert_eq!(rto.timeout(), ms(720));
    }

    #[test]
    fn the_sample_after_four_doublings_is_the_first_again() {
        // In ns-2 and BSD; the mean of RFC 6298 goes on.
        for (arithmetic, doublings, expected) in [
            (RttArithmetic::FixedPoint, 3, None),
            (RttArithmetic::FixedPoint, 4, Some(300)),
            (RttArithmetic::WholeTicks, 4, None),
        ] {
            let s = settings(arithmetic);
            let mut rto = Rto::new(&s);
            for _ in 0..40 {
                rto.sample(stamped(100), Backoff::End, &s);
            }
            let steady = rto.timeout();
            for _ in 0..doublings {
                rto.back_off(&s);
            }
            rto.sample(stamped(100), Backoff::End, &s);
            assert_eq!(rto.timeout(), expected.map_or(steady, ms), "{arithmetic:?} {doublings}");
        }
    }

    #[test]
    fn a_clock_of_ticks_counts_what_passes() {
        // Trace of ns-2.35's `rtt_` with ticks of 100 ms on a path of 140.8 ms: samples of 100 and
        // 200 ms.
        let tick = ms(100);
        let trips = (0..7).map(|n| {
            let sent = Instant::from_nanos(30_000_000 + n * 140_860_000);
            RttSample { sent, back: sent + Duration::from_nanos(140_860_000), by: Measure::Clock }.ticks(tick)
        });
        assert_eq!(trips.collect::<Vec<_>>(), [1, 2, 1, 1, 2, 1, 2]);
    }
}
