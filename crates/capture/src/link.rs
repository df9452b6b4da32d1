//! The IP packet in a frame.

use std::net::IpAddr;

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket};
use tfrc_units::Ecn;

use crate::read::Frame;

/// An IP packet: what an analysis of its flow needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IpPacket<'a> {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) protocol: u8,
    pub(crate) ecn: Ecn,
    /// The part of the content that was kept.
    pub(crate) payload: &'a [u8],
    /// Bytes of the content that the capture did not keep.
    pub(crate) missing: usize,
    /// True if the host with the tap sent it, where the link header says so.
    pub(crate) outgoing: Option<bool>,
}

/// Content of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// A whole IP packet.
    Ip(IpPacket<'a>),
    /// A part of an IP packet that was fragmented.
    Fragment,
    /// Anything else, in a word.
    Other(&'static str),
}

/// Link types (the tcpdump group's list).
mod kind {
    pub(super) const NULL: u16 = 0;
    pub(super) const ETHERNET: u16 = 1;
    pub(super) const RAW_BSD: u16 = 12;
    pub(super) const RAW_OPENBSD: u16 = 14;
    pub(super) const RAW: u16 = 101;
    pub(super) const LOOP: u16 = 108;
    pub(super) const SLL: u16 = 113;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const SLL2: u16 = 276;
}

/// The packet type of a cooked frame that its own host sent.
const OUTGOING: u8 = 4;

/// The name of a link type.
pub(crate) fn name(link: u16) -> String {
    match link {
        kind::NULL | kind::LOOP => "BSD loopback".to_owned(),
        kind::ETHERNET => "Ethernet".to_owned(),
        kind::RAW_BSD | kind::RAW_OPENBSD | kind::RAW => "raw IP".to_owned(),
        kind::SLL => "Linux cooked (SLL)".to_owned(),
        kind::SLL2 => "Linux cooked (SLL2)".to_owned(),
        kind::IPV4 => "raw IPv4".to_owned(),
        kind::IPV6 => "raw IPv6".to_owned(),
        other => format!("link type {other}, which is not read here"),
    }
}

/// Finds the IP packet of a frame.
pub(crate) fn content<'a>(frame: &Frame<'a>) -> Content<'a> {
    let bytes = frame.bytes;
    let after = |at: usize| bytes.get(at..).unwrap_or_default();
    let u16_at =
        |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()).map(|b| u16::from_be_bytes(*b));
    let missing = frame.length - bytes.len();
    let typed = |ether_type: Option<u16>, rest: &'a [u8], outgoing: Option<bool>| match ether_type {
        Some(number) => packet(&LaxSlicedPacket::from_ether_type(EtherType(number), rest), missing, outgoing),
        None => Content::Other("frames cut before the IP header"),
    };
    match frame.link {
        kind::ETHERNET => typed(u16_at(12), after(14), None),
        kind::SLL => typed(u16_at(14), after(16), u16_at(0).map(|kind| kind == u16::from(OUTGOING))),
        kind::SLL2 => typed(u16_at(0), after(20), bytes.get(10).map(|kind| *kind == OUTGOING)),
        kind::RAW_BSD | kind::RAW_OPENBSD | kind::RAW | kind::IPV4 | kind::IPV6 => ip(bytes, missing),
        kind::NULL | kind::LOOP => ip(after(4), missing),
        _ => Content::Other("frames of a link type that is not read"),
    }
}

fn ip(bytes: &[u8], missing: usize) -> Content<'_> {
    match LaxSlicedPacket::from_ip(bytes) {
        Ok(sliced) => packet(&sliced, missing, None),
        Err(_) => Content::Other("frames without an IP header"),
    }
}

fn packet<'a>(sliced: &LaxSlicedPacket<'a>, missing: usize, outgoing: Option<bool>) -> Content<'a> {
    let (from, to, ecn, content) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let (from, to): (IpAddr, IpAddr) =
                (header.source_addr().into(), header.destination_addr().into());
            (from, to, header.ecn().value(), ip.payload().clone())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let (from, to): (IpAddr, IpAddr) =
                (header.source_addr().into(), header.destination_addr().into());
            (from, to, header.traffic_class() & 3, ip.payload().clone())
        }
        Some(LaxNetSlice::Arp(_)) => return Content::Other("ARP"),
        None => return Content::Other("frames without IP"),
    };
    if content.fragmented {
        return Content::Fragment;
    }
    Content::Ip(IpPacket {
        from,
        to,
        protocol: content.ip_number.0,
        ecn: Ecn::from_bits(ecn),
        payload: content.payload,
        missing: if content.incomplete { missing } else { 0 },
        outgoing,
    })
}
