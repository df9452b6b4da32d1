//! The longest UDP payload that the interface of a route takes, as the system knows it.

use std::net::SocketAddr;

use crate::options::Carrier;

/// IP and UDP headers, without options.
const fn headers(to: SocketAddr) -> usize {
    if to.is_ipv4() { 28 } else { 48 }
}

/// The longest payload of a datagram to this address by the MTU of the interface. `None` where the
/// system does not say, or knows less from an ICMP message: anybody can write one, so the
/// connection finds out for itself what the path takes (RFC 8899 §4.6.1).
#[must_use]
pub fn longest_payload(to: SocketAddr) -> Option<usize> {
    let to = SocketAddr::new(to.ip().to_canonical(), to.port());
    on_the_interface(to, headers(to))
}

/// The longest DCCP packet to this address, as [`longest_payload`], by this carrier.
pub(crate) fn longest(to: SocketAddr, carrier: Carrier) -> Option<usize> {
    const UDP: usize = 8;
    let payload = longest_payload(to)?;
    Some(if carrier == Carrier::Raw { payload + UDP } else { payload })
}

/// A socket that is connected, and sends nothing, knows its route.
#[cfg(target_os = "linux")]
fn on_the_interface(to: SocketAddr, headers: usize) -> Option<usize> {
    use rustix::io::Errno;
    use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
    use rustix::net::{SendFlags, send};
    let any: std::net::IpAddr = match to {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    // Datagrams are not fragmented, and as long as the interface allows.
    quinn_udp::UdpSocketState::new((&socket).into()).ok()?;
    socket.connect(to).ok()?;
    let mtu = if to.is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    let limit = tfrc_units::saturating::<usize>(mtu.ok()?).saturating_sub(headers);
    // As wide as a packet can be: no interface refuses it.
    if limit + headers >= usize::from(u16::MAX) {
        return Some(limit);
    }
    // Data that more is to follow is checked and kept; it goes with the socket.
    let more = send(&socket, &vec![0; limit + 1], SendFlags::MORE);
    (more == Err(Errno::MSGSIZE)).then_some(limit)
}

#[cfg(not(target_os = "linux"))]
const fn on_the_interface(_to: SocketAddr, _headers: usize) -> Option<usize> {
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
            // A host may have no IPv6.
            let needs_one = cfg!(target_os = "linux") && !to.starts_with("[::1]");
            assert!(found.map_or(!needs_one, |found| found == expected), "{to}: {found:?}");
        }
    }
}
