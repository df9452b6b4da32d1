//! The sending end as mainline Linux has it: SACK with RACK-TLP (RFC 8985) and PRR (RFC 9937), the
//! windows of Reno and CUBIC in whole segments, the kernel's HyStart and retransmission timeout;
//! BBR version 1.
//!
//! This file: state, opening, what goes out, timers. `acks.rs`: effects of acknowledgements. Each
//! mechanism has a file. What a kernel also does and this does not: docs/models/tcp-linux.md.

mod acks;
mod bbr;
mod cubic;
mod delivery;
mod flight;
mod hystart;
mod model;
mod pacing;
mod prr;
mod rack;
mod timeout;
mod undo;
mod window;

use tfrc_units::{Duration, Ecn, Instant};

use self::delivery::Traffic;
use self::flight::{Flight, Mark};
use self::model::Model;
use self::prr::{Progress, Prr, Safety};
use self::rack::{Rack, Trips};
use self::timeout::Timeout;
use self::undo::Undo;
use self::window::Window;
use super::segment::{Ack, AckKind, ConnectionId, Data, DataKind, Fin, Reduced, Stamp};
use super::sender::{AFTER_LOST_SYN, Phase, Syn, Transfer};
use super::settings::{EcnMode, Settings, SynMode, Timestamps};
use super::stats::{SenderStats, WindowSample};
use super::study::AfterIdle;
use super::written::{More, Written};
use crate::trace::Tracing;

/// Slack of the kernel's timers that are not the retransmission timer: two ticks of a kernel with a
/// thousand a second.
const TICKS: Duration = Duration::from_millis(2);
/// A probe before the first sample of the round-trip time (RFC 8985 §7.2).
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// A sender of one connection.
#[derive(Debug, Clone)]
pub(crate) struct LinuxSender {
    settings: Settings,
    connection: ConnectionId,
    phase: Phase,
    syn: Syn,
    written: Written,
    /// When something new was sent last.
    last_sent: Instant,
    flight: Flight,
    state: State,
    /// One past the highest segment sent when the state was entered.
    high_seq: u32,
    window: Window,
    /// The model of the path, where the window follows one.
    model: Option<Box<Model>>,
    use_of_window: UseOfWindow,
    reduction: Prr,
    undo: Undo,
    repairs: Repairs,
    rack: Rack,
    probe: Option<Probe>,
    rto: Timeout,
    least_rtt: Option<Duration>,
    /// Timeouts since something new was acknowledged.
    timeouts: u32,
    alarm: Option<Alarm>,
    /// A segment that goes out whatever the window is: the probe.
    forced: Option<Forced>,
    /// The next new segment says that the window was reduced.
    tell: Reduced,
    stats: SenderStats,
    trace: Vec<WindowSample>,
}

/// Retransmission of what is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repairs {
    Go,
    /// Not before the next acknowledgement.
    Wait,
}

/// States of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The window shrinks after an echo of congestion.
    Echoed,
    /// The window shrinks after a loss.
    Recovery,
    /// Slow start after a timeout.
    Loss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alarm {
    /// The retransmission timeout.
    Retransmit(Instant),
    /// The tail loss probe (RFC 8985 §7).
    Probe(Instant),
    /// The end of the wait for reordered segments (RFC 8985 §6.3).
    Reordering(Instant),
}

impl Alarm {
    const fn at(self) -> Instant {
        match self {
            Self::Probe(at) | Self::Reordering(at) | Self::Retransmit(at) => at,
        }
    }
}

/// A tail loss probe that is out.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// One past the highest segment sent with it.
    high: u32,
    kind: ProbeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeKind {
    New,
    Resent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forced {
    New,
    /// The last segment again.
    Last,
}

/// Use of the window: one that did not hold the sender back does not grow (RFC 7661 has the
/// reasons; the rule is the kernel's).
#[derive(Debug, Clone, Copy, Default)]
struct UseOfWindow {
    most_out: u32,
    round_end: u32,
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Limit {
    #[default]
    Other,
    Window,
}

impl LinuxSender {
    pub(crate) fn new(settings: &Settings, connection: ConnectionId, transfer: Transfer) -> Self {
        let settings = Settings { segment: settings.payload().max(1), ..*settings };
        Self {
            settings,
            connection,
            phase: Phase::Closed,
            syn: Syn::None,
            written: Written::new(settings.segment, transfer),
            last_sent: Instant::ZERO,
            flight: Flight::default(),
            state: State::Open,
            high_seq: 0,
            window: Window::new(&settings),
            model: Model::new(&settings),
            use_of_window: UseOfWindow::default(),
            reduction: Prr::default(),
            undo: Undo::default(),
            repairs: Repairs::Go,
            rack: Rack::default(),
            probe: None,
            rto: Timeout::new(&settings),
            least_rtt: None,
            timeouts: 0,
            alarm: None,
            forced: None,
            tell: Reduced::No,
            stats: SenderStats::default(),
            trace: Vec::new(),
        }
    }

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
        self.alarm = None;
        self.sample_window(now);
    }

    pub(crate) fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if ack.connection != self.connection {
            return;
        }
        match (self.phase, ack.kind) {
            (Phase::Open, AckKind::Ack) => {
                self.on_open_ack(now, ack);
                self.sample_window(now);
            }
            (Phase::SynSent, AckKind::SynAck) => {
                match self.syn {
                    Syn::Once(sent) => {
                        self.take_trip(now, sent);
                        if let Some(model) = &mut self.model {
                            model.opened(now, now.saturating_since(sent));
                        }
                    }
                    // RFC 6298 §5 (5.7).
                    Syn::Again | Syn::None => self.rto.fall_back(AFTER_LOST_SYN),
                }
                self.open(now);
            }
            _ => {}
        }
    }

    fn high(&self) -> u32 {
        self.flight.first().saturating_add(self.flight.len())
    }

    fn trips(&self) -> Trips {
        Trips { smoothed: self.rto.srtt(), least: self.least_rtt }
    }

    fn take_trip(&mut self, now: Instant, sent: Instant) {
        let rtt = now.saturating_since(sent);
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum += rtt;
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        self.rto.sample(rtt, self.flight.first(), self.high());
    }

    /// Time passes. Early, late or repeated calls do no harm.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let Some(alarm) = self.alarm.filter(|alarm| alarm.at() <= now) else { return };
        if self.phase == Phase::SynSent {
            self.alarm = None;
            self.stats.timeouts += 1;
            self.rto.back_off();
            self.phase = Phase::SynDue;
            return;
        }
        if self.phase != Phase::Open || self.flight.is_empty() {
            self.alarm = None;
            return;
        }
        match alarm {
            Alarm::Retransmit(_) => {
                self.alarm = None;
                self.time_out(now);
            }
            Alarm::Probe(_) => self.send_probe(now),
            Alarm::Reordering(_) => self.wait_is_over(now),
        }
        self.sample_window(now);
    }

    /// Everything that is not known to have arrived, and was not sent just now, is lost.
    fn time_out(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        // Once for each window.
        let new = match self.state {
            State::Open => true,
            State::Loss => self.timeouts == 0,
            State::Echoed | State::Recovery => false,
        };
        if new || self.flight.first() >= self.high_seq {
            let (before, out) = (self.before(), self.repairs_out());
            self.cut();
            self.undo.begin(self.flight.first(), out, Some(before));
        }
        self.window.timed_out();
        let (first, high) = (self.flight.first(), self.high());
        let mut lost = 0;
        for seq in first..high {
            let Some(sent) = self.flight.get(seq) else { continue };
            let out = !matches!(sent.mark, Mark::Lost | Mark::Sacked);
            if out && (seq == first || !self.rack.is_recent(&sent, now)) {
                self.flight.set(seq, Mark::Lost);
                lost += 1;
            }
        }
        if let Some(model) = &mut self.model {
            model.timed_out(now, lost);
        }
        self.window.cwnd = self.flight.in_flight().saturating_add(1);
        self.state = State::Loss;
        self.high_seq = high;
        self.probe = None;
        self.forced = None;
        self.repairs = Repairs::Go;
        self.timeouts = self.timeouts.saturating_add(1);
        self.rto.back_off();
        self.tell = if self.settings.ecn == EcnMode::On { Reduced::Yes } else { Reduced::No };
    }

    /// A congestion event: a threshold from the window, or what the model keeps of it.
    fn cut(&mut self) {
        self.stats.window_cuts += 1;
        match &mut self.model {
            Some(model) => model.bbr.save(self.window.cwnd),
            None => self.window.reduce(),
        }
    }

    /// RFC 8985 §7.3.
    fn send_probe(&mut self, now: Instant) {
        let from = self.flight.head().map_or(now, |head| head.at);
        self.alarm = Some(Alarm::Retransmit(now + self.rto.rest(from, now)));
        if self.probe.is_some() {
            return;
        }
        self.forced = Some(if self.may_send_new() { Forced::New } else { Forced::Last });
    }

    /// RFC 8985 §6.3.
    fn wait_is_over(&mut self, now: Instant) {
        let before = self.flight.in_flight();
        let from = self.flight.head().map_or(now, |head| head.at);
        self.alarm = Some(Alarm::Retransmit(now + self.rto.rest(from, now)));
        self.look_for_losses(now);
        if self.flight.in_flight() != before {
            self.repairs = Repairs::Go;
            if self.state != State::Recovery {
                self.enter_recovery();
                self.reduce_on(Progress { delivered: 1, safety: Safety::Unsafe });
            }
        }
    }

    fn may_send_new(&self) -> bool {
        self.high() < self.written.end() && self.flight.len() < self.settings.window.max(1)
    }

    /// The next segment that may go out now, with its ECN bits. Ask until there is none.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<(Data, Ecn)> {
        match self.phase {
            Phase::Open => {}
            Phase::SynDue => return Some((self.syn(now), Ecn::NotEct)),
            Phase::Closed | Phase::Done | Phase::SynSent => return None,
        }
        if let Some(forced) = self.forced.take() {
            return self.transmit_probe(now, forced);
        }
        let lost = match self.repairs {
            Repairs::Go => self.flight.next_lost(),
            Repairs::Wait => None,
        };
        let limit = if self.flight.in_flight() >= self.window.cwnd {
            Some(Limit::Window)
        } else if lost.is_none() && !self.may_send_new() {
            Some(Limit::Other)
        } else {
            None
        };
        if let Some(model) = &mut self.model {
            match limit {
                None if model.holds(now) => return None,
                None => {}
                Some(_) => model.pause(),
            }
        }
        if let Some(limit) = limit {
            self.note_use(limit);
            return None;
        }
        Some(match lost {
            Some(seq) => self.transmit_again(now, seq, Mark::Again),
            None => self.transmit_new(now),
        })
    }

    fn syn(&mut self, now: Instant) -> Data {
        self.syn = match self.syn {
            Syn::None => Syn::Once(now),
            Syn::Once(_) | Syn::Again => Syn::Again,
        };
        self.phase = Phase::SynSent;
        self.alarm = Some(Alarm::Retransmit(now + self.rto.get()));
        Data { kind: DataKind::Syn, len: 0, fin: Fin::More, ..self.data(now, 0) }
    }

    fn data(&self, now: Instant, seq: u32) -> Data {
        let (len, fin) = self.written.cut(seq);
        let stamp = match self.settings.timestamps {
            Timestamps::Off => None,
            Timestamps::On => Some(Stamp::new(now)),
        };
        let connection = self.connection;
        Data { connection, kind: DataKind::Data, seq, len, stamp, reduced: Reduced::No, fin, ask: 0 }
    }

    fn transmit_new(&mut self, now: Instant) -> (Data, Ecn) {
        let was_idle = self.flight.is_empty();
        let seq = self.flight.send(now);
        self.last_sent = now;
        self.note_sent(now, seq, if was_idle { Traffic::None } else { Traffic::Some });
        let mut data = self.data(now, seq);
        let mut ecn = Ecn::NotEct;
        if self.settings.ecn == EcnMode::On {
            ecn = Ecn::Ect0;
            data.reduced = core::mem::replace(&mut self.tell, Reduced::No);
        }
        self.count(&data);
        if was_idle || matches!(self.alarm, Some(Alarm::Probe(_))) {
            self.arm_retransmission(now);
        }
        self.arm_probe(now);
        (data, ecn)
    }

    fn transmit_again(&mut self, now: Instant, seq: u32, mark: Mark) -> (Data, Ecn) {
        self.flight.resend(seq, now, mark);
        self.note_sent(now, seq, Traffic::Some);
        let data = self.data(now, seq);
        self.undo.sent_again(now);
        self.stats.retransmitted_segments += 1;
        self.stats.retransmitted_bytes += u64::from(data.len);
        self.count(&data);
        let is_head = seq == self.flight.first();
        if self.alarm.is_none() || (is_head && !matches!(self.alarm, Some(Alarm::Reordering(_)))) {
            self.alarm = Some(Alarm::Retransmit(now + self.rto.get()));
        }
        (data, Ecn::NotEct)
    }

    fn transmit_probe(&mut self, now: Instant, forced: Forced) -> Option<(Data, Ecn)> {
        let (kind, sent) = match forced {
            Forced::New if self.may_send_new() => (ProbeKind::New, self.transmit_new(now)),
            Forced::New | Forced::Last => {
                let last = self.high().checked_sub(1).filter(|_| !self.flight.is_empty())?;
                let mark = match self.flight.get(last)?.mark {
                    Mark::Lost => Mark::Again,
                    Mark::Again | Mark::Out | Mark::Twice => Mark::Twice,
                    Mark::Sacked => return None,
                };
                (ProbeKind::Resent, self.transmit_again(now, last, mark))
            }
        };
        self.probe = Some(Probe { high: self.high(), kind });
        self.alarm = Some(Alarm::Retransmit(now + self.rto.get()));
        Some(sent)
    }

    fn note_sent(&mut self, now: Instant, seq: u32, traffic: Traffic) {
        if let Some(model) = &mut self.model {
            self.flight.note(seq, model.on_sent(now, traffic));
        }
    }

    fn count(&mut self, data: &Data) {
        self.stats.sent_segments += 1;
        self.stats.sent_bytes += u64::from(data.len);
        if matches!(self.state, State::Echoed | State::Recovery) {
            self.reduction.on_sent();
        }
    }

    /// The last of a burst has gone out.
    fn note_use(&mut self, limit: Limit) {
        let out = self.flight.len();
        let usage = &mut self.use_of_window;
        if self.flight.first() >= usage.round_end || limit == Limit::Window || out > usage.most_out {
            *usage = UseOfWindow { most_out: out, round_end: self.flight.first().saturating_add(out), limit };
        }
    }

    fn is_window_used(&self) -> bool {
        self.use_of_window.limit == Limit::Window
            || (self.window.is_in_slow_start() && self.window.cwnd < 2 * self.use_of_window.most_out)
    }

    fn arm_retransmission(&mut self, now: Instant) {
        let after = match self.alarm {
            Some(Alarm::Probe(_) | Alarm::Reordering(_)) => {
                self.rto.rest(self.flight.head().map_or(now, |head| head.at), now)
            }
            Some(Alarm::Retransmit(_)) | None => self.rto.get(),
        };
        self.alarm = (!self.flight.is_empty()).then_some(Alarm::Retransmit(now + after));
    }

    /// RFC 8985 §7.2. Says whether a probe is planned.
    fn arm_probe(&mut self, now: Instant) -> Planned {
        let calm = matches!(self.state, State::Open | State::Echoed) && self.flight.sacked() == 0;
        let Some(head) = self.flight.head().filter(|_| calm && self.probe.is_none()) else {
            return Planned::No;
        };
        let wait = match self.rto.srtt() {
            Some(srtt) if self.flight.len() == 1 => srtt * 2 + self.rto.least(),
            Some(srtt) => srtt * 2 + TICKS,
            None => FIRST_PROBE,
        };
        let wait = wait.min(self.rto.rest(head.at, now));
        self.alarm = Some(Alarm::Probe(now + wait));
        Planned::Yes
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let held = self.model.as_ref().and_then(|model| model.held_until());
        match (self.alarm.map(Alarm::at), held) {
            (Some(alarm), Some(held)) => Some(alarm.min(held)),
            (alarm, held) => alarm.or(held),
        }
    }

    /// The data of the application ends after `bytes`, for now or for good.
    pub(crate) fn reach(&mut self, now: Instant, bytes: u64, more: More) {
        if self.phase == Phase::Done {
            return;
        }
        let before = self.written.end();
        self.written.reach(bytes, more, self.high(), self.flight.first());
        if self.phase == Phase::Open {
            if self.written.ends_at(self.flight.first()) {
                self.finish();
            } else if self.written.end() > before && self.flight.is_empty() {
                self.restart_after_idle(now);
            }
        }
    }

    /// Slow start again after an idle time, half of the window for each timeout that has passed
    /// (RFC 2861 §3.1; RFC 5681 §4.1). A model of the path keeps its window.
    fn restart_after_idle(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_sent);
        let timeout = self.rto.get();
        let choices = self.settings.algorithm.choices();
        let keeps = choices.after_idle == AfterIdle::Keep || self.model.is_some();
        if self.high() == 0 || idle <= timeout || keeps {
            return;
        }
        let initial = choices.initial_window.segments(self.settings.segment);
        self.window.restart(idle, timeout, initial);
    }

    pub(crate) fn close(&mut self) {
        match self.phase {
            Phase::Open => {
                self.written.close(self.high());
                if self.written.ends_at(self.flight.first()) {
                    self.finish();
                }
            }
            Phase::Closed | Phase::SynDue | Phase::SynSent => self.finish(),
            Phase::Done => {}
        }
    }

    fn finish(&mut self) {
        self.phase = Phase::Done;
        self.alarm = None;
        if let Some(model) = &mut self.model {
            model.pause();
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    pub(crate) const fn connection(&self) -> ConnectionId {
        self.connection
    }

    pub(crate) fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd)
    }

    pub(crate) fn ssthresh(&self) -> f64 {
        f64::from(self.window.ssthresh.min(self.settings.window.max(2)))
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }

    pub(crate) const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    pub(crate) fn window_trace(&self) -> &[WindowSample] {
        &self.trace
    }

    fn sample_window(&mut self, at: Instant) {
        if self.settings.trace == Tracing::Keep {
            self.trace.push(WindowSample { at, cwnd: self.cwnd(), ssthresh: self.ssthresh() });
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Planned {
    No,
    Yes,
}
