//! Linux alone: several datagrams for one system call, and the queue of errors that ICMP messages
//! leave on a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use tfrc_units::saturating;

use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo, sock_extended_err};
use nix::sys::socket::sockopt::{Ipv4PacketInfo, Ipv6RecvPacketInfo, UdpGroSegment};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike,
    SockaddrStorage, recvmsg, sendmmsg, sendmsg, setsockopt,
};
use tfrc_dccp::connection::PathError;

/// Datagrams given to the system at once, at most.
pub(super) const MOST: usize = 64;

/// Sends datagrams of which each has the same marks, those of the socket; how many of them the
/// system took. `to` is `None` on a connected socket.
pub(super) fn send_run<'a>(
    socket: &UdpSocket,
    to: Option<SocketAddr>,
    datagrams: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    match to {
        Some(SocketAddr::V4(to)) => send_as(socket, Some(SockaddrIn::from(to)), datagrams),
        Some(SocketAddr::V6(to)) => send_as(socket, Some(SockaddrIn6::from(to)), datagrams),
        None => send_as(socket, None::<SockaddrIn>, datagrams),
    }
}

fn send_as<'a, S: SockaddrLike + Copy>(
    socket: &UdpSocket,
    to: Option<S>,
    datagrams: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    let slices: Vec<[IoSlice<'a>; 1]> = datagrams.take(MOST).map(|bytes| [IoSlice::new(bytes)]).collect();
    let mut headers = MultiHeaders::preallocate(slices.len(), None);
    let to = vec![to; slices.len()];
    let sent = sendmmsg(socket.as_raw_fd(), &mut headers, &slices, to, [], MsgFlags::empty())?;
    Ok(sent.count())
}

/// Sends one packet with these marks, from this address of ours if one is given.
pub(super) fn send_marked(
    socket: &UdpSocket,
    from: Option<IpAddr>,
    to: SocketAddr,
    class: u8,
    bytes: &[u8],
) -> io::Result<()> {
    let bytes = [IoSlice::new(bytes)];
    let none = MsgFlags::empty();
    match to {
        SocketAddr::V4(to) => {
            let from = from.and_then(|from| match from {
                IpAddr::V4(from) => Some(in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: in_addr { s_addr: u32::from_ne_bytes(from.octets()) },
                    ipi_addr: in_addr { s_addr: 0 },
                }),
                IpAddr::V6(_) => None,
            });
            let from = from.as_ref().map(ControlMessage::Ipv4PacketInfo);
            let control: Vec<_> = from.into_iter().chain([ControlMessage::Ipv4Tos(&class)]).collect();
            sendmsg(socket.as_raw_fd(), &bytes, &control, none, Some(&SockaddrIn::from(to)))?;
        }
        SocketAddr::V6(to) => {
            let class = i32::from(class);
            let from = from.and_then(|from| match from {
                IpAddr::V6(from) => Some(in6_pktinfo {
                    ipi6_ifindex: to.scope_id(),
                    ipi6_addr: in6_addr { s6_addr: from.octets() },
                }),
                IpAddr::V4(_) => None,
            });
            let from = from.as_ref().map(ControlMessage::Ipv6PacketInfo);
            let control: Vec<_> = from.into_iter().chain([ControlMessage::Ipv6TClass(&class)]).collect();
            sendmsg(socket.as_raw_fd(), &bytes, &control, none, Some(&SockaddrIn6::from(to)))?;
        }
    }
    Ok(())
}

/// Nobody here asks for the address that a datagram came to, so the system need not write it for
/// each.
pub(super) fn without_destinations(socket: &UdpSocket) {
    // Where they go on they do no harm.
    let _ = setsockopt(socket, Ipv4PacketInfo, &false);
    let _ = setsockopt(socket, Ipv6RecvPacketInfo, &false);
}

/// Number of bytes read of a datagram that an ICMP message quotes.
const QUOTED: usize = 64;

/// One entry of the queue.
#[derive(Debug)]
pub(super) struct Queued {
    /// Destination of the datagram that it is about.
    pub(super) to: SocketAddr,
    quoted: [u8; QUOTED],
    length: usize,
    pub(super) said: Said,
}

/// Datagrams come one by one. quinn-udp 0.6.3 has 96 bytes for what the system says of a datagram:
/// with the time, the address it came to and the length of coalesced datagrams the ECN bits, which
/// come last, no longer fit.
pub(super) fn without_coalescing(socket: &UdpSocket) {
    // A system without the option does not coalesce.
    let _ = setsockopt(socket, UdpGroSegment, &false);
}

/// Content of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// By an ICMP message, true or forged, about the path.
    Network(PathError),
    /// Nothing of use here.
    Other,
    /// By this system: it takes no UDP payload longer than this towards the destination.
    System { limit: usize },
}

impl Queued {
    /// The beginning of that datagram, as far as the message quotes it.
    pub(super) fn quoted(&self) -> &[u8] {
        self.quoted.get(..self.length).unwrap_or_default()
    }
}

/// The oldest entry of the socket's error queue; `None` if it is empty. `below` is the length of
/// the header between IP and what is sent.
pub(super) fn next_error(socket: &UdpSocket, below: usize) -> io::Result<Option<Queued>> {
    let mut quoted = [0; QUOTED];
    let mut control = vec![0; 512];
    let mut buffers = [IoSliceMut::new(&mut quoted)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message =
        match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut buffers, Some(&mut control), flags) {
            Err(Errno::EAGAIN) => return Ok(None),
            message => message?,
        };
    let error = message.cmsgs().ok().and_then(|mut all| {
        all.find_map(|control| match control {
            ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                Some(error)
            }
            _ => None,
        })
    });
    let (length, address) = (message.bytes, message.address);
    let address = address.and_then(|address| {
        let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::from(std::net::SocketAddrV4::from(*v4)));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| std::net::SocketAddrV6::from(*v6).into()))
    });
    // Messages about no known peer are skipped.
    let to = address.unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)));
    Ok(Some(Queued {
        to,
        quoted,
        length,
        said: error.map_or(Said::Other, |error| meaning(&error, to, below)),
    }))
}

/// RFC 792, RFC 1191, RFC 4443; a route or host that does not reach the peer now may reach it
/// later.
fn meaning(error: &sock_extended_err, to: SocketAddr, below: usize) -> Said {
    const LOCAL: u8 = 1;
    const ICMP: u8 = 2;
    const ICMP6: u8 = 3;
    let headers = below + if to.ip().to_canonical().is_ipv4() { 20 } else { 40 };
    let limit = saturating::<usize>(error.ee_info).saturating_sub(headers);
    match (error.ee_origin, error.ee_type, error.ee_code) {
        (LOCAL, ..) if Errno::from_raw(error.ee_errno.cast_signed()) == Errno::EMSGSIZE => {
            Said::System { limit }
        }
        // What IPv6 links must carry is not too long for one (RFC 8201 §4).
        (ICMP6, 2, _) if error.ee_info < 1280 => Said::Other,
        (ICMP, 3, 4) | (ICMP6, 2, _) => Said::Network(PathError::TooLong { limit }),
        // Protocol, port; prohibited by an administrator.
        (ICMP, 3, 2 | 3 | 9 | 10 | 13) | (ICMP6, 1, 1 | 4) => Said::Network(PathError::Unreachable),
        _ => Said::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_meaning() {
        let message = |ee_origin, ee_type, ee_code, ee_info| {
            let ee_errno = 90;
            let host = if ee_origin == 3 { "[::1]:9" } else { "127.0.0.1:9" };
            meaning(
                &sock_extended_err { ee_errno, ee_origin, ee_type, ee_code, ee_pad: 0, ee_info, ee_data: 0 },
                host.parse().expect("an address"),
                8,
            )
        };
        let too_long = |limit| Said::Network(PathError::TooLong { limit });
        assert_eq!(message(2, 3, 4, 1400), too_long(1372));
        assert_eq!(message(3, 2, 0, 1280), too_long(1232));
        assert_eq!(message(3, 2, 0, 1279), Said::Other);
        assert_eq!(message(2, 3, 4, 0), too_long(0));
        assert_eq!(message(2, 3, 3, 0), Said::Network(PathError::Unreachable));
        assert_eq!(message(3, 1, 4, 0), Said::Network(PathError::Unreachable));
        assert_eq!((message(2, 3, 1, 0), message(2, 11, 0, 0)), (Said::Other, Said::Other));
        assert_eq!(message(1, 0, 0, 1500), Said::System { limit: 1472 });
    }

    /// The system itself reports the interface's MTU.
    #[test]
    fn a_refusal_by_the_system_is_told_from_a_message() -> io::Result<()> {
        let socket = UdpSocket::bind(("127.0.0.1", 0))?;
        quinn_udp::UdpSocketState::new((&socket).into())?.enable_transport_errors((&socket).into())?;
        let to = socket.local_addr()?;
        let refused = socket.send_to(&vec![0; 65_530], to);
        assert!(refused.is_err_and(|error| quinn_udp::is_msg_size_err(&error)));
        let queued = next_error(&socket, 8)?.ok_or(io::ErrorKind::NotFound)?;
        assert_eq!(queued.to.ip(), to.ip(), "the port only on connected sockets");
        assert!(matches!(queued.said, Said::System { limit: 1_200..=65_508 }), "{:?}", queued.said);
        assert!(next_error(&socket, 8)?.is_none());
        Ok(())
    }

    /// Nobody listens: the message about the datagram comes back with its beginning.
    #[test]
    fn an_unreachable_port_is_told_with_what_was_sent() -> io::Result<()> {
        let socket = UdpSocket::bind(("127.0.0.1", 0))?;
        quinn_udp::UdpSocketState::new((&socket).into())?.enable_transport_errors((&socket).into())?;
        let nobody = UdpSocket::bind(("127.0.0.1", 0))?.local_addr()?;
        socket.send_to(b"are you there", nobody)?;
        let queued = next_error(&socket, 8)?.ok_or(io::ErrorKind::NotFound)?;
        assert_eq!((queued.to, queued.quoted()), (nobody, b"are you there".as_slice()));
        assert_eq!(queued.said, Said::Network(PathError::Unreachable));
        assert!(next_error(&socket, 8)?.is_none());
        Ok(())
    }
}
