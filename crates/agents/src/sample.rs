//! Mean and deviation of a sample.

/// The arithmetic mean; `None` for an empty sample.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of the values themselves (divided by n); `None` for an empty sample.
#[must_use]
pub fn deviation(values: &[f64]) -> Option<f64> {
    Some(libm::sqrt(squares(values)? / values.len() as f64))
}

/// The coefficient of variation: [`deviation`] over [`mean`]. `None` for fewer than two values or a
/// mean that is not positive.
#[must_use]
pub fn variation(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|middle| *middle > 0.0 && values.len() > 1)?;
    Some(deviation(values)? / middle)
}

/// The sum of the squared distances from the mean; `None` for an empty sample.
#[must_use]
pub fn squares(values: &[f64]) -> Option<f64> {
    let middle = mean(values)?;
    Some(values.iter().map(|x| (x - middle) * (x - middle)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(
            (mean(&values), deviation(&values), variation(&values)),
            (Some(5.0), Some(2.0), Some(0.4))
        );
        assert_eq!(
            (mean(&[]), deviation(&[]), variation(&[3.0]), variation(&[0.0, 0.0])),
            (None, None, None, None)
        );
    }
}
