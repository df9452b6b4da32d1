//! X, the allowed sending rate: what feedback does to it (RFC 5348 §4.2, §4.3 step 4).

use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::config::{InitialRate, PacketSize};
use crate::decision::RateReason;
use crate::equation::Equation;
use crate::sender::limited::Coverage;
use crate::sender::limits::ReceiveLimits;

/// t_mbi: however bad things are, one packet may go in this time (§4.3).
pub(crate) const MAXIMUM_BACKOFF: Duration = Duration::from_secs(64);

/// X and everything it is made of.
#[derive(Debug, Clone)]
pub(crate) struct AllowedRate {
    pub(super) equation: Equation,
    initial: InitialRate,
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
    pub(super) reason: RateReason,
}

/// What is known of the path and the packets at the moment of a decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// R.
    pub(crate) rtt: Duration,
    /// s in bytes.
    pub(crate) segment: f64,
    /// What the equation takes for it.
    pub(crate) packet_size: PacketSize,
}

/// What a feedback packet says, as far as X is concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported {
    pub(crate) receive_rate: Rate,
    pub(crate) p: Probability,
    /// Whether it tells of a new loss event.
    pub(crate) new_loss_event: bool,
    pub(crate) coverage: Coverage,
}

impl AllowedRate {
    /// s bytes per second until there is a round-trip time (§4.2).
    pub(crate) fn new(equation: Equation, initial: InitialRate, segment: f64) -> Self {
        Self {
            equation,
            initial,
            x: Rate::from_bytes_per_sec(segment),
            x_bps: Rate::INFINITY,
            p: Probability::ZERO,
            limits: ReceiveLimits::new(Instant::ZERO),
            last_doubled: None,
            reason: RateReason::Initial,
        }
    }

    /// s/t_mbi.
    pub(crate) fn floor(segment: f64) -> Rate {
        Rate::of(segment, MAXIMUM_BACKOFF)
    }

    /// initial_rate = W_init/R (§4.2), also the recover_rate of §4.4.
    pub(crate) fn initial_rate(&self, path: Path) -> Rate {
        let InitialRate::Rfc3390 = self.initial;
        let mss = path.segment;
        Rate::of((4.0 * mss).min((2.0 * mss).max(4380.0)), path.rtt)
    }

    /// The first round-trip time sample is in (§4.2).
    pub(crate) fn start(&mut self, now: Instant, path: Path) {
        self.x = self.initial_rate(path);
        self.last_doubled = Some(now);
        self.reason = RateReason::Initial;
    }

    /// Step 4 of §4.3.
    pub(crate) fn on_feedback(&mut self, now: Instant, path: Path, reported: Reported) {
        // A report of zero is the receiver's first and never makes an interval data-limited (§4.3).
        let data_limited = reported.coverage == Coverage::DataLimited && !reported.receive_rate.is_zero();
        let new_loss = reported.new_loss_event || reported.p > self.p;
        let receive_limit = if data_limited && new_loss {
            self.limits.halve();
            self.limits.maximize(now, reported.receive_rate * 0.85);
            self.limits.maximum()
        } else if data_limited {
            self.limits.maximize(now, reported.receive_rate);
            self.limits.maximum() * 2.0
        } else {
            self.limits.update(now, reported.receive_rate, path.rtt);
            self.limits.maximum() * 2.0
        };
        self.p = reported.p;
        self.recalculate(now, path, receive_limit);
    }

    /// The end of step 4: X from p, the equation and recv_limit.
    pub(super) fn recalculate(&mut self, now: Instant, path: Path, receive_limit: Rate) {
        if !self.p.is_zero() {
            self.x_bps = path.packet_size.rate(&self.equation, path.segment, path.rtt, self.p);
            let floor = Self::floor(path.segment);
            let x = self.x_bps.min(receive_limit);
            self.x = x.max(floor);
            self.reason = if x < floor {
                RateReason::Floor
            } else if receive_limit < self.x_bps {
                RateReason::ReceiveLimit
            } else {
                RateReason::Equation
            };
            return;
        }
        self.x_bps = Rate::INFINITY;
        if self.last_doubled.is_none_or(|then| now.saturating_since(then) >= path.rtt) {
            let doubled = self.x * 2.0;
            self.x = doubled.min(receive_limit).max(self.initial_rate(path));
            self.last_doubled = Some(now);
            self.reason =
                if receive_limit < doubled { RateReason::ReceiveLimit } else { RateReason::SlowStart };
        }
    }
}
