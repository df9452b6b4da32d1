//! Losses and lengths in packets of the size compared with: virtual packets and random sampling
//! (Widmer et al. 2004), drop rate (Vasallo 2000).

use tfrc_units::hash::{GOLDEN_STEP, finalise};

use crate::config::PacketSize;
use crate::study::SizeCorrection;

/// How packets become units.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// Every `reference` bytes lost are a unit lost.
    Gathered,
    /// Every `reference` bytes in order are a unit, lost if a part is.
    InOrder,
    /// A packet is a unit or nothing.
    Sampled { seed: u64 },
}

/// The units lost so far, and the rule. Those received are counted by [`Units::received`], one sum
/// over all packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Units {
    rule: Rule,
    reference: f64,
    /// Units lost in the interval.
    lost: f64,
    /// Part of a unit that is lost but not yet a whole one.
    pending: f64,
    /// The unit lost last, where they are numbered.
    last: Option<f64>,
}

impl Units {
    /// `None` if packets themselves are counted.
    pub(crate) fn new(packet_size: &PacketSize) -> Option<Self> {
        let PacketSize::Reference { segment, correction } = *packet_size else { return None };
        let rule = match correction {
            SizeCorrection::VirtualPackets | SizeCorrection::DropRate => Rule::Gathered,
            SizeCorrection::VirtualPacketsByteMode => Rule::InOrder,
            SizeCorrection::RandomSampling { seed } => Rule::Sampled { seed },
            SizeCorrection::Uncorrected | SizeCorrection::Unbiasing | SizeCorrection::LipScaling => {
                return None;
            }
        };
        Some(Self { rule, reference: f64::from(segment), lost: 0.0, pending: 0.0, last: None })
    }

    /// This rule before any packet.
    pub(crate) const fn emptied(self) -> Self {
        Self { lost: 0.0, pending: 0.0, last: None, ..self }
    }

    /// Units in a packet that arrived.
    pub(crate) fn received(&self, seq: u64, size: f64) -> f64 {
        match self.rule {
            Rule::Gathered | Rule::InOrder => size / self.reference,
            Rule::Sampled { seed } => {
                if keeps(seed, seq, size / self.reference) {
                    (size / self.reference).max(1.0)
                } else {
                    0.0
                }
            }
        }
    }

    /// A packet was lost after `received` units had arrived. Where the unit begins that is lost
    /// with it, if one is.
    pub(crate) fn lose(&mut self, seq: u64, size: f64, received: f64) -> Option<f64> {
        let part = size / self.reference;
        let position = received + self.lost;
        match self.rule {
            Rule::Gathered => {
                self.pending += part;
                let whole = libm::floor(self.pending);
                self.pending -= whole;
                self.lost += whole;
                (whole >= 1.0).then_some(position)
            }
            Rule::InOrder => {
                self.lost += part;
                let unit = libm::floor(position);
                let new = self.last.is_none_or(|last| unit > last);
                self.last = Some(unit);
                new.then_some(unit)
            }
            Rule::Sampled { seed } => keeps(seed, seq, part).then(|| {
                self.lost += part.max(1.0);
                position
            }),
        }
    }

    /// All units so far, `received` of them received.
    pub(crate) fn total(&self, received: f64) -> f64 {
        received + self.lost
    }
}

/// Returns true if a packet is in the sample: its sequence number alone decides, so that nothing
/// need be remembered.
fn keeps(seed: u64, seq: u64, chance: f64) -> bool {
    let x = finalise(seq.wrapping_mul(GOLDEN_STEP).wrapping_add(seed));
    tfrc_units::f64_from_u64(x >> 11) < chance * 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn units(correction: SizeCorrection) -> Units {
        let packet_size = PacketSize::Reference { segment: 1000, correction };
        let Some(units) = Units::new(&packet_size) else { panic!("counts units") };
        units
    }

    #[test]
    fn gathered_bytes_make_virtual_packets() {
        let mut u = units(SizeCorrection::VirtualPackets);
        assert_eq!(u.received(7, 250.0), 0.25);
        let lost: Vec<_> = (0..6).map(|seq| u.lose(seq, 400.0, 10.0)).collect();
        assert_eq!(lost, [None, None, Some(10.0), None, Some(11.0), None], "1200, 2000 and 2400 bytes");
        assert_eq!(u.total(10.0), 12.0);
        assert_eq!(u.lose(9, 3600.0, 20.0), Some(22.0), "four units in one go");
        assert_eq!(u.total(20.0), 26.0);
    }

    #[test]
    fn in_order_a_unit_is_lost_once() {
        let mut u = units(SizeCorrection::VirtualPacketsByteMode);
        assert_eq!(u.lose(0, 250.0, 4.5), Some(4.0), "bytes 4500 to 4750 lie in the fifth unit");
        assert_eq!(u.lose(1, 250.0, 4.5), None);
        assert_eq!(u.lose(2, 250.0, 4.5), Some(5.0));
        assert_eq!(u.total(4.5), 5.25);
    }

    #[test]
    fn a_sample_is_a_part() {
        let mut u = units(SizeCorrection::RandomSampling { seed: 7 });
        let kept = (0..100_000).filter(|seq| u.received(*seq, 100.0) > 0.0).count();
        assert!((9_700..10_300).contains(&kept), "{kept} of 100,000 at one in ten");
        for seq in 0..1000 {
            let kept = u.received(seq, 100.0) > 0.0;
            assert_eq!(u.lose(seq, 100.0, 0.0).is_some(), kept, "lost or not, the same packets count");
        }
        assert_eq!(u.received(5, 2000.0), 2.0, "a packet larger than the reference is more than one");
    }

    #[test]
    fn other_corrections_count_packets() {
        for correction in [SizeCorrection::Uncorrected, SizeCorrection::Unbiasing, SizeCorrection::LipScaling]
        {
            assert_eq!(Units::new(&PacketSize::Reference { segment: 1000, correction }), None);
        }
        assert_eq!(Units::new(&PacketSize::Own), None);
    }
}
