//! Tasks that read the relay's sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use tfrc_net::io::{Incoming, Socket};
use tfrc_units::Ecn;
use tfrc_units::Instant;

/// A datagram read from a socket.
#[derive(Debug)]
pub(crate) struct ReadDatagram {
    pub(crate) at: Instant,
    pub(crate) from: SocketAddr,
    /// The local address it was sent to, if known: answers come from there.
    pub(crate) to_ip: Option<IpAddr>,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Box<[u8]>,
}

impl From<Incoming<'_>> for ReadDatagram {
    fn from(incoming: Incoming<'_>) -> Self {
        let Incoming { at, from, to, ecn, bytes } = incoming;
        Self { at, from, to_ip: to, ecn, bytes: bytes.into() }
    }
}

/// Binds any free port of the family of `peer`.
pub(crate) fn bind_towards(peer: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr =
        if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    UdpSocket::bind((any, 0))
}

/// Waits for datagrams and reads them.
///
/// # Errors
/// If the socket cannot be used any more.
pub(crate) async fn read(socket: &mut Socket) -> io::Result<Vec<ReadDatagram>> {
    loop {
        socket.readable().await?;
        // Messages of the network say nothing that a relay could use.
        socket.take_errors(|_, _, _| {})?;
        if socket.receive()? > 0 {
            return Ok(socket.incoming().map(ReadDatagram::from).collect());
        }
    }
}
