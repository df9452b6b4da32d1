//! HyStart++ (RFC 9406): an initial slow start that ends when round-trip times grow, by way of a
//! conservative slow start that can be taken back.

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant, f64_from_u64, saturating};

/// The least growth of the round-trip time that ends slow start, and the greatest that is asked
/// for; between them an eighth of the last round's (RFC 9406 §4.3, `MIN_RTT_THRESH`,
/// `MAX_RTT_THRESH`, `MIN_RTT_DIVISOR`).
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
const SHARE: f64 = 1.0 / 8.0;
/// Samples of a round before it is judged (`N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// Part of slow start's growth in conservative slow start (`CSS_GROWTH_DIVISOR`).
const CONSERVATIVE: f64 = 1.0 / 4.0;
/// Rounds of it, the one in which it begins included (`CSS_ROUNDS`).
const ROUNDS: u32 = 5;
/// The most segments of an acknowledgement that count, without pacing (§4.3, `L`).
const MOST_COUNTED: u32 = 8;

/// The state of an initial slow start.
#[derive(Debug, Clone, Default)]
pub(crate) struct HyStartPlus {
    phase: Phase,
    /// The round ends when this is acknowledged; not known before the first acknowledgement.
    round_end: Option<u32>,
    last_least: Option<Duration>,
    least: Option<Duration>,
    samples: u32,
    /// When each segment from `first` on was sent.
    sent: VecDeque<Instant>,
    first: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    SlowStart,
    Conservative {
        /// The least round-trip time of the round in which it began.
        baseline: Duration,
        rounds: u32,
    },
    Over,
}

/// Growth of the window by one acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Growth {
    /// By so many segments, and slow start is over with them.
    Last(f64),
    /// Not here: slow start is over.
    None,
    /// By so many segments.
    Segments(f64),
}

impl HyStartPlus {
    /// Something was lost or marked, or another slow start begins: this one is over.
    pub(crate) fn end(&mut self) {
        *self = Self { phase: Phase::Over, ..Self::default() };
    }

    /// Segment `seq` is sent for the first time.
    pub(crate) fn on_sent(&mut self, now: Instant, seq: u32) {
        let end = self.first.saturating_add(saturating::<u32>(self.sent.len()));
        if self.phase != Phase::Over && seq == end {
            self.sent.push_back(now);
        }
    }

    /// `acked` segments up to `una` are acknowledged; the next to be sent is `high`.
    pub(crate) fn on_ack(&mut self, now: Instant, acked: u32, una: u32, high: u32) -> Growth {
        if self.phase == Phase::Over {
            return Growth::None;
        }
        let mut newest = None;
        while self.first < una
            && let Some(at) = self.sent.pop_front()
        {
            newest = Some(at);
            self.first += 1;
        }
        if let Some(at) = newest {
            let rtt = now.saturating_since(at);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        let full = f64_from_u64(u64::from(acked.min(MOST_COUNTED)));
        let growth = match self.phase {
            Phase::Conservative { .. } => full * CONSERVATIVE,
            Phase::Over | Phase::SlowStart => full,
        };
        self.judge();
        if una >= *self.round_end.get_or_insert(high) {
            self.round_end = Some(high);
            self.last_least = self.least.take();
            self.samples = 0;
            if let Phase::Conservative { rounds, .. } = &mut self.phase {
                *rounds = rounds.saturating_sub(1);
                if *rounds == 0 {
                    self.end();
                    return Growth::Last(growth);
                }
            }
        }
        Growth::Segments(growth)
    }

    /// RFC 9406 §4.2: enters conservative slow start, or leaves it for slow start.
    fn judge(&mut self) {
        let Some(least) = self.least.filter(|_| self.samples >= SAMPLES) else { return };
        match self.phase {
            Phase::SlowStart => {
                let Some(last) = self.last_least else { return };
                let growth = last.mul_f64(SHARE).min(MOST_GROWTH).max(LEAST_GROWTH);
                if least >= last + growth {
                    self.phase = Phase::Conservative { baseline: least, rounds: ROUNDS };
                }
            }
            Phase::Conservative { baseline, .. } if least < baseline => self.phase = Phase::SlowStart,
            Phase::Conservative { .. } | Phase::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    /// A slow start in rounds, with one acknowledgement a segment.
    struct Rounds {
        machine: HyStartPlus,
        now: Instant,
        una: u32,
        over: bool,
    }

    impl Rounds {
        fn new() -> Self {
            Self { machine: HyStartPlus::default(), now: Instant::ZERO, una: 0, over: false }
        }

        fn round(&mut self, segments: u32, rtt: Duration) -> f64 {
            let high = self.una + segments;
            (self.una..high).for_each(|seq| self.machine.on_sent(self.now, seq));
            self.now += rtt;
            let mut grown = 0.0;
            for _ in 0..segments {
                self.una += 1;
                // The next round is on its way when the last segment is acknowledged.
                let next = if self.una == high { high + segments } else { high };
                match self.machine.on_ack(self.now, 1, self.una, next) {
                    Growth::Segments(more) => grown += more,
                    Growth::Last(more) => {
                        grown += more;
                        self.over = true;
                    }
                    Growth::None => {}
                }
            }
            grown
        }
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        for (last, growth) in [(8, 4), (32, 4), (40, 5), (128, 16), (400, 16)] {
            for (more, enters) in [(growth, true), (growth - 1, false)] {
                let mut rounds = Rounds::new();
                rounds.round(10, ms(last));
                rounds.round(10, ms(last + more));
                let conservative = matches!(rounds.machine.phase, Phase::Conservative { .. });
                assert_eq!(conservative, enters, "{last} ms and {more} more");
            }
        }
    }

    #[test]
    fn a_round_of_fewer_than_eight_samples_is_not_judged() {
        for (samples, enters) in [(7, false), (8, true)] {
            let mut rounds = Rounds::new();
            rounds.round(10, ms(40));
            rounds.round(samples, ms(80));
            assert_eq!(matches!(rounds.machine.phase, Phase::Conservative { .. }), enters);
        }
    }

    #[test]
    fn conservative_slow_start_grows_by_a_quarter_for_five_rounds() {
        let mut rounds = Rounds::new();
        assert_eq!(rounds.round(16, ms(40)), 16.0);
        // Found at the eighth sample: eight segments count in full, eight a quarter; this round is
        // the first of the five.
        assert_eq!(rounds.round(16, ms(60)), 8.0 + 2.0);
        for _ in 0..3 {
            assert_eq!(rounds.round(16, ms(60)), 4.0);
            assert!(!rounds.over);
        }
        assert_eq!(rounds.round(16, ms(60)), 4.0);
        assert!(rounds.over && rounds.machine.phase == Phase::Over);
        assert_eq!(rounds.round(16, ms(60)), 0.0);
    }

    #[test]
    fn a_shorter_round_trip_time_takes_it_back() {
        let mut rounds = Rounds::new();
        rounds.round(16, ms(40));
        rounds.round(16, ms(60));
        rounds.round(16, ms(59));
        assert_eq!(rounds.machine.phase, Phase::SlowStart);
        assert_eq!(rounds.round(16, ms(59)), 16.0);
        // The next growth enters it anew, with its rounds from the beginning.
        rounds.round(16, ms(70));
        assert!(matches!(rounds.machine.phase, Phase::Conservative { rounds: 4, .. }));
    }

    #[test]
    fn one_acknowledgement_counts_eight_segments_at_most() {
        let mut machine = HyStartPlus::default();
        (0..20).for_each(|seq| machine.on_sent(Instant::ZERO, seq));
        assert_eq!(machine.on_ack(Instant::ZERO + ms(40), 20, 20, 20), Growth::Segments(8.0));
        machine.end();
        assert_eq!(machine.on_ack(Instant::ZERO + ms(50), 1, 21, 22), Growth::None);
    }
}
