//! Effect of the nofeedback timer's expiration on X (RFC 5348 §4.4, and other revisions).

use tfrc_units::{Instant, Rate};

use crate::decision::RateReason;
use crate::sender::rate::{AllowedRate, MAXIMUM_BACKOFF, PathState};
use crate::study::{NoFeedbackCut, Quiet, Supply};

/// The sender's activity since the timer was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Nothing was sent since the timer was set.
    Idle,
    /// Data was sent since the timer was set.
    Active,
}

impl AllowedRate {
    /// Step 1 of §4.4 before there is a round-trip time: no X_Bps and no recover_rate yet.
    pub(crate) fn on_no_feedback_without_rtt(&mut self, segment: f64, activity: Activity) {
        let spared = self.rules.no_feedback.cut == NoFeedbackCut::UpdateLimits && activity == Activity::Idle;
        if !spared {
            self.cut(self.rules.floor(segment, None));
        }
    }

    /// Step 1 of §4.4 with a round-trip time.
    pub(crate) fn on_no_feedback(
        &mut self,
        now: Instant,
        path: PathState,
        activity: Activity,
        supply: Supply,
    ) {
        let receive_rate = self.limits.maximum();
        let recover_rate = self.initial_rate(path);
        let slow_start = self.p.is_zero();
        let spared = match self.rules.no_feedback.cut {
            NoFeedbackCut::UpdateLimits => {
                let low_already =
                    if slow_start { self.x < recover_rate * 2.0 } else { receive_rate < recover_rate };
                activity == Activity::Idle && low_already
            }
            other => other.spares(&Quiet {
                x: self.x,
                receive_rate,
                packet_per_rtt: path.packet_per_rtt(),
                initial_rate: recover_rate,
                idle: activity == Activity::Idle,
                supply,
            }),
        };
        if spared {
            return;
        }
        let factor = self.rules.no_feedback.factor;
        match self.rules.no_feedback.cut {
            NoFeedbackCut::UpdateLimits if !slow_start => {
                self.update_limits(now, path, self.x_bps.min(receive_rate * 2.0) * factor);
            }
            NoFeedbackCut::ReceiveRate if !slow_start => {
                // X_recv falls, to at least half of a packet in 64 s if it is what limits X
                // (RFC 3448 §4.4 step 1).
                let cached = if self.x_bps > receive_rate * 2.0 {
                    (receive_rate * factor).max(Rate::of(path.segment, MAXIMUM_BACKOFF) / 2.0)
                } else {
                    self.x_bps * factor / 2.0
                };
                self.limits.replace(now, cached);
                self.recalculate(now, path, cached * 2.0);
                self.reason = RateReason::NoFeedback;
            }
            // In slow start there is no X_calc: RFC 3448's erratum 1458, RFC 5348 §4.4.
            _ => {
                self.cut(self.rules.floor(path.segment, Some(path.rtt)));
            }
        }
    }

    fn cut(&mut self, floor: Rate) {
        self.x = (self.x * self.rules.no_feedback.factor).max(floor);
        self.reason = RateReason::NoFeedback;
    }

    /// Update_Limits(): X_recv_set becomes {timer_limit/2}, so X becomes at most timer_limit.
    fn update_limits(&mut self, now: Instant, path: PathState, timer_limit: Rate) {
        let timer_limit = timer_limit.max(self.rules.floor(path.segment, Some(path.rtt)));
        self.limits.replace(now, timer_limit / 2.0);
        self.recalculate(now, path, timer_limit);
        self.reason = RateReason::NoFeedback;
    }
}
