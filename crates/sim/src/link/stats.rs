//! Counters of links, in total and by flow.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, Serialize};
use tfrc_units::{Duration, f64_from_u64, saturating};

use crate::packet::{Header, PacketCount, Precedence};

/// Counters of a link since the start of the run.
///
/// `arrivals` = `lost` + `overflowed` + `departures` + `queued` at every moment, and the same in
/// bytes. Of the `departures` some are still propagating; the others have `crossed` or were
/// `corrupted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize))]
pub struct LinkStats {
    /// Time since the start of the run.
    #[cfg_attr(feature = "schema", serde(with = "tfrc_units::schema::nanoseconds"))]
    pub elapsed: Duration,
    /// Packets that came to the link.
    pub arrivals: PacketCount,
    /// Packets its loss models took before the queue.
    pub lost: PacketCount,
    /// Packets its queue dropped, for want of place or early.
    pub overflowed: PacketCount,
    /// Those of them that it dropped by active queue management.
    pub early: PacketCount,
    /// Packets its queue marked instead of dropping them, or a loss model did.
    pub marked: PacketCount,
    /// Packets whose last bit has left.
    pub departures: PacketCount,
    /// Packets that have reached the far end.
    pub crossed: PacketCount,
    /// Packets its loss models took at the far end.
    pub corrupted: PacketCount,
    /// Packets that were held up for reordering.
    pub reordered: PacketCount,
    /// Copies that its duplication made; they are in no other counter.
    pub duplicated: PacketCount,
    /// Packets that wait or are in transmission now.
    pub queued: PacketCount,
    /// Bytes that the trace of the line has allowed; `None` for a line of constant rate.
    pub capacity: Option<u64>,
    /// Time the line was transmitting. By a trace a packet that fits into one opportunity takes
    /// none.
    #[cfg_attr(feature = "schema", serde(with = "tfrc_units::schema::nanoseconds"))]
    pub busy: Duration,
    /// Waiting times added up over all packets, in nanoseconds: the integral of the number of
    /// waiting packets. The packet in transmission does not wait.
    pub waited_ns: u128,
}

/// Counters of a link for the packets of one flow, since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize))]
pub struct FlowStats {
    /// Packets that came to the link.
    pub arrivals: PacketCount,
    /// Packets dropped, by loss models or by the queue.
    pub dropped: PacketCount,
    /// Packets marked, and their bytes.
    pub marked: PacketCount,
    /// Those of `arrivals` of low drop precedence behind the markers of this link: in profile.
    pub in_profile: PacketCount,
    /// Those of `dropped` that were in profile.
    pub in_profile_dropped: PacketCount,
}

impl LinkStats {
    /// Returns the counts made after `earlier` was taken; `queued` keeps its present value.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
            arrivals: self.arrivals.minus(earlier.arrivals),
            lost: self.lost.minus(earlier.lost),
            overflowed: self.overflowed.minus(earlier.overflowed),
            departures: self.departures.minus(earlier.departures),
            crossed: self.crossed.minus(earlier.crossed),
            early: self.early.minus(earlier.early),
            marked: self.marked.minus(earlier.marked),
            corrupted: self.corrupted.minus(earlier.corrupted),
            reordered: self.reordered.minus(earlier.reordered),
            duplicated: self.duplicated.minus(earlier.duplicated),
            queued: self.queued,
            capacity: self
                .capacity
                .zip(earlier.capacity)
                .map(|(later, earlier)| later.saturating_sub(earlier)),
            busy: self.busy.saturating_sub(earlier.busy),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }

    /// Share of the time the line was transmitting, 0..=1; 0 over no time. By a trace it is the
    /// share of the allowed bytes that were used, where a packet counts with its last byte.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        match self.capacity {
            Some(allowed) => ratio(self.departures.bytes, allowed).min(1.0),
            None => ratio(self.busy.as_nanos(), self.elapsed.as_nanos()),
        }
    }

    /// Share of the arriving packets that were dropped, by loss models or by the queue; 0 if none
    /// arrived.
    #[must_use]
    pub fn drop_rate(&self) -> f64 {
        let dropped = self.lost.plus(self.overflowed).plus(self.corrupted);
        ratio(dropped.packets, self.arrivals.packets)
    }

    /// Time average of the number of packets that wait behind the one in transmission; 0 over no
    /// time.
    #[must_use]
    pub fn mean_queue_packets(&self) -> f64 {
        ratio(saturating::<u64>(self.waited_ns), self.elapsed.as_nanos())
    }
}

impl FlowStats {
    /// Returns the counts made after `earlier` was taken.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            arrivals: self.arrivals.minus(earlier.arrivals),
            dropped: self.dropped.minus(earlier.dropped),
            marked: self.marked.minus(earlier.marked),
            in_profile: self.in_profile.minus(earlier.in_profile),
            in_profile_dropped: self.in_profile_dropped.minus(earlier.in_profile_dropped),
        }
    }

    pub(crate) fn drop(&mut self, header: &Header) {
        self.dropped.add(header.size);
        if header.precedence == Precedence::Low {
            self.in_profile_dropped.add(header.size);
        }
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { f64_from_u64(a) / f64_from_u64(b) }
}
