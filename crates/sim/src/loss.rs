use tfrc_units::Probability;

use crate::{Seed, Stream};

/// Which packets a link loses, whatever its queue does. A lost packet goes before it reaches the queue, so it takes
/// neither place nor time on the line.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Loss {
    /// Each packet is lost with the same probability, independently.
    Bernoulli(Probability),
    /// A two-state Markov chain that moves once per packet. A packet meets the loss probability of the state it finds;
    /// the chain moves after it. It starts in the good state.
    GilbertElliott {
        /// Probability of going from good to bad after a packet.
        to_bad: Probability,
        /// Probability of going from bad to good after a packet.
        to_good: Probability,
        /// Probability of losing a packet in the good state.
        in_good: Probability,
        /// Probability of losing a packet in the bad state.
        in_bad: Probability,
    },
    /// No packet is lost.
    #[default]
    None,
    /// Exactly these packets are lost: numbers count the packets that arrive at the link, the first is 1.
    Scripted(Vec<u64>),
}

/// A loss model at work.
#[derive(Debug)]
pub(crate) struct LossProcess {
    state: State,
    stream: Stream,
}

#[derive(Debug)]
enum State {
    Bernoulli(Probability),
    GilbertElliott {
        model: Gilbert,
        now: Weather,
    },
    None,
    /// Numbers still to come, the next one last; and the packets seen.
    Scripted {
        ahead: Vec<u64>,
        seen: u64,
    },
}

#[derive(Debug, Clone, Copy)]
struct Gilbert {
    to_bad: Probability,
    to_good: Probability,
    in_good: Probability,
    in_bad: Probability,
}

#[derive(Debug, Clone, Copy)]
enum Weather {
    Good,
    Bad,
}

impl LossProcess {
    /// `link` names the random stream.
    pub(crate) fn new(model: &Loss, seed: Seed, link: &str) -> Self {
        let state = match model {
            Loss::Bernoulli(p) => State::Bernoulli(*p),
            Loss::GilbertElliott { to_bad, to_good, in_good, in_bad } => State::GilbertElliott {
                model: Gilbert { to_bad: *to_bad, to_good: *to_good, in_good: *in_good, in_bad: *in_bad },
                now: Weather::Good,
            },
            Loss::None => State::None,
            Loss::Scripted(numbers) => {
                let mut ahead = numbers.clone();
                ahead.sort_unstable_by(|a, b| b.cmp(a));
                ahead.dedup();
                State::Scripted { ahead, seen: 0 }
            }
        };
        Self { state, stream: seed.stream(&format!("link/{link}/loss")) }
    }

    /// Whether the packet that arrives now is lost.
    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        match &mut self.state {
            State::Bernoulli(p) => self.stream.happens(*p),
            State::GilbertElliott { model, now } => {
                let (lose, turn, other) = match now {
                    Weather::Good => (model.in_good, model.to_bad, Weather::Bad),
                    Weather::Bad => (model.in_bad, model.to_good, Weather::Good),
                };
                let lost = self.stream.happens(lose);
                if self.stream.happens(turn) {
                    *now = other;
                }
                lost
            }
            State::None => false,
            State::Scripted { ahead, seen } => {
                *seen = seen.saturating_add(1);
                while ahead.last().is_some_and(|next| *next < *seen) {
                    ahead.pop();
                }
                ahead.last() == Some(seen)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(x: f64) -> Probability {
        Probability::saturating(x)
    }

    fn losses(model: &Loss, packets: usize) -> Vec<bool> {
        let mut process = LossProcess::new(model, Seed(3), "test");
        (0..packets).map(|_| process.loses()).collect()
    }

    fn count(lost: &[bool]) -> f64 {
        f64::from(u32::try_from(lost.iter().filter(|x| **x).count()).unwrap_or(u32::MAX))
    }

    #[test]
    fn bernoulli_rate_and_independence() {
        let lost = losses(&Loss::Bernoulli(p(0.05)), 200_000);
        // Five standard deviations of the binomial: sqrt(n p q) = 97.5.
        assert!((count(&lost) - 10_000.0).abs() < 490.0);
        // Pairs of consecutive losses: n p² = 500, standard deviation about 23.
        let pairs: Vec<bool> = lost.windows(2).map(|w| matches!(w, [true, true])).collect();
        assert!((count(&pairs) - 500.0).abs() < 120.0);
    }

    #[test]
    fn certain_and_impossible_losses() {
        assert!(losses(&Loss::Bernoulli(Probability::ONE), 100).iter().all(|x| *x));
        assert!(losses(&Loss::Bernoulli(Probability::ZERO), 100).iter().all(|x| !*x));
        assert!(losses(&Loss::None, 100).iter().all(|x| !*x));
    }

    #[test]
    fn gilbert_rate_and_burst_length() {
        let model =
            Loss::GilbertElliott { to_bad: p(0.02), to_good: p(0.25), in_good: p(0.0), in_bad: p(1.0) };
        let lost = losses(&model, 400_000);
        // Share of the bad state 0.02/0.27 = 0.0741; mean burst 1/0.25 = 4 packets (the chain's stationary law).
        let rate = count(&lost) / 400_000.0;
        assert!((rate - 0.074_07).abs() < 0.003, "rate {rate}");
        let starts: Vec<bool> = lost.windows(2).map(|w| matches!(w, [false, true])).collect();
        let burst = count(&lost) / count(&starts);
        assert!((burst - 4.0).abs() < 0.15, "burst {burst}");
    }

    #[test]
    fn gilbert_elliott_mixes_both_states() {
        let model =
            Loss::GilbertElliott { to_bad: p(0.1), to_good: p(0.3), in_good: p(0.01), in_bad: p(0.4) };
        let rate = count(&losses(&model, 400_000)) / 400_000.0;
        // 0.75 · 0.01 + 0.25 · 0.4 = 0.1075
        assert!((rate - 0.1075).abs() < 0.003, "rate {rate}");
    }

    #[test]
    fn scripted_losses_are_the_numbers_given() {
        let lost = losses(&Loss::Scripted(vec![7, 1, 3, 3, 0]), 10);
        let numbers: Vec<usize> = (1..).zip(lost).filter_map(|(i, x)| x.then_some(i)).collect();
        assert_eq!(numbers, [1, 3, 7]);
    }
}
