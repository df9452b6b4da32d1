//! A connection seen over time: differences between two looks at it become records.

use tfrc::RateReason;
use tfrc_net::Status;
use tfrc_report::record::{Event, EventKind, Record};
use tfrc_units::{Duration, Instant};
use tfrc_world::results::Interval;

use super::Connection;
use super::tally::as_f64;

/// Turns the status of a connection into intervals and events, and keeps the means of the run.
#[derive(Debug)]
pub(crate) struct Sampler {
    start: Instant,
    last: Status,
    /// Datagrams counted as lost.
    lost: u64,
    /// Bytes of a file counted as repaired.
    repaired: u64,
    slow_start_over: bool,
    allowed: TimeMean,
    rtt: TimeMean,
}

/// A mean over time.
#[derive(Debug, Clone, Copy, Default)]
struct TimeMean {
    sum: f64,
    time: f64,
}

impl TimeMean {
    fn add(&mut self, value: f64, time: Duration) {
        self.sum += value * time.as_secs_f64();
        self.time += time.as_secs_f64();
    }

    fn value(self) -> Option<f64> {
        (self.time > 0.0).then(|| self.sum / self.time)
    }
}

impl Sampler {
    /// Begins with the connection as it is now, at the beginning `start` of the run.
    pub(crate) fn new(start: Instant, first: Status) -> Self {
        Self {
            start,
            last: first,
            lost: 0,
            repaired: 0,
            slow_start_over: false,
            allowed: TimeMean::default(),
            rtt: TimeMean::default(),
        }
    }

    /// Seconds since the beginning of the run.
    pub(crate) fn seconds(&self, at: Instant) -> f64 {
        at.saturating_since(self.start).as_secs_f64()
    }

    /// The records of a sender since the last call.
    pub(crate) fn sender(&mut self, connection: &Connection) -> Vec<Record> {
        let status = connection.status();
        let mut records: Vec<Record> = connection
            .take_rate_changes()
            .into_iter()
            .filter(|change| change.reason == RateReason::NoFeedback)
            .map(|change| self.event(change.at, EventKind::NoFeedback))
            .collect();
        if status.reported_loss_events > self.last.reported_loss_events {
            records.extend(self.loss_event(status.at));
        }
        records.extend(self.sender_interval(&status).map(Record::Interval));
        self.last = status;
        records
    }

    /// Returns a sender's interval since the last call; `None` if no time has passed.
    fn sender_interval(&mut self, status: &Status) -> Option<Interval> {
        let passed = status.at.saturating_since(self.last.at);
        if passed.is_zero() {
            return None;
        }
        if let Some(rtt) = status.rtt {
            self.allowed.add(status.allowed_rate.bits_per_sec(), passed);
            self.rtt.add(rtt.as_secs_f64(), passed);
        }
        let (new, old) = (&status.stats, &self.last.stats);
        let bytes = new.sent_data_bytes - old.sent_data_bytes;
        Some(Interval {
            t_s: self.seconds(status.at),
            interval_s: passed.as_secs_f64(),
            sent_packets: Some(new.sent_data_packets - old.sent_data_packets),
            late_dropped_packets: Some(status.late_dropped - self.last.late_dropped),
            dropped_by_reader_packets: Some(new.peer_dropped_packets - old.peer_dropped_packets),
            send_rate_bps: Some(as_f64(bytes) * 8.0 / passed.as_secs_f64()),
            receive_rate_bps: status.reported_receive_rate.map(tfrc_units::Rate::bits_per_sec),
            allowed_rate_bps: status.rtt.map(|_| status.allowed_rate.bits_per_sec()),
            target_rate_bps: status.rtt.map(|_| status.target_rate.bits_per_sec()),
            loss_event_rate: Some(status.reported_loss_event_rate.get()),
            rtt_s: status.rtt.map(Duration::as_secs_f64),
            limit: status.limit,
            ..Interval::default()
        })
    }

    /// The records of a receiver since the last call. `lost` datagrams are known to be lost by now,
    /// never fewer than before.
    pub(crate) fn receiver(&mut self, connection: &Connection, lost: u64) -> Vec<Record> {
        let status = connection.status();
        let mut records = Vec::new();
        if status.loss_events > self.last.loss_events {
            records.extend(self.loss_event(status.at));
        }
        let passed = status.at.saturating_since(self.last.at);
        if !passed.is_zero() {
            let (new, old) = (&status.stats, &self.last.stats);
            let bytes = new.received_data_bytes - old.received_data_bytes;
            let received = new.received_data_packets - old.received_data_packets;
            if let Some(rtt) = status.sender_rtt {
                self.rtt.add(rtt.as_secs_f64(), passed);
            }
            records.push(Record::Interval(Interval {
                t_s: self.seconds(status.at),
                interval_s: passed.as_secs_f64(),
                received_packets: Some(received),
                lost_packets: Some(lost.saturating_sub(self.lost)),
                dropped_by_reader_packets: Some(new.queue_dropped_packets - old.queue_dropped_packets),
                goodput_bps: Some(as_f64(bytes) * 8.0 / passed.as_secs_f64()),
                loss_event_rate: Some(status.loss_event_rate.get()),
                rtt_s: status.sender_rtt.map(Duration::as_secs_f64),
                ..Interval::default()
            }));
            self.lost = lost;
        }
        self.last = status;
        records
    }

    /// Writes into the interval among these records how many bytes of a file were repaired in it;
    /// `repaired` of them until now.
    pub(crate) fn note_repaired(&mut self, records: &mut [Record], repaired: u64) {
        let interval = records.iter_mut().find_map(|record| match record {
            Record::Interval(interval) => Some(interval),
            _ => None,
        });
        if let Some(interval) = interval {
            interval.repaired_bytes = Some(repaired.saturating_sub(self.repaired));
            self.repaired = repaired;
        }
    }

    /// The mean allowed rate so far, in bit/s.
    pub(crate) fn mean_allowed_rate(&self) -> Option<f64> {
        self.allowed.value()
    }

    /// The mean round-trip time so far, in seconds.
    pub(crate) fn mean_rtt(&self) -> Option<f64> {
        self.rtt.value()
    }

    /// A loss event, and the end of slow start if it is the first.
    pub(crate) fn loss_event(&mut self, at: Instant) -> Vec<Record> {
        let mut records = vec![self.event(at, EventKind::LossEvent)];
        if !std::mem::replace(&mut self.slow_start_over, true) {
            records.push(self.event(at, EventKind::SlowStartEnd));
        }
        records
    }

    pub(crate) fn event(&self, at: Instant, event: EventKind) -> Record {
        self.event_with(at, event, None)
    }

    /// An event with more words for a reader.
    pub(crate) fn event_with(&self, at: Instant, event: EventKind, detail: Option<String>) -> Record {
        Record::Event(Event { t_s: self.seconds(at), event, flow: None, detail })
    }
}
