//! Captures: the packets of an endpoint as a pcap file of Ethernet frames that Wireshark reads.
//!
//! A socket shows datagrams alone. The headers around them are made up as a host on the same wire
//! would see them: MAC addresses zero as on a loopback interface, TTL 64, checksums right;
//! addresses, ports, ECN bits and times are real. [`CaptureForm`] decides on the UDP header.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::SystemTime;

use etherparse::{
    IpHeaders, IpNumber, Ipv4Extensions, Ipv4Header, Ipv6Extensions, Ipv6Header, PacketBuilder,
};
use tfrc_dccp::wire::{Integrity, Packet, PseudoHeader};
use tfrc_units::{Dscp, Ecn, Instant};

use crate::io::Clock;

mod file;

pub use file::{LinkType, Writer, cooked};

const TTL: u8 = 64;
/// DCCP (RFC 4340 §19.1).
const DCCP: IpNumber = IpNumber(33);

/// Form of the packets in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CaptureForm {
    /// DCCP on IP (protocol 33) with a checksum of its own, which Wireshark and tcpdump read and
    /// verify without any setting. A datagram that is no DCCP stays in UDP.
    #[default]
    Native,
    /// DCCP in UDP, as on the network. Its checksum is zero there (RFC 6773 §3.3), which Wireshark
    /// calls bad.
    Udp,
}

/// Writes a capture. [`Capture::finish`] reports a failed write; the session goes on.
pub(crate) struct Capture {
    out: Writer<Box<dyn Write + Send>>,
    form: CaptureForm,
    local: SocketAddr,
    /// The codepoint that the socket marks everything sent with.
    dscp: Dscp,
    /// The address of ours that the latest peer sees, when we are bound to all of them.
    seen: Option<(IpAddr, IpAddr)>,
    /// Time of the endpoint's zero since the Unix epoch.
    epoch: std::time::Duration,
    failed: Option<io::Error>,
}

impl Capture {
    /// Begins a capture of the socket bound to `local`, which marks what it sends with `dscp`;
    /// times are `clock`'s.
    ///
    /// # Errors
    /// What the system says of the first write.
    pub(crate) fn new(
        out: Box<dyn Write + Send>,
        form: CaptureForm,
        local: SocketAddr,
        dscp: Dscp,
        clock: Clock,
    ) -> io::Result<Self> {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let epoch = since_epoch.saturating_sub(clock.now().saturating_since(Instant::ZERO).into());
        let out = Writer::new(out, LinkType::Ethernet)?;
        Ok(Self { out, form, local, dscp, seen: None, epoch, failed: None })
    }

    /// A datagram has come from `peer`.
    pub(crate) fn received(&mut self, at: Instant, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let local = self.local_towards(peer);
        let frame = self.frame(peer, local, traffic_class(Dscp::DEFAULT, ecn), bytes);
        self.write(at, &frame);
    }

    /// A datagram goes to `peer`.
    pub(crate) fn sent(&mut self, at: Instant, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let local = self.local_towards(peer);
        let frame = self.frame(local, peer, traffic_class(self.dscp, ecn), bytes);
        self.write(at, &frame);
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// The first write that failed.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn frame(&self, from: SocketAddr, to: SocketAddr, class: u8, datagram: &[u8]) -> Vec<u8> {
        let native = match self.form {
            CaptureForm::Native => native(from, to, class, datagram),
            CaptureForm::Udp => None,
        };
        native.unwrap_or_else(|| in_udp(from, to, class, datagram))
    }

    fn write(&mut self, at: Instant, frame: &[u8]) {
        let time = self.epoch + at.saturating_since(Instant::ZERO).into();
        if self.failed.is_none() {
            self.failed = self.out.packet(time, frame).err();
        }
    }

    /// Our address as this peer sees it.
    fn local_towards(&mut self, peer: SocketAddr) -> SocketAddr {
        let local = self.local.ip();
        if !local.is_unspecified() {
            return self.local;
        }
        let ip = match self.seen {
            Some((known, ours)) if known == peer.ip() => ours,
            _ => {
                // A connected socket knows the way and sends nothing.
                let ours = UdpSocket::bind((local, 0)).and_then(|socket| {
                    socket.connect(peer)?;
                    socket.local_addr()
                });
                let ours = ours.map_or(local, |address| address.ip());
                self.seen = Some((peer.ip(), ours));
                ours
            }
        };
        SocketAddr::new(ip, self.local.port())
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture")
            .field("local", &self.local)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// The TOS byte of IPv4, the Traffic Class of IPv6. The socket does not show the codepoint of a
/// peer: it is written as best effort.
const fn traffic_class(dscp: Dscp, ecn: Ecn) -> u8 {
    dscp.number() << 2 | ecn.bits()
}

/// An Ethernet frame with a DCCP packet on IP; `None` for a datagram that is no DCCP packet.
fn native(from: SocketAddr, to: SocketAddr, class: u8, datagram: &[u8]) -> Option<Vec<u8>> {
    let packet = Packet::parse(datagram, Integrity::Udp).ok()?;
    let pseudo = PseudoHeader::new(from.ip().to_canonical(), to.ip().to_canonical())?;
    let mut content = Vec::with_capacity(datagram.len());
    packet.emit(&mut content, Integrity::Native(pseudo)).ok()?;
    let frame = PacketBuilder::ethernet2([0; 6], [0; 6]).ip(ip(from, to, class));
    let mut bytes = Vec::with_capacity(frame.size(content.len()));
    frame.write(&mut bytes, DCCP, &content).ok()?;
    Some(bytes)
}

/// An Ethernet frame with a UDP datagram in it; empty for a payload that no datagram can have.
fn in_udp(from: SocketAddr, to: SocketAddr, class: u8, payload: &[u8]) -> Vec<u8> {
    let frame = PacketBuilder::ethernet2([0; 6], [0; 6]).ip(ip(from, to, class));
    let frame = frame.udp(from.port(), to.port());
    let mut bytes = Vec::with_capacity(frame.size(payload.len()));
    // Writing to a Vec fails for a payload of more than 65 507 bytes alone.
    if frame.write(&mut bytes, payload).is_err() {
        bytes.clear();
    }
    bytes
}

/// The IP header between two addresses, without protocol, lengths and checksum. On a socket for
/// both versions IPv4 addresses are mapped ones.
fn ip(from: SocketAddr, to: SocketAddr, class: u8) -> IpHeaders {
    match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = Ipv4Header {
                dscp: (class >> 2).try_into().unwrap_or_default(),
                ecn: (class & 0b11).try_into().unwrap_or_default(),
                dont_fragment: true,
                time_to_live: TTL,
                source: from.octets(),
                destination: to.octets(),
                ..Ipv4Header::default()
            };
            IpHeaders::Ipv4(header, Ipv4Extensions::default())
        }
        (from, to) => {
            let header = Ipv6Header {
                traffic_class: class,
                hop_limit: TTL,
                source: as_v6(from).octets(),
                destination: as_v6(to).octets(),
                ..Ipv6Header::default()
            };
            IpHeaders::Ipv6(header, Ipv6Extensions::default())
        }
    }
}

const fn as_v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Internet checksum (RFC 1071) over two parts, the first of an even length.
    fn checksum(parts: &[&[u8]]) -> u16 {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let mut sum: u32 =
            words.map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low))).sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn headers_of_both_versions() {
        let (from, to) = (SocketAddr::from(([192, 0, 2, 1], 1000)), SocketAddr::from(([192, 0, 2, 2], 6511)));
        let v4 = in_udp(from, to, traffic_class(Dscp::DEFAULT, Ecn::Ect0), b"abc");
        assert_eq!(v4.len(), 14 + 20 + 8 + 3);
        assert_eq!(v4[12..14], [0x08, 0x00]);
        assert_eq!(v4[14..20], [0x45, 0b10, 0, 31, 0, 0]);
        assert_eq!(checksum(&[&v4[14..34]]), 0, "a right header sums to zero");
        let mut pseudo = v4[26..34].to_vec();
        pseudo.extend_from_slice(&[0, 17, 0, 11]);
        assert_eq!(checksum(&[&pseudo, &v4[34..]]), 0);
        assert_eq!(v4[34..40], [0x03, 0xE8, 0x19, 0x6F, 0, 11]);
        assert_eq!(v4[42..], *b"abc");

        // The same between addresses mapped into IPv6.
        let mapped = |a: SocketAddr| SocketAddr::new(as_v6(a.ip()).into(), a.port());
        let ect = Ecn::Ect0.bits();
        assert_eq!(in_udp(mapped(from), mapped(to), ect, b"abc"), v4);

        let local = |port| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
        let v6 = in_udp(local(1000), local(6511), Ecn::Ce.bits(), b"abcd");
        assert_eq!(v6.len(), 14 + 40 + 8 + 4);
        assert_eq!(v6[12..22], [0x86, 0xDD, 0x60, 0x30, 0, 0, 0, 12, 17, 64]);
        let mut pseudo = v6[22..54].to_vec();
        pseudo.extend_from_slice(&[0, 0, 0, 12, 0, 0, 0, 17]);
        assert_eq!(checksum(&[&pseudo, &v6[54..]]), 0);
    }

    /// RFC 4340 §9.1: the checksum covers the pseudo header, and a right one sums to zero.
    #[test]
    fn dccp_on_ip_has_a_checksum_of_its_own() {
        let request =
            [0x03, 0xE8, 0x19, 0x6F, 5, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 42, b'a', b'b', b'c'];
        let (from, to) = (SocketAddr::from(([192, 0, 2, 1], 4000)), SocketAddr::from(([192, 0, 2, 2], 4001)));
        let v4 = native(from, to, Ecn::Ect0.bits(), &request).expect("DCCP");
        assert_eq!((v4.len(), v4[23], v4[15]), (14 + 20 + request.len(), 33, Ecn::Ect0.bits()));
        assert_eq!(checksum(&[&v4[14..34]]), 0);
        let mut pseudo = v4[26..34].to_vec();
        pseudo.extend_from_slice(&[0, 33, 0, 23]);
        assert_eq!(checksum(&[&pseudo, &v4[34..]]), 0);
        // All but the checksum is as it was sent.
        assert_ne!(v4[40..42], [0, 0]);
        assert_eq!((&v4[34..40], &v4[42..]), (&request[..6], &request[8..]));

        let local = |port| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
        let v6 = native(local(4000), local(4001), Ecn::Ce.bits(), &request).expect("DCCP");
        let mut pseudo = v6[22..54].to_vec();
        pseudo.extend_from_slice(&[0, 0, 0, 23, 0, 0, 0, 33]);
        assert_eq!((v6[20], checksum(&[&pseudo, &v6[54..]])), (33, 0));
    }

    #[test]
    fn a_datagram_that_is_no_dccp_stays_in_udp() -> io::Result<()> {
        let (from, to) = (SocketAddr::from(([192, 0, 2, 1], 1000)), SocketAddr::from(([192, 0, 2, 2], 6511)));
        let capture = |form| Capture::new(Box::new(io::sink()), form, from, Dscp::DEFAULT, Clock::start());
        let stray = capture(CaptureForm::Native)?.frame(from, to, 0, b"no DCCP");
        assert_eq!(stray, capture(CaptureForm::Udp)?.frame(from, to, 0, b"no DCCP"));
        assert_eq!(stray, in_udp(from, to, 0, b"no DCCP"));
        Ok(())
    }

    /// RFC 2474 §3: the codepoint is the upper six bits, ECN the lower two.
    #[test]
    fn a_codepoint_is_shown_beside_ecn() -> Result<(), tfrc_units::NotADscp> {
        let class = traffic_class("af11".parse()?, Ecn::Ect0);
        let at = SocketAddr::from(([192, 0, 2, 1], 1000));
        assert_eq!(in_udp(at, at, class, b"abc")[14..16], [0x45, 10 << 2 | 0b10]);
        let at = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 1000);
        assert_eq!(in_udp(at, at, class, b"abc")[14..18], [0x62, 0xA0, 0, 0]);
        Ok(())
    }

    #[test]
    fn who_is_bound_to_every_address_shows_the_one_of_the_way() -> io::Result<()> {
        let any = SocketAddr::from(([0, 0, 0, 0], 1000));
        let mut capture =
            Capture::new(Box::new(io::sink()), CaptureForm::Native, any, Dscp::DEFAULT, Clock::start())?;
        let peer = SocketAddr::from(([127, 0, 0, 1], 6511));
        for _ in 0..2 {
            assert_eq!(capture.local_towards(peer), SocketAddr::from(([127, 0, 0, 1], 1000)));
        }
        capture.finish()
    }
}
