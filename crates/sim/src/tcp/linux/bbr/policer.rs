//! Long-term sampling of the rate: where many segments are lost at a steady rate, a policer is in
//! the way, and its rate is kept for a while in place of the maximum.

use tfrc_units::{Instant, f64_from_u64};

use crate::tcp::linux::delivery::Supply;

/// Least rounds of an interval, and most.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 16;
/// Share of lost segments among those delivered, from which on an interval counts: 50 of 256.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates that differ by an eighth are the same, or by 4 kbit/s.
const LIKENESS: f64 = 0.125;
const LIKENESS_BITS: f64 = 4000.0;
/// Rounds for which the rate is kept.
const KEPT_ROUNDS: u32 = 48;

#[derive(Debug, Clone, Copy)]
pub(super) struct Policer {
    state: Sampling,
    /// Segments a second of the last interval, 0 for none.
    rate: f64,
    rounds: u32,
    start: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sampling {
    /// No loss so far.
    Off,
    On,
    /// The rate is in use.
    Found,
}

/// Counts of the connection at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) at: Instant,
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) counts: Counts,
    /// Rounds that begin with it: 1 or 0.
    pub(super) rounds: u32,
    /// Segments that it shows to be lost.
    pub(super) losses: u32,
    pub(super) supply: Supply,
    /// Bits of a segment.
    pub(super) segment_bits: f64,
}

/// Result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The rate has been kept for long enough.
    Expired,
    None,
}

impl Policer {
    pub(super) const fn new(counts: Counts) -> Self {
        Self { state: Sampling::Off, rate: 0.0, rounds: 0, start: counts }
    }

    /// The rate of the policer, while it is in use.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.state == Sampling::Found).then_some(self.rate)
    }

    /// `cruising` rounds count towards the end of the use.
    pub(super) fn step(&mut self, step: Step, cruising: u32) -> Change {
        if self.state == Sampling::Found {
            self.rounds += step.rounds.min(cruising);
            if self.rounds >= KEPT_ROUNDS {
                *self = Self::new(step.counts);
                return Change::Expired;
            }
            return Change::None;
        }
        if self.state == Sampling::Off {
            if step.losses == 0 {
                return Change::None;
            }
            (self.state, self.rounds, self.start) = (Sampling::On, 0, step.counts);
        }
        if step.supply == Supply::Short {
            *self = Self::new(step.counts);
            return Change::None;
        }
        self.rounds += step.rounds;
        if self.rounds > MOST_ROUNDS {
            *self = Self::new(step.counts);
            return Change::None;
        }
        if self.rounds >= LEAST_ROUNDS && step.losses > 0 {
            self.end_interval(step);
        }
        Change::None
    }

    fn end_interval(&mut self, step: Step) {
        let lost = f64_from_u64(step.counts.lost - self.start.lost);
        let delivered = f64_from_u64(step.counts.delivered - self.start.delivered);
        let seconds = step.counts.at.saturating_since(self.start.at).as_secs_f64();
        if delivered <= 0.0 || lost < LOSS * delivered || seconds < 0.001 {
            return;
        }
        let rate = delivered / seconds;
        let difference = (rate - self.rate).abs();
        let alike = difference <= LIKENESS * self.rate || difference * step.segment_bits <= LIKENESS_BITS;
        if self.rate > 0.0 && alike {
            (self.state, self.rate, self.rounds) = (Sampling::Found, f64::midpoint(rate, self.rate), 0);
        } else {
            (self.rate, self.rounds, self.start) = (rate, 0, step.counts);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test may panic")]

    use super::*;
    use tfrc_units::Duration;

    /// Rounds of 100 ms with these segments delivered and lost; the rates that were in use.
    fn rates(rounds: &[(u64, u32)]) -> Vec<Option<f64>> {
        let mut counts = Counts { at: Instant::ZERO, delivered: 0, lost: 0 };
        let mut policer = Policer::new(counts);
        let each = rounds.iter().map(|(delivered, losses)| {
            counts.at += Duration::from_millis(100);
            counts.delivered += delivered;
            counts.lost += u64::from(*losses);
            policer.step(
                Step { counts, rounds: 1, losses: *losses, supply: Supply::Enough, segment_bits: 12_000.0 },
                1,
            );
            policer.rate()
        });
        each.collect()
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_are_a_policer() {
        let seen = rates(&[(100, 30); 60]);
        // An interval from the first loss of four rounds, and another.
        assert_eq!(seen.iter().position(Option::is_some), Some(7));
        assert_eq!(seen[7], Some(1000.0));
        // Kept for 48 rounds.
        assert_eq!(seen[7..].iter().position(Option::is_none), Some(48));
    }

    #[test]
    fn rare_losses_and_changing_rates_are_not() {
        assert!(rates(&[(100, 19); 100]).iter().all(Option::is_none));
        assert_eq!(rates(&[(100, 20); 20]).iter().position(Option::is_some), Some(7));
        let changing: Vec<(u64, u32)> =
            (0..100).map(|n| if n / 4 % 2 == 0 { (100, 30) } else { (150, 45) }).collect();
        assert!(rates(&changing).iter().all(Option::is_none));
    }

    #[test]
    fn an_interval_without_losses_at_its_end_is_given_up() {
        let mut rounds = vec![(100, 30)];
        rounds.extend([(100, 0); 16]);
        rounds.extend([(100, 30); 5]);
        // The one after is a first one again.
        assert!(rates(&rounds).iter().all(Option::is_none));
    }
}
