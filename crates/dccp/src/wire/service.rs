//! Service codes: numbers and their text form (RFC 4340 §8.1.2).

use core::fmt;
use core::str::FromStr;

/// Service code: the application-level service that a client asks for (RFC 4340 §8.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ServiceCode(u32);

impl ServiceCode {
    /// No meaningful service.
    pub const NONE: Self = Self(0);
    /// The one value a server must refuse, 2^32 − 1.
    pub const INVALID: Self = Self(u32::MAX);

    /// Returns the service code with this number.
    #[must_use]
    pub const fn new(code: u32) -> Self {
        Self(code)
    }

    /// Returns the number of the service code.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Why a text is not a Service Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a service code as SC:name (up to four of A-Z a-z 0-9 -_+.*/?@), SC=number or SC=xhex, below 4294967295"
)]
pub struct NotAServiceCode;

/// The three textual forms of RFC 4340 §8.1.2.
impl FromStr for ServiceCode {
    type Err = NotAServiceCode;

    fn from_str(text: &str) -> Result<Self, NotAServiceCode> {
        let code = if let Some(name) = text.strip_prefix("SC:") {
            from_name(name)
        } else if let Some(hex) = text.strip_prefix("SC=x").or_else(|| text.strip_prefix("SC=X")) {
            digits(hex, 16)
        } else if let Some(decimal) = text.strip_prefix("SC=") {
            digits(decimal, 10)
        } else {
            None
        };
        match code {
            Some(code) if code != u32::MAX => Ok(Self(code)),
            _ => Err(NotAServiceCode),
        }
    }
}

fn digits(text: &str, radix: u32) -> Option<u32> {
    if text.starts_with('+') { None } else { u32::from_str_radix(text, radix).ok() }
}

fn from_name(name: &str) -> Option<u32> {
    if name.is_empty() || name.len() > 4 || !name.bytes().all(is_name_byte) {
        return None;
    }
    let padded = name.bytes().chain(core::iter::repeat(b' ')).take(4);
    Some(padded.fold(0, |code, byte| (code << 8) | u32::from(byte)))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_+.*/?@".contains(&byte)
}

/// As `SC:name` where the code has such a form, else as `SC=number`.
impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        match core::str::from_utf8(&bytes).map(|text| text.trim_end_matches(' ')) {
            Ok(name) if from_name(name) == Some(self.0) => write!(f, "SC:{name}"),
            _ => write!(f, "SC={}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn the_three_forms_name_the_same_code() {
        // RFC 4340 §8.1.2's example.
        for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC=X6664707a"] {
            assert_eq!(text.parse(), Ok(ServiceCode::new(1_717_858_426)), "{text}");
        }
        assert_eq!(ServiceCode::new(1_717_858_426).to_string(), "SC:fdpz");
        assert_eq!("SC:AB".parse(), Ok(ServiceCode::new(0x4142_2020)));
        assert_eq!(ServiceCode::new(7).to_string(), "SC=7");
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for text in
            ["", "SC:", "SC:abcde", "SC:a b", "SC=4294967295", "SC=", "SC=-1", "SC=+1", "fdpz", "SC=xg"]
        {
            assert!(text.parse::<ServiceCode>().is_err(), "{text}");
        }
    }
}
