//! Quantities as people write them: `15Mbit/s`, `50ms`, `1500B`, `1 %`. One grammar for the command
//! line and scenarios.
//!
//! A number, then a unit, with or without a space between. Only zero and a probability below 1 may
//! stand without one. Prefixes are decimal (k = 1000); those of sizes may be binary (Ki = 1024).

use core::fmt;

use crate::{Duration, Probability, Rate, u64_from_f64};

/// Why a text is not the quantity that was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// Nothing, or nothing but a unit.
    NoNumber,
    /// A number other than zero without a unit, and what may be meant by it.
    NoUnit(Readings),
    /// The unit is not one of this quantity.
    UnknownUnit,
    /// Below the range of the quantity.
    TooSmall,
    /// Above the range of the quantity.
    TooLarge,
    /// Written in no form that the quantity has.
    NotUnderstood,
}

/// Possible meanings of a number without its unit: `25p or 25B`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Readings {
    first: (f64, &'static str),
    second: Option<(f64, &'static str)>,
}

impl Readings {
    /// The number with each of two units.
    #[must_use]
    pub const fn of(number: f64, [first, second]: [&'static str; 2]) -> Self {
        Self { first: (number, first), second: Some((number, second)) }
    }
}

impl fmt::Display for Readings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = self.first;
        write!(f, "{number}{unit}")?;
        match self.second {
            Some((number, unit)) => write!(f, " or {number}{unit}"),
            None => Ok(()),
        }
    }
}

/// Error in a text that should be a quantity, with the form that would have been right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextError {
    /// The kind of error.
    pub kind: TextErrorKind,
    /// The quantity asked for, with its units, for the reader.
    pub expected: &'static str,
}

impl fmt::Display for TextErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoUnit(readings) => return write!(f, "has no unit: {readings}?"),
            Self::NoNumber => "does not start with a number",
            Self::UnknownUnit => "has an unknown unit",
            Self::TooSmall => "is too small",
            Self::TooLarge => "is too large",
            Self::NotUnderstood => "is not understood",
        })
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            TextErrorKind::NoUnit(_) => write!(f, "{} Expected {}", self.kind, self.expected),
            kind => write!(f, "{kind}; expected {}", self.expected),
        }
    }
}

impl core::error::Error for TextError {}

pub(crate) const RATE: &str = "a rate, such as 10M, 10Mbit/s or 64kbit/s";
pub(crate) const TIME: &str = "a time, such as 250ms, 20s, 80us or 2min";
pub(crate) const SIZE: &str = "a size, such as 1500B, 50kB, 2MB or 8GiB";
pub(crate) const SHARE: &str = "a probability, such as 0.01 or 1%";

/// A rate: bit/s with k, M or G before, `10M` short for `10Mbit/s`.
///
/// # Errors
/// [`TextError`] if there is no number, the unit is unknown, or the rate is negative or not finite.
pub fn rate(text: &str) -> Result<Rate, TextError> {
    let (number, written) = split(text, RATE)?;
    let unit = written.strip_suffix("bit/s").or_else(|| written.strip_suffix("bps")).unwrap_or(written);
    let scale = match unit {
        "" if written.is_empty() => zero(number, ["Mbit/s", "kbit/s"], RATE)?,
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return Err(TextError { kind: TextErrorKind::UnknownUnit, expected: RATE }),
    };
    Ok(Rate::from_bits_per_sec(in_range(number * scale, 0.0, 1e15, RATE)?))
}

/// A length of time in `ns`, `us`/`µs`, `ms`, `s`, `min` or `h`.
///
/// # Errors
/// [`TextError`] if there is no number, the unit is unknown, or the time is negative or beyond 100
/// years.
pub fn time(text: &str) -> Result<Duration, TextError> {
    let (number, unit) = split(text, TIME)?;
    let nanos = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "" => zero(number, ["s", "ms"], TIME)?,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(TextError { kind: TextErrorKind::UnknownUnit, expected: TIME }),
    };
    // Half a nanosecond is added so that decimal fractions such as 0.1 ms land on the number meant.
    let ns = in_range(number * nanos, 0.0, 3.2e18, TIME)? + 0.5;
    Ok(Duration::from_nanos(u64_from_f64(ns)))
}

/// A number of bytes with `B`, `kB`, `MB` or `GB`, `KiB`, `MiB` or `GiB` (powers of 1024).
///
/// # Errors
/// [`TextError`] if there is no number, the unit is unknown, or the size is negative or beyond
/// 2^53.
pub fn size(text: &str) -> Result<u64, TextError> {
    let (number, unit) = split(text, SIZE)?;
    let scale = match unit.strip_suffix('B').unwrap_or(unit) {
        "" if unit.is_empty() => zero(number, ["B", "kB"], SIZE).map_err(plain_bytes)?,
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        _ => return Err(TextError { kind: TextErrorKind::UnknownUnit, expected: SIZE }),
    };
    Ok(u64_from_f64(in_range(number * scale, 0.0, 9.007_199_254_740_992e15, SIZE)? + 0.5))
}

/// A probability as a number from 0 to below 1, or from 0 to 100 with `%`.
///
/// # Errors
/// [`TextError`] if there is no number, the unit is not `%`, the value is out of range, or a number
/// from 1 to 100 stands alone: 1 may be 1 % or all.
pub fn probability(text: &str) -> Result<Probability, TextError> {
    let (number, unit) = split(text, SHARE)?;
    let p = match unit {
        "" if (1.0..=100.0).contains(&number) => {
            let second = (number <= 1.0).then_some((100.0, "%"));
            let readings = Readings { first: (number, "%"), second };
            return Err(TextError { kind: TextErrorKind::NoUnit(readings), expected: SHARE });
        }
        "" => number,
        "%" => number / 100.0,
        _ => return Err(TextError { kind: TextErrorKind::UnknownUnit, expected: SHARE }),
    };
    Ok(Probability::saturating(in_range(p, 0.0, 1.0, SHARE)?))
}

/// Writes a number below 1000 with three significant figures, and its unit.
pub(crate) fn three_figures(f: &mut fmt::Formatter<'_>, scaled: f64, unit: &str) -> fmt::Result {
    let decimals = match scaled {
        s if s >= 99.95 => 0,
        s if s >= 9.995 => 1,
        _ => 2,
    };
    write!(f, "{scaled:.decimals$} {unit}")
}

/// A number of a thousand or more can only mean bytes.
fn plain_bytes(error: TextError) -> TextError {
    match error.kind {
        TextErrorKind::NoUnit(Readings { first, .. }) if first.0 >= 1000.0 => {
            TextError { kind: TextErrorKind::NoUnit(Readings { first, second: None }), ..error }
        }
        _ => error,
    }
}

/// The scale of a number without a unit, which must be zero.
fn zero(number: f64, units: [&'static str; 2], expected: &'static str) -> Result<f64, TextError> {
    if number < 0.0 {
        Err(TextError { kind: TextErrorKind::TooSmall, expected })
    } else if number > 1e15 {
        Err(TextError { kind: TextErrorKind::TooLarge, expected })
    } else if number > 0.0 {
        Err(TextError { kind: TextErrorKind::NoUnit(Readings::of(number, units)), expected })
    } else {
        Ok(1.0)
    }
}

fn in_range(x: f64, low: f64, high: f64, expected: &'static str) -> Result<f64, TextError> {
    if x < low {
        Err(TextError { kind: TextErrorKind::TooSmall, expected })
    } else if x <= high {
        Ok(x)
    } else {
        Err(TextError { kind: TextErrorKind::TooLarge, expected })
    }
}

/// Cuts a text into its leading number and the unit behind it.
fn split<'a>(text: &'a str, expected: &'static str) -> Result<(f64, &'a str), TextError> {
    let text = text.trim();
    let mut end = 0;
    let mut previous = ' ';
    for (i, c) in text.char_indices() {
        let sign_ok = i == 0 || previous == 'e' || previous == 'E';
        let exponent = (c == 'e' || c == 'E') && i > 0;
        if !(c.is_ascii_digit() || c == '.' || c == '_' || ((c == '-' || c == '+') && sign_ok) || exponent) {
            break;
        }
        previous = c;
        end = i + c.len_utf8();
    }
    let (mut number, mut unit) = text.split_at(end);
    // "1e" can only be a unit starting with e; there is none, but say so as a unit and not as a
    // number.
    if let Some(head) = number.strip_suffix(['e', 'E']) {
        unit = text.split_at(head.len()).1;
        number = head;
    }
    let mut digits = [0u8; 40];
    let mut used = 0;
    for b in number.bytes().filter(|b| *b != b'_') {
        let slot = digits.get_mut(used).ok_or(TextError { kind: TextErrorKind::TooLarge, expected })?;
        *slot = b;
        used += 1;
    }
    let parsed = digits
        .get(..used)
        .and_then(|d| core::str::from_utf8(d).ok())
        .and_then(|s| s.parse::<f64>().ok())
        .ok_or(TextError { kind: TextErrorKind::NoNumber, expected })?;
    Ok((parsed, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(rate("10M"), Ok(Rate::from_bits_per_sec(10e6)));
        assert_eq!(rate("10 Mbit/s"), rate("10M"));
        assert_eq!(rate("64kbit/s"), Ok(Rate::from_bits_per_sec(64e3)));
        assert_eq!(rate("1_000 bit/s"), Ok(Rate::from_bits_per_sec(1e3)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(time("0.1ms"), Ok(Duration::from_micros(100)));
        assert_eq!(time("20s"), Ok(Duration::from_secs(20)));
        assert_eq!(time("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(size("50kB"), Ok(50_000));
        assert_eq!(size("1500B"), Ok(1500));
        assert_eq!((size("2KiB"), size("1.5 MiB"), size("8GiB")), (Ok(2048), Ok(1_572_864), Ok(1 << 33)));
        assert_eq!(size("1e3B"), Ok(1000));
        assert_eq!((rate("0"), time("0.0"), size("0")), (Ok(Rate::ZERO), Ok(Duration::ZERO), Ok(0)));
        assert_eq!(probability("5%"), Ok(Probability::saturating(0.05)));
        assert_eq!(probability("0.05"), probability("5 %"));
    }

    #[test]
    fn says_what_is_wrong() {
        let kind = |r: Result<Rate, TextError>| r.map_err(|e| e.kind);
        assert_eq!(kind(rate("fast")), Err(TextErrorKind::NoNumber));
        assert_eq!(kind(rate("")), Err(TextErrorKind::NoNumber));
        assert_eq!(kind(rate("10 furlongs")), Err(TextErrorKind::UnknownUnit));
        assert_eq!(kind(rate("-3M")), Err(TextErrorKind::TooSmall));
        assert_eq!(kind(rate("1e300M")), Err(TextErrorKind::TooLarge));
        assert_eq!(time("5 MB").map_err(|e| e.kind), Err(TextErrorKind::UnknownUnit));
        assert_eq!(probability("150%").map_err(|e| e.kind), Err(TextErrorKind::TooLarge));
        assert_eq!(size("nan").map_err(|e| e.kind), Err(TextErrorKind::NoNumber));
    }

    #[test]
    fn a_number_without_its_unit_is_asked_about() {
        let asks = |error: TextError| std::string::ToString::to_string(&error.kind);
        for (answer, question) in [
            (rate("4").map_err(asks).err(), "has no unit: 4Mbit/s or 4kbit/s?"),
            (time("0.3").map_err(asks).err(), "has no unit: 0.3s or 0.3ms?"),
            (size("1e3").map_err(asks).err(), "has no unit: 1000B?"),
            (size("64").map_err(asks).err(), "has no unit: 64B or 64kB?"),
            (probability("1").map_err(asks).err(), "has no unit: 1% or 100%?"),
            (probability("1.0").map_err(asks).err(), "has no unit: 1% or 100%?"),
            (probability("5").map_err(asks).err(), "has no unit: 5%?"),
        ] {
            assert_eq!(answer.as_deref(), Some(question));
        }
        assert_eq!(probability("100%"), Ok(Probability::ONE));
        assert_eq!(probability("101").map_err(|e| e.kind), Err(TextErrorKind::TooLarge));
        assert_eq!(rate("-4").map_err(|e| e.kind), Err(TextErrorKind::TooSmall));
        assert_eq!(rate("4bps"), Ok(Rate::from_bits_per_sec(4.0)));
    }

    #[test]
    fn never_panics_on_odd_text() {
        for text in ["e", "1e", "1e-", "µs", "--1", "1.2.3", "  ", "%", "1€", "0x10", "\u{0}"] {
            let _ = (rate(text), time(text), size(text), probability(text));
        }
    }
}
