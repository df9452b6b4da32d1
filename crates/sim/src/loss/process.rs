use core::num::NonZeroU64;

use tfrc_units::{Ecn, Instant, Probability};

use super::{Flows, Loss, LossAction, LossRule, Period, Step};
use crate::{Header, Seed, Stream};

/// A loss rule at work.
#[derive(Debug)]
pub(crate) struct LossProcess {
    state: State,
    action: LossAction,
    flows: Flows,
    stream: Stream,
}

/// What a rule does to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hit {
    Dropped,
    Marked,
    Missed,
}

#[derive(Debug)]
enum State {
    Bernoulli(Probability),
    /// ln(1 − b): a packet of n bytes survives with exp(n·ln(1 − b)).
    PerByte(f64),
    GilbertElliott {
        model: Gilbert,
        now: Weather,
    },
    None,
    Periodic {
        /// Phases to come, the next one last.
        ahead: Vec<Period>,
        every: Option<NonZeroU64>,
        seen: u64,
    },
    /// Numbers still to come, the next one last; and the packets seen.
    Scripted {
        ahead: Vec<u64>,
        seen: u64,
    },
    /// Times still to come, the next one last.
    ScriptedTimes(Vec<Instant>),
    TimeVarying {
        /// Steps to come, the next one last.
        ahead: Vec<Step>,
        p: Probability,
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
    /// `name` is that of the random stream.
    pub(crate) fn new(rule: &LossRule, seed: Seed, name: &str) -> Self {
        let state = match &rule.model {
            Loss::Bernoulli(p) => State::Bernoulli(*p),
            Loss::BernoulliPerByte(b) => State::PerByte(libm::log1p(-b.get())),
            Loss::GilbertElliott { to_bad, to_good, in_good, in_bad } => State::GilbertElliott {
                model: Gilbert { to_bad: *to_bad, to_good: *to_good, in_good: *in_good, in_bad: *in_bad },
                now: Weather::Good,
            },
            Loss::None => State::None,
            Loss::Periodic(phases) => {
                State::Periodic { ahead: phases.iter().rev().copied().collect(), every: None, seen: 0 }
            }
            Loss::Scripted(numbers) => {
                let mut ahead = numbers.clone();
                ahead.sort_unstable_by(|a, b| b.cmp(a));
                ahead.dedup();
                State::Scripted { ahead, seen: 0 }
            }
            Loss::ScriptedTimes(times) => {
                let mut ahead = times.clone();
                ahead.sort_unstable_by(|a, b| b.cmp(a));
                State::ScriptedTimes(ahead)
            }
            Loss::TimeVarying(steps) => {
                State::TimeVarying { ahead: steps.iter().rev().copied().collect(), p: Probability::ZERO }
            }
        };
        Self { state, action: rule.action, flows: rule.flows.clone(), stream: seed.stream(name) }
    }

    /// What becomes of the packet that passes now; a mark is set in its header.
    pub(crate) fn meet(&mut self, now: Instant, header: &mut Header) -> Hit {
        if !self.flows.contains(header.flow) || !self.hits(now, header.size) {
            return Hit::Missed;
        }
        if self.action == LossAction::Mark && header.ecn.is_capable() {
            header.ecn = Ecn::Ce;
            return Hit::Marked;
        }
        Hit::Dropped
    }

    fn hits(&mut self, now: Instant, size: u32) -> bool {
        match &mut self.state {
            State::Bernoulli(p) => self.stream.happens(*p),
            State::PerByte(log) => {
                // Zero bytes times minus infinity is not a number, and such a packet has nothing to lose.
                let p = if size == 0 { 0.0 } else { -libm::expm1(f64::from(size) * *log) };
                self.stream.happens(Probability::saturating(p))
            }
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
            State::Periodic { ahead, every, seen } => {
                while let Some(phase) = ahead.pop_if(|phase| phase.at <= now) {
                    (*every, *seen) = (phase.every, 0);
                }
                *seen = seen.saturating_add(1);
                every.is_some_and(|n| *seen % n == 0)
            }
            State::Scripted { ahead, seen } => {
                *seen = seen.saturating_add(1);
                while ahead.pop_if(|next| *next < *seen).is_some() {}
                ahead.last() == Some(seen)
            }
            State::ScriptedTimes(ahead) => ahead.pop_if(|at| *at <= now).is_some(),
            State::TimeVarying { ahead, p } => {
                while let Some(step) = ahead.pop_if(|step| step.at <= now) {
                    *p = step.p;
                }
                self.stream.happens(*p)
            }
        }
    }
}

#[cfg(test)]
mod tests;
