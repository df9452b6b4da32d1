//! The longest UDP payload that a route takes, as the system knows it.

use std::net::SocketAddr;

/// IP and UDP headers, without options.
const fn headers(to: SocketAddr) -> usize {
    if to.is_ipv4() { 28 } else { 48 }
}

/// The longest payload of a datagram to this address: the MTU of the interface, or what the
/// network has said of the path since. `None` where the system does not say.
pub(crate) fn longest_payload(to: SocketAddr) -> Option<usize> {
    let to = SocketAddr::new(to.ip().to_canonical(), to.port());
    Some(mtu(to)?.saturating_sub(headers(to)))
}

/// A socket that is connected, and sends nothing, knows its route.
#[cfg(target_os = "linux")]
fn mtu(to: SocketAddr) -> Option<usize> {
    use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
    let any: std::net::IpAddr = match to {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    let mtu = if to.is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    mtu.ok().map(tfrc_units::saturating)
}

#[cfg(not(target_os = "linux"))]
const fn mtu(_to: SocketAddr) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the 65536 bytes of Linux's loopback interface an IPv4 packet takes 65535.
    #[test]
    fn the_loopback_interface_is_wide() {
        for (to, expected) in [("127.0.0.1:9", 65_507), ("[::1]:9", 65_488), ("[::ffff:127.0.0.1]:9", 65_507)]
        {
            let found = longest_payload(to.parse().expect("an address"));
            assert!(found.is_none_or(|found| found == expected), "{to}: {found:?}");
        }
    }
}
