//! Counts of everything a receiver has served, for its last line and its metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tfrc_report::record::{Outcome, Summary};

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
    whole: AtomicU64,
    resumed: AtomicU64,
    torn: AtomicU64,
    /// The open connections by their numbers.
    open: Mutex<BTreeMap<u64, Open>>,
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
    /// Datagrams lost by the network, too late for their place, dropped here.
    pub(super) lost: u64,
    pub(super) late: u64,
    pub(super) dropped: u64,
    /// Files that came whole in one session, or with a part of an earlier one, and that did not.
    pub(super) whole: u64,
    pub(super) resumed: u64,
    pub(super) torn: u64,
}

/// An open connection as it is now.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Gauges {
    /// The other end, `address:port`.
    pub(super) peer: String,
    /// The fingerprint of its key, in a private session.
    pub(super) key: Option<String>,
    /// Data that arrived in the last second, bit/s.
    pub(super) rate_bps: f64,
    /// The sender's round-trip time estimate, seconds.
    pub(super) rtt_s: Option<f64>,
    /// The loss event rate.
    pub(super) loss_event_rate: f64,
}

/// Datagrams that were not written out, by their fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Fates {
    pub(super) lost: u64,
    pub(super) late: u64,
    pub(super) dropped: u64,
}

/// An open connection, and the part of its datagrams that the totals have.
#[derive(Debug, Default)]
struct Open {
    gauges: Gauges,
    counted: Fates,
}

impl Totals {
    /// Counts a connection that has been accepted, and returns its number: the only one that it
    /// has, in the log, in the name of its file and in the metrics.
    pub(super) fn accept(&self) -> u64 {
        self.began.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The connection of this number begins to be served.
    pub(super) fn begin(&self, number: u64, peer: String) {
        let gauges = Gauges { peer, ..Gauges::default() };
        self.lock().insert(number, Open { gauges, ..Open::default() });
    }

    /// Datagrams and bytes have been written out.
    pub(super) fn written(&self, datagrams: u64, bytes: u64) {
        add(&self.datagrams, datagrams);
        add(&self.bytes, bytes);
    }

    /// The state of an open connection: `fates` are those of its datagrams so far.
    pub(super) fn sample(&self, number: u64, fates: Fates, gauges: Gauges) {
        if let Some(open) = self.lock().get_mut(&number) {
            self.count(open, fates);
            open.gauges = gauges;
        }
    }

    /// A connection has ended.
    pub(super) fn end(&self, number: u64, outcome: Outcome, summary: &Summary) {
        if let Some(mut open) = self.lock().remove(&number) {
            let known = |count: Option<u64>| count.unwrap_or(0);
            let fates = Fates {
                lost: known(summary.lost_packets),
                late: known(summary.late_packets),
                dropped: known(summary.dropped_by_reader_packets),
            };
            self.count(&mut open, fates);
        }
        let ended = match outcome {
            Outcome::Complete => &self.complete,
            Outcome::Stopped => &self.stopped,
            _ => &self.failed,
        };
        add(ended, 1);
    }

    /// The session of a file that has to be whole has ended; the file `goes_on` with a part of an
    /// earlier session.
    pub(super) fn file_ended(&self, is_whole: bool, goes_on: bool) {
        let ended = match (is_whole, goes_on) {
            (true, false) => &self.whole,
            (true, true) => &self.resumed,
            (false, _) => &self.torn,
        };
        add(ended, 1);
    }

    /// Adds what has come since the last call.
    fn count(&self, open: &mut Open, now: Fates) {
        for (total, counted, now) in [
            (&self.lost, &mut open.counted.lost, now.lost),
            (&self.late, &mut open.counted.late, now.late),
            (&self.dropped, &mut open.counted.dropped, now.dropped),
        ] {
            add(total, now.saturating_sub(*counted));
            *counted = now.max(*counted);
        }
    }

    /// The open connections by their numbers.
    pub(super) fn gauges(&self) -> BTreeMap<u64, Gauges> {
        self.lock().iter().map(|(number, open)| (*number, open.gauges.clone())).collect()
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
            whole: read(&self.whole),
            resumed: read(&self.resumed),
            torn: read(&self.torn),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Connections that have ended.
    pub(super) const fn ended(&self) -> u64 {
        self.complete + self.stopped + self.failed
    }
}

/// Adds up to the largest number: peers may claim any count, and a total that wraps around would
/// look like a restart.
fn add(count: &AtomicU64, more: u64) {
    count.update(Ordering::Relaxed, Ordering::Relaxed, |count| count.saturating_add(more));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_written(counts: Counts) -> [u64; 3] {
        [counts.lost, counts.late, counts.dropped]
    }

    #[test]
    fn connections_are_open_until_they_end() {
        let totals = Totals::default();
        let numbers: Vec<u64> = (0..3).map(|_| totals.accept()).collect();
        // Threads begin to serve them in any order.
        for n in [2, 0, 1] {
            totals.begin(numbers[n], format!("peer {n}"));
        }
        let open: Vec<_> = totals.gauges().into_iter().map(|(number, one)| (number, one.peer)).collect();
        let peer = |n: u64| (n + 1, format!("peer {n}"));
        assert_eq!(open, [peer(0), peer(1), peer(2)]);
        totals.written(5, 500);
        let summary =
            Summary { lost_packets: Some(2), dropped_by_reader_packets: Some(1), ..Summary::default() };
        totals.end(numbers[0], Outcome::Failed, &summary);
        totals.end(numbers[2], Outcome::Complete, &Summary::default());
        let counts = totals.counts();
        assert_eq!((counts.open, counts.ended(), counts.failed, counts.complete), (1, 2, 1, 1));
        assert_eq!((counts.datagrams, counts.bytes, not_written(counts)), (5, 500, [2, 0, 1]));
        let open: Vec<String> = totals.gauges().into_values().map(|one| one.peer).collect();
        assert_eq!(open, ["peer 1"]);
    }

    /// Two peers that claim to have lost 2^64 - 1 datagrams, and an honest one.
    #[test]
    fn sums_of_impossible_counts_do_not_wrap() {
        let totals = Totals::default();
        let mut before = 0;
        for lost in [u64::MAX, 5, u64::MAX] {
            let number = totals.accept();
            totals.begin(number, "peer".to_owned());
            totals.end(
                number,
                Outcome::Complete,
                &Summary { lost_packets: Some(lost), ..Summary::default() },
            );
            assert!(totals.counts().lost >= before);
            before = totals.counts().lost;
        }
        assert_eq!(before, u64::MAX);
    }

    /// Counters never go back, and the end adds the rest.
    #[test]
    fn losses_of_open_connections_count_while_they_are_open() {
        let totals = Totals::default();
        let number = totals.accept();
        totals.begin(number, "peer".to_owned());
        let sample = |lost, late| {
            totals.sample(number, Fates { lost, late, dropped: 0 }, Gauges::default());
            not_written(totals.counts())
        };
        assert_eq!(sample(1, 1), [1, 1, 0]);
        assert_eq!(sample(3, 2), [3, 2, 0]);
        let summary = Summary { lost_packets: Some(2), late_packets: Some(5), ..Summary::default() };
        totals.end(number, Outcome::Complete, &summary);
        assert_eq!(not_written(totals.counts()), [3, 5, 0]);
        assert!(totals.gauges().is_empty());
    }
}
