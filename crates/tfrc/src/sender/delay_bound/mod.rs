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
/// q/(1 − 2/3) = 3q. Half of that part where the queue is longer than this many bounds: it is gone
/// after 3q/2, which costs no more.
const DRAIN: f64 = 2.0 / 3.0;
const DRAIN_TIMES: u64 = 3;
const LONG: u64 = 4;
/// The path carries what arrives while a queue grows. If that is less than this part of what
/// was thought to be, the path has become slower; if that is less than this part of what arrives,
/// it has not: a single report over a silence says too little.
const CARRIES: f64 = 0.8;
/// The first report of a queue, and one while it drains, may show less by a packet or two of noise:
/// 5/8 of the highest rate, 15/16 of what is sent then.
const SLOWER: f64 = 0.625;
const SENT: f64 = 0.9375;
/// A flow whose packets arrive at this part of the limit uses it, though it paces itself: the limit
/// may have grown by a quarter since they left, 1/(1 + [`GAIN`]), and a packet of noise is off.
const USED: f64 = 0.75;
/// Part of the growth by which the limit rises above what arrives, where that is all that the
/// application offers: the effect is seen two or three reports later.
const OFFERED: f64 = 0.25;
/// A queue that has not become shorter while the rate fell to this part is not this flow's.
const CUT: f64 = 0.75;
/// A queue has answered to a draining if it became shorter by this part of the bound.
const ANSWERS: u64 = 16;
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

/// Part of the rate that is sent while this queue drains; `looks` if it is one that others fill.
fn draining(most: Duration, queue: Duration, looks: bool) -> f64 {
    if queue > most * LONG && !looks { DRAIN / 2.0 } else { DRAIN }
}

/// When a queue of this flow is gone for certain, if this part of what arrives is sent from `now`
/// on: the first report of that comes a round trip later.
fn drained_at(now: Instant, queue: Duration, sample: Duration, part: f64) -> Instant {
    let times = queue * DRAIN_TIMES;
    now + if part < DRAIN { times / 2 } else { times } + sample * 2
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
    /// A new loss event.
    pub(crate) lost: bool,
}

/// The queue by a report.
#[derive(Debug, Clone, Copy)]
struct Seen {
    sample: Duration,
    /// The sample of the report before.
    previous: Duration,
    /// The queueing delay now, and by the report before.
    queue: Duration,
    before: Duration,
    /// The higher of the receive rates of this report and of the one before.
    arrives: Rate,
    /// The round trip is shorter than ever.
    fell: bool,
    /// It is so by more than [`GONE`].
    sank: bool,
}

/// R_0, and what goes with it. While there is one, nobody knows if others fill the queue or if the
/// path is longer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Former {
    /// R_min before the first draining in vain.
    least_rtt: Duration,
    /// The highest rate of the drainings in vain.
    rate: Rate,
    /// There was a loss event since the first of them.
    lost: bool,
}

/// A time in which the flow sends less, to which its own queue would answer.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Packets sent from then on were sent at less than `rate`.
    since: Instant,
    /// The rate before.
    rate: Rate,
    /// The longest queueing delay up to two round-trip times later.
    queue: Duration,
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
    /// The spacing is that of the limit, not that of X or of the application's cap.
    paces: bool,
    /// Bursts that the settings allow.
    credit: BurstCredit,
    limit: Rate,
    former: Option<Former>,
    /// The time for which the flow competes before it drains again.
    patience: Duration,
    /// The least round-trip time of the last draining that did not drain, and how many in a row
    /// ended there.
    floor: (Duration, u32),
    /// The newest sample, the longer one of it and R, W_init/R, and X_recv.
    newest: (Duration, Duration, Rate, Rate),
    last_sent: Instant,
    /// The end of the last pause: a receive rate over it is too low.
    resumed: Instant,
    /// Time spent in competing, up to the beginning of the present one.
    competed: Duration,
    /// When a packet last went later than the limit let it: the application had none.
    short_at: Option<Instant>,
    /// The newest report: it may have moved the time of the next packet into the past.
    heard: Instant,
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
/// | [`State::Competing`] | when a loss, or a draining, shows others | its beginning, the last turn of the queue, and the limit while the queue falls |
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
        /// There while the queue is longer than it is held at.
        cut: Option<Cut>,
    },
    /// Less is sent than arrives.
    Draining {
        /// Packets sent from then on were sent at [`DRAIN`] of `passed`.
        since: Instant,
        /// The longest queueing delay by reports of packets sent before.
        longest: Duration,
        /// When a queue of this flow is gone for certain.
        until: Instant,
        /// The least round-trip time of packets sent since then.
        floor: Duration,
        /// The rate that the path carries, as far as it is known.
        passed: Rate,
        /// The time from which on a competing flow goes on to drain only if the queue has fallen.
        pays_by: Option<Instant>,
        /// It began below the bound, to see if the queue answers.
        tests: bool,
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
            paces: false,
            credit: pacing.credit_policy(),
            limit: Rate::INFINITY,
            former: None,
            patience: FIRST_PATIENCE,
            floor: (Duration::ZERO, 0),
            newest: (Duration::ZERO, Duration::ZERO, Rate::ZERO, Rate::ZERO),
            last_sent: Instant::ZERO,
            resumed: Instant::ZERO,
            competed: Duration::ZERO,
            short_at: None,
            heard: Instant::ZERO,
            waiting_since: None,
        })
    }

    /// The highest rate that the bound allows.
    pub(crate) const fn limit(&self) -> Rate {
        self.limit
    }

    /// Others keep the queue longer than the bound.
    pub(crate) const fn competes(&self) -> bool {
        matches!(self.state, State::Competing { .. })
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

    /// Packets are spaced at `rate`, or at `limit` if that is lower: then they wait for the bound.
    pub(crate) fn set_pace(&mut self, rate: Rate, limit: Rate, rtt: Option<Duration>) {
        self.paces = limit < rate;
        self.pacing.set_pace(rate.min(limit), rtt);
    }

    /// A packet goes. Returns true if the limit has changed: it is halved whenever a report is
    /// overdue, as the path may have become slower, or stand still.
    pub(crate) fn on_sent(&mut self, now: Instant, size: u32) -> bool {
        if self.paces && now > self.pacing.next_send().max(self.heard) {
            self.short_at = Some(now);
        }
        self.pacing.on_sent(now, size);
        if self.paces && self.pacing.next_send() > now {
            self.limited.on_not_limited(now);
        }
        let (sample, longer, least, _) = self.newest;
        if now.saturating_since(self.last_sent) > sample {
            self.resume(now);
        }
        self.last_sent = now;
        let since = *self.waiting_since.get_or_insert(now);
        if now.saturating_since(since) <= ((longer + self.most) * 2).max(SHORTEST_WAIT) {
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
        if let State::Held { gone_at, empty_since, cut } = &mut self.state {
            *gone_at += now.saturating_since(self.last_sent);
            (*empty_since, *cut) = (None, None);
        }
    }

    /// A report has come.
    pub(crate) fn on_report(&mut self, now: Instant, report: DelayReport) {
        let DelayReport { grain, rtt, receive_rate, .. } = report;
        self.heard = now;
        self.waiting_since = (self.last_sent > report.newest_sent_at).then_some(now);
        let coverage = self.limited.on_feedback(now, report.newest_sent_at, rtt);
        let Some(sample) = report.sample.filter(|_| !receive_rate.is_zero()) else { return };
        let former = self.least_rtt.unwrap_or(sample);
        let least_rtt = former.min(sample);
        self.least_rtt = Some(least_rtt);
        let (before, .., arrived) = self.newest;
        self.newest = (sample, sample.max(rtt), report.initial_rate, receive_rate);
        let queue = |sample: Duration| sample.saturating_sub(least_rtt + grain);
        let seen = Seen {
            sample,
            previous: before,
            queue: queue(sample),
            before: queue(before),
            arrives: receive_rate.max(arrived),
            fell: sample < former,
            sank: sample + self.most / GONE < former,
        };
        let offers_less = self.offers_less(&report, seen);
        match coverage {
            Coverage::NotDataLimited if !offers_less => self.passed.update(now, receive_rate, sample),
            _ => self.passed.maximize(now, receive_rate),
        }
        self.step(now, &report, seen);
        let queue = sample.saturating_sub(self.least_rtt.unwrap_or(sample) + grain);
        let is_used = if offers_less {
            seen.arrives >= self.limit / 2.0
        } else {
            coverage == Coverage::NotDataLimited || receive_rate >= self.limit * USED
        };
        let limit = self.rate(now, queue, sample.max(grain).max(Duration::from_nanos(1)), is_used);
        self.limit = match self.state {
            // Several flows at their least rate would keep the queue that they want to see gone.
            State::Draining { .. } => limit,
            State::Held { .. } if offers_less && is_used => {
                let growth = (limit / self.passed.maximum() - 1.0).max(0.0) * OFFERED;
                // Twice what arrives, as RFC 5348 §4.3 has it.
                let rises = (self.limit * (1.0 + growth)).min(seen.arrives * 2.0);
                limit.max(rises).max(report.initial_rate)
            }
            _ => limit.max(report.initial_rate),
        };
    }

    /// The application had nothing to send at times, and there is neither a queue nor a loss: what
    /// arrives is what it offers, as in a data-limited interval, and the path may carry more.
    fn offers_less(&self, report: &DelayReport, seen: Seen) -> bool {
        let (_, longer, ..) = self.newest;
        matches!(self.state, State::Held { .. })
            && self.short_at.is_some_and(|at| at + longer * 2 > report.newest_sent_at)
            && !report.lost
            && seen.queue <= self.most / GONE
    }

    /// The next state, by the queueing delay.
    fn step(&mut self, now: Instant, report: &DelayReport, seen: Seen) {
        let Seen { sample, queue, .. } = seen;
        let competed = self.competed(now);
        let most = self.most;
        let empty = queue <= most / GONE;
        if let Some(former) = &mut self.former {
            former.lost |= report.lost;
        }
        let former = self.former;
        // While nobody knows if the path is longer, a queue is gone only on the shorter one.
        let gone = former.map_or(empty, |former| sample <= former.least_rtt + report.grain + most / GONE);
        // An own queue of at most D loses nothing where the buffer is longer. If a packet of those
        // is lost that were sent at a lower rate from `since` on, and no less than half of `rate`
        // arrives, somebody else fills it.
        let filled = |since: Instant, rate: Rate| {
            report.lost
                && queue.max(seen.before) > most
                && report.newest_sent_at > since + most / 2
                && report.receive_rate >= rate / 2.0
        };
        let (goal, highest) = (self.goal(), self.passed.maximum());
        let least_rtt = self.least_rtt.unwrap_or(sample);
        match &mut self.state {
            State::Free if queue > most => self.drain(now, report, seen, highest),
            State::Free if queue > most / 2 => self.hold(now),
            State::Free => {}
            State::Held { gone_at, empty_since, cut } => {
                *empty_since = empty.then_some(empty_since.unwrap_or(now));
                match cut {
                    _ if queue.as_secs_f64() <= goal => *cut = None,
                    Some(cut) if queue + most / GONE >= cut.queue => {
                        if now <= cut.since + sample * 2 {
                            cut.queue = cut.queue.max(queue);
                        }
                    }
                    _ => *cut = Some(Cut { since: now, rate: highest, queue }),
                }
                let cut = *cut;
                let in_vain = cut.filter(|cut| {
                    let fallen = highest <= cut.rate * CUT || highest * CUT <= report.initial_rate;
                    fallen && now > cut.since + sample * 2
                });
                // What an own queue had left cannot sink: R_min was raised by a queue of others.
                let others = former.is_some_and(|former| {
                    former.lost && seen.sank && seen.previous > former.least_rtt + most
                }) || cut.is_some_and(|cut| filled(cut.since, highest))
                    || in_vain.is_some() && self.patience > FIRST_PATIENCE;
                if gone {
                    *gone_at = now;
                    self.believe();
                } else if others {
                    self.compete(now, cut.map_or(highest, |cut| cut.rate));
                } else if queue > most || now.saturating_since(*gone_at) > BELIEVED {
                    self.drain(now, report, seen, highest);
                } else if let Some(cut) = in_vain {
                    self.drain(now, report, seen, cut.rate);
                }
            }
            State::Draining { since, longest, until, floor, passed, pays_by, tests } => {
                let looks = pays_by.is_some();
                let part = draining(most, *longest, looks);
                // Reports of packets sent before: the queue may grow, the path become longer.
                let earlier = report.newest_sent_at <= *since;
                let grows = queue > *longest;
                let (arrives, less) =
                    if earlier { (report.receive_rate, CARRIES) } else { (seen.arrives, part * SENT) };
                let slower =
                    grows && self.resumed + sample < report.newest_sent_at && arrives < *passed * less;
                if slower {
                    (*passed, *since) = (arrives, now);
                }
                if grows && (earlier || slower) {
                    let at = drained_at(now, queue, sample, draining(most, queue, looks));
                    *until = if earlier { at } else { at.max(*until) };
                    *longest = queue;
                }
                if report.receive_rate * CARRIES > *passed {
                    *passed = report.receive_rate;
                }
                if sample + most / GONE < *floor {
                    *until = (*until).max(now + sample * 2);
                }
                *floor = if earlier { sample } else { (*floor).min(sample) };
                let (floor, passed) = (*floor, *passed);
                let in_vain = pays_by.is_some_and(|at| {
                    now >= at && queue > (*longest).saturating_sub(most / TURN).max(most / TURN)
                });
                // A queue that answers is not only the path's.
                let answers = *tests && floor + most / ANSWERS < least_rtt + *longest;
                let others = in_vain || filled(*since, passed * part * 1.5);
                // While R_min falls there may be a queue still.
                if gone && (!seen.fell || now >= *until) {
                    self.believe();
                    self.patience = (self.patience / 2).max(FIRST_PATIENCE);
                    self.resume_at(now, passed);
                } else if others {
                    self.compete(now, passed);
                } else if now >= *until && answers {
                    self.resume_at(now, passed);
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
                    self.drain(now, report, seen, highest);
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
        let fresh = Former { least_rtt: self.least_rtt.unwrap_or(floor), rate: passed, lost: false };
        let former = self.former.unwrap_or(fresh);
        let again = self.former.is_some() || self.patience > FIRST_PATIENCE;
        self.floor = (floor, times);
        if again && times == 1 && floor.saturating_sub(former.least_rtt) > self.most {
            self.compete(now, passed);
            return;
        }
        self.former = Some(Former { rate: former.rate.max(passed), ..former });
        self.least_rtt = Some(floor);
        if times >= ALIKE {
            self.believe();
        }
        self.resume_at(now, passed);
    }

    /// Others fill the queue: R_min and the receive rates are those from before.
    fn compete(&mut self, now: Instant, passed: Rate) {
        let mut passed = passed;
        if let Some(former) = self.former.take() {
            self.least_rtt = Some(former.least_rtt);
            passed = passed.max(former.rate);
        }
        self.passed.replace(now, passed);
        self.pacing = self.pacing.with_credit(self.credit);
        self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
        self.state = State::Competing { since: now, turn: Duration::ZERO, falls: None, empty_since: None };
    }

    /// A draining is over: on at this rate.
    fn resume_at(&mut self, now: Instant, rate: Rate) {
        self.passed.replace(now, rate);
        self.hold(now);
    }

    fn hold(&mut self, now: Instant) {
        self.pacing = self.pacing.with_credit(self.credit.at_most(self.most / GONE));
        self.state = State::Held { gone_at: now, empty_since: None, cut: None };
    }

    /// Drains the queue, at first by `rate`, the highest one so far.
    fn drain(&mut self, now: Instant, report: &DelayReport, seen: Seen, rate: Rate) {
        self.pacing = self.pacing.with_credit(self.credit.at_most(self.most / GONE));
        let Seen { sample, queue, .. } = seen;
        let looks = matches!(self.state, State::Competing { .. });
        let held = matches!(self.state, State::Held { .. });
        let slower = report.receive_rate < self.passed.maximum() * SLOWER
            && self.resumed + sample < report.newest_sent_at;
        self.state = State::Draining {
            since: now,
            longest: queue,
            until: drained_at(now, queue, sample, draining(self.most, queue, looks)),
            floor: sample,
            passed: if slower { report.receive_rate } else { rate },
            tests: held && queue <= self.most,
            pays_by: looks.then_some(now + sample * 2 + self.most * DRAIN_TIMES),
        };
    }

    /// The queueing delay at which the limit neither grows nor falls, in seconds. A flow with a
    /// higher rate is content with a shorter queue, so that flows with one queue come to one rate.
    fn goal(&self) -> f64 {
        let passed = self.passed.maximum().bytes_per_sec();
        let part = 0.25 + 0.75 * libm::sqrt(libm::sqrt(LOWEST / passed)).min(1.0);
        (self.most / 2).as_secs_f64() * part
    }

    /// The limit in this state.
    fn rate(&self, now: Instant, queue: Duration, sample: Duration, is_used: bool) -> Rate {
        match self.state {
            State::Free => Rate::INFINITY,
            State::Competing { falls, .. } => falls.unwrap_or(Rate::INFINITY),
            State::Draining { passed, longest, pays_by, .. } => {
                passed * draining(self.most, longest, pays_by.is_some())
            }
            State::Held { empty_since, .. } => {
                let (goal, queue, rtt) = (self.goal(), queue.as_secs_f64(), sample.as_secs_f64());
                let empty = empty_since.map_or(0.0, |since| now.saturating_since(since).as_secs_f64());
                // The answer to a rate comes a round-trip time later.
                let factor = 1.0 + GAIN.min((goal - queue) / (2.0 * rtt) * (1.0 + empty / rtt));
                // What was not used is not raised.
                let factor = if is_used { factor } else { factor.min(1.0) };
                self.passed.maximum() * factor
            }
        }
    }
}
