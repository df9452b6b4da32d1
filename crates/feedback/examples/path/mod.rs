//! A simulated path in virtual time, for the examples and tests: independent loss, a drop-tail bottleneck, a constant way back.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "a module of several programs, each of which uses what it needs of it"
)]

use std::collections::VecDeque;

use tfrc_units::{Duration, Instant, Rate};

/// One direction of a path.
pub struct Path {
    /// Propagation one way.
    pub delay: Duration,
    /// The chance that a packet is lost on its way.
    pub loss: f64,
    /// The rate of the bottleneck and the packets that wait before it at most; no bottleneck without.
    pub bottleneck: Option<(Rate, usize)>,
    /// The random numbers' state.
    pub seed: u64,
    /// When the bottleneck will have sent each packet that is waiting.
    waiting: VecDeque<Instant>,
}

impl Path {
    pub fn new(delay: Duration, loss: f64, bottleneck: Option<(Rate, usize)>, seed: u64) -> Self {
        Self { delay, loss, bottleneck, seed, waiting: VecDeque::new() }
    }

    /// A packet goes; when it arrives, or `None` if it does not.
    pub fn send(&mut self, now: Instant, size: u32) -> Option<Instant> {
        let out = self.through_bottleneck(now, size)?;
        let lost = self.loss > 0.0 && self.uniform() < self.loss;
        (!lost).then_some(out + self.delay)
    }

    fn through_bottleneck(&mut self, now: Instant, size: u32) -> Option<Instant> {
        let Some((rate, limit)) = self.bottleneck else { return Some(now) };
        while self.waiting.front().is_some_and(|out| *out <= now) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= limit {
            return None;
        }
        let out = self.waiting.back().copied().unwrap_or(now) + rate.time_for(f64::from(size));
        self.waiting.push_back(out);
        Some(out)
    }

    fn uniform(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Things on their way, in order of arrival.
pub struct Wire<T>(VecDeque<(Instant, T)>);

impl<T> Default for Wire<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Wire<T> {
    pub fn push(&mut self, arrival: Instant, thing: T) {
        self.0.push_back((arrival, thing));
    }

    /// What has arrived by `now`, and when.
    pub fn pop(&mut self, now: Instant) -> Option<(Instant, T)> {
        self.0.pop_front_if(|(at, _)| *at <= now)
    }

    pub fn next(&self) -> Option<Instant> {
        self.0.front().map(|(at, _)| *at)
    }
}
