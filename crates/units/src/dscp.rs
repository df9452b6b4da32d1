//! Differentiated Services codepoints (RFC 2474, RFC 2597).

use core::fmt;
use core::str::FromStr;

/// A Differentiated Services codepoint: the upper six bits of the IPv4 TOS or IPv6 Traffic Class
/// byte (RFC 2474 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dscp(u8);

/// A text or number is not a codepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotADscp;

impl fmt::Display for NotADscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no DSCP; expected af11 to af43, cs0 to cs7, ef, or a number from 0 to 63")
    }
}

impl core::error::Error for NotADscp {}

impl Dscp {
    /// Best effort, 0.
    pub const DEFAULT: Self = Self(0);

    /// The codepoint with this number.
    ///
    /// # Errors
    /// [`NotADscp`] above 63.
    pub const fn new(number: u8) -> Result<Self, NotADscp> {
        if number < 64 { Ok(Self(number)) } else { Err(NotADscp) }
    }

    /// The number, below 64.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns true if the codepoint names an Assured Forwarding class, which may carry a guarantee
    /// (RFC 2597 §6).
    #[must_use]
    pub const fn is_assured(self) -> bool {
        let (class, precedence) = (self.0 >> 3, (self.0 >> 1) & 0b11);
        self.0 & 1 == 0 && class >= 1 && class <= 4 && precedence >= 1 && precedence <= 3
    }
}

impl TryFrom<u8> for Dscp {
    type Error = NotADscp;
    fn try_from(number: u8) -> Result<Self, NotADscp> {
        Self::new(number)
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> Self {
        dscp.0
    }
}

impl FromStr for Dscp {
    type Err = NotADscp;

    fn from_str(text: &str) -> Result<Self, NotADscp> {
        let digit = |i: usize| text.get(i..=i).and_then(|d| d.parse::<u8>().ok()).ok_or(NotADscp);
        let is = |head: &str| text.get(..2).is_some_and(|t| t.eq_ignore_ascii_case(head));
        let number = match text.len() {
            2 if is("ef") => 46,
            3 if is("cs") => match digit(2)? {
                class @ 0..8 => 8 * class,
                _ => return Err(NotADscp),
            },
            // RFC 2597 §6: class x, drop precedence y.
            4 if is("af") => match (digit(2)?, digit(3)?) {
                (class @ 1..5, precedence @ 1..4) => 8 * class + 2 * precedence,
                _ => return Err(NotADscp),
            },
            _ => text.parse().map_err(|_| NotADscp)?,
        };
        Self::new(number)
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            46 => f.write_str("ef"),
            n if self.is_assured() => write!(f, "af{}{}", n >> 3, (n >> 1) & 0b11),
            n if n % 8 == 0 => write!(f, "cs{}", n / 8),
            n => n.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    /// RFC 2597 §6 and RFC 2474 §4.2.2 list the codepoints.
    #[test]
    fn names_and_numbers() {
        for (name, number) in
            [("af11", 10), ("af23", 22), ("AF43", 38), ("cs0", 0), ("cs7", 56), ("ef", 46), ("5", 5)]
        {
            assert_eq!(name.parse::<Dscp>().map(Dscp::number), Ok(number));
        }
        for text in ["", "af", "af01", "af14", "af51", "cs8", "64", "-1", "af111", "ä"] {
            assert_eq!(text.parse::<Dscp>(), Err(NotADscp), "{text}");
        }
    }

    #[test]
    fn every_codepoint_reads_back_as_printed() {
        for number in 0..64 {
            let dscp = Dscp(number);
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
        }
        assert_eq!((0..64).filter(|n| Dscp(*n).is_assured()).count(), 12);
    }
}
