//! Random numbers of a test, from a seed.

/// A linear congruential generator with Knuth's constants for MMIX, of which only upper bits are
/// used. The tables of `docs/models/` that tests check were made with it.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed` alone.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    /// A number from 0 to below 1.
    pub fn uniform(&mut self) -> f64 {
        tfrc_units::f64_from_u64(self.step() >> 11) / tfrc_units::f64_from_u64(1 << 53)
    }

    /// True with probability `p`.
    pub fn happens(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// True with a probability of `n` in a thousand.
    pub const fn per_mille(&mut self, n: u64) -> bool {
        self.below(1000) < n
    }

    /// 64 bits, the upper halves of two steps.
    pub const fn bits(&mut self) -> u64 {
        let high = self.step() >> 32 << 32;
        high | self.step() >> 32
    }

    /// A whole number below `limit`, which is not zero.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// A whole number from `low` to `high`.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means within four standard deviations: 1/√12 of a uniform number, 1/2 of a bit.
    #[test]
    fn draws_are_even() {
        const DRAWS: u32 = 40_000;
        let mut random = Random::new(3);
        let mean = (0..DRAWS).map(|_| random.uniform()).sum::<f64>() / f64::from(DRAWS);
        assert!((0.494..0.506).contains(&mean), "{mean}");
        for bit in 0..64 {
            let ones = (0..DRAWS).filter(|_| random.bits() >> bit & 1 == 1).count();
            assert!((19_600..20_400).contains(&ones), "bit {bit}: {ones}");
        }
        assert!((0..DRAWS).all(|_| (5..=7).contains(&random.between(5, 7))));
    }
}
