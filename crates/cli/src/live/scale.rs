//! Axes of the chart: round ends, units of rates.

/// The least round number that is not below a value above zero.
#[cfg(feature = "live")]
pub(super) fn round_up(value: f64) -> f64 {
    const STEPS: [f64; 8] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0];
    if !(value.is_finite() && value > 0.0) {
        return 1.0;
    }
    let decade = 10_f64.powf(value.log10().floor());
    let part = value / decade;
    STEPS.into_iter().find(|step| *step >= part - 1e-9).unwrap_or(10.0) * decade
}

/// The unit for rates up to this one, and its size in bit/s.
pub(super) const fn unit(bps: f64) -> (&'static str, f64) {
    match bps {
        1e9.. => ("Gbit/s", 1e9),
        1e6.. => ("Mbit/s", 1e6),
        1e3.. => ("kbit/s", 1e3),
        _ => ("bit/s", 1.0),
    }
}

/// A figure with three digits.
pub(super) fn figure(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_axes_are_round() {
        for (value, end) in [(0.9, 1.0), (1.0, 1.0), (2.02, 2.5), (145.0, 150.0), (9.1, 10.0), (0.0, 1.0)] {
            assert!((round_up(value) - end).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }

    #[test]
    fn figures_have_three_digits() {
        assert_eq!([0.987, 23.46, 145.2].map(figure), ["0.99", "23.5", "145"]);
        assert_eq!((unit(2e6), unit(999.0)), (("Mbit/s", 1e6), ("bit/s", 1.0)));
    }
}
