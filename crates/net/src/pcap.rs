//! Captures: what an endpoint sends and receives, as a pcap file of Ethernet frames that Wireshark reads.
//!
//! A datagram is all that a socket shows. The headers around it are made up as a host on the same wire would see them: MAC
//! addresses zero as on a loopback interface, TTL 64, checksums right; addresses, ports, lengths, ECN bits and times are real.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::SystemTime;

use tfrc_units::{Dscp, Ecn, Instant};

use crate::io::Clock;

/// pcap with times in nanoseconds, version 2.4.
const MAGIC: u32 = 0xA1B2_3C4D;
const VERSION: (u16, u16) = (2, 4);
/// The longest frame.
const SNAP_LENGTH: u32 = 0x1_0000;
const LINK_TYPE_ETHERNET: u32 = 1;
const UDP: u8 = 17;
const TTL: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// Writes a capture. A failed write is remembered and told by [`Capture::finish`]: the session goes on.
pub(crate) struct Capture {
    out: Box<dyn Write + Send>,
    local: SocketAddr,
    /// What the socket marks everything sent with.
    dscp: Dscp,
    /// The address of ours that the latest peer sees, when we are bound to all of them.
    seen: Option<(IpAddr, IpAddr)>,
    /// Time of the endpoint's zero since the Unix epoch.
    epoch: std::time::Duration,
    failed: Option<io::Error>,
}

impl Capture {
    /// Begins a capture of the socket bound to `local`, which marks what it sends with `dscp`; times are `clock`'s.
    ///
    /// # Errors
    /// What the system says of the first write.
    pub(crate) fn new(
        out: Box<dyn Write + Send>,
        local: SocketAddr,
        dscp: Dscp,
        clock: Clock,
    ) -> io::Result<Self> {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let epoch = since_epoch.saturating_sub(clock.now().saturating_since(Instant::ZERO).into());
        let mut capture = Self { out, local, dscp, seen: None, epoch, failed: None };
        let mut head = Vec::new();
        head.extend_from_slice(&MAGIC.to_le_bytes());
        head.extend_from_slice(&VERSION.0.to_le_bytes());
        head.extend_from_slice(&VERSION.1.to_le_bytes());
        head.extend_from_slice(&[0; 8]); // UTC; accuracy not stated
        head.extend_from_slice(&SNAP_LENGTH.to_le_bytes());
        head.extend_from_slice(&LINK_TYPE_ETHERNET.to_le_bytes());
        capture.out.write_all(&head)?;
        Ok(capture)
    }

    /// A datagram has come from `peer`.
    pub(crate) fn received(&mut self, at: Instant, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let local = self.local_towards(peer);
        self.write(at, &frame(peer, local, traffic_class(Dscp::DEFAULT, ecn), bytes));
    }

    /// A datagram goes to `peer`.
    pub(crate) fn sent(&mut self, at: Instant, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let local = self.local_towards(peer);
        self.write(at, &frame(local, peer, traffic_class(self.dscp, ecn), bytes));
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

    fn write(&mut self, at: Instant, frame: &[u8]) {
        let time = self.epoch + at.saturating_since(Instant::ZERO).into();
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let mut head = [0; 16];
        for (field, value) in head.chunks_exact_mut(4).zip([seconds, time.subsec_nanos(), length, length]) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        if self.failed.is_none() {
            self.failed = self.out.write_all(&head).and_then(|()| self.out.write_all(frame)).err();
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

/// The TOS byte of IPv4, the Traffic Class of IPv6. What a peer marked with does not come through the socket: it is shown as
/// best effort.
const fn traffic_class(dscp: Dscp, ecn: Ecn) -> u8 {
    dscp.number() << 2 | ecn.bits()
}

/// An Ethernet frame with a UDP datagram in it.
fn frame(from: SocketAddr, to: SocketAddr, class: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 8).unwrap_or(u16::MAX);
    let mut frame = vec![0; 12];
    // On a socket for both versions IPv4 addresses are mapped ones.
    let pseudo = match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => ipv4(&mut frame, from, to, class, length),
        (from, to) => ipv6(&mut frame, as_v6(from), as_v6(to), class, length),
    };
    let udp = frame.len();
    for word in [from.port(), to.port(), length, 0] {
        frame.extend_from_slice(&word.to_be_bytes());
    }
    frame.extend_from_slice(payload);
    // Zero would mean that there is none (RFC 768).
    let checksum = match checksum(&[&pseudo, &frame[udp..]]) {
        0 => 0xFFFF,
        sum => sum,
    };
    frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
    frame
}

/// Adds EtherType and IPv4 header (RFC 791 §3.1) for so many bytes of UDP; the pseudo-header of its checksum.
fn ipv4(frame: &mut Vec<u8>, from: Ipv4Addr, to: Ipv4Addr, class: u8, udp: u16) -> Vec<u8> {
    frame.extend_from_slice(&[0x08, 0x00]);
    let start = frame.len();
    frame.extend_from_slice(&[0x45, class]);
    for word in [udp.saturating_add(20), 0, DO_NOT_FRAGMENT] {
        frame.extend_from_slice(&word.to_be_bytes());
    }
    frame.extend_from_slice(&[TTL, UDP, 0, 0]);
    frame.extend_from_slice(&from.octets());
    frame.extend_from_slice(&to.octets());
    let sum = checksum(&[&frame[start..]]);
    frame[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    let mut pseudo = [from.octets(), to.octets()].concat();
    pseudo.extend_from_slice(&[0, UDP]);
    pseudo.extend_from_slice(&udp.to_be_bytes());
    pseudo
}

/// Adds EtherType and IPv6 header (RFC 8200 §3); the pseudo-header.
fn ipv6(frame: &mut Vec<u8>, from: Ipv6Addr, to: Ipv6Addr, class: u8, udp: u16) -> Vec<u8> {
    frame.extend_from_slice(&[0x86, 0xDD]);
    // Version 6; the traffic class, whose lowest bits are ECN, is in bits 20 to 27.
    frame.extend_from_slice(&((6_u32 << 28) | (u32::from(class) << 20)).to_be_bytes());
    frame.extend_from_slice(&udp.to_be_bytes());
    frame.extend_from_slice(&[UDP, TTL]);
    let mut pseudo = [from.octets(), to.octets()].concat();
    frame.extend_from_slice(&pseudo);
    pseudo.extend_from_slice(&u32::from(udp).to_be_bytes());
    pseudo.extend_from_slice(&u32::from(UDP).to_be_bytes());
    pseudo
}

const fn as_v6(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// The Internet checksum (RFC 1071) over parts of which all but the last have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 =
        words.map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |low| u64::from(*low))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_both_versions() {
        let (from, to) = (SocketAddr::from(([192, 0, 2, 1], 1000)), SocketAddr::from(([192, 0, 2, 2], 6511)));
        let v4 = frame(from, to, traffic_class(Dscp::DEFAULT, Ecn::Ect0), b"abc");
        assert_eq!(v4.len(), 14 + 20 + 8 + 3);
        assert_eq!(v4[12..14], [0x08, 0x00]);
        assert_eq!(v4[14..20], [0x45, 0b10, 0, 31, 0, 0]);
        assert_eq!(checksum(&[&v4[14..34]]), 0, "a right header sums to zero");
        assert_eq!(v4[34..40], [0x03, 0xE8, 0x19, 0x6F, 0, 11]);
        assert_eq!(v4[42..], *b"abc");

        // The same between addresses mapped into IPv6.
        let mapped = |a: SocketAddr| SocketAddr::new(as_v6(a.ip()).into(), a.port());
        let ect = Ecn::Ect0.bits();
        assert_eq!(frame(mapped(from), mapped(to), ect, b"abc"), v4);

        let local = |port| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
        let v6 = frame(local(1000), local(6511), Ecn::Ce.bits(), b"abcd");
        assert_eq!(v6.len(), 14 + 40 + 8 + 4);
        assert_eq!(v6[12..22], [0x86, 0xDD, 0x60, 0x30, 0, 0, 0, 12, 17, 64]);
        let mut pseudo = v6[22..54].to_vec();
        pseudo.extend_from_slice(&[0, 0, 0, 12, 0, 0, 0, 17]);
        assert_eq!(checksum(&[&pseudo, &v6[54..]]), 0);
    }

    /// RFC 2474 §3: the codepoint is the upper six bits, ECN the lower two.
    #[test]
    fn a_codepoint_is_shown_beside_ecn() -> Result<(), tfrc_units::NotADscp> {
        let class = traffic_class("af11".parse()?, Ecn::Ect0);
        let at = SocketAddr::from(([192, 0, 2, 1], 1000));
        assert_eq!(frame(at, at, class, b"abc")[14..16], [0x45, 10 << 2 | 0b10]);
        let at = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 1000);
        assert_eq!(frame(at, at, class, b"abc")[14..18], [0x62, 0xA0, 0, 0]);
        Ok(())
    }

    #[test]
    fn the_worked_example_of_rfc_1071() {
        assert_eq!(!checksum(&[&[0x00, 0x01, 0xF2, 0x03], &[0xF4, 0xF5, 0xF6, 0xF7]]), 0xDDF2);
    }

    #[test]
    fn who_is_bound_to_every_address_shows_the_one_of_the_way() -> io::Result<()> {
        let any = SocketAddr::from(([0, 0, 0, 0], 1000));
        let mut capture = Capture::new(Box::new(io::sink()), any, Dscp::DEFAULT, Clock::start())?;
        let peer = SocketAddr::from(([127, 0, 0, 1], 6511));
        for _ in 0..2 {
            assert_eq!(capture.local_towards(peer), SocketAddr::from(([127, 0, 0, 1], 1000)));
        }
        capture.finish()
    }
}
