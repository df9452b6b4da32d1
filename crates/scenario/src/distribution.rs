//! Distributions as text: a single value, or `uniform LOW HIGH`, `exponential MEAN`,
//! `pareto MEAN SHAPE`,
//! `pareto-ii MEAN SHAPE`.

use tfrc_sim::traffic::Distribution;
use tfrc_units::text::TextErrorKind;

/// A distribution whose values `value` reads.
///
/// # Errors
/// The first error of `value`; `NotUnderstood` if the distribution cannot be drawn from.
pub(super) fn read(
    written: &str,
    value: impl Fn(&str) -> Result<f64, TextErrorKind>,
) -> Result<Distribution, TextErrorKind> {
    let parts: Vec<&str> = written.split_whitespace().collect();
    let shape = |written: &str| written.parse().map_err(|_| TextErrorKind::NotUnderstood);
    let distribution = match parts[..] {
        ["uniform", low, high] => Distribution::Uniform { low: value(low)?, high: value(high)? },
        ["exponential", mean] => Distribution::Exponential { mean: value(mean)? },
        ["pareto", mean, of] => Distribution::Pareto { mean: value(mean)?, shape: shape(of)? },
        ["pareto-ii", mean, of] => Distribution::ParetoII { mean: value(mean)?, shape: shape(of)? },
        ["uniform" | "exponential" | "pareto" | "pareto-ii", ..] => return Err(TextErrorKind::NotUnderstood),
        _ => Distribution::Constant(value(written.trim())?),
    };
    distribution.check().map_err(|_| TextErrorKind::NotUnderstood)
}
