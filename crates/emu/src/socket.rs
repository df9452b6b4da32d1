use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use socket2::{Domain, Protocol, Type};
use tfrc_net::io::{Clock, Fault};
use tfrc_sim::Ecn;
use tfrc_units::Instant;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::stamp::BatchTime;

/// What the kernel is asked to hold for a socket while the relay is busy. It may grant less.
const KERNEL_BUFFER: usize = 4 << 20;
/// Room for a UDP datagram, or several merged by the kernel.
const SLOT: usize = 1 << 16;
/// How many of them are read at once.
const SLOTS: usize = 4;
/// Rest after an error of reading, so that one that stays does not keep the processor busy.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// A UDP socket with ECN both ways and the times of reception.
#[derive(Debug)]
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
}

/// A datagram read from a socket.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) from: SocketAddr,
    /// The local address it was sent to, if known: answers come from there.
    pub(crate) to_ip: Option<IpAddr>,
    pub(crate) ecn: Ecn,
    pub(crate) bytes: Box<[u8]>,
}

/// Opens a socket; it needs no runtime yet.
pub(crate) fn bind(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // More is better, less still works.
    let _ = socket.set_recv_buffer_size(KERNEL_BUFFER);
    let _ = socket.set_send_buffer_size(KERNEL_BUFFER);
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Any free port of the family of `peer`.
pub(crate) fn bind_towards(peer: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let any: IpAddr =
        if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    bind(SocketAddr::new(any, 0))
}

impl Socket {
    /// Registers a socket with the runtime.
    pub(crate) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        Ok(Self { io: UdpSocket::from_std(socket)?, state })
    }

    /// Sends now or not at all.
    pub(crate) fn send(
        &self,
        to: SocketAddr,
        from_ip: Option<IpAddr>,
        ecn: Ecn,
        bytes: &[u8],
    ) -> io::Result<()> {
        let transmit = Transmit {
            destination: to,
            ecn: EcnCodepoint::from_bits(ecn.bits()),
            contents: bytes,
            segment_size: None,
            src_ip: from_ip,
        };
        // Straight to the kernel: tokio calls a new socket unwritable until it has heard of it.
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    /// Waits for datagrams and reads those that have come. `buffer` is room to work in, empty at first.
    ///
    /// # Errors
    /// If the socket cannot be used any more. Any other error, such as the network may leave, costs
    /// a pause.
    pub(crate) async fn receive(&self, clock: Clock, buffer: &mut Vec<u8>) -> io::Result<Vec<Received>> {
        buffer.resize(SLOTS * SLOT, 0);
        let mut metas = [RecvMeta::default(); SLOTS];
        let count = loop {
            let read = self.io.async_io(Interest::READABLE, || {
                let mut slots: Vec<IoSliceMut<'_>> = buffer.chunks_mut(SLOT).map(IoSliceMut::new).collect();
                self.state.recv(UdpSockRef::from(&self.io), &mut slots, &mut metas)
            });
            match read.await {
                Err(error) if error.raw_os_error().is_some() && Fault::of(&error) != Fault::Unusable => {
                    tokio::time::sleep(PAUSE).await;
                }
                read => break read?,
            }
        };
        let time = BatchTime::read(clock);
        let mut batch = Vec::new();
        for (meta, slot) in metas.iter().zip(buffer.chunks(SLOT)).take(count) {
            let mut rest = &slot[..meta.len.min(SLOT)];
            loop {
                // The kernel may have merged datagrams of one size; an empty one is a datagram too.
                let (bytes, more) = rest.split_at(meta.stride.min(rest.len()));
                batch.push(Received {
                    at: time.of(meta.timestamp),
                    from: meta.addr,
                    to_ip: meta.dst_ip,
                    ecn: Ecn::from_bits(meta.ecn.map_or(0, |e| e as u8)),
                    bytes: bytes.into(),
                });
                rest = more;
                if rest.is_empty() || bytes.is_empty() {
                    break;
                }
            }
        }
        Ok(batch)
    }
}
