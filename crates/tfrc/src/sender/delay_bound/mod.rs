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
use crate::config::{BurstCredit, QueueDelay};

/// The most that the limit grows in a round-trip time: fast enough to take freed capacity within
/// seconds.
const GAIN: f64 = 0.25;
/// Part of the receive rate that is sent while a queue drains: a queue of q is gone after
/// q/(1 − 2/3) = 3q.
const DRAIN: f64 = 2.0 / 3.0;
const DRAIN_TIMES: u64 = 3;
/// While a queue drains no less arrives than was sent, but for a packet or two of noise. If less
/// than this part of the first receive rate arrives and the queue grows, the path has become
/// slower.
const SLOWER: f64 = 0.625;
/// Part of the receive rate that a competing flow keeps while the queue falls, so that it falls on.
const KEPT: f64 = 0.9;
/// The queue counts as gone below this part of the bound: round-trip times vary by themselves.
/// A burst is no more than that either.
const GONE: u64 = 8;
/// Competing ends after this many round-trip times without a queue: that of a TCP which has halved
/// its window may be gone for one or two.
const FREE: u64 = 4;
/// A queue that others fill falls when it is shorter than its longest by this part of the bound,
/// and rises when it is longer than its shortest by as much: twice the noise of [`GONE`].
const TURN: u64 = 4;
/// The longest time for which R_min is believed while the queue is never gone: as long as a path
/// usually keeps its length, and so long that emptying the queue costs 1 % of the rate or less.
const BELIEVED: Duration = Duration::from_secs(10);
/// The first time for which a flow competes before it drains again, a quarter of [`BELIEVED`], and
/// the longest: with a draining behind it, it is less than 30 s.
const FIRST_PATIENCE: Duration = Duration::from_millis(2500);
const LONGEST_PATIENCE: Duration = Duration::from_secs(20);
/// This many drainings in a row that end at one round-trip time, within this part of the bound, are
/// a longer path: a queue that others fill differs from time to time.
const ALIKE: u32 = 3;
const APART: u64 = 32;
/// The least time for which a report is waited for: RTP's receivers report every 100 ms.
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
/// The rate of which the queue is held at half of the bound, in bytes per second: 100 kbit/s, about
/// the least of video.
const LOWEST: f64 = 12_500.0;

/// When a queue of this flow is gone for certain, if less than arrives is sent from `now` on: the
/// first report of that comes a round trip later.
fn drained_at(now: Instant, queue: Duration, sample: Duration) -> Instant {
    now + queue * DRAIN_TIMES + sample * 2
}

/// The rate that arrives on a path that has become slower than `passed`.
fn slower(arrives: Rate, passed: Rate) -> Option<Rate> {
    (arrives < passed * SLOWER).then_some(arrives)
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
    /// W_init/R (RFC 5348 §4.2), the least limit unless the queue drains.
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
    /// The set of receive rates.
    passed: ReceiveLimits,
    limited: DataLimited,
    pacing: Pacing,
    /// Bursts that the settings allow.
    credit: BurstCredit,
    limit: Rate,
    /// R_min, and the receive rates, before the first draining in vain. While there is one, nobody
    /// knows if others fill the queue or if the path is longer.
    former: Option<(Duration, Rate)>,
    /// The time for which the flow competes before it drains again.
    patience: Duration,
    /// The least round-trip time of the last draining that did not drain, and how many in a row
    /// ended there.
    floor: (Duration, u32),
    /// The newest sample, and W_init/R with it.
    newest: (Duration, Rate),
    last_sent: Instant,
    /// The end of the last pause: a receive rate over it is too low.
    resumed: Instant,
    /// Time spent in competing, up to the beginning of the present one.
    competed: Duration,
    /// Since then a report is waited for.
    waiting_since: Option<Instant>,
}

/// The state machine of `docs/models/delay-bound.md`. [`DelayBound::step`] alone decides, at a
/// report with a sample. R_min, the set of receive rates, `patience` and `former` stay over all
/// states and over pauses.
///
/// | state | takes over | keeps |
/// | --- | --- | --- |
/// | [`State::Free`] | at the beginning | nothing: X alone counts |
/// | [`State::Held`] | once there is a queue; when it was drained | the time without a queue |
/// | [`State::Draining`] | when the queue is too long, or R_min too old | the time by which a queue of this flow is gone |
/// | [`State::Competing`] | when draining has not drained twice | its beginning, the last turn of the queue, and the limit while the queue falls |
#[derive(Debug, Clone, Copy)]
enum State {
    /// There was no queue yet.
    Free,
    /// The queue is held at half of the bound, or below.
    Held {
        /// When the queue was last seen to be gone, or R_min replaced; pauses deducted.
        gone_at: Instant,
        /// The beginning of the time without a queue.
        empty_since: Option<Instant>,
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
        least_rtt: Duration,
        /// The highest receive rate at the beginning, or that of a path that became slower.
        passed: Rate,
        /// The time from which on a competing flow goes on to drain only if the queue has fallen.
        pays_by: Option<Instant>,
    },
    /// Others keep the queue full: X counts, but the flow does not fill a queue that falls.
    Competing {
        since: Instant,
        /// The longest queueing delay while it rises, or the shortest while it falls.
        turn: Duration,
        /// The limit while the queue falls.
        falls: Option<Rate>,
        /// The beginning of the time without a queue.
        empty_since: Option<Instant>,
    },
}

impl DelayBound {
    pub(crate) fn new(bound: QueueDelay, pacing: Pacing) -> Option<Self> {
        let QueueDelay::AtMost(most) = bound else { return None };
        Some(Self {
            most,
            least_rtt: None,
            state: State::Free,
            passed: ReceiveLimits::empty(),
            limited: DataLimited::default(),
            pacing: pacing.with_credit(pacing.credit_policy().at_most(most / GONE)),
            credit: pacing.credit_policy(),
            limit: Rate::INFINITY,
            former: None,
            patience: FIRST_PATIENCE,
            floor: (Duration::ZERO, 0),
            newest: (Duration::ZERO, Rate::ZERO),
            last_sent: Instant::ZERO,
            resumed: Instant::ZERO,
            competed: Duration::ZERO,
            waiting_since: None,
        })
    }

    /// The highest rate that the bound allows.
    pub(crate) const fn limit(&self) -> Rate {
        self.limit
    }

    /// The time for which the flow has competed up to now.
    pub(crate) fn competed(&self, now: Instant) -> Duration {
        match self.state {
            State::Competing { since, .. } => self.competed + now.saturating_since(since),
            _ => self.competed,
        }
    }

    /// The earliest time for the next packet.
    pub(crate) fn next_send(&self) -> Instant {
        self.pacing.next_send()
    }

    /// The rate of the spacing.
    pub(crate) fn set_pace(&mut self, rate: Rate, rtt: Option<Duration>) {
        self.pacing.set_pace(rate, rtt);
    }

    /// A packet goes. Returns true if the limit has changed: it is halved whenever a report is
    /// overdue, as the path may have become slower, or stand still.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u32) -> bool {
        self.pacing.on_sent(now, size);
        if self.pacing.next_send() > now {
            self.limited.on_not_limited(now);
        }
        let (sample, least) = self.newest;
        if now.saturating_since(self.last_sent) > sample {
            self.resume(now);
        }
        self.last_sent = now;
        let since = *self.waiting_since.get_or_insert(now);
        if now.saturating_since(since) <= ((sample + self.most) * 2).max(SHORTEST_WAIT) {
            return false;
        }
        self.waiting_since = Some(now);
        let limit = (self.limit / 2.0).max(least).min(self.limit);
        let changed = limit != self.limit;
        self.limit = limit;
        changed
    }

    /// The first packet after a pause of more than a round-trip time: receive rates are as new, and
    /// a queue of this flow had time to drain.
    fn resume(&mut self, now: Instant) {
        self.passed.replace(now, self.passed.maximum());
        self.resumed = now;
        if let State::Held { gone_at, empty_since, .. } = &mut self.state {
            *gone_at += now.saturating_since(self.last_sent);
            *empty_since = None;
        }
    }

    /// A report has come.
    pub(crate) fn on_report(&mut self, now: Instant, report: DelayReport) {
        let DelayReport { grain, rtt, receive_rate, .. } = report;
        self.waiting_since = (self.last_sent > report.newest_sent_at).then_some(now);
        let coverage = self.limited.on_feedback(now, report.newest_sent_at, rtt);
        let Some(sample) = report.sample.filter(|_| !receive_rate.is_zero()) else { return };
        match coverage {
            Coverage::DataLimited => self.passed.maximize(now, receive_rate),
            Coverage::NotDataLimited => self.passed.update(now, receive_rate, sample),
        }
        let fell = self.least_rtt.is_some_and(|least| sample < least);
        let least_rtt = self.least_rtt.map_or(sample, |least| least.min(sample));
        self.least_rtt = Some(least_rtt);
        self.newest = (sample, report.initial_rate);
        self.step(now, &report, sample, sample.saturating_sub(least_rtt + grain), fell);
        let queue = sample.saturating_sub(self.least_rtt.unwrap_or(sample) + grain);
        let limit = self.rate(now, queue, sample.max(grain).max(Duration::from_nanos(1)), coverage);
        self.limit = match self.state {
            // Several flows at their least rate would keep the queue that they want to see gone.
            State::Draining { .. } => limit,
            _ => limit.max(report.initial_rate),
        };
    }

    /// The next state, by the queueing delay. `fell`: the round trip is shorter than ever.
    fn step(&mut self, now: Instant, report: &DelayReport, sample: Duration, queue: Duration, fell: bool) {
        let competed = self.competed(now);
        let most = self.most;
        let empty = queue <= most / GONE;
        // While nobody knows if the path is longer, a queue is gone only on the shorter one.
        let gone = self.former.map_or(empty, |(least, _)| sample <= least + report.grain + most / GONE);
        match &mut self.state {
            State::Free if queue > most => self.drain(now, report, sample, queue),
            State::Free if queue > most / 2 => self.hold(now),
            State::Free => {}
            State::Held { gone_at, empty_since } => {
                *empty_since = empty.then_some(empty_since.unwrap_or(now));
                if gone {
                    *gone_at = now;
                    self.believe();
                } else if queue > most || now.saturating_since(*gone_at) > BELIEVED {
                    self.drain(now, report, sample, queue);
                }
            }
            State::Draining { grows_until, longest, until, least_rtt, passed, pays_by } => {
                if now <= *grows_until && queue > *longest {
                    (*longest, *until) = (queue, drained_at(now, queue, sample));
                }
                if queue > *longest
                    && self.resumed + sample < report.newest_sent_at
                    && let Some(slower) = slower(report.receive_rate, *passed)
                {
                    *passed = slower;
                    (*longest, *until) = (queue, (*until).max(drained_at(now, queue, sample)));
                    *grows_until = now + sample * 2;
                }
                if sample + most / GONE < *least_rtt {
                    *until = (*until).max(now + sample * 2);
                }
                *least_rtt = (*least_rtt).min(sample);
                let (floor, passed) = (*least_rtt, *passed);
                let in_vain = pays_by.is_some_and(|at| now >= at && queue + most / TURN > *longest);
                // While R_min falls there may be a queue still.
                if gone && (!fell || now >= *until) {
                    self.believe();
                    self.patience = (self.patience / 2).max(FIRST_PATIENCE);
                    self.hold(now);
                } else if in_vain {
                    self.compete(now, passed);
                } else if now >= *until {
                    self.not_drained(now, floor, passed);
                }
            }
            State::Competing { since, turn, falls, empty_since } => {
                let noise = most / TURN;
                match falls {
                    Some(_) if queue > *turn + noise => (*turn, *falls) = (queue, None),
                    Some(_) => *turn = (*turn).min(queue),
                    None if queue + noise < *turn => {
                        (*turn, *falls) = (queue, Some(self.passed.maximum() * KEPT));
                    }
                    None => *turn = (*turn).max(queue),
                }
                if gone {
                    let empty_since = *empty_since.get_or_insert(now);
                    if now.saturating_since(empty_since) <= sample * FREE {
                        return;
                    }
                    self.patience = (self.patience / 2).max(FIRST_PATIENCE);
                    self.hold(now);
                } else {
                    *empty_since = None;
                    if now.saturating_since(*since) <= self.patience {
                        return;
                    }
                    self.drain(now, report, sample, queue);
                }
                self.competed = competed;
            }
        }
    }

    /// R_min is that of the path for certain.
    fn believe(&mut self) {
        (self.former, self.floor) = (None, (Duration::ZERO, 0));
    }

    /// A queue of this flow would be gone. The path is longer now, or others keep the queue above
    /// the bound.
    fn not_drained(&mut self, now: Instant, floor: Duration, passed: Rate) {
        let (last, times) = self.floor;
        let apart = floor.max(last).saturating_sub(floor.min(last));
        let times = if apart <= self.most / APART { times + 1 } else { 1 };
        let least = self.least_rtt.unwrap_or(floor);
        let (least, rate) = self.former.unwrap_or((least, passed));
        let again = self.former.is_some() || self.patience > FIRST_PATIENCE;
        self.floor = (floor, times);
        if again && times == 1 && floor.saturating_sub(least) > self.most {
            self.compete(now, passed);
            return;
        }
        self.former = Some((least, rate.max(passed)));
        self.least_rtt = Some(floor);
        if times >= ALIKE {
            self.believe();
        }
        self.passed.replace(now, passed);
        self.hold(now);
    }

    /// Others fill the queue: R_min and the receive rates are those from before.
    fn compete(&mut self, now: Instant, passed: Rate) {
        let mut passed = passed;
        if let Some((least, rate)) = self.former.take() {
            self.least_rtt = Some(least);
            passed = passed.max(rate);
        }
        self.passed.replace(now, passed);
        self.pacing = self.pacing.with_credit(self.credit);
        self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
        self.state = State::Competing { since: now, turn: Duration::ZERO, falls: None, empty_since: None };
    }

    fn hold(&mut self, now: Instant) {
        self.pacing = self.pacing.with_credit(self.credit.at_most(self.most / GONE));
        self.state = State::Held { gone_at: now, empty_since: None };
    }

    fn drain(&mut self, now: Instant, report: &DelayReport, sample: Duration, queue: Duration) {
        self.pacing = self.pacing.with_credit(self.credit.at_most(self.most / GONE));
        let grows_until = now + sample * 2;
        let competed = matches!(self.state, State::Competing { .. });
        let passed = self.passed.maximum();
        let over_a_pause = self.resumed + sample >= report.newest_sent_at;
        self.state = State::Draining {
            grows_until,
            longest: queue,
            until: drained_at(now, queue, sample),
            least_rtt: sample,
            passed: slower(report.receive_rate, passed).filter(|_| !over_a_pause).unwrap_or(passed),
            pays_by: competed.then_some(grows_until + self.most * DRAIN_TIMES),
        };
    }

    /// The limit in this state.
    fn rate(&self, now: Instant, queue: Duration, sample: Duration, coverage: Coverage) -> Rate {
        match self.state {
            State::Free => Rate::INFINITY,
            State::Competing { falls, .. } => falls.unwrap_or(Rate::INFINITY),
            State::Draining { passed, .. } => passed * DRAIN,
            State::Held { empty_since, .. } => {
                let passed = self.passed.maximum().bytes_per_sec();
                // A flow with a higher rate is content with a shorter queue, so that flows with one
                // queue come to one rate.
                let part = 0.25 + 0.75 * libm::sqrt(libm::sqrt(LOWEST / passed)).min(1.0);
                let goal = (self.most / 2).as_secs_f64() * part;
                let (queue, rtt) = (queue.as_secs_f64(), sample.as_secs_f64());
                let empty = empty_since.map_or(0.0, |since| now.saturating_since(since).as_secs_f64());
                // The answer to a rate comes a round-trip time later.
                let factor = 1.0 + GAIN.min((goal - queue) / (2.0 * rtt) * (1.0 + empty / rtt));
                // What was not used is not raised.
                let factor = if coverage == Coverage::DataLimited { factor.min(1.0) } else { factor };
                self.passed.maximum() * factor
            }
        }
    }
}
