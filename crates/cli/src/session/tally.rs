//! The receiver's counts in the summary of a session.

use tfrc_report::record::Summary;
use tfrc_session::Tally;

/// Fills in what follows from a receiver's counts and the number of datagrams sent.
pub(crate) fn complete(tally: &Tally, sent: u64, summary: &mut Summary) {
    let arrived = tally.received.saturating_add(tally.late).saturating_add(tally.dropped);
    let lost = sent.saturating_sub(arrived);
    summary.sent_packets = Some(sent);
    summary.received_packets = Some(tally.received);
    summary.late_packets = Some(tally.late);
    summary.lost_packets = Some(lost);
    summary.dropped_by_reader_packets = Some(tally.dropped);
    summary.received_bytes = Some(tally.bytes);
    summary.loss_event_rate = tally.loss_event_rate();
    summary.packet_loss_rate = (sent > 0).then(|| as_f64(lost) / as_f64(sent));
    summary.dropped_by_reader_rate = (sent > 0).then(|| as_f64(tally.dropped) / as_f64(sent));
    if summary.duration_s > 0.0 {
        summary.goodput_bps = Some(as_f64(tally.bytes) * 8.0 / summary.duration_s);
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_is_received_late_dropped_or_lost() {
        let counts = "received 90 bytes 9000 late 3 dropped 1 loss-events 2 of 50";
        let tally: Tally = counts.parse().expect("counts");
        let mut summary = Summary { duration_s: 2.0, ..Summary::default() };
        complete(&tally, 100, &mut summary);
        assert_eq!((summary.lost_packets, summary.packet_loss_rate), (Some(6), Some(0.06)));
        assert_eq!((summary.loss_event_rate, summary.goodput_bps), (Some(0.04), Some(36_000.0)));
        assert_eq!(summary.dropped_by_reader_packets, Some(1));
    }

    /// A receiver that claims 2^64 - 1 of 76 datagrams received.
    #[test]
    fn the_sum_of_claims_does_not_wrap() {
        let most = Tally { received: u64::MAX, late: u64::MAX, dropped: u64::MAX, ..Tally::default() };
        let mut summary = Summary::default();
        complete(&most, 76, &mut summary);
        assert_eq!(summary.lost_packets, Some(0));
    }
}
