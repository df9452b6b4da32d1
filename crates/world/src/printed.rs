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

/// The unit of a number that stands for a written quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// A plain number, or a share.
    Number,
    /// Packets.
    Packets,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// Its symbol; empty for a plain number.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::BitsPerSecond => "bit/s",
            Self::Bytes => "B",
            Self::Number => "",
            Self::Packets => "packets",
            Self::Seconds => "s",
        }
    }
}

/// A written quantity as a number of its SI unit; `None` for any other text.
#[must_use]
pub fn quantity(written: &str) -> Option<(f64, Unit)> {
    let written = written.trim();
    if let Some(printed) = Printed::parse(written) {
        return Some((printed.value, Unit::Number));
    }
    if let Ok(time) = text::time(written) {
        return Some((time.as_secs_f64(), Unit::Seconds));
    }
    if let Ok(rate) = text::rate(written) {
        return Some((rate.bits_per_sec(), Unit::BitsPerSecond));
    }
    if let Some(packets) = written.strip_suffix('p') {
        return Some((packets.trim().parse().ok()?, Unit::Packets));
    }
    text::size(written).ok().map(|bytes| (bytes as f64, Unit::Bytes))
}

/// The unit of the values of an axis, if all of them are quantities of one unit. A bare zero is of
/// any.
#[must_use]
pub fn unit_of<'w>(values: impl IntoIterator<Item = &'w str>) -> Option<Unit> {
    let mut unit = None;
    for written in values {
        let (value, its) = quantity(written)?;
        let is_zero = value == 0.0 && its == Unit::Number;
        match unit {
            Some((known, zeros)) if known == its => unit = Some((its, zeros && is_zero)),
            Some(_) if is_zero => {}
            Some((_, false)) => return None,
            // Only zeros so far.
            Some((_, true)) | None => unit = Some((its, is_zero)),
        }
    }
    unit.map(|(unit, _)| unit)
}

/// A key as a number in SI units, if it is one.
#[must_use]
pub fn number(key: &str) -> Option<f64> {
    quantity(key).map(|(value, _)| value)
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
        let unit = |values: &[&str]| unit_of(values.iter().copied());
        assert_eq!(unit(&["1Mbit/s", "2Mbit/s"]), Some(Unit::BitsPerSecond));
        assert_eq!(unit(&["10ms", "0"]), Some(Unit::Seconds));
        assert_eq!(unit(&["0", "0.5%", "1"]), Some(Unit::Number));
        assert_eq!(unit(&["0", "10ms"]), Some(Unit::Seconds));
        assert_eq!((unit(&["25p", "50kB"]), unit(&["25p", "unlimited"]), unit(&[])), (None, None, None));
    }
}
