//! Distributions as text: a single value, or `uniform LOW HIGH`, `exponential MEAN`, `pareto MEAN SHAPE`,
//! `pareto-ii MEAN SHAPE`.

use tfrc_sim::traffic::Distribution;
use tfrc_units::f64_from_u64;
use tfrc_units::text::{self, TextError};

/// A distribution of times, in seconds.
pub(super) fn seconds(written: &str) -> Result<Distribution, String> {
    read(written, "0.5s", |w| text::time(w).map(|t| t.as_secs_f64()).map_err(said))
}

/// A distribution of sizes, in bytes.
pub(super) fn sizes(written: &str) -> Result<Distribution, String> {
    read(written, "1460B", |w| text::size(w).map(f64_from_u64).map_err(said))
}

/// A distribution of rates, in bytes per second.
pub(super) fn rates(written: &str) -> Result<Distribution, String> {
    read(written, "1Mbit/s", |w| text::rate(w).map(|r| r.bytes_per_sec()).map_err(said))
}

/// A distribution of numbers.
pub(super) fn plain(written: &str) -> Result<Distribution, String> {
    read(written, "3", |w| w.parse().map_err(|_| format!("`{w}` is no number")))
}

fn said(error: TextError) -> String {
    format!("expected {}", error.expected)
}

fn read(
    written: &str,
    example: &str,
    value: impl Fn(&str) -> Result<f64, String>,
) -> Result<Distribution, String> {
    let parts: Vec<&str> = written.split_whitespace().collect();
    let number = |w: &str| w.parse().map_err(|_| format!("`{w}` is no number"));
    let distribution = match parts[..] {
        ["uniform", low, high] => Distribution::Uniform { low: value(low)?, high: value(high)? },
        ["exponential", mean] => Distribution::Exponential { mean: value(mean)? },
        ["pareto", mean, shape] => Distribution::Pareto { mean: value(mean)?, shape: number(shape)? },
        ["pareto-ii", mean, shape] => Distribution::ParetoII { mean: value(mean)?, shape: number(shape)? },
        ["uniform" | "exponential" | "pareto" | "pareto-ii", ..] => {
            return Err(format!(
                "possible: `{example}`, `uniform LOW HIGH`, `exponential MEAN`, `pareto MEAN SHAPE`, `pareto-ii MEAN SHAPE`"
            ));
        }
        _ => Distribution::Constant(value(written.trim())?),
    };
    distribution.check().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form() {
        assert_eq!(seconds("50ms"), Ok(Distribution::Constant(0.05)));
        assert_eq!(seconds("uniform 0s 5s"), Ok(Distribution::Uniform { low: 0.0, high: 5.0 }));
        assert_eq!(seconds("exponential 1s"), Ok(Distribution::Exponential { mean: 1.0 }));
        assert_eq!(rates("uniform 0bit/s 1Mbit/s"), Ok(Distribution::Uniform { low: 0.0, high: 125e3 }));
        assert_eq!(sizes("pareto 12kB 1.2"), Ok(Distribution::Pareto { mean: 12e3, shape: 1.2 }));
        assert_eq!(plain("pareto-ii 12 1.2"), Ok(Distribution::ParetoII { mean: 12.0, shape: 1.2 }));
        assert!(seconds("uniform 5s").is_err() && seconds("uniform 5s 1s").is_err());
        assert!(sizes("pareto 1kB 0.9").is_err() && plain("a few").is_err());
    }
}
