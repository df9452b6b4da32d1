//! A UDP socket for QUIC that counts the network's reports that nobody is there, and the packets
//! that the system refuses.

use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use noq::udp::{RecvMeta, Transmit, UdpSocketState};
use noq::{AsyncUdpSocket, UdpSender};
use socket2::{Domain, Protocol, Socket, Type};
use tfrc_net::io::Fault;
use tfrc_units::saturating;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::moves::Moves;
use crate::unproved::{Unproved, Verdict};

/// Attempts to send a datagram, as many as those of a socket of `tfrc-net`: the system gives a
/// report that came before in place of sending.
const ATTEMPTS: usize = 32;
/// Bytes of the system's buffers, those of a socket of `tfrc-net`.
const RECEIVE_BUFFER: usize = 4 << 20;
const SEND_BUFFER: usize = 1 << 20;

/// A socket whose errors do not end the endpoint: anybody can write an ICMP message.
#[derive(Debug, Clone)]
pub(crate) struct Watched(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    io: UdpSocket,
    state: UdpSocketState,
    counts: Arc<SocketCounts>,
    guard: Option<Guard>,
}

/// The rules about clients' addresses that hold before QUIC sees a datagram.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    pub(crate) moves: Arc<Moves>,
    pub(crate) unproved: Arc<Unproved>,
}

/// Counts of a socket, which go on.
#[derive(Debug, Default)]
pub(crate) struct SocketCounts {
    /// Reports of the network that nobody is there.
    pub(crate) unreachable: AtomicU64,
    /// UDP payloads that QUIC has handed over.
    pub(crate) handed: AtomicU64,
    /// UDP payloads that the system has refused to send.
    pub(crate) refused: AtomicU64,
}

/// The half of one task that sends. Each waits for room by itself.
struct Sending {
    socket: Arc<Inner>,
    room: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>>,
}

impl Watched {
    /// A socket at this address; of both IP versions if the address is that of every host by IPv6.
    pub(crate) fn bind(at: SocketAddr, guard: Guard) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        if at.is_ipv6() {
            let _ = socket.set_only_v6(false);
        }
        socket.bind(&at.into())?;
        Self::new(socket.into(), Some(guard))
    }

    /// A socket for one peer: the system reports an unreachable one, and drops what others send.
    pub(crate) fn towards(peer: SocketAddr) -> io::Result<Self> {
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = std::net::UdpSocket::bind((any, 0))?;
        // Other systems refuse an address with each datagram of a connected socket.
        if cfg!(target_os = "linux") {
            socket.connect(peer)?;
        }
        Self::new(socket, None)
    }

    fn new(socket: std::net::UdpSocket, guard: Option<Guard>) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Larger buffers are a wish: systems cap them. What comes while a busy machine gives no
        // processor waits in them.
        let _ = state.set_recv_buffer_size((&socket).into(), RECEIVE_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SEND_BUFFER);
        let io = UdpSocket::from_std(socket)?;
        Ok(Self(Arc::new(Inner { io, state, counts: Arc::default(), guard })))
    }

    pub(crate) fn counts(&self) -> Arc<SocketCounts> {
        Arc::clone(&self.0.counts)
    }
}

impl Inner {
    /// Sends a copy of a packet to another address; without room none.
    fn copy(&self, transmit: &Transmit<'_>, to: SocketAddr) {
        let Transmit { ecn, contents, segment_size, src_ip, .. } = *transmit;
        let copy = Transmit { destination: to, ecn, contents, segment_size, src_ip };
        let _ = self.io.try_io(Interest::WRITABLE, || self.state.try_send((&self.io).into(), &copy));
    }

    /// Counts an error if it is a report that nobody is there. The system has forgotten it with
    /// that.
    fn note(&self, error: &io::Error) {
        use ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable};
        let is_report = matches!(
            error.kind(),
            ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable
        );
        self.counts.unreachable.fetch_add(u64::from(is_report), Ordering::Relaxed);
    }
}

impl Guard {
    /// Looks at datagrams of one source, which the system gives as one. They have one source for
    /// QUIC: that of a session at another address, if one of them is for such a session. Those for
    /// several such sessions are no sender's of ours.
    fn came(&self, bytes: &[u8], meta: &mut RecvMeta) {
        self.unproved.come(meta.addr, saturating(meta.len));
        let (now, from) = (Instant::now(), meta.addr);
        let bytes = bytes.get(..meta.len).unwrap_or_default();
        for datagram in bytes.chunks(meta.stride.max(1)) {
            match self.moves.source(now, from, datagram) {
                Some(source) if source == from => {}
                // The mark of another path says nothing of the session's.
                Some(source) if [from, source].contains(&meta.addr) => {
                    (meta.addr, meta.ecn) = (source, None);
                }
                Some(_) | None => meta.len = 0,
            }
        }
    }
}

impl AsyncUdpSocket for Watched {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(Sending { socket: Arc::clone(&self.0), room: None })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let Inner { io, state, guard, .. } = &*self.0;
        loop {
            ready!(io.poll_recv_ready(cx))?;
            match io.try_io(Interest::READABLE, || state.recv(io.into(), bufs, meta)) {
                Err(error) if Fault::of(&error) != Fault::Unusable => self.0.note(&error),
                Ok(count) => {
                    if let Some(guard) = guard {
                        bufs.iter().zip(meta).take(count).for_each(|(bytes, meta)| guard.came(bytes, meta));
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.io.local_addr()
    }

    fn max_receive_segments(&self) -> NonZeroUsize {
        self.0.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.0.state.may_fragment()
    }
}

impl UdpSender for Sending {
    /// Sends datagrams of one length, the last of which may be shorter. Those that the system
    /// refuses are lost, and counted.
    fn poll_send(
        mut self: Pin<&mut Self>,
        transmit: &Transmit<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let (mut attempts, mut refused) = (0, true);
        let length = transmit.contents.len();
        if let Some(guard) = &self.socket.guard
            && self.room.is_none()
        {
            match guard.unproved.goes(transmit.destination, saturating(length)) {
                Verdict::Goes => {}
                Verdict::GoesAlso(to) => self.socket.copy(transmit, to),
                Verdict::Stays => return Poll::Ready(Ok(())),
            }
        }
        while attempts < ATTEMPTS {
            if let Some(room) = &mut self.room {
                ready!(room.as_mut().poll(cx))?;
                self.room = None;
            }
            let Inner { io, state, .. } = &*self.socket;
            match io.try_io(Interest::WRITABLE, || state.try_send(io.into(), transmit)) {
                Err(error) => match Fault::of(&error) {
                    Fault::WouldBlock => {
                        let socket = Arc::clone(&self.socket);
                        self.room = Some(Box::pin(async move { socket.io.writable().await }));
                    }
                    // A message about a datagram before; a refusal of this one looks the same.
                    Fault::Passing | Fault::TooLong => {
                        self.socket.note(&error);
                        attempts += 1;
                    }
                    Fault::Lost | Fault::Unusable => break,
                },
                Ok(()) => {
                    refused = false;
                    break;
                }
            }
        }
        let payloads: u64 = saturating(transmit.segment_size.map_or(1, |each| length.div_ceil(each)));
        let counts = &self.socket.counts;
        counts.handed.fetch_add(payloads, Ordering::Relaxed);
        counts.refused.fetch_add(if refused { payloads } else { 0 }, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        self.socket.state.max_gso_segments()
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").field("waits", &self.room.is_some()).finish_non_exhaustive()
    }
}
