//! The packet drop rate, for the form of the equation that uses it (RFC 4828 §4.1).

use tfrc_units::Probability;

use crate::count::{Counted, PacketCount};

/// Loss intervals that the estimate looks back over, as many as RFC 5348 §5.4 averages for p.
const INTERVALS: f64 = 8.0;

/// The fraction of packets lost over about the last eight loss intervals, where reports count
/// packets exactly: an exponentially weighted mean over 8/p packets.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DropRate {
    /// Packets and losses counted by the last report that had a count; no packets before the first.
    packets: f64,
    lost: f64,
    rate: f64,
}

impl DropRate {
    /// The estimate; `None` if reports have no count.
    pub(crate) fn get(self) -> Option<Probability> {
        (self.packets > 0.0).then(|| Probability::saturating(self.rate))
    }

    pub(crate) fn on_feedback(&mut self, count: PacketCount, p: Probability) {
        let exact = count.counted().filter(|now| now.least >= now.most && now.packets > 0.0);
        let Some(Counted { packets, least: lost, .. }) = exact else { return };
        let more = packets - self.packets;
        let rate = if self.packets > 0.0 && more > 0.0 {
            let fraction = ((lost - self.lost) / more).clamp(0.0, 1.0);
            self.rate + (more * p.get() / INTERVALS).min(1.0) * (fraction - self.rate)
        } else if self.packets > 0.0 {
            self.rate
        } else {
            lost / packets
        };
        *self = Self { packets, lost, rate };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: Probability = Probability::ONE;

    fn exact(packets: u64, lost: u64) -> PacketCount {
        PacketCount::Exact { packets, lost }
    }

    #[test]
    fn the_fraction_over_eight_intervals() {
        let p = Probability::saturating(0.04);
        let mut drops = DropRate::default();
        assert_eq!(drops.get(), None);
        drops.on_feedback(exact(100, 50), p);
        assert_eq!(drops.get().map(Probability::get), Some(0.5));
        // A quarter of the 200 packets of eight intervals.
        drops.on_feedback(exact(150, 50), p);
        assert_eq!(drops.get().map(Probability::get), Some(0.375));
        drops.on_feedback(exact(150, 50), p);
        assert_eq!(drops.get().map(Probability::get), Some(0.375), "nothing new");
    }

    #[test]
    fn what_is_not_exact_does_not_tell() {
        let mut drops = DropRate::default();
        drops.on_feedback(PacketCount::Unknown, P);
        drops.on_feedback(PacketCount::Within { packets: 9, least: 2, most: 7 }, P);
        assert_eq!(drops.get(), None);
        drops.on_feedback(PacketCount::Within { packets: 8, least: 2, most: 2 }, P);
        assert_eq!(drops.get().map(Probability::get), Some(0.25));
        drops.on_feedback(exact(16, 0), P);
        assert_eq!(drops.get().map(Probability::get), Some(0.0), "found again");
    }
}
