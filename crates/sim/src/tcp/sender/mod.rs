//! The sending end by the RFCs, with ns-2's habits as choices.
//!
//! This file: state, opening and end, and what goes out. `acks.rs`: what acknowledgements do.
//! `selective.rs`: SACK recovery.

mod acks;
mod ns2;
mod selective;

use tfrc_units::{Duration, Ecn, Instant, saturating};

use self::selective::Selective;
use super::rto::{Backoff, Measure, Rto, RttSample};
use super::scoreboard::Scoreboard;
use super::segment::{Ack, AckKind, ConnectionId, Data, DataKind, Fin, Reduced, Stamp};
use super::settings::{EcnMode, Settings, SynMode, Timestamps};
use super::stats::{SenderStats, WindowSample};
use super::study::{AfterIdle, LimitedTransmit, LostSyn, Pipe, ReceiveBuffer, SackAtTimeout, Shrink};
use super::window::{Cut, SlowStart, Window};
use super::written::{MOST_SEGMENTS, More, Written};
use crate::trace::Tracing;

/// How much there is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transfer {
    /// A number of bytes.
    Bytes(u64),
    /// A number of full segments.
    Segments(u32),
    /// Always more, up to 2^32 − 2 segments.
    Unlimited,
}

impl Transfer {
    /// Segments of at most `segment` bytes, and bytes in the last of them.
    pub(super) fn in_segments(self, segment: u32) -> (u32, u32) {
        match self {
            Self::Bytes(bytes) => {
                let total = bytes.div_ceil(u64::from(segment)).min(u64::from(MOST_SEGMENTS));
                let last = bytes - (total.saturating_sub(1)).saturating_mul(u64::from(segment)).min(bytes);
                (saturating::<u32>(total), saturating::<u32>(last).min(segment))
            }
            Self::Segments(n) => (n.min(MOST_SEGMENTS), segment),
            Self::Unlimited => (MOST_SEGMENTS, segment),
        }
    }
}

/// The first timeout of data after a SYN was lost (RFC 6298 §5 (5.7)).
pub(super) const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// A sender of one connection.
#[derive(Debug, Clone)]
pub(crate) struct RfcSender {
    settings: Settings,
    connection: ConnectionId,
    phase: Phase,
    syn: Syn,
    /// The first segment not acknowledged (`HighACK` + 1).
    una: u32,
    /// The next to be sent; below `high` after going back.
    next: u32,
    /// One past the highest sent (`HighData` + 1).
    high: u32,
    written: Written,
    /// When something new was sent last.
    last_sent: Instant,
    window: Window,
    recovery: Recovery,
    duplicates: u32,
    /// Segments beyond the window that Limited Transmit allows.
    allowance: u32,
    /// Segments it has sent since the last new acknowledgement.
    limited: u32,
    /// Another recovery only from this `una` on.
    recover_from: u32,
    /// One past the highest segment sent at the last timeout.
    timeout_point: u32,
    /// The most that has been outstanding outside of a recovery.
    widest: u32,
    /// The `una` for which the timer has expired, if it has.
    timed_out: Option<u32>,
    resend: Option<u32>,
    scoreboard: Scoreboard,
    rto: Rto,
    deadline: Option<Instant>,
    timed: Option<(u32, Instant)>,
    ecn: EcnState,
    burst_left: u32,
    stats: SenderStats,
    trace: Vec<WindowSample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not started.
    Closed,
    /// A SYN must go out.
    SynDue,
    /// A SYN is out.
    SynSent,
    /// Data flows.
    Open,
    /// All is acknowledged.
    Done,
}

/// How often a SYN was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syn {
    None,
    /// Once, at this time.
    Once(Instant),
    Again,
}

/// Loss recovery. After a timeout it is `None`: slow start repairs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Recovery {
    None,
    /// Fast recovery of Reno and NewReno; `point` is one past RFC 6582's recover, `deflated` the
    /// window without what duplicates add.
    Fast {
        point: u32,
        partial_acks: u32,
        deflated: f64,
    },
    /// With SACK (RFC 6675).
    Selective(Selective),
}

#[derive(Debug, Clone, Copy, Default)]
struct EcnState {
    /// The next new segment says that the window was reduced.
    tell: bool,
    /// Segments below were sent before the last reduction.
    reduced_at: u32,
    /// The window is one segment and still too large: nothing goes until the timer expires
    /// (RFC 3168 §6.1.2).
    held: bool,
    /// The last echo found a window of one, and no acknowledgement without an echo has come since
    /// (`EcnAtOne::BackOff`).
    at_one: bool,
}

impl RfcSender {
    /// A sender of `transfer` that has not started.
    #[must_use]
    pub(crate) fn new(settings: &Settings, connection: ConnectionId, transfer: Transfer) -> Self {
        let segment = settings.segment.max(1);
        Self {
            settings: Settings { segment, ..*settings }
                .with(|c| c.dup_threshold = settings.algorithm.choices().dup_threshold.max(1)),
            connection,
            phase: Phase::Closed,
            syn: Syn::None,
            una: 0,
            next: 0,
            high: 0,
            written: Written::new(segment, transfer),
            last_sent: Instant::ZERO,
            window: Window::new(settings),
            recovery: Recovery::None,
            duplicates: 0,
            allowance: 0,
            limited: 0,
            recover_from: 0,
            timeout_point: 0,
            widest: 0,
            timed_out: None,
            resend: None,
            scoreboard: Scoreboard::default(),
            rto: Rto::new(settings),
            deadline: None,
            timed: None,
            ecn: EcnState::default(),
            burst_left: settings.algorithm.choices().max_burst.unwrap_or(u32::MAX),
            stats: SenderStats::default(),
            trace: Vec::new(),
        }
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        let numbers = self.una ^ self.duplicates ^ self.burst_left ^ self.settings.segment;
        let times = self.last_sent.as_nanos() ^ self.rto.timeout().as_nanos();
        let SenderStats { sent_segments, acked_segments, .. } = self.stats;
        let parts = u64::from(self.deadline.is_some()) ^ u64::from(self.timed.is_some());
        self.window.cwnd.to_bits() ^ times ^ sent_segments ^ acked_segments ^ u64::from(numbers) ^ parts
    }

    /// Starts. Harmless if it has started.
    pub(crate) fn start(&mut self, now: Instant) {
        if self.phase == Phase::Closed {
            match self.settings.syn {
                SynMode::Off => self.open(now),
                SynMode::On => self.phase = Phase::SynDue,
            }
        }
    }

    fn open(&mut self, now: Instant) {
        self.phase = if self.written.ends_at(0) { Phase::Done } else { Phase::Open };
        self.deadline = None;
        self.sample_window(now);
    }

    /// An acknowledgement arrives. One of another connection, of data never sent or of data long
    /// acknowledged changes nothing.
    pub(crate) fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if ack.connection != self.connection {
            return;
        }
        self.burst_left = self.settings.algorithm.choices().max_burst.unwrap_or(u32::MAX);
        match (self.phase, ack.kind) {
            (Phase::Open, AckKind::Ack) => {
                self.on_open_ack(now, ack);
                self.sample_window(now);
            }
            (Phase::SynSent, AckKind::SynAck) => {
                match self.syn {
                    Syn::Once(sent) => {
                        self.sample_rtt(RttSample { sent, back: now, by: Measure::Clock }, Backoff::End);
                    }
                    Syn::Again | Syn::None => self.open_late(),
                }
                self.open(now);
            }
            _ => {}
        }
    }

    /// The SYN or its answer was lost: one segment (RFC 5681 §3.1).
    fn open_late(&mut self) {
        match self.settings.algorithm.choices().lost_syn {
            LostSyn::AsSegment => self.window.cut(Cut::Timeout, 0, &self.settings),
            LostSyn::Forgotten => {
                self.window.cwnd = 1.0;
                // RFC 6298 §5 (5.7).
                self.settings.initial_rto = self.settings.initial_rto.max(AFTER_LOST_SYN);
                self.rto.end_backoff(&self.settings);
            }
        }
    }

    /// Time passes. Early, late or repeated calls do no harm.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_none_or(|at| now < at) {
            return;
        }
        self.deadline = None;
        self.burst_left = self.settings.algorithm.choices().max_burst.unwrap_or(u32::MAX);
        match self.phase {
            Phase::SynSent => {
                self.stats.timeouts += 1;
                self.rto.back_off(&self.settings);
                self.phase = Phase::SynDue;
            }
            Phase::Open => {
                self.ecn.held = false;
                self.window.cwnd = self.window.cwnd.max(1.0);
                if self.high > self.una {
                    self.time_out();
                    self.sample_window(now);
                }
            }
            Phase::Closed | Phase::Done | Phase::SynDue => {}
        }
    }

    /// RFC 5681 §3.1, RFC 6298 §5, and go back: what is outstanding is sent again as far as it is
    /// not known to have arrived.
    fn time_out(&mut self) {
        self.stats.timeouts += 1;
        self.stats.window_cuts += 1;
        let why = if self.timed_out == Some(self.una) { Cut::TimeoutAgain } else { Cut::Timeout };
        // What duplicates add is not part of the window in use.
        if let (Recovery::Fast { deflated, .. }, Shrink::InUse | Shrink::Window) =
            (self.recovery, self.settings.algorithm.choices().shrink)
        {
            self.window.cwnd = deflated;
        }
        self.window.cut(why, self.flight(), &self.settings);
        self.rto.back_off(&self.settings);
        self.timed_out = Some(self.una);
        self.timeout_point = self.high;
        self.ecn.reduced_at = self.high;
        self.forbid_recovery();
        self.recovery = Recovery::None;
        self.leave_duplicates();
        self.resend = None;
        self.timed = None;
        self.next = self.una;
        if self.settings.algorithm.choices().sack_at_timeout == SackAtTimeout::Expunge {
            self.scoreboard.clear();
        }
    }

    /// FlightSize of RFC 5681, without what Limited Transmit sent (§3.2 step 2).
    fn flight(&self) -> u32 {
        (self.next - self.una).saturating_sub(self.limited)
    }

    /// Returns the number of segments, from the first missing one on, that the receiver has room
    /// for.
    #[inline]
    fn room(&self) -> u32 {
        let window = self.settings.window.max(1);
        match (self.settings.algorithm.choices().receive_buffer, self.recovery) {
            (ReceiveBuffer::Fixed, _) | (ReceiveBuffer::Tuned, Recovery::None) => window,
            (ReceiveBuffer::Tuned, Recovery::Fast { .. } | Recovery::Selective(_)) => {
                window.min(self.widest.max(1).saturating_mul(2))
            }
        }
    }

    fn leave_duplicates(&mut self) {
        self.duplicates = 0;
        self.allowance = 0;
        self.limited = 0;
    }

    /// The next segment that may go out now, with its ECN bits. Ask until there is none.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<(Data, Ecn)> {
        if self.phase != Phase::Open {
            return (self.phase == Phase::SynDue).then(|| (self.syn(now), Ecn::NotEct));
        }
        if let Some(seq) = self.resend.take() {
            return Some(self.transmit(now, seq));
        }
        if self.ecn.held || self.burst_left == 0 {
            return None;
        }
        let seq = match self.recovery {
            Recovery::Selective(state) => self.next_in_recovery(state)?,
            Recovery::Fast { .. } | Recovery::None => self.next_in_window()?,
        };
        self.burst_left -= 1;
        Some(self.transmit(now, seq))
    }

    fn syn(&mut self, now: Instant) -> Data {
        self.syn = match self.syn {
            Syn::None => Syn::Once(now),
            Syn::Once(_) | Syn::Again => Syn::Again,
        };
        self.phase = Phase::SynSent;
        self.deadline = Some(now + self.rto.timeout());
        Data {
            connection: self.connection,
            kind: DataKind::Syn,
            seq: 0,
            len: 0,
            stamp: self.stamp(now),
            reduced: Reduced::No,
            fin: Fin::More,
            ask: 0,
        }
    }

    fn stamp(&self, now: Instant) -> Option<Stamp> {
        match self.settings.timestamps {
            Timestamps::Off => None,
            Timestamps::On => Some(Stamp::new(now)),
        }
    }

    /// The next segment that both windows allow, new or, after going back, old.
    #[inline]
    fn next_in_window(&mut self) -> Option<u32> {
        let reported =
            if self.scoreboard.end() == 0 || self.settings.algorithm.choices().pipe == Pipe::Counter {
                0
            } else {
                if self.next < self.high {
                    self.next = self.scoreboard.next_hole(self.next);
                }
                match self.settings.algorithm.choices().limited_transmit {
                    LimitedTransmit::Off if self.una >= self.timeout_point => 0,
                    LimitedTransmit::AlsoOld | LimitedTransmit::Off | LimitedTransmit::On => {
                        self.scoreboard.below(self.next)
                    }
                }
            };
        let flight = self.next - self.una;
        let full = self.window.cwnd + f64::from(self.allowance) < f64::from(flight - reported) + 1.0;
        if full || self.next >= self.written.end() || flight >= self.room() {
            return None;
        }
        let seq = self.next;
        self.next += 1;
        if self.recovery == Recovery::None {
            self.widest = self.widest.max(flight + 1);
        }
        if self.duplicates > 0 && self.recovery == Recovery::None && seq >= self.high {
            self.limited += 1;
        }
        Some(seq)
    }

    /// Sends segment `seq`.
    #[inline]
    fn transmit(&mut self, now: Instant, seq: u32) -> (Data, Ecn) {
        let (len, fin) = self.written.cut(seq);
        self.stats.sent_segments += 1;
        self.stats.sent_bytes += u64::from(len);
        let (mut reduced, mut ecn) = (Reduced::No, Ecn::NotEct);
        if seq < self.high {
            self.stats.retransmitted_segments += 1;
            self.stats.retransmitted_bytes += u64::from(len);
            if self.timed.is_some_and(|(timed, _)| timed == seq) {
                self.timed = None;
            }
        } else {
            self.high = seq + 1;
            self.last_sent = now;
            self.next = self.next.max(self.high);
            if self.timed.is_none() && self.settings.timestamps == Timestamps::Off {
                self.timed = Some((seq, now));
            }
            if self.settings.ecn == EcnMode::On {
                ecn = Ecn::Ect0;
                if core::mem::take(&mut self.ecn.tell) {
                    reduced = Reduced::Yes;
                }
            }
        }
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rto.timeout());
        }
        let data = Data {
            connection: self.connection,
            kind: DataKind::Data,
            seq,
            len,
            stamp: self.stamp(now),
            reduced,
            fin,
            ask: 0,
        };
        (data, ecn)
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted, `None` if no timer runs.
    #[inline]
    #[must_use]
    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    /// The data of the application ends after `bytes`, for now or for good; what was sent beyond is
    /// not taken back.
    pub(crate) fn reach(&mut self, now: Instant, bytes: u64, more: More) {
        if self.phase == Phase::Done {
            return;
        }
        let before = self.written.end();
        self.written.reach(bytes, more, self.high, self.una);
        if self.phase == Phase::Open {
            if self.written.ends_at(self.una) {
                self.finish();
            } else if self.written.end() > before && self.una == self.high {
                self.restart_after_idle(now);
            }
        }
    }

    /// RFC 5681 §4.1.
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_sent);
        let choices = self.settings.algorithm.choices();
        if self.high > 0 && idle > self.rto.timeout() && choices.after_idle == AfterIdle::Restart {
            let initial = choices.initial_window.segments(self.settings.segment);
            self.window.cwnd = self.window.cwnd.min(f64::from(initial));
        }
    }

    /// Nothing new is sent from now on; what has been sent is still repaired.
    pub(crate) fn close(&mut self) {
        match self.phase {
            Phase::Open => {
                self.written.close(self.high);
                if self.written.ends_at(self.una) {
                    self.finish();
                }
            }
            Phase::Closed | Phase::SynDue | Phase::SynSent => self.finish(),
            Phase::Done => {}
        }
    }

    fn finish(&mut self) {
        self.phase = Phase::Done;
        self.deadline = None;
    }

    /// Returns true if everything is acknowledged, or the sender was closed with nothing
    /// outstanding.
    #[must_use]
    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The connection.
    #[must_use]
    pub(crate) const fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// The congestion window in segments, with what fast recovery adds.
    #[must_use]
    pub(crate) const fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// The slow start threshold in segments; the receiver's window before the first loss.
    #[must_use]
    pub(crate) const fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// The smoothed round-trip time, once there is a sample.
    #[must_use]
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.rto.srtt(&self.settings)
    }

    /// The counters.
    #[must_use]
    pub(crate) const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The window after every acknowledgement and timeout, if [`Settings::trace`] keeps it.
    #[must_use]
    pub(crate) fn window_trace(&self) -> &[WindowSample] {
        &self.trace
    }

    fn sample_rtt(&mut self, trip: RttSample, backoff: Backoff) {
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum += trip.time();
        self.rto.sample(trip, backoff, &self.settings);
    }

    #[inline]
    fn sample_window(&mut self, at: Instant) {
        if self.settings.trace == Tracing::Keep {
            self.trace.push(WindowSample { at, cwnd: self.window.cwnd, ssthresh: self.window.ssthresh });
        }
    }

    fn slow_start(&self) -> SlowStart {
        if self.una < self.timeout_point { SlowStart::AfterTimeout } else { SlowStart::Normal }
    }
}
