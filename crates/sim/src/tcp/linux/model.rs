//! A congestion control that paces by a model of the path, and what it is fed with.

use tfrc_units::{Duration, Instant};

use super::bbr::{Bbr, Heard};
use super::delivery::{Delivery, Snapshot, Traffic};
use super::pacing::Pacer;
use crate::tcp::settings::{Settings, Variant};

/// BBR with its delivery rate samples and its pace.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) bbr: Bbr,
    pub(super) delivery: Delivery,
    pacer: Pacer,
    /// Time at which the pace lets the next segment go, if it is what holds it back.
    held_until: Option<Instant>,
}

impl Model {
    /// `None` for a congestion control without a model.
    pub(super) fn new(settings: &Settings) -> Option<Box<Self>> {
        let initial = settings.algorithm.choices().initial_window.segments(settings.segment);
        (settings.variant == Variant::Bbr).then(|| {
            Box::new(Self {
                bbr: Bbr::new(initial, settings.segment),
                delivery: Delivery::new(),
                pacer: Pacer::new(),
                held_until: None,
            })
        })
    }

    /// A round trip of the opening.
    pub(super) fn opened(&mut self, now: Instant, rtt: Duration) {
        self.bbr.opened(now, rtt);
    }

    /// Returns true if the pace holds the next segment back.
    pub(super) fn holds(&mut self, now: Instant) -> bool {
        self.held_until = self.pacer.blocked(now);
        self.held_until.is_some()
    }

    /// Nothing goes now for another reason than the pace.
    pub(super) const fn pause(&mut self) {
        self.held_until = None;
        self.pacer.pause();
    }

    pub(super) const fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    /// A segment goes out: what is known then.
    pub(super) fn on_sent(&mut self, now: Instant, traffic: Traffic) -> Snapshot {
        self.pacer.on_sent(now, self.bbr.pace());
        self.delivery.on_sent(now, traffic)
    }

    /// A reduction was for nothing.
    pub(super) fn undo(&mut self) {
        self.bbr.undo(&self.delivery);
    }

    /// The retransmission timer has expired and these many segments were lost.
    pub(super) fn timed_out(&mut self, now: Instant, lost: u32) {
        self.delivery.on_lost(lost);
        self.bbr.timed_out(now, &self.delivery);
    }

    /// The window after an acknowledgement; `heard` takes the counts.
    pub(super) fn window(&mut self, cwnd: u32, heard: impl FnOnce(&mut Delivery) -> Heard) -> u32 {
        let heard = heard(&mut self.delivery);
        let departure = self.pacer.departure(heard.now);
        self.bbr.on_ack(&heard, &mut self.delivery, departure, cwnd)
    }
}
