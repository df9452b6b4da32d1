use tfrc_units::{Duration, f64_from_u64};

/// What a link has done since the start of the run.
///
/// `arrivals` = `lost` + `overflowed` + `departures` + `queued` at every moment, and the same in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Time since the start of the run.
    pub elapsed: Duration,
    /// Packets that came to the link.
    pub arrivals: Tally,
    /// Packets its loss model took.
    pub lost: Tally,
    /// Packets its queue had no place for.
    pub overflowed: Tally,
    /// Packets whose last bit has left.
    pub departures: Tally,
    /// Packets that have reached the far end.
    pub crossed: Tally,
    /// Packets that wait or are in transmission now.
    pub queued: Tally,
    /// Time the line was transmitting.
    pub busy: Duration,
    /// Waiting times added up over all packets, in nanoseconds: the integral of the number of waiting packets.
    /// The packet in transmission does not wait.
    pub waited_ns: u128,
}

/// A number of packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl LinkStats {
    /// What happened after `earlier` was taken; `queued` stays what it is now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
            arrivals: self.arrivals.minus(earlier.arrivals),
            lost: self.lost.minus(earlier.lost),
            overflowed: self.overflowed.minus(earlier.overflowed),
            departures: self.departures.minus(earlier.departures),
            crossed: self.crossed.minus(earlier.crossed),
            queued: self.queued,
            busy: self.busy.saturating_sub(earlier.busy),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }

    /// Share of the time the line was transmitting, 0..=1; 0 over no time.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        ratio(self.busy.as_nanos(), self.elapsed.as_nanos())
    }

    /// Share of the arriving packets that were dropped, by the loss model or by the queue; 0 if none arrived.
    #[must_use]
    pub fn drop_rate(&self) -> f64 {
        ratio(self.lost.packets.saturating_add(self.overflowed.packets), self.arrivals.packets)
    }

    /// Time average of the number of packets that wait behind the one in transmission; 0 over no time.
    #[must_use]
    pub fn mean_queue_packets(&self) -> f64 {
        ratio(u64::try_from(self.waited_ns).unwrap_or(u64::MAX), self.elapsed.as_nanos())
    }
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets = self.packets.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::from(size));
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(other.packets),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { f64_from_u64(a) / f64_from_u64(b) }
}
