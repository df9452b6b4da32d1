//! Loss rules at work: the state that decides the fate of each packet.

use core::num::NonZeroU64;

use tfrc_units::{Ecn, Instant, Probability};

use super::{Flows, Loss, LossAction, LossRule, Period, Step};
use crate::packet::Header;
use crate::{Seed, Stream};

/// A loss rule at work.
#[derive(Debug)]
pub(crate) struct LossProcess {
    state: ProcessState,
    action: LossAction,
    flows: Flows,
    stream: Stream,
}

/// Effect of a rule on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hit {
    Dropped,
    Marked,
    Missed,
}

#[derive(Debug)]
enum ProcessState {
    Bernoulli(Probability),
    /// ln(1 − b): a packet of n bytes survives with exp(n·ln(1 − b)).
    PerByte(f64),
    GilbertElliott {
        model: Gilbert,
        now: ChannelState,
    },
    None,
    Periodic {
        /// Phases to come, the next one last.
        ahead: Vec<Period>,
        every: Option<NonZeroU64>,
        /// Packets until the next that is hit, with that one.
        left: u64,
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
enum ChannelState {
    Good,
    Bad,
}

impl LossProcess {
    /// `name` is that of the random stream.
    pub(crate) fn new(rule: &LossRule, seed: Seed, name: &str) -> Self {
        let state = match &rule.model {
            Loss::Bernoulli(p) => ProcessState::Bernoulli(*p),
            Loss::BernoulliPerByte(b) => ProcessState::PerByte(libm::log1p(-b.get())),
            Loss::GilbertElliott { to_bad, to_good, in_good, in_bad } => ProcessState::GilbertElliott {
                model: Gilbert { to_bad: *to_bad, to_good: *to_good, in_good: *in_good, in_bad: *in_bad },
                now: ChannelState::Good,
            },
            Loss::None => ProcessState::None,
            Loss::Periodic(phases) => {
                ProcessState::Periodic { ahead: phases.iter().rev().copied().collect(), every: None, left: 0 }
            }
            Loss::Scripted(numbers) => {
                let mut ahead = numbers.clone();
                ahead.sort_unstable_by(|a, b| b.cmp(a));
                ahead.dedup();
                ProcessState::Scripted { ahead, seen: 0 }
            }
            Loss::ScriptedTimes(times) => {
                let mut ahead = times.clone();
                ahead.sort_unstable_by(|a, b| b.cmp(a));
                ProcessState::ScriptedTimes(ahead)
            }
            Loss::TimeVarying(steps) => ProcessState::TimeVarying {
                ahead: steps.iter().rev().copied().collect(),
                p: Probability::ZERO,
            },
        };
        Self { state, action: rule.action, flows: rule.flows.clone(), stream: seed.stream(name) }
    }

    /// Changes the probability of independent losses; other models keep theirs.
    pub(crate) fn set_probability(&mut self, new: Probability) {
        if let ProcessState::Bernoulli(p) = &mut self.state {
            *p = new;
        }
    }

    /// Applies the rule to the packet that passes now, and returns its fate; a mark is set in its
    /// header.
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
            ProcessState::Bernoulli(p) => self.stream.happens(*p),
            ProcessState::PerByte(log) => {
                // Zero bytes times minus infinity is not a number, and such a packet has nothing to
                // lose.
                let p = if size == 0 { 0.0 } else { -libm::expm1(f64::from(size) * *log) };
                self.stream.happens(Probability::saturating(p))
            }
            ProcessState::GilbertElliott { model, now } => {
                let (lose, turn, other) = match now {
                    ChannelState::Good => (model.in_good, model.to_bad, ChannelState::Bad),
                    ChannelState::Bad => (model.in_bad, model.to_good, ChannelState::Good),
                };
                let lost = self.stream.happens(lose);
                if self.stream.happens(turn) {
                    *now = other;
                }
                lost
            }
            ProcessState::None => false,
            ProcessState::Periodic { ahead, every, left } => {
                while let Some(phase) = ahead.pop_if(|phase| phase.at <= now) {
                    *every = phase.every;
                    *left = phase.first.or(phase.every).map_or(0, NonZeroU64::get);
                }
                let Some(every) = every else { return false };
                *left = left.saturating_sub(1);
                let is_hit = *left == 0;
                if is_hit {
                    *left = every.get();
                }
                is_hit
            }
            ProcessState::Scripted { ahead, seen } => {
                *seen = seen.saturating_add(1);
                while ahead.pop_if(|next| *next < *seen).is_some() {}
                ahead.last() == Some(seen)
            }
            ProcessState::ScriptedTimes(ahead) => ahead.pop_if(|at| *at <= now).is_some(),
            ProcessState::TimeVarying { ahead, p } => {
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
