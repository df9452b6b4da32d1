//! ECN bits and codepoints, as sockets have them.

use std::net::SocketAddr;

use quinn_udp::EcnCodepoint;
use tfrc_units::Ecn;

/// A control message that sets the TOS or Traffic Class byte, as 64-bit Linux lays it out (cmsg(3),
/// ip(7), ipv6(7)).
pub(super) fn traffic_class(to: SocketAddr, tos: u8) -> [u8; 24] {
    const LENGTH: u64 = 20;
    const IP: (i32, i32) = (0, 1);
    const IPV6: (i32, i32) = (41, 67);
    let mapped = matches!(to, SocketAddr::V6(to) if to.ip().to_ipv4_mapped().is_some());
    let (level, kind) = if to.is_ipv4() || mapped { IP } else { IPV6 };
    let mut control = [0; 24];
    control[..8].copy_from_slice(&LENGTH.to_ne_bytes());
    control[8..12].copy_from_slice(&level.to_ne_bytes());
    control[12..16].copy_from_slice(&kind.to_ne_bytes());
    control[16..20].copy_from_slice(&i32::from(tos).to_ne_bytes());
    control
}

pub(super) const fn from_codepoint(codepoint: EcnCodepoint) -> Ecn {
    match codepoint {
        EcnCodepoint::Ect0 => Ecn::Ect0,
        EcnCodepoint::Ect1 => Ecn::Ect1,
        EcnCodepoint::Ce => Ecn::Ce,
    }
}

pub(super) const fn to_codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
