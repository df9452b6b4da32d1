//! Effects of acknowledgements: what they show of losses, and the window after them.

use tfrc_units::{Duration, Instant};

use super::bbr::{self, Repair};
use super::flight::{Mark, Sent, Times};
use super::hystart::Heard;
use super::prr::{Progress, Prr, Safety};
use super::rack::{Detected, Repairing};
use super::undo::{self, Before};
use super::window::Window;
use super::{Alarm, LinuxSender, Planned, ProbeKind, Repairs, State, TICKS};
use crate::tcp::segment::{Ack, EcnEcho, Reduced};
use crate::tcp::settings::EcnMode;

/// Deliveries that one acknowledgement shows.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    /// Segments newly acknowledged or reported, with those that arrived twice.
    delivered: u32,
    /// Segments acknowledged cumulatively, and reported beyond.
    acked: u32,
    sacked: u32,
    /// The segment sent last among them: number of the transmission, and segments delivered before.
    latest: (u64, u64),
    duplicate: Duplicate,
    /// Times of the first and last of those that were sent once and had not been reported.
    first: Option<Instant>,
    last: Option<Instant>,
    /// Time of the last of those that were reported.
    reported: Option<Instant>,
}

/// Report of segments that have arrived twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Duplicate {
    #[default]
    None,
    /// Of the last segment that the probe was sent with.
    OfProbe,
    Other,
}

impl Shown {
    fn latest(&mut self, sent: &Sent) {
        self.latest = self.latest.max((sent.serial, sent.delivered));
    }
}

impl LinuxSender {
    pub(super) fn on_open_ack(&mut self, now: Instant, ack: &Ack) {
        if ack.next < self.flight.first() || ack.next > self.high() {
            return;
        }
        let (in_flight_before, una_before) = (self.flight.in_flight(), self.flight.first());
        let (duplicate, duplicates) = self.take_duplicates(ack);
        let mut shown = self.take_in(now, ack);
        shown.duplicate = duplicate;
        shown.delivered += duplicates;
        self.measure(now, ack, &shown);
        self.rack.adapt(shown.latest.1, self.flight.delivered());
        if shown.acked > 0 {
            self.timeouts = 0;
            self.rto.end_backoff();
        }
        self.end_probe(ack.next, &shown);
        let echo = match self.settings.ecn {
            EcnMode::Off => EcnEcho::None,
            EcnMode::On => ack.ecn,
        };
        self.leave_state(ack);
        if self.written.ends_at(self.flight.first()) {
            self.finish();
            return;
        }
        if echo == EcnEcho::Congestion && self.state == State::Open {
            self.stats.ecn_cuts += 1;
            self.begin_reduction();
            self.undo.forget();
            self.state = State::Echoed;
            self.high_seq = self.high();
        }
        let found = self.repair(now, ack, &shown, una_before);
        self.adjust_window(now, &shown, found.lost, in_flight_before);
        let resets = shown.acked > 0 || self.is_older_than_head(now, &shown);
        if resets && found.later.is_none() && self.arm_probe(now) == Planned::No {
            self.arm_retransmission(now);
        }
    }

    /// RFC 2883: segments that have arrived twice, and their number.
    fn take_duplicates(&mut self, ack: &Ack) -> (Duplicate, u32) {
        let Some(block) = undo::duplicate(ack) else { return (Duplicate::None, 0) };
        if !self.undo.is_plausible(block.len(), self.stats.retransmitted_segments) {
            return (Duplicate::None, 0);
        }
        let of_probe = block.len() == 1 && self.probe.is_some_and(|probe| probe.high == block.end);
        if !of_probe {
            self.rack.duplicate();
        }
        for seq in block.start..block.end {
            let sent = self.flight.get(seq);
            if seq < self.flight.first() || sent.is_some_and(|sent| sent.times == Times::More) {
                self.undo.reported(seq);
            }
            if sent.is_some_and(|sent| sent.times == Times::More && sent.mark == Mark::Sacked) {
                self.rack.overtaken(seq);
            }
        }
        self.flight.duplicates(block.len());
        if let Some(model) = &mut self.model {
            model.delivery.on_duplicates(block.len());
        }
        (if of_probe { Duplicate::OfProbe } else { Duplicate::Other }, block.len())
    }

    /// The blocks first, then the cumulative acknowledgement.
    fn take_in(&mut self, now: Instant, ack: &Ack) -> Shown {
        let mut shown = Shown::default();
        let least = self.least_rtt;
        let (rack, model) = (&mut self.rack, &mut self.model);
        self.flight.report(&ack.sack, |seq, sent| {
            shown.delivered += 1;
            shown.sacked += 1;
            shown.latest(&sent);
            if sent.times == Times::Once {
                shown.reported = shown.reported.or(Some(sent.at));
            }
            rack.arrived(seq, &sent, now, least);
            if let Some(model) = model {
                model.delivery.on_delivered(sent.serial, sent.at, sent.snapshot);
            }
        });
        self.flight.acknowledge(ack.next, |seq, sent| {
            shown.acked += 1;
            if sent.mark == Mark::Sacked {
                return;
            }
            shown.delivered += 1;
            shown.latest(&sent);
            if sent.times == Times::Once {
                shown.first = shown.first.or(Some(sent.at));
                shown.last = Some(sent.at);
            }
            // An echo from before the retransmission is of the original (RFC 8985 §6.2 step 2).
            if sent.times == Times::Once || ack.echo.is_none_or(|echo| echo.at() >= sent.at) {
                rack.arrived(seq, &sent, now, least);
            }
            if let Some(model) = model {
                model.delivery.on_delivered(sent.serial, sent.at, sent.snapshot);
            }
        });
        self.stats.acked_segments += u64::from(shown.acked);
        shown
    }

    /// The round trip of this acknowledgement, for the timeout and for HyStart. The segment tells
    /// it unless it was sent more than once; then the timestamp does.
    fn measure(&mut self, now: Instant, ack: &Ack, shown: &Shown) {
        let stamp = ack.echo.filter(|_| shown.acked > 0).map(|stamp| stamp.at());
        if let Some(sent) = shown.first.or(shown.reported).or(stamp) {
            self.take_trip(now, sent);
        }
        if let Some(sent) = shown.last.or(shown.reported) {
            let rtt = now.saturating_since(sent);
            let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
            self.least_rtt = Some(least);
            let (una, high) = (self.flight.first(), self.high());
            self.window.measured(Heard { now, window: self.window.cwnd, una, high, rtt, least });
        }
    }

    /// True if the first segment that is newly reported was sent before the head was last sent.
    fn is_older_than_head(&self, now: Instant, shown: &Shown) -> bool {
        let head = self.flight.head().map_or(now, |head| head.at);
        shown.reported.is_some_and(|sent| sent < head)
    }

    /// RFC 8985 §7.4: a probe that was sent again and repaired a loss is a sign of congestion.
    fn end_probe(&mut self, next: u32, shown: &Shown) {
        let Some(probe) = self.probe.filter(|probe| next >= probe.high) else { return };
        match probe.kind {
            ProbeKind::New => self.probe = None,
            // Both copies have arrived: nothing was lost.
            ProbeKind::Resent if shown.duplicate == Duplicate::OfProbe => self.probe = None,
            ProbeKind::Resent if next > probe.high => {
                self.probe = None;
                if self.state == State::Open {
                    self.begin_reduction();
                    self.end_reduction();
                }
            }
            // Both copies have arrived: nothing was lost.
            ProbeKind::Resent if shown.delivered == 0 => self.probe = None,
            ProbeKind::Resent => {}
        }
    }

    fn leave_state(&mut self, ack: &Ack) {
        let una = self.flight.first();
        if self.state == State::Open && !self.is_repair_out() {
            self.undo.none_out();
        }
        match self.state {
            State::Echoed if una > self.high_seq => self.end_reduction(),
            State::Recovery if una >= self.high_seq => {
                if self.undo.all_were_duplicates() || self.undo.was_delayed(ack) {
                    self.take_back();
                    self.state = State::Open;
                } else {
                    self.rack.recovered();
                    self.end_reduction();
                }
            }
            State::Echoed | State::Loss | State::Open | State::Recovery => {}
        }
    }

    /// Returns true if a segment was sent again and not acknowledged.
    fn is_repair_out(&self) -> bool {
        self.flight.again() > 0 || self.flight.head().is_some_and(|head| head.times == Times::More)
    }

    fn end_reduction(&mut self) {
        if self.model.is_none() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.state = State::Open;
    }

    /// Looks for losses, and begins a recovery if there are; ends one that was for nothing.
    fn repair(&mut self, now: Instant, ack: &Ack, shown: &Shown, una_before: u32) -> Detected {
        self.repairs = Repairs::Go;
        match self.state {
            State::Recovery => {
                if shown.acked > 0 && self.undo.was_delayed(ack) {
                    self.rack.overtaken(una_before);
                    if self.flight.again() > 0 {
                        // New segments alone, until it is clear if more was for nothing.
                        self.repairs = Repairs::Wait;
                        return Detected::default();
                    }
                    self.flight.find_all_lost();
                    self.take_back();
                    self.state = State::Open;
                    if !self.is_repair_out() {
                        self.undo.none_out();
                    }
                }
                self.take_back_duplicates();
            }
            State::Loss if shown.acked > 0 && self.is_for_nothing(ack) => {
                self.flight.find_all_lost();
                self.take_back();
                self.timeouts = 0;
                self.state = State::Open;
            }
            State::Loss if self.flight.first() >= self.high_seq => {
                self.rack.recovered();
                self.state = State::Open;
            }
            State::Open => self.take_back_duplicates(),
            State::Echoed | State::Loss => {}
        }
        let found = self.look_for_losses(now);
        match self.state {
            State::Open | State::Echoed if self.flight.has_lost() => self.enter_recovery(),
            // What was sent again after the timeout is lost again.
            State::Loss if found.lost_again > 0 => self.enter_recovery(),
            State::Echoed | State::Loss | State::Open | State::Recovery => {}
        }
        found
    }

    fn is_for_nothing(&self, ack: &Ack) -> bool {
        self.undo.all_were_duplicates() || self.undo.was_delayed(ack)
    }

    /// RFC 3708: all that was sent again has arrived twice.
    fn take_back_duplicates(&mut self) {
        if self.undo.all_were_duplicates() {
            self.rack.was_spurious();
            self.take_back();
            self.state = State::Open;
        }
    }

    /// A reduction was for nothing (RFC 4015 §3.3; the kernel restores both windows as they were).
    fn take_back(&mut self) {
        let Some(before) = self.undo.take() else { return };
        self.stats.window_restores += 1;
        match &mut self.model {
            Some(model) => model.undo(),
            None => self.window.cwnd = self.window.cwnd.max(before.cwnd),
        }
        if before.ssthresh > self.window.ssthresh {
            self.window.ssthresh = before.ssthresh;
            self.tell = Reduced::No;
        }
    }

    pub(super) fn look_for_losses(&mut self, now: Instant) -> Detected {
        let repairing = match self.state {
            State::Loss | State::Recovery => Repairing::Yes,
            State::Echoed | State::Open => Repairing::No,
        };
        let trips = self.trips();
        let found = self.rack.detect(&mut self.flight, now, trips, repairing);
        if let Some(model) = &mut self.model {
            model.delivery.on_lost(found.lost);
        }
        if let Some(rest) = found.later {
            self.alarm = Some(Alarm::Reordering(now + rest + TICKS));
        }
        found
    }

    pub(super) fn enter_recovery(&mut self) {
        if !self.is_repair_out() {
            self.undo.none_out();
        }
        let out = self.repairs_out();
        if matches!(self.state, State::Loss | State::Open) {
            let before = self.before();
            self.begin_reduction();
            self.undo.begin(self.flight.first(), out, Some(before));
        } else {
            self.undo.begin(self.flight.first(), out, None);
        }
        self.state = State::Recovery;
        self.high_seq = self.high();
    }

    /// Retransmissions in the network, with that of a probe.
    pub(super) fn repairs_out(&self) -> u32 {
        let probe = self.probe.is_some_and(|probe| probe.kind == ProbeKind::Resent);
        self.flight.again() + u32::from(probe)
    }

    /// The windows that an end of the reduction for nothing restores: of the threshold at least
    /// three quarters of the window, in no reduction.
    pub(super) fn before(&self) -> Before {
        let Window { cwnd, ssthresh, .. } = self.window;
        let ssthresh = match self.state {
            State::Echoed | State::Recovery => ssthresh,
            State::Loss | State::Open => ssthresh.max(cwnd / 2 + cwnd / 4),
        };
        Before { cwnd, ssthresh }
    }

    fn begin_reduction(&mut self) {
        self.probe = None;
        self.reduction = Prr::new(self.window.cwnd);
        self.cut();
        self.tell = if self.settings.ecn == EcnMode::On { Reduced::Yes } else { Reduced::No };
    }

    pub(super) fn reduce_on(&mut self, progress: Progress) {
        if self.model.is_some() {
            return;
        }
        let (in_flight, ssthresh) = (self.flight.in_flight(), self.window.ssthresh);
        if let Some(cwnd) = self.reduction.window(in_flight, ssthresh, progress) {
            self.window.cwnd = cwnd;
        }
    }

    fn adjust_window(&mut self, now: Instant, shown: &Shown, lost: u32, in_flight_before: u32) {
        if let Some(model) = &mut self.model {
            let (in_flight, least, srtt) = (self.flight.in_flight(), self.least_rtt, self.rto.srtt());
            let repair = match self.state {
                State::Echoed | State::Open => Repair::None,
                State::Loss => Repair::Timeout,
                State::Recovery => Repair::Recovery,
            };
            self.window.cwnd = model.window(self.window.cwnd, |delivery| bbr::Heard {
                now,
                sample: delivery.sample(now, least),
                delivered: shown.delivered,
                lost,
                in_flight_before,
                in_flight,
                rtt: shown.last.or(shown.reported).map(|sent| now.saturating_since(sent)),
                srtt,
                repair,
            });
            return;
        }
        match self.state {
            State::Echoed | State::Recovery => {
                let safety = if shown.acked > 0 && lost == 0 { Safety::Safe } else { Safety::Unsafe };
                self.reduce_on(Progress { delivered: shown.delivered, safety });
            }
            State::Loss | State::Open if self.may_grow(shown) && self.is_window_used() => {
                let least = self.least_rtt.unwrap_or(Duration::ZERO);
                self.window.grow(now, shown.delivered, least);
            }
            State::Loss | State::Open => {}
        }
    }
    /// In order alone, unless the path is known to reorder.
    const fn may_grow(&self, shown: &Shown) -> bool {
        shown.acked > 0 || (self.rack.is_reordering_high() && shown.sacked > 0)
    }
}
