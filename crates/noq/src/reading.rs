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
    bucket: Bucket,
    /// The next acknowledged packet counts as marked.
    is_marked: bool,
}

/// The credit of noq's pacer, which shows it to nobody: it grows at the pacing rate, a packet takes
/// its bytes, and a full packet has to fit before any goes.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    bytes: f64,
    /// The time of that, once a packet has left.
    at: Option<Instant>,
    /// Bytes per second; zero before noq has a rate.
    rate: f64,
    mtu: f64,
}

/// Seconds for which a slow path gathers credit: noq's `MAX_BURST_INTERVAL`. A fast one gathers
/// less, where it makes no difference.
const GATHERING: f64 = 0.010;

impl Bucket {
    fn credit(&self, now: Instant) -> f64 {
        let since = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        (self.bytes + self.rate * since).min(self.mtu.max(self.rate * GATHERING))
    }

    fn spend(&mut self, now: Instant, bytes: u16) {
        self.bytes = (self.credit(now) - f64::from(bytes)).max(0.0);
        self.at = Some(now);
    }
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

    /// Takes the next acknowledged packet for one that was marked by congestion: the peer has told
    /// that its application does not keep up.
    pub fn mark(&self) {
        self.last().is_marked = true;
    }

    /// Returns true if this packet counts as marked.
    pub(crate) fn acknowledged(&self, sent: Instant) -> bool {
        let mut last = self.last();
        last.reading.acknowledged += u64::from(last.since.is_some_and(|since| sent >= since));
        std::mem::take(&mut last.is_marked)
    }

    /// The time from now until the pacer lets a packet go, as far as its credit shows, and the time
    /// between two full packets; `None` before there is a rate.
    #[must_use]
    pub fn turn(&self, now: Instant) -> Option<(std::time::Duration, std::time::Duration)> {
        let bucket = self.last().bucket;
        let time = |bytes: f64| std::time::Duration::try_from_secs_f64(bytes / bucket.rate).ok();
        Some((time((bucket.mtu - bucket.credit(now)).max(0.0))?, time(bucket.mtu)?))
    }

    /// A packet leaves, of a path that carries `mtu` bytes.
    pub(crate) fn sent(&self, now: Instant, bytes: u16, mtu: f64) {
        let mut last = self.last();
        let Last { reading, bucket, .. } = &mut *last;
        reading.packets_after_loss += u64::from(reading.loss_events > 0);
        bucket.mtu = mtu;
        bucket.spend(now, bytes);
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
        if advisor.rtt().is_some() {
            last.bucket.rate = sender.sending_rate().bytes_per_sec();
        }
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
