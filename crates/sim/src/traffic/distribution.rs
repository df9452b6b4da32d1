//! Random lengths, times and numbers, by the inverse of their distribution function.

use core::fmt;

use crate::Stream;

/// A distribution of numbers from 0 on; the unit is its user's.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Pareto: from `mean`·(shape − 1)/shape on.
    Pareto {
        /// The mean.
        mean: f64,
        /// The exponent of its tail, above 1.
        shape: f64,
    },
    /// Pareto of the second kind, from 0 on (ns-2's `ParetoII`, docs/ns2-facts.md §5).
    ParetoII {
        /// The mean.
        mean: f64,
        /// The exponent of its tail, above 1.
        shape: f64,
    },
    /// Uniform.
    Uniform {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
    },
}

/// Why a distribution makes no sense.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum DistributionError {
    /// A number is negative or not finite.
    NotANumber(f64),
    /// A Pareto distribution with this shape has no mean: give one above 1.
    Shape(f64),
    /// The least is above the greatest.
    Order(f64, f64),
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber(x) => write!(f, "{x} is not a finite number from 0 on"),
            Self::Shape(x) => {
                write!(f, "a Pareto distribution of shape {x} has no mean: give a shape above 1")
            }
            Self::Order(low, high) => {
                write!(f, "the least, {low}, is above the greatest, {high}: exchange them")
            }
        }
    }
}

impl core::error::Error for DistributionError {}

impl Distribution {
    /// Checks the parameters. A distribution that fails still gives numbers, without meaning.
    ///
    /// # Errors
    /// [`DistributionError`].
    pub fn check(self) -> Result<Self, DistributionError> {
        let number =
            |x: f64| if x.is_finite() && x >= 0.0 { Ok(()) } else { Err(DistributionError::NotANumber(x)) };
        match self {
            Self::Constant(x) | Self::Exponential { mean: x } => number(x)?,
            Self::Pareto { mean, shape } | Self::ParetoII { mean, shape } => {
                number(mean)?;
                number(shape)?;
                if shape <= 1.0 {
                    return Err(DistributionError::Shape(shape));
                }
            }
            Self::Uniform { low, high } => {
                number(low)?;
                number(high)?;
                if low > high {
                    return Err(DistributionError::Order(low, high));
                }
            }
        }
        Ok(self)
    }

    /// The mean.
    #[must_use]
    pub const fn mean(self) -> f64 {
        match self {
            Self::Constant(x) => x,
            Self::Exponential { mean } | Self::Pareto { mean, .. } | Self::ParetoII { mean, .. } => mean,
            Self::Uniform { low, high } => f64::midpoint(low, high),
        }
    }

    /// The distribution of this form with another mean; a uniform one keeps the ratio of its
    /// bounds.
    #[must_use]
    pub fn with_mean(self, mean: f64) -> Self {
        match self {
            Self::Constant(_) => Self::Constant(mean),
            Self::Exponential { .. } => Self::Exponential { mean },
            Self::Pareto { shape, .. } => Self::Pareto { mean, shape },
            Self::ParetoII { shape, .. } => Self::ParetoII { mean, shape },
            Self::Uniform { low, high } => {
                let sum = low + high;
                if sum > 0.0 {
                    Self::Uniform { low: 2.0 * mean * low / sum, high: 2.0 * mean * high / sum }
                } else {
                    Self::Constant(mean)
                }
            }
        }
    }

    /// A number. One draw, also for a constant.
    pub fn sample(self, stream: &mut Stream) -> f64 {
        let u = stream.uniform();
        match self {
            Self::Constant(x) => x,
            Self::Exponential { mean } => -mean * libm::log(u),
            Self::Pareto { mean, shape } => mean * (shape - 1.0) / shape * libm::pow(u, -1.0 / shape),
            Self::ParetoII { mean, shape } => mean * (shape - 1.0) * (libm::pow(u, -1.0 / shape) - 1.0),
            Self::Uniform { low, high } => low + (high - low) * u,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn another_mean_keeps_the_form() {
        for distribution in [
            Distribution::Constant(2.0),
            Distribution::Exponential { mean: 2.0 },
            Distribution::Pareto { mean: 2.0, shape: 3.0 },
            Distribution::ParetoII { mean: 2.0, shape: 3.0 },
            Distribution::Uniform { low: 1.0, high: 3.0 },
        ] {
            let changed = distribution.with_mean(0.5);
            assert!((changed.mean() - 0.5).abs() < 1e-12, "{changed:?}");
            assert_eq!(core::mem::discriminant(&changed), core::mem::discriminant(&distribution));
            assert_eq!(changed.with_mean(2.0), distribution);
        }
        let none = Distribution::Uniform { low: 0.0, high: 0.0 };
        assert_eq!(none.with_mean(1.0), Distribution::Constant(1.0));
    }

    #[test]
    fn means_and_tails() {
        // Shapes of 3 have a variance, so five standard errors of the mean bound it; P(X > x) at
        // three times the mean.
        let n = 200_000;
        for (distribution, deviation, tail) in [
            (Distribution::Constant(2.0), 0.0, 0.0),
            (Distribution::Exponential { mean: 2.0 }, 2.0, libm::exp(-3.0)),
            (Distribution::Pareto { mean: 2.0, shape: 3.0 }, 1.1547, libm::pow(4.0 / 3.0 / 6.0, 3.0)),
            (Distribution::ParetoII { mean: 2.0, shape: 3.0 }, 3.4641, libm::pow(1.0 + 6.0 / 4.0, -3.0)),
            (Distribution::Uniform { low: 1.0, high: 3.0 }, 0.57735, 0.0),
        ] {
            let mut stream = Seed(3).stream("distribution");
            let (mut sum, mut beyond) = (0.0, 0.0);
            for _ in 0..n {
                let x = distribution.sample(&mut stream);
                sum += x;
                beyond += f64::from(u8::from(x > 6.0));
            }
            let n = f64::from(n);
            assert!(
                (sum / n - 2.0).abs() <= 5.0 * deviation / libm::sqrt(n) + 1e-9,
                "{distribution:?} {}",
                sum / n
            );
            let error = 5.0 * libm::sqrt(tail * (1.0 - tail) / n);
            assert!((beyond / n - tail).abs() <= error, "{distribution:?} {} {tail}", beyond / n);
        }
    }

    #[test]
    fn what_makes_no_sense() {
        assert_eq!(
            Distribution::Pareto { mean: 1.0, shape: 1.0 }.check(),
            Err(DistributionError::Shape(1.0))
        );
        assert_eq!(Distribution::Constant(-1.0).check(), Err(DistributionError::NotANumber(-1.0)));
        assert_eq!(
            Distribution::Uniform { low: 2.0, high: 1.0 }.check(),
            Err(DistributionError::Order(2.0, 1.0))
        );
        assert!(Distribution::Exponential { mean: 0.0 }.check().is_ok());
    }
}
