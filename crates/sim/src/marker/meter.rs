//! Token buckets that set the drop precedence of packets.

use tfrc_units::{Instant, Rate};

use super::{ColorMode, Marker};
use crate::packet::Precedence;

/// Buckets of one aggregate.
#[derive(Debug)]
pub(crate) struct MeterBuckets {
    marker: Marker,
    /// Tokens of the committed bucket, bytes.
    committed: f64,
    /// Tokens of the excess bucket, bytes.
    excess: f64,
    /// When the buckets were filled up last.
    filled: Instant,
}

impl MeterBuckets {
    pub(crate) fn new(marker: Marker, now: Instant) -> Self {
        let (committed, excess) = match marker {
            Marker::Fixed(_) => (0.0, 0.0),
            Marker::SingleRate { cbs, ebs, .. } => (f64::from(cbs), f64::from(ebs)),
            Marker::TokenBucket { burst, .. } => (f64::from(burst), 0.0),
        };
        Self { marker, committed, excess, filled: now }
    }

    /// The colour of a packet that brings `color`.
    pub(crate) fn color(&mut self, now: Instant, size: u32, color: Precedence) -> Precedence {
        let size = f64::from(size);
        match self.marker {
            Marker::Fixed(precedence) => precedence,
            Marker::SingleRate { cir, cbs, ebs, colors } => {
                self.fill(now, cir, cbs, ebs);
                let color = match colors {
                    ColorMode::Aware => color,
                    ColorMode::Blind => Precedence::Low,
                };
                if color == Precedence::Low && self.committed >= size {
                    self.committed -= size;
                    Precedence::Low
                } else if color <= Precedence::Medium && self.excess >= size {
                    self.excess -= size;
                    Precedence::Medium
                } else {
                    Precedence::High
                }
            }
            Marker::TokenBucket { cir, burst } => {
                self.fill(now, cir, burst, 0);
                if self.committed >= size {
                    self.committed -= size;
                    Precedence::Low
                } else {
                    Precedence::Medium
                }
            }
        }
    }

    /// The committed bucket first, what it cannot hold into the excess bucket (RFC 2697 §3).
    fn fill(&mut self, now: Instant, cir: Rate, cbs: u32, ebs: u32) {
        let tokens = self.committed + cir * now.saturating_since(self.filled);
        self.filled = self.filled.max(now);
        self.committed = tokens.min(f64::from(cbs));
        self.excess = (self.excess + (tokens - self.committed)).min(f64::from(ebs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tfrc_units::Duration;

    use Precedence::{High, Low, Medium};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_token_bucket_by_hand() {
        // 1000 B/s, 2000 B: full at the start.
        let marker = Marker::TokenBucket { cir: Rate::from_bytes_per_sec(1000.0), burst: 2000 };
        let mut meter = MeterBuckets::new(marker, at(0));
        let colors = [(0, 1500), (0, 501), (0, 500), (500, 501), (500, 500), (9000, 2001), (9000, 2000)]
            .map(|(ms, size)| meter.color(at(ms), size, High));
        assert_eq!(colors, [Low, Medium, Low, Medium, Low, Medium, Low]);
    }

    #[test]
    fn single_rate_blind_by_hand() {
        let marker = Marker::SingleRate {
            cir: Rate::from_bytes_per_sec(1000.0),
            cbs: 1000,
            ebs: 2000,
            colors: ColorMode::Blind,
        };
        let mut meter = MeterBuckets::new(marker, at(0));
        // Both full: one green, two yellow, red. After 1.5 s green is full and yellow has 500.
        let first = [1000, 1000, 1000, 1].map(|size| meter.color(at(0), size, High));
        assert_eq!(first, [Low, Medium, Medium, High]);
        let later = [501, 500, 500, 499].map(|size| meter.color(at(1500), size, High));
        assert_eq!(later, [Low, Medium, High, Low]);
    }

    #[test]
    fn single_rate_aware_never_improves() {
        let marker = Marker::SingleRate {
            cir: Rate::from_bytes_per_sec(1000.0),
            cbs: 1000,
            ebs: 1000,
            colors: ColorMode::Aware,
        };
        let mut meter = MeterBuckets::new(marker, at(0));
        let colors = [(500, High), (600, Medium), (600, Medium), (1000, Low), (400, Low), (1, Low)]
            .map(|(size, color)| meter.color(at(0), size, color));
        assert_eq!(colors, [High, Medium, High, Low, Medium, High]);
    }

    proptest! {
        /// Over any stretch no more goes in profile than the bucket and the rate give, and what
        /// goes out would not have fit.
        #[test]
        fn tokens_are_conserved(
            rate in 1.0f64..1e6,
            burst in 0u32..20_000,
            packets in prop::collection::vec((0u64..50, 1u32..3000), 1..200),
        ) {
            let mut meter = MeterBuckets::new(Marker::TokenBucket { cir: Rate::from_bytes_per_sec(rate), burst }, at(0));
            let (mut now, mut taken, mut tokens, mut last) = (0, 0.0, f64::from(burst), 0);
            for (gap, size) in packets {
                now += gap;
                tokens = (tokens + rate * tfrc_units::f64_from_u64(now - last) / 1000.0).min(f64::from(burst));
                last = now;
                let color = meter.color(at(now), size, Low);
                let size = f64::from(size);
                if color == Low {
                    taken += size;
                    tokens -= size;
                    prop_assert!(tokens >= -1e-3);
                } else {
                    prop_assert!(tokens < size + 1e-3);
                }
                prop_assert!(taken <= f64::from(burst) + rate * tfrc_units::f64_from_u64(now) / 1000.0 + 1e-3);
            }
        }

        /// The green volume does not depend on the excess bucket, and green plus yellow is bounded
        /// by both buckets.
        #[test]
        fn excess_never_costs_green(
            rate in 1.0f64..1e5,
            cbs in 0u32..10_000,
            ebs in 0u32..10_000,
            packets in prop::collection::vec((0u64..50, 1u32..3000), 1..200),
        ) {
            let cir = Rate::from_bytes_per_sec(rate);
            let mut three =
                MeterBuckets::new(Marker::SingleRate { cir, cbs, ebs, colors: ColorMode::Blind }, at(0));
            let mut two = MeterBuckets::new(Marker::TokenBucket { cir, burst: cbs }, at(0));
            let (mut now, mut passed) = (0, 0.0);
            for (gap, size) in packets {
                now += gap;
                let color = three.color(at(now), size, Low);
                prop_assert_eq!(color == Low, two.color(at(now), size, Low) == Low);
                if color != High {
                    passed += f64::from(size);
                }
                let bound = f64::from(cbs) + f64::from(ebs) + rate * tfrc_units::f64_from_u64(now) / 1000.0;
                prop_assert!(passed <= bound + 1e-3);
            }
        }
    }
}
