//! Sequence numbers left out on purpose (RFC 4342 §9).

use core::hash::Hasher;

use siphasher::sip::SipHasher24;

/// Sequence numbers left out on purpose, so that a receiver that acknowledges what it cannot have
/// is found out; the connection then ends with "Aggression Penalty".
///
/// NDP Count announces the gap as a packet without data: an honest receiver counts no loss. Where
/// the packet that announces it is lost too, the peer's count of datagrams sent is one too high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedNumbers {
    /// Every number is used.
    Never,
    /// One in this many datagrams on average, at unpredictable places.
    Every {
        /// Datagrams, at least 1.
        datagrams: u32,
    },
}

impl SkippedNumbers {
    /// Skips with the usual period.
    pub const USUAL: Self = Self::Every { datagrams: 256 };
}

/// When the next number is left out.
#[derive(Debug, Clone)]
pub(crate) struct Skipper {
    policy: SkippedNumbers,
    secret: u64,
    skipped: u64,
    /// Datagrams until the next skipped number.
    wait: u64,
}

impl Skipper {
    pub(crate) fn new(policy: SkippedNumbers, secret: u64) -> Self {
        let mut skipper = Self { policy, secret, skipped: 0, wait: 0 };
        skipper.wait = skipper.draw();
        skipper
    }

    /// A datagram is about to go: whether a number is left out before it.
    pub(crate) fn is_due(&mut self) -> bool {
        if self.policy == SkippedNumbers::Never {
            return false;
        }
        self.wait = self.wait.saturating_sub(1);
        if self.wait > 0 {
            return false;
        }
        self.skipped += 1;
        self.wait = self.draw();
        true
    }

    /// 1 to twice the period less one.
    fn draw(&self) -> u64 {
        let SkippedNumbers::Every { datagrams } = self.policy else { return u64::MAX };
        let mut hasher = SipHasher24::new_with_keys(self.secret, self.skipped);
        hasher.write(b"skip");
        let span = (u64::from(datagrams) * 2).saturating_sub(1).max(1);
        1 + hasher.finish() % span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn places(secret: u64) -> Vec<u32> {
        let mut skipper = Skipper::new(SkippedNumbers::USUAL, secret);
        (0..256_000).filter(|_| skipper.is_due()).collect()
    }

    #[test]
    fn one_in_the_period_where_nobody_expects_it() {
        let skipped = places(7).len();
        assert!((900..1100).contains(&skipped), "{skipped}");
        assert_ne!(places(7), places(8));
        let mut never = Skipper::new(SkippedNumbers::Never, 7);
        assert!((0..1000).all(|_| !never.is_due()));
        let mut always = Skipper::new(SkippedNumbers::Every { datagrams: 0 }, 7);
        assert!((0..10).all(|_| always.is_due()));
    }
}
