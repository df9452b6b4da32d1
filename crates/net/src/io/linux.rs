//! What only Linux has: several datagrams for one system call, and the queue of errors that ICMP messages leave on a socket.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike, sendmmsg};

/// Datagrams given to the system at once, at most.
pub(super) const MOST: usize = 64;

/// Sends datagrams of which each has the same marks, those of the socket; how many of them the system took. `to` is `None` on a connected
/// socket.
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
