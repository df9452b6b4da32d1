//! Effects of acknowledgements: growth, duplicates, fast recovery (RFC 5681 §3.2, RFC 6582),
//! congestion echoes.

use tfrc_units::Instant;

use super::{Phase, Recovery, RfcSender};
use crate::tcp::rto::{Backoff, Measure, RttSample};
use crate::tcp::segment::{Ack, EcnEcho};
use crate::tcp::settings::{EcnMode, Variant};
use crate::tcp::study::{
    EcnAtOne, LimitedTransmit, PartialAck, PartialAckTimer, Pipe, RecoveryExit, Repeat, TimestampBackoff,
};
use crate::tcp::window::Cut;

/// Effect of an acknowledgement of new data on the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    Keep,
    Restart,
}

impl RfcSender {
    #[inline]
    pub(super) fn on_open_ack(&mut self, now: Instant, ack: &Ack) {
        if ack.next < self.una || ack.next > self.high {
            return;
        }
        let acked = ack.next - self.una;
        let flight = self.flight();
        let reported = if self.settings.variant.selective() { self.take_report(ack, acked) } else { 0 };
        if acked > 0 {
            self.una = ack.next;
            self.next = self.next.max(self.una);
            self.stats.acked_segments += u64::from(acked);
            self.scoreboard.advance(self.una);
        }
        let echo = match self.settings.ecn {
            EcnMode::Off => EcnEcho::None,
            EcnMode::On => ack.ecn,
        };
        match echo {
            EcnEcho::Congestion => self.on_echo(flight),
            EcnEcho::None if acked > 0 => self.ecn.at_one = false,
            EcnEcho::None => {}
        }
        if acked > 0 {
            self.take_sample(now, ack, echo);
        }
        let timer = if self.settings.variant.selective() {
            self.on_selective_ack(now, acked, reported, echo)
        } else if acked > 0 {
            self.on_new_ack(now, acked, echo)
        } else {
            if self.high > self.una {
                self.on_duplicate();
            }
            Timer::Keep
        };
        if self.written.ends_at(self.una) {
            self.phase = Phase::Done;
            self.deadline = None;
        } else if acked > 0 && timer == Timer::Restart && !self.ecn.held && self.window.cwnd >= 1.0 {
            // RFC 6298 §5 (5.2), (5.3).
            self.deadline = (self.high > self.una).then(|| now + self.rto.timeout());
        } else if acked > 0 && (self.ecn.held || self.window.cwnd < 1.0) {
            self.deadline = Some(now + self.rto.timeout());
        }
    }

    fn take_sample(&mut self, now: Instant, ack: &Ack, echo: EcnEcho) {
        let mut backoff = match (self.settings.algorithm.choices().ecn_at_one, echo) {
            (EcnAtOne::BackOff, EcnEcho::Congestion) => Backoff::Keep,
            _ => Backoff::End,
        };
        let (sent, by) = if let Some(stamp) = ack.echo {
            if self.settings.algorithm.choices().timestamp_backoff == TimestampBackoff::NewData
                && ack.next <= self.timeout_point
            {
                backoff = Backoff::Keep;
            }
            (stamp.at(), Measure::Stamp)
        } else if let Some((seq, at)) = self.timed
            && ack.next > seq
        {
            self.timed = None;
            (at, Measure::Clock)
        } else {
            return;
        };
        self.sample_rtt(RttSample { sent, back: now, by }, backoff);
    }

    /// Data that was outstanding is acknowledged: Tahoe, Reno, NewReno.
    fn on_new_ack(&mut self, now: Instant, acked: u32, echo: EcnEcho) -> Timer {
        match self.recovery {
            Recovery::Fast { point, partial_acks, deflated }
                if self.settings.variant == Variant::NewReno && self.una < point =>
            {
                let seen = partial_acks.saturating_add(1);
                self.recovery = Recovery::Fast { point, partial_acks: seen, deflated };
                // RFC 6582 §3.2 step 3.
                self.resend = Some(self.una);
                self.window.cwnd = match self.settings.algorithm.choices().partial_ack {
                    PartialAck::Collapse => deflated,
                    PartialAck::Deflate => (self.window.cwnd - f64::from(acked) + 1.0).max(1.0),
                };
                return match self.settings.algorithm.choices().partial_ack_timer {
                    PartialAckTimer::First if partial_acks > 0 => Timer::Keep,
                    PartialAckTimer::Each | PartialAckTimer::First => Timer::Restart,
                };
            }
            Recovery::Fast { deflated, .. } => {
                self.recovery = Recovery::None;
                self.window.cwnd = match self.settings.algorithm.choices().recovery_exit {
                    RecoveryExit::Outstanding if self.settings.variant == Variant::NewReno => {
                        let outstanding = (self.next - self.una).max(1).saturating_add(1);
                        deflated.min(f64::from(outstanding))
                    }
                    RecoveryExit::Grown | RecoveryExit::Outstanding | RecoveryExit::Threshold => deflated,
                };
                if self.settings.algorithm.choices().recovery_exit == RecoveryExit::Grown {
                    self.grow(now, acked, echo);
                }
            }
            Recovery::None | Recovery::Selective(_) => self.grow(now, acked, echo),
        }
        self.leave_duplicates();
        Timer::Restart
    }

    /// An acknowledgement with an echo does not make the window grow (RFC 3168 §6.1.2).
    pub(super) fn grow(&mut self, now: Instant, acked: u32, echo: EcnEcho) {
        if echo == EcnEcho::None {
            let slow_start = self.slow_start();
            let rtt = match self.settings.variant {
                Variant::Cubic => self.srtt(),
                Variant::Bbr | Variant::NewReno | Variant::Reno | Variant::Sack | Variant::Tahoe => None,
            };
            self.window.grow(now, acked, slow_start, rtt, &self.settings);
        }
    }

    /// RFC 5681 §3.2 for Tahoe, Reno, NewReno.
    fn on_duplicate(&mut self) {
        self.duplicates = self.duplicates.saturating_add(1);
        if let Recovery::Fast { .. } = self.recovery {
            self.window.cwnd += 1.0;
        } else if self.duplicates == self.settings.algorithm.choices().dup_threshold && self.may_recover() {
            self.recover_fast();
        } else if self.duplicates < self.settings.algorithm.choices().dup_threshold {
            self.allow_limited();
        }
    }

    pub(super) fn allow_limited(&mut self) {
        let allowed = match self.settings.algorithm.choices().limited_transmit {
            LimitedTransmit::AlsoOld => true,
            LimitedTransmit::Off => false,
            // After going back, what would be sent is not new.
            LimitedTransmit::On => self.next == self.high,
        };
        if allowed {
            self.allowance = self.duplicates;
        }
    }

    pub(super) fn may_recover(&self) -> bool {
        self.una >= self.recover_from
    }

    /// Moves the point from which on another recovery may start: losses among the segments
    /// outstanding now cause no further recovery, except without SACK under `Repeat::Allowed`.
    pub(super) fn forbid_recovery(&mut self) {
        let selective = self.settings.variant.selective();
        self.recover_from = match (
            selective,
            self.settings.algorithm.choices().pipe,
            self.settings.algorithm.choices().repeat,
        ) {
            // RFC 6675 §5.1: until the recovery point is acknowledged.
            (true, Pipe::Scoreboard, _) => self.high,
            (false, _, Repeat::Allowed) => 0,
            // RFC 6582 §3.2 step 2: until something beyond is.
            (true, Pipe::Counter, _) | (false, _, Repeat::AfterRecovery | Repeat::Avoided) => {
                self.high.saturating_add(1)
            }
        };
    }

    fn recover_fast(&mut self) {
        self.reduce_for_loss();
        self.forbid_recovery();
        self.timed = None;
        self.deadline = None;
        self.allowance = 0;
        self.limited = 0;
        if self.settings.variant == Variant::Tahoe {
            self.window.cwnd = 1.0;
            self.next = self.una;
        } else {
            let deflated = self.window.cwnd;
            self.recovery = Recovery::Fast { point: self.high, partial_acks: 0, deflated };
            self.window.cwnd += f64::from(self.settings.algorithm.choices().dup_threshold);
            self.resend = Some(self.una);
        }
    }

    /// Once per window: not if an echo has made the window smaller since the lost segment was sent
    /// (RFC 3168 §6.1.2).
    pub(super) fn reduce_for_loss(&mut self) {
        // What is lost is sent again at once, also at a window of one.
        self.ecn.held = false;
        if self.settings.ecn == EcnMode::On && self.una < self.ecn.reduced_at {
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            return;
        }
        self.stats.window_cuts += 1;
        self.window.cut(Cut::Loss, self.flight(), &self.settings);
        self.ecn.reduced_at = self.high;
        self.ecn.tell = true;
    }

    /// RFC 3168 §6.1.2: once per window of data. `flight` is what was outstanding before this
    /// acknowledgement.
    fn on_echo(&mut self, flight: u32) {
        if self.una <= self.ecn.reduced_at && self.ecn.reduced_at > 0 {
            return;
        }
        let smallest = self.window.cwnd <= 1.0;
        self.stats.window_cuts += 1;
        self.stats.ecn_cuts += 1;
        self.window.cut(Cut::Echo, flight, &self.settings);
        // A recovery that goes on ends with no more than this (RFC 6582 §3.2 step 3).
        if let Recovery::Fast { deflated, .. } = &mut self.recovery {
            *deflated = deflated.min(self.window.cwnd);
        }
        self.ecn.reduced_at = self.high;
        self.ecn.tell = true;
        match self.settings.algorithm.choices().ecn_at_one {
            EcnAtOne::BackOff => self.on_echo_at_one(smallest),
            EcnAtOne::Wait => self.ecn.held = smallest,
        }
    }
}
