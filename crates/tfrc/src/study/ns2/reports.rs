//! Reports of ns-2.35's receiver: at the first packet more than a round-trip time after the last
//! one, or when a timer of one and a half expires. When the timer expires without new data, it
//! compares the last arrival with the last report, and equality is enough
//! (`docs/models/tfrc.md`). After a report that a packet has set off, both are the time of that
//! packet.

use tfrc_units::{Duration, Instant, Rate};

/// The feedback timer at the round-trip time `rtt`.
pub(crate) fn timer(rtt: Duration) -> Duration {
    rtt + rtt / 2
}

/// Returns true if the timer, expiring without data since the last report, reports all the same.
pub(crate) fn empty_is_due(last_arrival: Instant, last_report: Instant) -> bool {
    last_arrival >= last_report
}

/// X_recv in such a report: one packet, of `size` bytes, a second.
pub(crate) fn empty_receive_rate(size: f64) -> Rate {
    Rate::of(size, Duration::from_secs(1))
}
