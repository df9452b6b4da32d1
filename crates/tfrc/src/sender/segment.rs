//! s, the segment size (RFC 5348 §4.1); s_true where the equation has a size of its own
//! (RFC 4828 §3).

use tfrc_units::f64_from_u64;

use crate::config::SegmentSize;
use crate::ring::Ring;

#[derive(Debug, Clone, Copy, Default)]
struct IntervalTotal {
    bytes: u64,
    packets: u64,
}

/// The mean packet size over the current and the last four loss intervals, as the sender learns of
/// them.
#[derive(Debug, Clone)]
pub(crate) struct MeanSegment {
    policy: SegmentSize,
    current: IntervalTotal,
    past: Ring<IntervalTotal, 4>,
    /// The sum of `past`.
    older: IntervalTotal,
    /// s, bytes.
    mean: f64,
    /// `mean` where it is a whole number of bytes: a packet of this size does not move it.
    whole: Option<u32>,
}

/// Change that a packet made to s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum MeanChange {
    Moved { from: f64 },
    Same,
}

impl MeanSegment {
    pub(crate) fn new(policy: SegmentSize) -> Self {
        let (current, older) = (IntervalTotal::default(), IntervalTotal::default());
        Self { policy, current, past: Ring::new(), older, mean: f64::from(policy.initial()), whole: None }
    }

    pub(crate) fn on_sent(&mut self, size: u32) -> MeanChange {
        self.current.bytes += u64::from(size);
        self.current.packets += 1;
        if self.whole == Some(size) {
            return MeanChange::Same;
        }
        let before = self.mean;
        self.settle();
        if self.mean == before { MeanChange::Same } else { MeanChange::Moved { from: before } }
    }

    /// Feedback reports a new loss event.
    pub(crate) fn on_loss_event(&mut self) {
        if self.current.packets > 0 {
            self.past.push(self.current);
            self.current = IntervalTotal::default();
            self.older = self.past.iter().fold(IntervalTotal::default(), |sum, tally| IntervalTotal {
                bytes: sum.bytes + tally.bytes,
                packets: sum.packets + tally.packets,
            });
            self.settle();
        }
    }

    /// s in bytes, at least 1.
    pub(crate) const fn bytes(&self) -> f64 {
        self.mean
    }

    fn settle(&mut self) {
        let packets = self.older.packets + self.current.packets;
        if let (SegmentSize::Mean { .. }, 1..) = (self.policy, packets) {
            let bytes = self.older.bytes + self.current.bytes;
            self.mean = (f64_from_u64(bytes) / f64_from_u64(packets)).max(1.0);
            self.whole =
                if bytes.is_multiple_of(packets) { u32::try_from(bytes / packets).ok() } else { None };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_over_the_last_four_loss_intervals() {
        let mut segment = MeanSegment::new(SegmentSize::Mean { initial: 1460 });
        assert_eq!(segment.bytes(), 1460.0);
        segment.on_sent(100);
        segment.on_sent(300);
        assert_eq!(segment.bytes(), 200.0);
        for _ in 0..4 {
            segment.on_loss_event();
            segment.on_sent(1000);
            segment.on_sent(1000);
        }
        assert_eq!(segment.bytes(), 840.0);
        segment.on_loss_event();
        assert_eq!(segment.bytes(), 1000.0, "the interval of 200 is a fifth back now");
        segment.on_loss_event();
        assert_eq!(segment.bytes(), 1000.0, "an interval without packets does not count");
    }

    #[test]
    fn a_fixed_size_stays() {
        let mut segment = MeanSegment::new(SegmentSize::Fixed(500));
        segment.on_sent(100);
        assert_eq!(segment.bytes(), 500.0);
    }
}
