//! IP protocol 33: DCCP without UDP, by a raw socket that has one DCCP port of this host.
//!
//! A raw socket is shown every DCCP packet that comes to its address, those for other processes
//! too, and whoever answers all of them resets the connections of the others. So a socket has one
//! port, as one of UDP has: the system is given a filter for it, what comes before the filter is
//! dropped here, and a lock keeps a second process from the same port (docs/decisions/0022).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixDatagram;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr, Ipv6RecvPacketInfo};
use quinn_udp::RecvMeta;
use socket2::{Domain, Protocol, SockFilter, Type};
use tfrc_dccp::wire::{Integrity, Packet, ParseError, PseudoHeader, seal};

/// The number of DCCP among the protocols of IP.
const DCCP: i32 = 33;
/// Ports from which one is drawn where the system is to choose (RFC 6335 §6).
const DYNAMIC: std::ops::RangeInclusive<u16> = 49_152..=65_535;
/// Ports drawn until one is free, at most.
const DRAWS: usize = 100;
/// Peers whose view of this host is remembered, at most; of the others the route is asked.
const REMEMBERED: usize = 4096;
/// The shortest packet: the generic header with short sequence numbers.
const SHORTEST: usize = 12;

/// A raw socket's part of the host.
#[derive(Debug)]
pub(super) struct Raw {
    /// The address bound to, or that of the route to the peer, with the DCCP port.
    local: SocketAddr,
    /// Bound to every address: the ones that peers, by address and port, have sent to.
    seen: BTreeMap<SocketAddr, IpAddr>,
    /// Packets whose checksum was wrong.
    corrupt: u64,
    /// Keeps the port from other processes.
    _lock: UnixDatagram,
}

/// Opens a raw socket for the packets of one DCCP port; port 0 has one chosen.
pub(super) fn open(address: SocketAddr) -> io::Result<(UdpSocket, Raw)> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::RAW, Some(Protocol::from(DCCP)));
    let socket = socket?;
    let (lock, port) = locked(address)?;
    socket.attach_filter(&filter(address, port))?;
    socket.bind(&without_port(address).into())?;
    let mut local = address;
    local.set_port(port);
    Ok((socket.into(), Raw { local, seen: BTreeMap::new(), corrupt: 0, _lock: lock }))
}

/// Has the system show what the network says, and the address that each packet came to.
pub(super) fn shows_errors(socket: &UdpSocket, address: SocketAddr) {
    // ICMP messages are a help, not a need. The header of an IPv4 packet is shown anyway.
    let _ = match address {
        SocketAddr::V4(_) => setsockopt(socket, Ipv4RecvErr, &true),
        SocketAddr::V6(_) => {
            let _ = setsockopt(socket, Ipv6RecvPacketInfo, &true);
            setsockopt(socket, Ipv6RecvErr, &true)
        }
    };
}

/// The address as raw sockets want it: IPv6 takes the port for a protocol.
pub(super) fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

/// The destination of a packet whose beginning an ICMP message quotes.
pub(super) fn quoted_destination(mut to: SocketAddr, quoted: &[u8]) -> SocketAddr {
    if let &[_, _, high, low, ..] = quoted {
        to.set_port(u16::from_be_bytes([high, low]));
    }
    to
}

/// Takes a port for this process: the lock is an abstract Unix address, which exists as long as the
/// socket and in one network namespace.
fn locked(address: SocketAddr) -> io::Result<(UnixDatagram, u16)> {
    let version = if address.is_ipv4() { 4 } else { 6 };
    let lock = |port: u16| {
        let name = format!("tfrc-dccp-{version}-{port}");
        let name = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        UnixDatagram::bind_addr(&name).map(|lock| (lock, port))
    };
    if address.port() != 0 {
        return lock(address.port()).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                io::Error::new(error.kind(), "another process of this host has this DCCP port")
            }
            _ => error,
        });
    }
    for _ in 0..DRAWS {
        let number = getrandom::u32().map_err(|error| io::Error::other(error.to_string()))?;
        let among = u32::from(DYNAMIC.end() - DYNAMIC.start()) + 1;
        let port = DYNAMIC.start() + u16::try_from(number % among).unwrap_or_default();
        match lock(port) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            done => return done,
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no DCCP port is free"))
}

/// The program of the system that lets packets to one port through. An IPv4 packet is shown with
/// its header, one of IPv6 without.
fn filter(address: SocketAddr, port: u16) -> Vec<SockFilter> {
    const LOAD: u16 = 0x28;
    const LOAD_BEHIND_X: u16 = 0x48;
    const X_IS_HEADER_LENGTH: u16 = 0xB1;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const DESTINATION: u32 = 2;
    let load = match address {
        SocketAddr::V4(_) => vec![
            SockFilter::new(X_IS_HEADER_LENGTH, 0, 0, 0),
            SockFilter::new(LOAD_BEHIND_X, 0, 0, DESTINATION),
        ],
        SocketAddr::V6(_) => vec![SockFilter::new(LOAD, 0, 0, DESTINATION)],
    };
    let verdict = [
        SockFilter::new(IF_EQUAL, 0, 1, port.into()),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ];
    load.into_iter().chain(verdict).collect()
}

impl Raw {
    pub(super) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// True if this end is bound to every address, so that each packet names the one it leaves
    /// from.
    pub(super) fn is_everywhere(&self) -> bool {
        self.local.ip().is_unspecified()
    }

    /// The socket is connected, and has this address now.
    pub(super) fn connected(&mut self, local: SocketAddr) {
        self.local = SocketAddr::new(local.ip(), self.local.port());
    }

    /// Packets with a wrong checksum so far.
    pub(super) const fn corrupt(&self) -> u64 {
        self.corrupt
    }

    /// The address of ours that a peer sees.
    pub(super) fn towards(&mut self, peer: SocketAddr) -> IpAddr {
        if !self.is_everywhere() {
            return self.local.ip();
        }
        if let Some(ours) = self.seen.get(&peer) {
            return *ours;
        }
        // A connected socket knows the way and sends nothing.
        let ours = UdpSocket::bind((self.local.ip(), 0)).and_then(|socket| {
            socket.connect(peer)?;
            socket.local_addr()
        });
        let ours = ours.map_or(self.local.ip(), |address| address.ip());
        self.remember(peer, ours);
        ours
    }

    fn remember(&mut self, peer: SocketAddr, ours: IpAddr) {
        if self.seen.len() >= REMEMBERED {
            self.seen.clear();
        }
        // A later packet, which anybody can forge, does not move a peer.
        self.seen.entry(peer).or_insert(ours);
    }

    /// Writes the checksum into a packet.
    pub(super) fn seal(&mut self, to: SocketAddr, packet: &mut [u8]) {
        if let Some(pseudo) = PseudoHeader::new(self.towards(to), to.ip()) {
            seal(packet, pseudo);
        }
    }

    /// Leaves of a batch what is for this end, each without its IP header and from the DCCP port of
    /// its sender; how many that are.
    pub(super) fn sift(&mut self, metas: &mut [RecvMeta], buffers: &mut [Vec<u8>]) -> usize {
        let mut kept = 0;
        for n in 0..metas.len().min(buffers.len()) {
            let (Some(meta), Some(buffer)) = (metas.get_mut(n), buffers.get_mut(n)) else { break };
            if self.take(meta, buffer).is_some() {
                metas.swap(kept, n);
                buffers.swap(kept, n);
                kept += 1;
            }
        }
        kept
    }

    fn take(&mut self, meta: &mut RecvMeta, buffer: &mut [u8]) -> Option<()> {
        let whole = buffer.get(..meta.len)?;
        let (start, to) = match self.local {
            SocketAddr::V4(_) => {
                let (header, _) = etherparse::Ipv4Header::from_slice(whole).ok()?;
                (header.header_len(), IpAddr::from(header.destination))
            }
            SocketAddr::V6(_) => (0, meta.dst_ip?),
        };
        let packet = whole.get(start..).filter(|packet| packet.len() >= SHORTEST)?;
        let &[high, low, to_high, to_low, ..] = packet else { return None };
        let is_broadcast = matches!(to, IpAddr::V4(to) if to.is_broadcast());
        if u16::from_be_bytes([to_high, to_low]) != self.local.port() || to.is_multicast() || is_broadcast {
            return None;
        }
        if !self.is_everywhere() && to != self.local.ip() {
            return None;
        }
        let pseudo = PseudoHeader::new(meta.addr.ip(), to)?;
        // What else is wrong with it the endpoint finds, and counts.
        if matches!(Packet::parse(packet, Integrity::Native(pseudo)), Err(ParseError::Checksum)) {
            self.corrupt += 1;
            return None;
        }
        let length = packet.len();
        meta.addr.set_port(u16::from_be_bytes([high, low]));
        buffer.copy_within(start..start + length, 0);
        (meta.len, meta.stride, meta.dst_ip) = (length, length, Some(to));
        if self.is_everywhere() {
            self.remember(meta.addr, to);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
