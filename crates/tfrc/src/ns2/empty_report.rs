//! The report without new data: when the timer of ns-2.35's receiver expires it compares the last
//! arrival with the last report, and equality is enough (`docs/models/tfrc.md`). After a report
//! that a packet has set off, both are the time of that packet.

use tfrc_units::{Duration, Instant, Rate};

/// Returns true if the timer, expiring without data since the last report, reports all the same.
pub(crate) fn is_due(last_arrival: Instant, last_report: Instant) -> bool {
    last_arrival >= last_report
}

/// X_recv in such a report: one packet, of `size` bytes, a second.
pub(crate) fn receive_rate(size: f64) -> Rate {
    Rate::of(size, Duration::from_secs(1))
}
