//! Readings of a controller: the application of a connection has no other way to it than a copy of
//! the whole controller.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tfrc::{Advisor, RateChange, RateReason};
use tfrc_units::{Duration, Epoch, Probability, Rate};

/// Changes of X kept until they are taken.
const CHANGES: usize = 4096;

/// The readings of the controllers of one connection: those of its path of now.
#[derive(Debug)]
pub struct Readings {
    epoch: Epoch,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    reading: Reading,
    changes: VecDeque<RateChange>,
    /// Packets that left at this time or later are of interest.
    since: Option<Instant>,
}

/// The state of a controller after the last packet or report. Rates are in bytes of UDP payload.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// X, the allowed rate (RFC 5348 §4.3).
    pub allowed_rate: Rate,
    /// X within the cap: the rate that an encoder should aim at, less the headers of QUIC.
    pub target_rate: Rate,
    /// The rule that set X last.
    pub reason: Option<RateReason>,
    /// R, once there is a sample.
    pub rtt: Option<Duration>,
    /// p, the loss event rate; zero before the first loss event.
    pub loss_event_rate: Probability,
    /// Loss events found so far, marks among them.
    pub loss_events: u64,
    /// Packets sent since the first of them.
    pub packets_after_loss: u64,
    /// X_recv of the latest report.
    pub receive_rate: Option<Rate>,
    /// Reports of the peer.
    pub reports: u64,
    /// Packets acknowledged that left at the time of [`Readings::count_from`] or later.
    pub acknowledged: u64,
}

impl Readings {
    /// Readings whose times count from this epoch.
    #[must_use]
    pub fn new(epoch: Epoch) -> Self {
        Self { epoch, last: Mutex::default() }
    }

    /// The epoch of all times in the readings.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The state after the last packet or report.
    #[must_use]
    pub fn now(&self) -> Reading {
        self.last().reading
    }

    /// The changes of X since the last call, oldest first; up to 4096 are kept.
    #[must_use]
    pub fn take_changes(&self) -> Vec<RateChange> {
        self.last().changes.drain(..).collect()
    }

    /// Counts acknowledged packets that leave from now on; the first call decides.
    pub fn count_from(&self, now: Instant) {
        self.last().since.get_or_insert(now);
    }

    pub(crate) fn acknowledged(&self, sent: Instant) {
        let mut last = self.last();
        last.reading.acknowledged += u64::from(last.since.is_some_and(|since| sent >= since));
    }

    pub(crate) fn sent(&self) {
        let reading = &mut self.last().reading;
        reading.packets_after_loss += u64::from(reading.loss_events > 0);
    }

    pub(crate) fn reported(&self) {
        self.last().reading.reports += 1;
    }

    pub(crate) fn note<const N: usize>(&self, advisor: &mut Advisor<N>) {
        let mut last = self.last();
        while let Some(change) = advisor.poll_event() {
            if last.changes.len() >= CHANGES {
                last.changes.pop_front();
            }
            last.changes.push_back(change);
        }
        let Reading { reports, acknowledged, packets_after_loss, .. } = last.reading;
        let sender = advisor.sender();
        last.reading = Reading {
            allowed_rate: advisor.allowed_rate(),
            target_rate: advisor.target_rate(),
            reason: advisor.rtt().map(|_| sender.rate_reason()),
            rtt: advisor.rtt(),
            loss_event_rate: advisor.loss_event_rate(),
            loss_events: advisor.loss_events(),
            packets_after_loss,
            receive_rate: sender.latest_feedback().map(|feedback| feedback.receive_rate),
            reports,
            acknowledged,
        };
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
