//! Distributions as text: a single value, or `uniform LOW HIGH`, `exponential MEAN`,
//! `pareto MEAN SHAPE`,
//! `pareto-ii MEAN SHAPE`.

use tfrc_sim::traffic::Distribution;

/// A distribution whose values `value` reads; `None` if the text is not one that can be drawn from.
pub(super) fn read(written: &str, value: impl Fn(&str) -> Option<f64>) -> Option<Distribution> {
    let parts: Vec<&str> = written.split_whitespace().collect();
    let shape = |written: &str| written.parse().ok();
    let distribution = match parts[..] {
        ["uniform", low, high] => Distribution::Uniform { low: value(low)?, high: value(high)? },
        ["exponential", mean] => Distribution::Exponential { mean: value(mean)? },
        ["pareto", mean, of] => Distribution::Pareto { mean: value(mean)?, shape: shape(of)? },
        ["pareto-ii", mean, of] => Distribution::ParetoII { mean: value(mean)?, shape: shape(of)? },
        _ => Distribution::Constant(value(written.trim())?),
    };
    distribution.check().ok()
}
