//! X, the allowed sending rate: what feedback does to it (RFC 5348 §4.2, §4.3 step 4), and what
//! other revisions do.

use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::config::{PacketSize, Settings};
use crate::decision::RateReason;
use crate::equation::Equation;
use crate::rare::{Shared, shared};
use crate::sender::limited::Coverage;
use crate::sender::limits::ReceiveLimits;
use crate::study::{
    Growth, InitialRate, LatestReport, NoFeedback, RateFloor, ReceiveLimit, Rise, SlowStart, Supply,
};

/// t_mbi: however bad things are, one packet may go in this time (§4.3).
pub(crate) const MAXIMUM_BACKOFF: Duration = Duration::from_secs(64);

/// X and everything it is made of.
#[derive(Debug, Clone)]
pub(crate) struct AllowedRate {
    /// One for all clones, as far as they do not change it.
    pub(super) rules: Shared<Rules>,
    /// X.
    pub(super) x: Rate,
    /// X_Bps, what the equation gave last; infinite while p is zero.
    pub(super) x_bps: Rate,
    /// p as last reported.
    pub(super) p: Probability,
    /// X_recv_set.
    pub(super) limits: ReceiveLimits,
    /// tld, the time of the last doubling.
    last_doubled: Option<Instant>,
    /// Reports since the start, the first among them.
    reports: u64,
    /// When a report was last taken in.
    last_report: Instant,
    pub(super) reason: RateReason,
}

/// The choices that X depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(super) equation: Equation,
    pub(super) initial: InitialRate,
    slow_start: SlowStart,
    growth: Growth,
    receive_limit: ReceiveLimit,
    floor: RateFloor,
    pub(super) no_feedback: NoFeedback,
}

impl Rules {
    pub(crate) const fn of(settings: &Settings) -> Self {
        let choices = settings.algorithm.choices();
        Self {
            equation: choices.equation,
            initial: choices.initial_rate,
            slow_start: choices.slow_start,
            growth: choices.growth,
            receive_limit: choices.receive_limit,
            floor: choices.floor,
            no_feedback: choices.no_feedback,
        }
    }

    /// X until there is a round-trip time (§4.2).
    pub(crate) fn first_rate(&self, segment: f64) -> Rate {
        Rate::from_bytes_per_sec(match self.initial {
            InitialRate::Rfc3390 => segment,
            other => other.first_rate(segment),
        })
    }

    /// The least X.
    pub(crate) fn floor(&self, segment: f64, rtt: Option<Duration>) -> Rate {
        match (self.floor, rtt) {
            (RateFloor::None, _) => Rate::ZERO,
            (RateFloor::PacketPerRtt, Some(rtt)) => Rate::of(segment, rtt),
            (RateFloor::PacketPerRtt, None) | (RateFloor::PacketPer64Seconds, _) => {
                Rate::of(segment, MAXIMUM_BACKOFF)
            }
        }
    }
}

/// State of the path and the packets at the moment of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathState {
    /// R.
    pub(crate) rtt: Duration,
    /// s in bytes.
    pub(crate) segment: f64,
    /// The packet size rule of the equation.
    pub(crate) packet_size: PacketSize,
    /// t_RTO of the equation.
    pub(crate) rto: Duration,
    /// The packet drop rate, where it is known and the equation uses it.
    pub(crate) drop_rate: Option<Probability>,
}

impl PathState {
    /// s/R.
    pub(crate) fn packet_per_rtt(self) -> Rate {
        Rate::of(self.segment, self.rtt)
    }
}

/// Content of a feedback packet, as far as X is concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported {
    pub(crate) receive_rate: Rate,
    pub(crate) p: Probability,
    /// True if the feedback reports a new loss event.
    pub(crate) new_loss_event: bool,
    /// RFC 5348's view of the interval that the report covers.
    pub(crate) coverage: Coverage,
    /// The sender's data in the last 1.5 round-trip times, for limits of a study.
    pub(crate) supply: Supply,
}

impl AllowedRate {
    /// Nothing is known yet (§4.2).
    pub(crate) fn new(rules: Rules, segment: f64) -> Self {
        Self {
            x: rules.first_rate(segment),
            rules: shared(rules),
            x_bps: Rate::INFINITY,
            p: Probability::ZERO,
            limits: ReceiveLimits::new(Instant::ZERO),
            last_doubled: None,
            reports: 0,
            last_report: Instant::ZERO,
            reason: RateReason::Initial,
        }
    }

    /// initial_rate = W_init/R (§4.2), also the recover_rate of §4.4.
    pub(crate) fn initial_rate(&self, path: PathState) -> Rate {
        let mss = path.segment;
        let window = match self.rules.initial {
            InitialRate::Rfc3390 => (4.0 * mss).min((2.0 * mss).max(4380.0)),
            other => other.window(mss),
        };
        Rate::of(window, path.rtt)
    }

    /// s is not what it was before there is a round-trip time: X, a packet a second or a half of
    /// that and so on, follows (§4.2).
    pub(crate) fn resize(&mut self, from: f64, segment: f64) {
        if self.rules.initial.follows_segment() {
            self.x = self.x * (segment / from);
        }
    }

    /// The first round-trip time sample is in (§4.2).
    pub(crate) fn start(&mut self, now: Instant, path: PathState) {
        self.x = self.initial_rate(path);
        self.last_doubled = Some(now);
        self.reports = 1;
        self.last_report = now;
        self.reason = RateReason::Initial;
    }

    /// Step 4 of §4.3.
    pub(crate) fn on_feedback(&mut self, now: Instant, path: PathState, reported: Reported) {
        let receive_limit = self.receive_limit(now, path, reported);
        let was_slow_start = self.p.is_zero();
        self.reports = self.reports.saturating_add(1);
        self.p = reported.p;
        if was_slow_start && !self.p.is_zero() && self.rules.growth.starts_at_equation() {
            self.recalculate(now, path, Rate::INFINITY);
            self.x = self.x_bps.max(self.rules.floor(path.segment, Some(path.rtt)));
            self.reason = RateReason::Equation;
        } else {
            self.recalculate(now, path, receive_limit);
        }
        self.last_report = now;
    }

    /// recv_limit.
    fn receive_limit(&mut self, now: Instant, path: PathState, reported: Reported) -> Rate {
        let latest = reported.receive_rate;
        let new_loss = reported.new_loss_event || reported.p > self.p;
        if self.rules.receive_limit == ReceiveLimit::RecentMaximum {
            return self.recent_maximum(now, path, reported, new_loss);
        }
        self.limits.replace(now, latest);
        self.rules.receive_limit.of_latest(&LatestReport {
            receive_rate: latest,
            packet_per_rtt: path.packet_per_rtt(),
            initial_rate: self.initial_rate(path),
            new_loss,
            supply: reported.supply,
        })
    }

    /// The rules of RFC 5348 for X_recv_set.
    fn recent_maximum(&mut self, now: Instant, path: PathState, reported: Reported, new_loss: bool) -> Rate {
        // A report of zero says nothing of the path: it is the receiver's first (§6.3), or nothing
        // had arrived that it could measure, and such a receiver should be silent (§6.2). So it
        // leaves X_recv_set as it is, and never makes an interval data-limited (§4.3).
        if reported.receive_rate.is_zero() {
            return self.limits.maximum() * 2.0;
        }
        let data_limited = reported.coverage == Coverage::DataLimited;
        if data_limited && new_loss {
            self.limits.halve();
            self.limits.maximize(now, reported.receive_rate * 0.85);
            self.limits.maximum()
        } else if data_limited {
            self.limits.maximize(now, reported.receive_rate);
            self.limits.maximum() * 2.0
        } else {
            self.limits.update(now, reported.receive_rate, path.rtt);
            self.limits.maximum() * 2.0
        }
    }

    /// The end of step 4: X from p, the equation and recv_limit.
    pub(super) fn recalculate(&mut self, now: Instant, path: PathState, receive_limit: Rate) {
        if self.p.is_zero() {
            self.x_bps = Rate::INFINITY;
            self.slow_start(now, path, receive_limit);
            return;
        }
        // RFC 4828 §4.1.
        let equation = match path.drop_rate {
            Some(drop_rate) => self.rules.equation.at_drop_rate(drop_rate),
            None => self.rules.equation,
        };
        self.x_bps = path.packet_size.rate_with_timeout(&equation, path.segment, path.rtt, path.rto, self.p);
        let goal = match self.rules.growth {
            Growth::ToEquation => self.x_bps,
            other => {
                let since_report = now.saturating_since(self.last_report);
                let (rtt, segment) = (path.rtt, path.segment);
                other.goal(&Rise { x: self.x, equation: self.x_bps, since_report, rtt, segment })
            }
        };
        let floor = self.rules.floor(path.segment, Some(path.rtt));
        let x = goal.min(receive_limit);
        self.x = x.max(floor);
        self.reason = if x < floor {
            RateReason::Floor
        } else if receive_limit < goal {
            RateReason::ReceiveLimit
        } else {
            RateReason::Equation
        };
    }

    fn slow_start(&mut self, now: Instant, path: PathState, receive_limit: Rate) {
        if self.rules.slow_start.keeps_first_rate(self.reports) {
            self.last_doubled = Some(now);
            return;
        }
        if self.last_doubled.is_some_and(|then| now.saturating_since(then) < path.rtt) {
            return;
        }
        self.last_doubled = Some(now);
        let doubled = self.x * 2.0;
        let (goal, least) = match self.rules.slow_start {
            SlowStart::KeepInitialRate => (doubled.min(receive_limit), self.initial_rate(path)),
            other => (other.grown(self.x, receive_limit), path.packet_per_rtt()),
        };
        self.x = goal.max(least);
        self.reason = if receive_limit < doubled { RateReason::ReceiveLimit } else { RateReason::SlowStart };
    }
}
