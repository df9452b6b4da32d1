//! How long a loss interval counts: for packets of the size compared with (RFC 5348 §5.3;
//! RFC 4828 §3; Widmer et al. 2004).

use tfrc_units::f64_from_u64;

use crate::config::PacketSize;
use crate::study::{ShortIntervals, SizeCorrection};

/// A loss interval as it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredInterval {
    /// N, data packets from the first loss up to the next loss event.
    pub(crate) packets: f64,
    /// K, how many of them were lost or marked.
    pub(crate) lost: u64,
    /// How long it lasted, in round-trip times; infinite if unknown.
    pub(crate) round_trips: f64,
    /// s, the mean packet size in bytes.
    pub(crate) size: f64,
}

/// Rule that turns a measured interval into the length that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LengthRule {
    /// The number of packets, N.
    Packets,
    /// RFC 4828.
    Short(ShortIntervals),
    /// A study's, measured by reports.
    ByReports,
    /// Unbiasing to packets of this size.
    Unbiased(f64),
}

impl LengthRule {
    pub(crate) fn new(packet_size: &PacketSize) -> Self {
        match *packet_size {
            PacketSize::TfrcSp(sp) if sp.short_intervals.goes_by_reports() => Self::ByReports,
            PacketSize::TfrcSp(sp) => Self::Short(sp.short_intervals),
            PacketSize::Reference { segment, correction: SizeCorrection::Unbiasing } => {
                Self::Unbiased(f64::from(segment))
            }
            PacketSize::Own | PacketSize::Reference { .. } => Self::Packets,
        }
    }

    /// The length that counts, at least 1 but by a study's rule.
    pub(crate) fn length(self, interval: &MeasuredInterval) -> f64 {
        let n = interval.packets;
        let k = f64_from_u64(interval.lost);
        let length = match self {
            Self::Packets => n,
            Self::ByReports => match ShortIntervals::length_by_reports(interval) {
                Some(length) => return length,
                None => n,
            },
            Self::Short(rule) => n / (k * counted_part(rule, interval.round_trips)).max(1.0),
            // 1/p_e = 1/p + L with L packets of size s in a round-trip time; 1/p + L·s/S is wanted
            // instead.
            Self::Unbiased(reference) => {
                let insensitive = n * (1.0 / interval.round_trips).min(1.0);
                n - insensitive * (1.0 - interval.size / reference)
            }
        };
        length.max(1.0)
    }

    /// Returns true if the open interval may be taken into the mean: in TFRC-SP only when it is no
    /// longer short (RFC 4828 §3, §4.6).
    pub(crate) fn open_counts(self, round_trips: f64) -> bool {
        match self {
            Self::Short(ShortIntervals::TwoRoundTrips) => round_trips > 2.0,
            Self::Short(ShortIntervals::Graded) => round_trips > 3.0,
            Self::Short(_) | Self::ByReports | Self::Packets | Self::Unbiased(_) => true,
        }
    }
}

/// The part of the losses that counts in an interval of this many round-trip times.
fn counted_part(rule: ShortIntervals, round_trips: f64) -> f64 {
    match rule {
        ShortIntervals::TwoRoundTrips if round_trips <= 2.0 => 1.0,
        ShortIntervals::Graded if round_trips <= 1.0 => 1.0,
        ShortIntervals::Graded if round_trips <= 2.0 => 2.0 / 3.0,
        ShortIntervals::Graded if round_trips <= 3.0 => 1.0 / 3.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TfrcSp;

    fn measured(packets: f64, lost: u64, round_trips: f64) -> MeasuredInterval {
        MeasuredInterval { packets, lost, round_trips, size: 100.0 }
    }

    fn length(rule: LengthRule, packets: f64, lost: u64, round_trips: f64) -> f64 {
        rule.length(&measured(packets, lost, round_trips))
    }

    /// RFC 4828 §3 and §4.4: K of N in at most two round-trip times are an interval of N/K, later
    /// one of N.
    #[test]
    fn short_intervals_count_every_loss() {
        let rule = LengthRule::new(&PacketSize::TfrcSp(TfrcSp::default()));
        assert_eq!(length(rule, 12.0, 4, 1.5), 3.0);
        assert_eq!(length(rule, 12.0, 4, 2.0), 3.0);
        assert_eq!(length(rule, 12.0, 4, 2.000_001), 12.0);
        assert_eq!(length(rule, 12.0, 4, f64::INFINITY), 12.0);
        assert_eq!(length(rule, 5.0, 1, 1.0), 5.0);
        assert_eq!(length(rule, 7.0, 7, 1.0), 1.0, "all lost");
        assert!(!rule.open_counts(2.0) && rule.open_counts(2.1));
    }

    /// RFC 4828 appendix C: all losses in one round-trip time, 2/3 in two, 1/3 in three, one
    /// beyond.
    #[test]
    fn the_gradual_variant() {
        let graded = TfrcSp { short_intervals: ShortIntervals::Graded, ..TfrcSp::default() };
        let rule = LengthRule::new(&PacketSize::TfrcSp(graded));
        let lengths = [1.0, 2.0, 3.0, 4.0].map(|round_trips| length(rule, 36.0, 9, round_trips));
        assert_eq!(lengths, [4.0, 6.0, 12.0, 36.0]);
        assert_eq!(length(rule, 36.0, 2, 3.0), 36.0, "a third of two losses is less than one");
        assert!(!rule.open_counts(3.0) && rule.open_counts(3.1));
    }

    /// Ten packets in each round-trip time, an interval of 60 in six of them: 1/p = 50, and 5
    /// packets of twice the size fit into the insensitive period.
    #[test]
    fn unbiasing_puts_large_packets_for_small() {
        let correction = SizeCorrection::Unbiasing;
        let rule = LengthRule::new(&PacketSize::Reference { segment: 200, correction });
        assert_eq!(length(rule, 60.0, 3, 6.0), 55.0);
        assert_eq!(
            length(rule, 4.0, 1, 0.5),
            2.0,
            "younger than a round-trip time: all of it is insensitive"
        );
        let same = LengthRule::new(&PacketSize::Reference { segment: 100, correction });
        assert_eq!(length(same, 60.0, 3, 6.0), 60.0);
    }

    #[test]
    fn without_small_packets_it_is_the_count() {
        assert_eq!(length(LengthRule::new(&PacketSize::Own), 12.0, 4, 1.0), 12.0);
        assert!(LengthRule::Packets.open_counts(0.1));
    }
}
