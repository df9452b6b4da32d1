//! The sender's record of its packets, which turns a receiver's report into feedback.

use tfrc_units::{Instant, saturating};

use crate::receiver::Report;
use crate::ring::Ring;
use crate::sender::{Feedback, LossReport};

/// The send times of the latest `N` packets that no report has covered, and the loss events that
/// reports have counted.
///
/// A [`Report`] names the newest packet by its number and counts loss events since the beginning. A
/// [`Feedback`] has the time at which that packet was sent, and says if a loss event is new. Every
/// program with packets of its own needs this record between its [`Receiver`](crate::Receiver) and
/// its [`Sender`](crate::Sender).
///
/// `N` must cover the packets sent in a round-trip time and a report interval: a report of a
/// forgotten packet gives nothing. Work is constant for each packet sent. Nothing is allocated;
/// with the feature `alloc` the record is on the heap, as large as what it has held.
///
/// ```
/// use tfrc::{Config, FeedbackReason, Report, Sender, SentRecord};
/// use tfrc_units::{Duration, Instant, Probability, Rate};
///
/// let (mut sender, mut record) = (Sender::new(&Config::default()), SentRecord::new());
/// sender.on_sent(Instant::ZERO, 1200);
/// let number = record.on_sent(Instant::ZERO);
///
/// // The receiver's report, as it came out of a packet of the application's own format.
/// let report = Report {
///     newest_seq: number,
///     elapsed: Duration::ZERO,
///     receive_rate: Rate::ZERO,
///     loss_event_rate: Probability::ZERO,
///     loss_events: 0,
///     packets: 1,
///     lost: 0,
///     reason: FeedbackReason::First,
/// };
/// let now = Instant::ZERO + Duration::from_millis(80);
/// if let Some(feedback) = record.feedback(&report) {
///     sender.on_feedback(now, feedback);
/// }
/// assert_eq!(sender.rtt(), Some(Duration::from_millis(80)));
/// ```
#[derive(Debug, Clone)]
pub struct SentRecord<const N: usize = 1024> {
    /// The newest packet that a report has named comes first.
    times: Ring<Instant, N>,
    next: u64,
    loss_events: LossEventsTold,
}

impl SentRecord {
    /// A record of 1024 packets; the first one has number 0.
    #[must_use]
    pub const fn new() -> Self {
        Self::starting_at(0)
    }
}

impl Default for SentRecord {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> SentRecord<N> {
    /// A record of `N` packets, at least one; the first packet has this number.
    #[must_use]
    pub const fn starting_at(first: u64) -> Self {
        const { assert!(N > 0, "a record of no packets gives no feedback") };
        Self { times: Ring::new(), next: first, loss_events: LossEventsTold(0) }
    }

    /// Returns the number of the next packet.
    #[must_use]
    pub const fn next_seq(&self) -> u64 {
        self.next
    }

    /// Reads where the next packet will be kept, for a host that wants it near. The value says
    /// nothing.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn touch(&self) -> u64 {
        let last = self.times.get(self.times.len().saturating_sub(1));
        last.map_or(0, Instant::as_nanos) ^ self.times.get(0).map_or(0, Instant::as_nanos)
    }

    /// Records a packet sent at `now`; returns its number, which the packet must carry. Numbers
    /// increase by one.
    pub fn on_sent(&mut self, now: Instant) -> u64 {
        let number = self.next;
        self.times.push(now);
        self.next += 1;
        number
    }

    /// Returns the feedback of a report. `None` if it names a packet that was never sent or is
    /// forgotten, or an older one than the report before.
    pub fn feedback(&mut self, report: &Report) -> Option<Feedback> {
        let oldest = self.next - saturating::<u64>(self.times.len());
        if report.newest_seq >= self.next {
            return None;
        }
        for _ in 0..report.newest_seq.checked_sub(oldest)? {
            self.times.pop_front();
        }
        let newest_sent_at = self.times.get(0)?;
        Some(report.feedback(newest_sent_at, self.loss_events.take(report)))
    }
}

/// The count of loss events in the latest report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossEventsTold(u64);

impl LossEventsTold {
    /// Returns whether a report counts a loss event that no report before it has counted.
    pub(crate) const fn take(&mut self, report: &Report) -> LossReport {
        let told = core::mem::replace(&mut self.0, report.loss_events);
        if report.loss_events > told { LossReport::NewLossEvent } else { LossReport::NoNewLoss }
    }
}

impl Report {
    /// Returns the feedback that this report is to a sender that sent the newest packet then.
    pub(crate) const fn feedback(&self, newest_sent_at: Instant, losses: LossReport) -> Feedback {
        Feedback {
            newest_sent_at,
            elapsed: self.elapsed,
            receive_rate: self.receive_rate,
            loss_event_rate: self.loss_event_rate,
            losses,
            count: self.count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tfrc_testkit::at;
    use tfrc_units::{Duration, Probability, Rate};

    use super::*;
    use crate::receiver::FeedbackReason;

    fn report(newest_seq: u64, loss_events: u64) -> Report {
        Report {
            newest_seq,
            elapsed: Duration::from_millis(1),
            receive_rate: Rate::ZERO,
            loss_event_rate: Probability::ZERO,
            loss_events,
            packets: newest_seq,
            lost: loss_events,
            reason: FeedbackReason::Regular,
        }
    }

    fn record<const N: usize>(first: u64, packets: u64) -> SentRecord<N> {
        let mut record = SentRecord::starting_at(first);
        for n in 0..packets {
            assert_eq!(record.on_sent(at(10 * n)), first + n);
        }
        record
    }

    #[test]
    fn a_report_names_the_time_of_its_newest_packet() {
        let mut record = record::<8>(1, 6);
        let sent_at = |feedback: Option<Feedback>| feedback.map(|feedback| feedback.newest_sent_at);
        assert_eq!(sent_at(record.feedback(&report(3, 0))), Some(at(20)));
        assert_eq!(sent_at(record.feedback(&report(3, 0))), Some(at(20)), "once more");
        assert_eq!(sent_at(record.feedback(&report(2, 0))), None, "overtaken");
        assert_eq!(sent_at(record.feedback(&report(7, 0))), None, "never sent");
        assert_eq!(sent_at(record.feedback(&report(u64::MAX, 0))), None);
        assert_eq!(sent_at(record.feedback(&report(6, 0))), Some(at(50)));
        assert_eq!(record.next_seq(), 7);
    }

    #[test]
    fn a_packet_that_fell_out_of_the_record_gives_nothing() {
        let mut record = record::<4>(0, 6);
        assert_eq!(record.feedback(&report(1, 0)), None);
        assert!(record.feedback(&report(2, 0)).is_some());
    }

    #[test]
    fn a_loss_event_is_news_once() {
        let mut record = record::<8>(0, 6);
        let mut losses =
            |newest, events| record.feedback(&report(newest, events)).map(|feedback| feedback.losses);
        assert_eq!(losses(1, 0), Some(LossReport::NoNewLoss));
        assert_eq!(losses(2, 2), Some(LossReport::NewLossEvent));
        assert_eq!(losses(3, 2), Some(LossReport::NoNewLoss));
        // A late packet has taken one back; the next one is news again (RFC 5348 §5.1).
        assert_eq!(losses(4, 1), Some(LossReport::NoNewLoss));
        assert_eq!(losses(5, 2), Some(LossReport::NewLossEvent));
    }
}
