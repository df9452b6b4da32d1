//! What the expiration of the nofeedback timer does to X (RFC 5348 §4.4).

use tfrc_units::{Instant, Rate};

use crate::decision::RateReason;
use crate::sender::rate::{AllowedRate, Path};

/// What the sender did since the timer was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nothing was sent.
    Idle,
    /// Something was sent.
    Active,
}

impl AllowedRate {
    /// Step 1 of §4.4 before there is a round-trip time: no X_Bps and no recover_rate yet.
    pub(crate) fn on_no_feedback_without_rtt(&mut self, segment: f64, activity: Activity) {
        if activity == Activity::Active {
            self.halve(segment);
        }
    }

    /// Step 1 of §4.4 with a round-trip time.
    pub(crate) fn on_no_feedback(&mut self, now: Instant, path: Path, activity: Activity) {
        let receive_rate = self.limits.maximum();
        let recover_rate = self.initial_rate(path);
        let slow_start = self.p.is_zero();
        let low_already = if slow_start { self.x < recover_rate * 2.0 } else { receive_rate < recover_rate };
        if activity == Activity::Idle && low_already {
            return;
        }
        if slow_start {
            self.halve(path.segment);
        } else if self.x_bps > receive_rate * 2.0 {
            self.update_limits(now, path, receive_rate);
        } else {
            self.update_limits(now, path, self.x_bps / 2.0);
        }
    }

    fn halve(&mut self, segment: f64) {
        self.x = (self.x / 2.0).max(Self::floor(segment));
        self.reason = RateReason::NoFeedback;
    }

    /// Update_Limits(): X_recv_set becomes {timer_limit/2}, so X becomes at most timer_limit.
    fn update_limits(&mut self, now: Instant, path: Path, timer_limit: Rate) {
        let timer_limit = timer_limit.max(Self::floor(path.segment));
        self.limits.replace(now, timer_limit / 2.0);
        self.recalculate(now, path, timer_limit);
        self.reason = RateReason::NoFeedback;
    }
}
