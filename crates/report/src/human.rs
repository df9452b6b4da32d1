//! Numbers as a person reads them: three or four digits and a decimal prefix.

/// A rate, such as `1.98 Mbit/s`. `bps` in bit/s.
#[must_use]
pub fn rate(bps: f64) -> String {
    with_prefix(bps, "bit/s")
}

/// A number of bytes, such as `4.98 MB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    with_prefix(tfrc_units::f64_from_u64(n), "B")
}

/// A length of time, such as `41.2 ms`. `s` in seconds.
#[must_use]
pub fn time(s: f64) -> String {
    let size = s.abs();
    if size == 0.0 || size >= 1.0 {
        format!("{} s", digits(s))
    } else if size >= 1e-3 {
        format!("{} ms", digits(s * 1e3))
    } else {
        format!("{} µs", digits(s * 1e6))
    }
}

/// A share of a whole, such as `1.24 %`. `p` from 0 to 1.
#[must_use]
pub fn percent(p: f64) -> String {
    format!("{} %", digits(p * 100.0))
}

/// A plain number with three or four digits, such as `0.0124`.
#[must_use]
pub fn number(x: f64) -> String {
    digits(x)
}

/// A count with its thousands apart, such as `12 345`.
#[must_use]
pub fn count(n: u64) -> String {
    let plain = n.to_string();
    let mut out = String::with_capacity(plain.len() * 4 / 3);
    for (i, c) in plain.chars().enumerate() {
        if i > 0 && (plain.len() - i).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(c);
    }
    out
}

fn with_prefix(x: f64, unit: &str) -> String {
    if !x.is_finite() {
        return digits(x);
    }
    let size = x.abs();
    // A value that would print as 1000 of one prefix is written as 1 of the next.
    let (scale, prefix) = if size >= 0.9995e9 {
        (1e9, "G")
    } else if size >= 0.9995e6 {
        (1e6, "M")
    } else if size >= 0.9995e3 {
        (1e3, "k")
    } else {
        (1.0, "")
    };
    format!("{} {prefix}{unit}", digits(x / scale))
}

/// Three significant digits, four from 1000 on; zero is `0`; below 1e-4 in powers of ten.
fn digits(x: f64) -> String {
    let size = x.abs();
    if x.is_nan() {
        "unknown".to_owned()
    } else if x.is_infinite() {
        "unlimited".to_owned()
    } else if size == 0.0 {
        "0".to_owned()
    } else if size >= 99.95 {
        format!("{x:.0}")
    } else if size >= 9.995 {
        format!("{x:.1}")
    } else if size >= 0.9995 {
        format!("{x:.2}")
    } else if size >= 0.1 {
        format!("{x:.3}")
    } else if size >= 0.01 {
        format!("{x:.4}")
    } else if size >= 0.0001 {
        format!("{x:.5}")
    } else {
        format!("{x:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(rate(1_980_400.0), "1.98 Mbit/s");
        assert_eq!(rate(999_900.0), "1.00 Mbit/s");
        assert_eq!(rate(0.0), "0 bit/s");
        assert_eq!(rate(f64::INFINITY), "unlimited");
        assert_eq!(bytes(4_980_000), "4.98 MB");
        assert_eq!(bytes(1316), "1.32 kB");
        assert_eq!(time(0.0412), "41.2 ms");
        assert_eq!(time(20.0), "20.0 s");
        assert_eq!(time(0.000_08), "80.0 µs");
        assert_eq!(percent(0.0124), "1.24 %");
        assert_eq!(number(0.001_24), "0.00124");
        assert_eq!(number(1.5e-7), "1.50e-7");
        assert_eq!(count(12_345), "12\u{a0}345");
        assert_eq!(count(999), "999");
    }
}
