//! Paths that do not leave ECN codepoints unchanged, as RFC 9000 §13.4.2 looks for them.

use tfrc_units::Ecn;

/// A path's treatment of ECN codepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EcnFault {
    /// It marks every packet, congested or not.
    AllMarked,
    /// It clears every codepoint, marks included.
    Cleared,
    /// It drops the packets with a codepoint, as far as the handshake shows: those that we send.
    Dropped,
}

/// The codepoints of the latest packets, all of which were sent with ECT.
#[derive(Debug, Clone, Copy, Default)]
pub struct EcnWatch {
    /// Packets in a row with the same fault.
    run: u32,
    latest: Option<EcnFault>,
    /// An ECT codepoint has arrived as it was sent.
    worked: bool,
    fault: Option<EcnFault>,
}

/// Packets with the same fault at the beginning that show it: as many as RFC 9000 §13.4.2 tests
/// with.
const AT_FIRST: u32 = 10;
/// Later on, for a full queue may mark some round-trip times' worth in a row.
const LATER: u32 = 100;

impl EcnWatch {
    /// Takes in the codepoint with which a packet arrived. Returns true if it shows a fault, which
    /// happens once.
    pub fn on_packet(&mut self, ecn: Ecn) -> bool {
        let seen = match ecn {
            Ecn::Ce => Some(EcnFault::AllMarked),
            Ecn::NotEct => Some(EcnFault::Cleared),
            Ecn::Ect0 | Ecn::Ect1 => None,
        };
        self.worked |= seen.is_none();
        self.run = if seen == self.latest { self.run.saturating_add(1) } else { 1 };
        self.latest = seen;
        let enough = self.run >= if self.worked { LATER } else { AT_FIRST };
        if self.fault.is_some() || seen.is_none() || !enough {
            return false;
        }
        self.fault = seen;
        true
    }

    /// The fault that was found.
    #[must_use]
    pub const fn fault(&self) -> Option<EcnFault> {
        self.fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of packets after which a fault is found.
    fn found(codepoints: impl IntoIterator<Item = Ecn>) -> Option<usize> {
        let mut watch = EcnWatch::default();
        codepoints.into_iter().position(|ecn| watch.on_packet(ecn)).map(|at| at + 1)
    }

    #[test]
    fn ten_at_first_and_a_hundred_later() {
        assert_eq!(found([Ecn::Ce; 500]), Some(10));
        assert_eq!(found([Ecn::NotEct; 500]), Some(10));
        assert_eq!(found([Ecn::Ect0; 500]), None);
        let later = core::iter::once(Ecn::Ect0).chain([Ecn::Ce; 500]);
        assert_eq!(found(later), Some(101));
        let mixed = (0..500).map(|n| if n % 10 == 9 { Ecn::Ect0 } else { Ecn::Ce });
        assert_eq!(found(mixed), None, "nine marks in ten are congestion");
        let both = (0..500).map(|n| if n % 9 == 8 { Ecn::NotEct } else { Ecn::Ce });
        assert_eq!(found(both), None);
    }
}
