//! Addresses of UDP sockets as C has them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// An IP address and a UDP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Address {
    /// The address in network order; of IPv4 the first four bytes.
    pub ip: [u8; 16],
    /// The scope of a link-local IPv6 address, else 0.
    pub scope: u32,
    /// The port as a number (in the host's order).
    pub port: u16,
    /// 4 or 6.
    pub version: u8,
}

impl Address {
    /// As Rust has it; `None` if the version is none.
    pub(crate) fn checked(&self) -> Option<SocketAddr> {
        match self.version {
            4 => {
                let [a, b, c, d, ..] = self.ip;
                Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), self.port))
            }
            6 => Some(SocketAddrV6::new(Ipv6Addr::from(self.ip), self.port, 0, self.scope).into()),
            _ => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let port = address.port();
        match address {
            SocketAddr::V4(v4) => {
                let mut ip = [0; 16];
                ip[..4].copy_from_slice(&v4.ip().octets());
                Self { ip, scope: 0, port, version: 4 }
            }
            SocketAddr::V6(v6) => Self { ip: v6.ip().octets(), scope: v6.scope_id(), port, version: 6 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for text in ["192.0.2.7:6511", "[2001:db8::1]:80", "[fe80::1%3]:9"] {
            let address: SocketAddr = text.parse().expect(text);
            assert_eq!(Address::from(address).checked(), Some(address));
        }
        let none = Address { ip: [0; 16], scope: 0, port: 1, version: 5 };
        assert_eq!(none.checked(), None);
    }
}
