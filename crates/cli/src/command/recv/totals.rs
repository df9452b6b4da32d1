//! Counts of everything a receiver has served, for its last line and its metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_lab::record::{Outcome, Summary};

/// Counts of all connections since the start. They never decrease, except the number of open ones.
#[derive(Debug, Default)]
pub(super) struct Totals {
    began: AtomicU64,
    complete: AtomicU64,
    stopped: AtomicU64,
    failed: AtomicU64,
    /// Datagrams written out, of open connections too.
    datagrams: AtomicU64,
    /// Bytes written out, of open connections too.
    bytes: AtomicU64,
    lost: AtomicU64,
    late: AtomicU64,
    dropped: AtomicU64,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Connections that are being served.
    pub(super) open: u64,
    /// Connections that ended, by outcome.
    pub(super) complete: u64,
    pub(super) stopped: u64,
    pub(super) failed: u64,
    /// Datagrams and bytes written out.
    pub(super) datagrams: u64,
    pub(super) bytes: u64,
    /// Datagrams of connections that have ended: lost by the network, too late for their place,
    /// dropped here.
    pub(super) lost: u64,
    pub(super) late: u64,
    pub(super) dropped: u64,
}

impl Totals {
    /// Counts a connection that begins.
    pub(super) fn begin(&self) {
        add(&self.began, 1);
    }

    /// Datagrams and bytes have been written out.
    pub(super) fn written(&self, datagrams: u64, bytes: u64) {
        add(&self.datagrams, datagrams);
        add(&self.bytes, bytes);
    }

    /// A connection has ended.
    pub(super) fn end(&self, outcome: Outcome, summary: &Summary) {
        add(&self.lost, summary.lost_packets.unwrap_or(0));
        add(&self.late, summary.late_packets.unwrap_or(0));
        add(&self.dropped, summary.dropped_by_reader_packets.unwrap_or(0));
        let ended = match outcome {
            Outcome::Complete => &self.complete,
            Outcome::Stopped => &self.stopped,
            _ => &self.failed,
        };
        add(ended, 1);
    }

    pub(super) fn counts(&self) -> Counts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (complete, stopped, failed) = (read(&self.complete), read(&self.stopped), read(&self.failed));
        Counts {
            // Read last, so that it counts each connection that has ended.
            open: read(&self.began).saturating_sub(complete + stopped + failed),
            complete,
            stopped,
            failed,
            datagrams: read(&self.datagrams),
            bytes: read(&self.bytes),
            lost: read(&self.lost),
            late: read(&self.late),
            dropped: read(&self.dropped),
        }
    }
}

impl Counts {
    /// Connections that have ended.
    pub(super) const fn ended(&self) -> u64 {
        self.complete + self.stopped + self.failed
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_open_until_they_end() {
        let totals = Totals::default();
        (0..3).for_each(|_| totals.begin());
        totals.written(5, 500);
        let summary =
            Summary { lost_packets: Some(2), dropped_by_reader_packets: Some(1), ..Summary::default() };
        totals.end(Outcome::Failed, &summary);
        totals.end(Outcome::Complete, &Summary::default());
        let counts = totals.counts();
        assert_eq!((counts.open, counts.ended(), counts.failed, counts.complete), (1, 2, 1, 1));
        let data = [counts.datagrams, counts.bytes, counts.lost, counts.late, counts.dropped];
        assert_eq!(data, [5, 500, 2, 0, 1]);
    }
}
