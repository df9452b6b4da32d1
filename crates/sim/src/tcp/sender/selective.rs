//! SACK recovery (RFC 6675), and the older one with a counter (Fall and Floyd 1996).

use tfrc_units::Instant;

use super::acks::Timer;
use super::{Recovery, RfcSender};
use crate::tcp::segment::{Ack, EcnEcho};
use crate::tcp::study::{Duplicates, Pipe, Repeat};

/// A loss recovery under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selective {
    /// One past RecoveryPoint.
    pub(super) point: u32,
    /// One past HighRxt.
    retransmitted: u32,
    /// One past RescueRxt.
    rescued: u32,
    /// Segments thought to be in the network.
    pipe: u32,
}

impl RfcSender {
    /// Update() of RFC 6675 §4. Says how many segments are newly reported.
    pub(super) fn take_report(&mut self, ack: &Ack, acked: u32) -> u32 {
        if self.passes_over_report(ack, acked) {
            return 0;
        }
        self.scoreboard.update(&ack.sack, ack.next, self.high)
    }

    pub(super) fn on_selective_ack(
        &mut self,
        now: Instant,
        acked: u32,
        reported: u32,
        echo: EcnEcho,
    ) -> Timer {
        if let Recovery::Selective(state) = self.recovery {
            if self.una < state.point {
                self.go_on_recovering(state, acked);
                return Timer::Restart;
            }
            self.recovery = Recovery::None;
            self.leave_duplicates();
            if self.settings.algorithm.choices().repeat == Repeat::AfterRecovery {
                self.recover_from = 0;
            }
        } else if acked > 0 {
            self.grow(now, acked, echo);
            self.leave_duplicates();
        }
        let duplicate = match self.settings.algorithm.choices().pipe {
            // RFC 6675 §2: it reports something new, also if it acknowledges something.
            Pipe::Scoreboard => reported > 0,
            // Duplicates between a timeout and the next new acknowledgement do not count.
            Pipe::Counter => {
                let counts = match self.settings.algorithm.choices().duplicates {
                    Duplicates::All => true,
                    Duplicates::NewlyReporting => reported > 0,
                };
                acked == 0 && counts && self.timed_out != Some(self.una)
            }
        };
        if duplicate && self.high > self.una {
            self.on_selective_duplicate();
        }
        Timer::Restart
    }

    /// RFC 6675 §5 (1) to (3).
    fn on_selective_duplicate(&mut self) {
        self.duplicates = self.duplicates.saturating_add(1);
        let threshold = self.settings.algorithm.choices().dup_threshold;
        let enough = match self.settings.algorithm.choices().pipe {
            Pipe::Scoreboard => {
                self.duplicates >= threshold
                    || self.scoreboard.lost_below(threshold).is_some_and(|below| self.una < below)
            }
            Pipe::Counter => self.duplicates == threshold,
        };
        if enough && self.may_recover() {
            self.recover_selectively();
        } else if self.settings.algorithm.choices().pipe == Pipe::Counter && self.duplicates < threshold {
            self.allow_limited();
        }
    }

    /// RFC 6675 §5 (4).
    fn recover_selectively(&mut self) {
        let flight = self.next - self.una;
        self.reduce_for_loss();
        self.forbid_recovery();
        self.timed = None;
        // As RFC 6675 §6 permits, the timer starts again with the retransmission.
        self.deadline = None;
        self.allowance = 0;
        self.limited = 0;
        self.resend = Some(self.una);
        self.next = self.high;
        let after = self.una.saturating_add(1);
        let mut state = Selective { point: self.high, retransmitted: after, rescued: after, pipe: 0 };
        state.pipe = match self.settings.algorithm.choices().pipe {
            Pipe::Scoreboard => self.pipe(&state),
            Pipe::Counter => flight.saturating_sub(self.settings.algorithm.choices().dup_threshold),
        };
        self.recovery = Recovery::Selective(state);
    }

    /// RFC 6675 §5 (B).
    fn go_on_recovering(&mut self, mut state: Selective, acked: u32) {
        state.retransmitted = state.retransmitted.max(self.una);
        state.pipe = match self.settings.algorithm.choices().pipe {
            Pipe::Scoreboard => self.pipe(&state),
            Pipe::Counter => {
                if acked > 0 {
                    self.rto.end_backoff(&self.settings);
                }
                state.pipe.saturating_sub(1 + u32::from(acked > 0))
            }
        };
        self.recovery = Recovery::Selective(state);
    }

    fn pipe(&self, state: &Selective) -> u32 {
        self.scoreboard.pipe(
            self.una,
            self.high,
            state.retransmitted,
            self.settings.algorithm.choices().dup_threshold,
        )
    }

    /// RFC 6675 §5 (C): the next segment if the pipe has room.
    pub(super) fn next_in_recovery(&mut self, mut state: Selective) -> Option<u32> {
        if self.window.cwnd < f64::from(state.pipe) + 1.0 {
            return None;
        }
        let seq = self.next_segment(&mut state)?;
        state.pipe = state.pipe.saturating_add(1);
        self.recovery = Recovery::Selective(state);
        Some(seq)
    }

    /// NextSeg() of RFC 6675 §4, rule by rule.
    fn next_segment(&self, state: &mut Selective) -> Option<u32> {
        let reported_end = self.scoreboard.end();
        let hole = self.scoreboard.next_hole(state.retransmitted.max(self.una));
        let below_report = hole < reported_end;
        let lost = match self.settings.algorithm.choices().pipe {
            Pipe::Scoreboard => self
                .scoreboard
                .lost_below(self.settings.algorithm.choices().dup_threshold)
                .is_some_and(|below| hole < below),
            Pipe::Counter => below_report,
        };
        // (1)
        if lost {
            state.retransmitted = hole.saturating_add(1);
            return Some(hole);
        }
        // (2)
        if self.high < self.written.end() && self.high - self.una < self.room() {
            return Some(self.high);
        }
        if self.settings.algorithm.choices().pipe == Pipe::Counter {
            return None;
        }
        // (3)
        if below_report {
            state.retransmitted = hole.saturating_add(1);
            return Some(hole);
        }
        // (4)
        let last = self.scoreboard.last_hole(self.high).filter(|seq| *seq >= self.una)?;
        if self.una > state.rescued {
            state.rescued = state.point;
            return Some(last);
        }
        None
    }
}
