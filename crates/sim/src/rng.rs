//! Named streams of random numbers, all from one seed.

use rand_core::Rng;
use rand_pcg::Pcg64Dxsm;
use tfrc_units::hash::{fnv1a, splitmix64 as mix};
use tfrc_units::{Probability, f64_from_u64};

/// The one seed of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seed(
    /// The seed, any number.
    pub u64,
);

impl Seed {
    /// The random stream of the component called `name`.
    ///
    /// It depends on the seed and on the name alone, so a component added to a network changes no
    /// other draws.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        let name = fnv1a(name.as_bytes());
        let state = wide(mix(self.0), mix(self.0 ^ mix(name)));
        let stream = wide(name, mix(name));
        Stream(Pcg64Dxsm::new(state, stream))
    }
}

/// A stream of random numbers; equal on every platform.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64Dxsm);

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in the open interval (0, 1), of 2^52 equidistant ones.
    pub fn uniform(&mut self) -> f64 {
        (f64_from_u64(self.bits() >> 12) + 0.5) / 4_503_599_627_370_496.0
    }

    /// Returns true with probability `p`. One draw, whatever `p` is.
    pub fn happens(&mut self, p: Probability) -> bool {
        self.uniform() < p.get()
    }
}

fn wide(high: u64, low: u64) -> u128 {
    (u128::from(high) << 64) | u128::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name() {
        let first = |seed: u64, name: &str| Seed(seed).stream(name).bits();
        assert_eq!(first(1, "link/a/loss"), first(1, "link/a/loss"));
        assert_ne!(first(1, "link/a/loss"), first(1, "link/b/loss"));
        assert_ne!(first(1, "link/a/loss"), first(2, "link/a/loss"));
    }

    #[test]
    fn fixed_for_ever() {
        // Published runs are repeated from their seed: these numbers must not change.
        let mut s = Seed(42).stream("golden");
        assert_eq!([s.bits(), s.bits()], GOLDEN);
    }

    const GOLDEN: [u64; 2] = [0xea34_8531_cd51_d315, 0xa8df_3d15_6ce0_e919];

    #[test]
    fn uniform_has_the_right_mean_and_spread() {
        let mut s = Seed(7).stream("uniform");
        let n = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let u = s.uniform();
            assert!(u > 0.0 && u < 1.0);
            sum += u;
            squares += u * u;
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        // Five standard errors: sqrt(1/12/n) = 6.5e-4; the variance's is sqrt(1/180/n) = 1.7e-4.
        assert!((mean - 0.5).abs() < 3.3e-3, "mean {mean}");
        assert!((variance - 1.0 / 12.0).abs() < 8.5e-4, "variance {variance}");
    }

    #[test]
    fn streams_of_neighbouring_names_are_not_correlated() {
        let mut a = Seed(1).stream("link/1");
        let mut b = Seed(1).stream("link/2");
        let n = 100_000;
        let product: f64 = (0..n).map(|_| (a.uniform() - 0.5) * (b.uniform() - 0.5)).sum();
        // Standard deviation of the mean product is 1/12/sqrt(n) = 2.6e-4.
        assert!((product / f64::from(n)).abs() < 1.3e-3);
    }
}
