//! Prefixes of addresses, and the peers that may begin connections.

use alloc::vec::Vec;
use core::fmt;
use core::net::{AddrParseError, IpAddr, Ipv6Addr};
use core::str::FromStr;

/// Peers that may begin connections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Allow {
    /// Every peer.
    #[default]
    Anyone,
    /// Peers whose address is in one of these prefixes; none if the list is empty.
    Only(Vec<Prefix>),
}

impl Allow {
    /// Returns true if a peer with this address may begin a connection.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(prefixes) => prefixes.iter().any(|prefix| prefix.contains(address)),
        }
    }
}

/// An address prefix such as `192.0.2.0/24` or `2001:db8::/32`. IPv4-mapped IPv6 addresses (RFC
/// 4291 §2.5.5.2) equal their IPv4 addresses, in prefixes and in compared addresses; so `::/0`
/// contains IPv4 too, and `0.0.0.0/0` contains IPv4 only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The address with all bits after the prefix zero; IPv4 as IPv4-mapped.
    address: u128,
    /// 0 to 128, counted in the mapped form.
    bits: u8,
}

/// Why a text is not an address prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrefixError {
    /// The part before the slash is not an address.
    #[error("`{text}` is not an IP address, optionally followed by a slash and a prefix length")]
    Address {
        /// The text that was parsed.
        text: alloc::string::String,
        /// The error of the parser of addresses.
        source: AddrParseError,
    },
    /// The part after the slash is not a number in range.
    #[error("the prefix length of `{text}` is not a number from 0 to {longest}")]
    Length {
        /// The text that was parsed.
        text: alloc::string::String,
        /// 32 for IPv4, 128 for IPv6.
        longest: u8,
    },
}

const MAPPED: u8 = 96;

impl Prefix {
    /// The first `bits` bits of an address: 0 to 32 for IPv4, 0 to 128 for IPv6. `None` if there
    /// are more. Bits after the prefix do not matter.
    #[must_use]
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        let bits = match address {
            IpAddr::V4(_) => bits.checked_add(MAPPED)?,
            IpAddr::V6(_) => bits,
        };
        (bits <= 128).then(|| Self { address: mapped(address) & mask(bits), bits })
    }

    /// Returns true if an address begins with the prefix.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        mapped(address) & mask(self.bits) == self.address
    }
}

fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn mask(bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0)
}

/// The source that [`PerSource`](super::PerSource) counts: an IPv4 address, also if it is mapped
/// into IPv6, or the /64 of an IPv6 address, which one host commonly has to itself (RFC 7421).
#[must_use]
pub fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask(64))),
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    /// Reads `ADDRESS/BITS`, or `ADDRESS` for one address.
    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr =
            address.parse().map_err(|source| PrefixError::Address { text: text.into(), source })?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        bits.map_or(Some(longest), |bits| bits.parse().ok())
            .and_then(|bits| Self::new(address, bits))
            .ok_or_else(|| PrefixError::Length { text: text.into(), longest })
    }
}

/// `ADDRESS/BITS`, the bits after the prefix zero; mapped addresses as IPv4.
impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.address);
        match (address.to_ipv4_mapped(), self.bits.checked_sub(MAPPED)) {
            (Some(address), Some(bits)) => write!(f, "{address}/{bits}"),
            _ => write!(f, "{address}/{}", self.bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    #[test]
    fn prefixes_contain_what_begins_with_them() {
        for (text, inside, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.77/24", "192.0.2.1", "192.0.1.255"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.0"),
            ("192.0.2.0/24", "::ffff:192.0.2.9", "::192.0.2.9"),
            ("::ffff:192.0.2.0/120", "192.0.2.9", "192.0.3.9"),
            ("0.0.0.0/0", "203.0.113.1", "2001:db8::1"),
            ("::/0", "203.0.113.1", "203.0.113.1"),
            ("2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::2"),
        ] {
            assert!(prefix(text).contains(address(inside)), "{text} {inside}");
            assert_eq!(prefix(text).contains(address(outside)), inside == outside, "{text} {outside}");
        }
        assert!(Allow::Anyone.permits(address("192.0.2.1")));
        assert!(!Allow::Only(Vec::new()).permits(address("192.0.2.1")));
    }

    #[test]
    fn prefixes_are_written_as_they_are_read() {
        for (text, shown) in [
            ("192.0.2.77/24", "192.0.2.0/24"),
            ("192.0.2.1", "192.0.2.1/32"),
            ("::ffff:192.0.2.1/128", "192.0.2.1/32"),
            ("2001:db8::/32", "2001:db8::/32"),
            ("::/0", "::/0"),
        ] {
            assert_eq!(prefix(text).to_string(), shown);
            assert_eq!(prefix(shown), prefix(text));
        }
        for text in
            ["", "/8", "192.0.2.1/33", "192.0.2.1/", "192.0.2.1/-1", "192.0.2.1/x", "::/129", "host/8"]
        {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_source_is_an_address_or_a_64() {
        assert_eq!(source_of(address("192.0.2.1")), source_of(address("::ffff:192.0.2.1")));
        assert_ne!(source_of(address("192.0.2.1")), source_of(address("192.0.2.2")));
        assert_eq!(source_of(address("2001:db8::1:2:3:4")), source_of(address("2001:db8::9")));
        assert_ne!(source_of(address("2001:db8:0:1::")), source_of(address("2001:db8::")));
    }
}
