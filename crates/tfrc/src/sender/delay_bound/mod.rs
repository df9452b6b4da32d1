//! `max_queue_delay`: a bound on the queueing delay, ours and not of RFC 5348
//! (`docs/models/delay-bound.md` has its rule as formulas).
//!
//! X is computed as if there were no bound (RFC 5348 §4.3); only what is sent follows
//! min(X, limit). Equal inputs therefore give an X that is never higher with the bound than
//! without.

#[cfg(test)]
mod tests;

use tfrc_units::{Duration, Instant, Rate};

use super::limited::{Coverage, DataLimited};
use super::limits::ReceiveLimits;
use super::pacing::Pacing;
use crate::config::QueueDelay;

/// Growth of the limit in a round-trip time while the queue is empty: fast enough to take freed
/// capacity within seconds.
const GAIN: f64 = 0.25;
/// Part of the receive rate that is sent while a queue drains: a queue of q is gone after
/// q/(1 − 3/4) = 4q.
const DRAIN: f64 = 0.75;
const DRAIN_TIMES: u64 = 4;
/// The queue counts as gone below this part of the bound: round-trip times vary by themselves.
const GONE: u64 = 8;
/// The limit ends after this many round-trip times without a queue.
const FREE: u64 = 8;
/// The longest time for which R_min is believed while the queue is never gone: as long as a path
/// usually keeps its length, and so long that emptying the queue costs 1 % of the rate or less.
const BELIEVED: Duration = Duration::from_secs(10);

/// When a queue of this flow is gone for certain, if less than arrives is sent from `now` on: the
/// first report of that comes a round trip later.
fn drained_at(now: Instant, queue: Duration, sample: Duration) -> Instant {
    now + queue * DRAIN_TIMES + sample * 2
}

/// Facts of a report that the bound depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelayReport {
    /// R_sample, if the report has one.
    pub(crate) sample: Option<Duration>,
    /// The grain of the clock that measured it: a difference of one grain is not a queue.
    pub(crate) grain: Duration,
    /// R.
    pub(crate) rtt: Duration,
    /// X_recv.
    pub(crate) receive_rate: Rate,
    /// When the newest packet reported was sent.
    pub(crate) newest_sent_at: Instant,
    /// RFC 5348's view of the interval that the report covers.
    pub(crate) coverage: Coverage,
    /// W_init/R (RFC 5348 §4.2), the least limit.
    pub(crate) initial_rate: Rate,
}

/// The limit on X by the queueing delay, and its spacing of packets.
#[derive(Debug, Clone)]
pub(crate) struct DelayBound {
    /// D.
    most: Duration,
    /// R_min.
    least_rtt: Option<Duration>,
    state: State,
    /// Rates at which packets arrived in the last two round-trip times.
    passed: ReceiveLimits,
    limited: DataLimited,
    pacing: Pacing,
    limit: Rate,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// X alone counts.
    Free,
    /// The queue is held at half of the bound.
    Held {
        /// The beginning of the time without a queue.
        empty_since: Option<Instant>,
        /// When the queue was last seen to be gone, or R_min replaced.
        gone_at: Instant,
    },
    /// Less is sent than arrives.
    Draining {
        /// Up to then reports are of packets sent before, and the queue may grow.
        grows_until: Instant,
        /// The longest queueing delay up to then.
        longest: Duration,
        /// When a queue of this flow is gone for certain.
        until: Instant,
        /// The least round-trip time since the beginning.
        least_rtt: Option<Duration>,
        /// The highest receive rate since the beginning.
        passed: Rate,
    },
}

impl DelayBound {
    pub(crate) fn new(bound: QueueDelay, pacing: Pacing) -> Option<Self> {
        let QueueDelay::AtMost(most) = bound else { return None };
        Some(Self {
            most,
            least_rtt: None,
            state: State::Free,
            passed: ReceiveLimits::new(Instant::ZERO),
            limited: DataLimited::default(),
            pacing,
            limit: Rate::INFINITY,
        })
    }

    /// The highest rate that the bound allows.
    pub(crate) const fn limit(&self) -> Rate {
        self.limit
    }

    /// The earliest time for the next packet.
    pub(crate) fn next_send(&self) -> Instant {
        self.pacing.next_send()
    }

    /// The rate of the spacing.
    pub(crate) fn set_pace(&mut self, rate: Rate, rtt: Option<Duration>) {
        self.pacing.set_pace(rate, rtt);
    }

    /// A packet goes.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u32) {
        self.pacing.on_sent(now, size);
        if self.pacing.next_send() > now {
            self.limited.on_not_limited(now);
        }
    }

    /// A report has come.
    pub(crate) fn on_report(&mut self, now: Instant, report: DelayReport) {
        let DelayReport { grain, rtt, receive_rate, .. } = report;
        let own = self.limited.on_feedback(now, report.newest_sent_at, rtt);
        let Some(sample) = report.sample.filter(|_| !receive_rate.is_zero()) else { return };
        match (report.coverage, own) {
            (Coverage::DataLimited, Coverage::DataLimited) => self.passed.maximize(now, receive_rate),
            _ => self.passed.update(now, receive_rate, rtt),
        }
        let fell = self.least_rtt.is_some_and(|least| sample < least);
        let least_rtt = self.least_rtt.map_or(sample, |least| least.min(sample));
        self.least_rtt = Some(least_rtt);
        self.step(now, &report, sample, sample.saturating_sub(least_rtt + grain), fell);
        let queue = sample.saturating_sub(self.least_rtt.unwrap_or(sample) + grain);
        self.limit = self.rate(queue, rtt).max(report.initial_rate);
    }

    /// The next state, by the queueing delay. `fell`: the round trip is shorter than ever.
    fn step(&mut self, now: Instant, report: &DelayReport, sample: Duration, queue: Duration, fell: bool) {
        let DelayReport { rtt, receive_rate, .. } = *report;
        let gone = queue <= self.most / GONE;
        match &mut self.state {
            State::Free if queue > self.most => self.drain(now, report, sample, queue),
            State::Free if queue > self.most / 2 => {
                self.state = State::Held { empty_since: None, gone_at: now };
            }
            State::Free => {}
            State::Held { empty_since, gone_at } => {
                if gone {
                    *gone_at = now;
                    let since = *empty_since.get_or_insert(now);
                    if now.saturating_since(since) > rtt * FREE {
                        self.state = State::Free;
                    }
                } else {
                    *empty_since = None;
                    if queue > self.most || now.saturating_since(*gone_at) > BELIEVED {
                        self.drain(now, report, sample, queue);
                    }
                }
            }
            State::Draining { grows_until, longest, until, least_rtt, passed } => {
                if now <= *grows_until && queue > *longest {
                    (*longest, *until) = (queue, drained_at(now, queue, sample));
                }
                // While R_min falls there is a queue still.
                let gone = gone && !fell;
                let least = least_rtt.map_or(sample, |least| least.min(sample));
                (*least_rtt, *passed) = (Some(least), (*passed).max(receive_rate));
                if !gone && now < *until {
                    return;
                }
                // The rest is not this flow's queue: the path is longer now, or others fill it.
                if !gone {
                    self.least_rtt = Some(least);
                }
                self.passed.replace(now, *passed);
                self.state = State::Held { empty_since: None, gone_at: now };
            }
        }
    }

    fn drain(&mut self, now: Instant, report: &DelayReport, sample: Duration, queue: Duration) {
        self.passed.replace(now, report.receive_rate);
        self.state = State::Draining {
            grows_until: now + sample * 2,
            longest: queue,
            until: drained_at(now, queue, sample),
            least_rtt: None,
            passed: Rate::ZERO,
        };
    }

    /// The limit in this state.
    fn rate(&self, queue: Duration, rtt: Duration) -> Rate {
        match self.state {
            State::Free => Rate::INFINITY,
            State::Draining { .. } => self.passed.maximum() * DRAIN,
            State::Held { .. } => {
                let goal = (self.most / 2).as_secs_f64();
                // No more than goal/(2R): the answer to a rate comes a round-trip time later.
                let gain = GAIN.min(goal / (2.0 * rtt.as_secs_f64()));
                self.passed.maximum() * (1.0 + gain * (1.0 - queue.as_secs_f64() / goal))
            }
        }
    }
}
