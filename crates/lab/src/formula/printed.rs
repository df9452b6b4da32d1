//! Numbers as tables and files write them.

use tfrc_units::text;

/// A number as it was printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// Its value.
    pub value: f64,
    /// Half a unit of its last digit: what rounding may hide.
    pub half_unit: f64,
}

impl Printed {
    /// Reads a number, perhaps with an exponent or in per cent.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number.trim_end(), 0.01),
            None => (text, 1.0),
        };
        let value: f64 = number.parse().ok().filter(|x: &f64| x.is_finite())?;
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, digits)| digits.len());
        let decimals = i32::try_from(decimals).ok()?;
        let unit = 10f64.powi(exponent.parse::<i32>().ok()?.checked_sub(decimals)?);
        Some(Self { value: value * scale, half_unit: 0.5 * unit * scale })
    }
}

/// A key as a number in SI units, if it is one.
#[must_use]
pub fn number(key: &str) -> Option<f64> {
    let key = key.trim();
    if let Some(printed) = Printed::parse(key) {
        return Some(printed.value);
    }
    if let Ok(time) = text::time(key) {
        return Some(time.as_secs_f64());
    }
    if let Ok(rate) = text::rate(key) {
        return Some(rate.bits_per_sec());
    }
    if let Some(packets) = key.strip_suffix('p') {
        return packets.trim().parse().ok();
    }
    text::size(key).ok().map(|bytes| bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_of_printed_digits() {
        for (text, value, half) in [
            ("17", 17.0, 0.5),
            ("0.01", 0.01, 0.005),
            ("1787.54", 1787.54, 0.005),
            ("12%", 0.12, 0.005),
            ("1.5e-3", 1.5e-3, 5e-5),
            ("0", 0.0, 0.5),
        ] {
            let printed = Printed::parse(text).expect(text);
            assert!((printed.value - value).abs() < 1e-15, "{text}");
            assert!((printed.half_unit / half - 1.0).abs() < 1e-12, "{text}: {}", printed.half_unit);
        }
        for text in ["", "x", "1,5", "nan", "inf", "--1", "%"] {
            assert_eq!(Printed::parse(text), None, "{text}");
        }
    }

    #[test]
    fn keys_as_numbers() {
        for (key, expected) in
            [("0.1%", 0.001), ("10", 10.0), ("50ms", 0.05), ("2Mbit/s", 2e6), ("25p", 25.0), ("14B", 14.0)]
        {
            assert!(number(key).is_some_and(|x| (x - expected).abs() < 1e-9), "{key}: {:?}", number(key));
        }
        assert_eq!(number("reno"), None);
    }
}
