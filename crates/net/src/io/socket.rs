//! The UDP socket of every host: ECN both ways, receive times of the kernel, batches.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::SystemTime;

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use tfrc_dccp::connection::PathError;
use tfrc_units::{Duration, Ecn, Instant};

use super::marks::{from_codepoint, to_codepoint, traffic_class};
use super::watched::{Ready, Watched};
use crate::io::{Clock, Fault, Unsent};
use tfrc_units::Dscp;

/// A kernel receive time may be as old as this in any case; an older one only if the wall clock,
/// which it is taken from, was not set meanwhile.
const MAX_AGE: Duration = Duration::from_millis(100);
/// The wall clock and the monotonic one, read one after the other, were not set apart if they
/// differ by no more than this from before: a process may lose the processor between the two.
const SET_BY: Duration = Duration::from_millis(20);

/// Room for one receive call: as much as generic receive offload can hand over at once.
const BUFFER: usize = 65_536;

/// Datagrams taken in with one system call, at most.
const BATCH: usize = if BATCH_SIZE < 16 { BATCH_SIZE } else { 16 };

/// Datagrams taken in at once by a socket of [`Socket::from_std`], of which a program may have
/// hundreds: each has room for [`BUFFER`] bytes.
const SMALL_BATCH: usize = if BATCH < 4 { BATCH } else { 4 };

/// Pending errors that one call goes through, at most. Each is one ICMP message: a flood of 100,000
/// a second leaves one before one call in four at the very most.
pub const LEFT_BEHIND: usize = 32;

/// Entries of the error queue read at once, and kept, at most. They share the receive buffer with
/// data: the sooner they are read the fewer datagrams find it full.
#[cfg(target_os = "linux")]
const ERRORS: usize = 256;

/// The longest payload that any UDP datagram over IPv4 can have.
const LONGEST: usize = 65_507;

/// A UDP socket with ECN both ways, receive times from the kernel, and batches.
/// RFC 6773 §3.5.
#[derive(Debug)]
pub struct Socket {
    socket: Watched,
    state: Arc<UdpSocketState>,
    clock: Clock,
    dscp: Dscp,
    offload: Offload,
    /// Whom the system sends to and takes in from alone.
    peer: Option<SocketAddr>,
    /// The byte of DSCP and ECN bits that the system gives datagrams without marks of their own.
    #[cfg(target_os = "linux")]
    marks: Option<u8>,
    buffers: Vec<Vec<u8>>,
    metas: [RecvMeta; BATCH],
    received: usize,
    /// The last receive call has left nothing behind.
    drained: bool,
    read: ReadTime,
    /// An error may have ended a batch early, so that there is more without the runtime knowing.
    unsure: bool,
    /// The network may have said something about datagrams sent.
    has_errors: bool,
    /// Messages of the network that were read while looking for the system's own.
    #[cfg(target_os = "linux")]
    heard: std::collections::VecDeque<super::linux::Queued>,
    /// IP protocol 33 in place of UDP.
    #[cfg(target_os = "linux")]
    raw: Option<super::raw::Raw>,
}

/// Segmentation offload: several datagrams at a time for the system to send, or one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Offload {
    /// Where it can (Linux: generic segmentation offload): datagrams that are due together cost one
    /// system call.
    #[default]
    Segmentation,
    /// Never: the system is given datagrams as they go out.
    None,
}

/// Outcome of one try to send.
enum Attempt {
    Failed(Unsent),
    /// The system has no room now.
    Full,
    Sent,
}

/// A datagram that has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Incoming<'a> {
    /// When the kernel got it, as far as it says.
    pub at: Instant,
    /// The sender's address.
    pub from: SocketAddr,
    /// The address of ours that it was sent to; known on sockets of [`Socket::from_std`] alone.
    pub to: Option<IpAddr>,
    /// The ECN bits of its IP header.
    pub ecn: Ecn,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// A datagram to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The receiver's address.
    pub to: SocketAddr,
    /// The ECN bits of its IP header.
    pub ecn: Ecn,
    /// Its payload.
    pub bytes: &'a [u8],
    /// The payload is that of several datagrams one after another, each but the last of this
    /// length.
    pub segment: Option<usize>,
}

impl Socket {
    /// Binds to an address; port 0 lets the system choose. Must be called inside a tokio runtime
    /// with I/O.
    ///
    /// # Errors
    /// What the system says, such as an address in use.
    pub fn bind(address: SocketAddr, clock: Clock) -> io::Result<Self> {
        let bound = Self::with_batch(UdpSocket::bind(address)?, clock, BATCH)?;
        #[cfg(target_os = "linux")]
        {
            let socket = bound.socket.get();
            super::linux::without_destinations(socket);
            // ICMP messages are a help, not a need.
            let _ = bound.state.enable_transport_errors(socket.into());
        }
        Ok(bound)
    }

    /// Opens a raw socket for IP protocol 33 at an address, for one DCCP port of it; port 0 has one
    /// chosen. Its addresses are IP addresses with DCCP ports, and every packet that it sends has
    /// to be [sealed](Self::seal). Must be called inside a tokio runtime with I/O.
    ///
    /// # Errors
    /// `PermissionDenied` without the right to raw sockets, `AddrInUse` if a process of this host
    /// has the port, `Unsupported` elsewhere than on Linux, and others that the system says.
    pub fn bind_raw(address: SocketAddr, clock: Clock) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            let (socket, raw) = super::raw::open(address)?;
            let mut bound = Self::with_batch(socket, clock, BATCH)?;
            super::raw::shows_errors(bound.socket.get(), address);
            bound.raw = Some(raw);
            Ok(bound)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (address, clock);
            Err(io::Error::new(io::ErrorKind::Unsupported, "DCCP without UDP needs Linux"))
        }
    }

    /// Writes the checksum of DCCP into a packet that goes to this address without UDP.
    pub fn seal(&mut self, to: SocketAddr, packet: &mut [u8]) {
        #[cfg(target_os = "linux")]
        if let Some(raw) = &mut self.raw {
            raw.seal(to, packet);
        }
        let _ = (to, packet);
    }

    /// Packets without UDP whose checksum was wrong so far.
    #[must_use]
    pub fn corrupt(&self) -> u64 {
        #[cfg(target_os = "linux")]
        if let Some(raw) = &self.raw {
            return raw.corrupt();
        }
        0
    }

    /// Bytes of the header of UDP.
    #[cfg(target_os = "linux")]
    fn below(&self) -> usize {
        if self.is_raw() { 0 } else { 8 }
    }

    /// True without UDP.
    fn is_raw(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.raw.is_some();
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// Takes a socket that is bound. It shows the address that each datagram was sent to, and no
    /// messages of the network. Must be called inside a tokio runtime with I/O.
    ///
    /// # Errors
    /// The error of the system.
    pub fn from_std(socket: UdpSocket, clock: Clock) -> io::Result<Self> {
        let bound = Self::with_batch(socket, clock, SMALL_BATCH)?;
        #[cfg(target_os = "linux")]
        super::linux::without_coalescing(bound.socket.get());
        Ok(bound)
    }

    fn with_batch(socket: UdpSocket, clock: Clock, batch: usize) -> io::Result<Self> {
        // Its packets go with DF set (RFC 4340 §14, RFC 4340 §14.2).
        // RFC 6773 §3.1.
        let state = UdpSocketState::new((&socket).into())?;
        socket.set_nonblocking(true)?;
        // Larger buffers are a wish: systems cap them.
        let _ = state.set_recv_buffer_size((&socket).into(), 4 << 20);
        let _ = state.set_send_buffer_size((&socket).into(), 1 << 20);
        let mut bound = Self {
            socket: Watched::new(socket)?,
            state: Arc::new(state),
            clock,
            dscp: Dscp::DEFAULT,
            offload: Offload::default(),
            peer: None,
            #[cfg(target_os = "linux")]
            marks: None,
            // Copied, so that the system gives the memory now: what a socket takes does not grow.
            buffers: vec![vec![0; BUFFER]; batch],
            metas: [RecvMeta::default(); BATCH],
            received: 0,
            drained: true,
            read: ReadTime::start(clock),
            unsure: false,
            has_errors: false,
            #[cfg(target_os = "linux")]
            heard: std::collections::VecDeque::new(),
            #[cfg(target_os = "linux")]
            raw: None,
        };
        bound.set_dscp(Dscp::DEFAULT)?;
        Ok(bound)
    }

    /// A handle for another task that sends while this one receives.
    ///
    /// # Errors
    /// The error of the system when it has no more descriptors.
    pub fn sender(&self) -> io::Result<SocketSender> {
        Ok(SocketSender { socket: self.socket.get().try_clone()?, state: Arc::clone(&self.state) })
    }

    /// Has the system send to this address only, which it can do with less work, and take in
    /// nothing from others.
    ///
    /// # Errors
    /// What the system says, such as that there is no route.
    pub fn connect(&mut self, peer: SocketAddr) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(raw) = &mut self.raw {
            self.socket.get().connect(super::raw::without_port(peer))?;
            raw.connected(self.socket.get().local_addr()?);
            self.peer = Some(peer);
            return Ok(());
        }
        self.socket.get().connect(peer)?;
        self.peer = Some(peer);
        Ok(())
    }

    /// The address bound to.
    ///
    /// # Errors
    /// The error of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        #[cfg(target_os = "linux")]
        if let Some(raw) = &self.raw {
            return Ok(raw.local());
        }
        self.socket.get().local_addr()
    }

    /// Chooses whether several datagrams may go in one system call.
    pub const fn set_offload(&mut self, offload: Offload) {
        self.offload = offload;
    }

    /// Datagrams that one [`Outgoing`] may hold, at most: 1 where the system has no segmentation
    /// offload, and with a codepoint.
    #[must_use]
    pub fn longest_train(&self) -> usize {
        let may = self.offload == Offload::Segmentation && self.dscp == Dscp::DEFAULT && !self.is_raw();
        if may { self.state.max_gso_segments() } else { 1 }
    }

    /// True if the system shows the ECN bits of what arrives.
    #[must_use]
    pub fn reads_ecn(&self) -> bool {
        let socket = socket2::SockRef::from(self.socket.get());
        let v4 = || socket.recv_tos_v4().unwrap_or(false);
        match self.local_addr() {
            Ok(SocketAddr::V4(_)) => v4(),
            // Datagrams of IPv4 peers arrive here too, unless the socket is for IPv6 alone.
            Ok(SocketAddr::V6(_)) => {
                let six_alone = self.is_raw() || socket.only_v6().unwrap_or(false);
                socket.recv_tclass_v6().unwrap_or(false) && (six_alone || v4())
            }
            Err(_) => false,
        }
    }

    /// Marks everything sent from now on with a Differentiated Services codepoint.
    ///
    /// # Errors
    /// `Unsupported` where this crate cannot set it together with the ECN bits: elsewhere than on
    /// 64-bit Linux.
    pub fn set_dscp(&mut self, dscp: Dscp) -> io::Result<()> {
        if dscp != Dscp::DEFAULT && !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "DSCP marking needs 64-bit Linux"));
        }
        self.dscp = dscp;
        #[cfg(target_os = "linux")]
        {
            // Data goes with ECT(0): what has these marks needs none of its own.
            let marks = dscp.number() << 2 | Ecn::Ect0.bits();
            let socket = socket2::SockRef::from(self.socket.get());
            let set = match self.local_addr()? {
                SocketAddr::V4(_) => socket.set_tos_v4(marks.into()),
                // An IPv4 peer of such a socket gets its marks datagram by datagram.
                SocketAddr::V6(_) => socket.set_tclass_v6(marks.into()),
            };
            self.marks = set.is_ok().then_some(marks);
        }
        Ok(())
    }

    /// Sends datagrams in order, `datagram(n)` being the nth, from the one numbered `next` until
    /// there are no more, with as few system calls as possible. Each one that could not be sent is
    /// reported with the reason. Returns the number of the first one that the system has no room
    /// for; it can be tried again when [`Socket::writable`] says so.
    pub fn send_from<'a>(
        &mut self,
        mut next: usize,
        datagram: impl Fn(usize) -> Option<Outgoing<'a>>,
        mut failed: impl FnMut(Outgoing<'a>, Unsent),
    ) -> Option<usize> {
        while let Some(one) = datagram(next) {
            #[cfg(target_os = "linux")]
            if datagram(next + 1).is_some_and(|second| self.may_follow(&one, &second)) {
                let to = self.peer.is_none().then_some(one.to).map(|to| self.on_the_wire(to));
                let alike = (next..).map_while(&datagram).take_while(|later| self.may_follow(&one, later));
                // What it does not take is tried alone, which shows why.
                if let Ok(sent @ 1..) =
                    super::linux::send_run(self.socket.get(), to, alike.map(|one| one.bytes))
                {
                    next += sent;
                    continue;
                }
            }
            let unsent = match self.attempt(one) {
                Attempt::Full => return Some(next),
                Attempt::Sent => None,
                Attempt::Failed(unsent) => Some(unsent),
            };
            next += 1;
            let Some(unsent) = unsent else { continue };
            let Some(segment) = one.segment.filter(|_| !matches!(unsent, Unsent::Unusable(_))) else {
                failed(one, unsent);
                continue;
            };
            // Refused together they may pass alone, and what does not pass says why.
            for bytes in one.bytes.chunks(segment.max(1)) {
                let alone = Outgoing { bytes, segment: None, ..one };
                match self.attempt(alone) {
                    Attempt::Sent => {}
                    Attempt::Full => failed(alone, Unsent::Lost(io::ErrorKind::WouldBlock.into())),
                    Attempt::Failed(unsent) => failed(alone, unsent),
                }
            }
        }
        None
    }

    /// Waits until the system has room to send. Cancel-safe.
    ///
    /// # Errors
    /// The error of the system.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket.writable().await
    }

    /// Returns true if a datagram can go in one system call with an earlier one.
    #[cfg(target_os = "linux")]
    fn may_follow(&self, one: &Outgoing<'_>, next: &Outgoing<'_>) -> bool {
        next.to == one.to
            && (one.segment, next.segment) == (None, None)
            && one.ecn == next.ecn
            && self.is_plain(next)
    }

    /// Returns true if the marks of the socket are those of a datagram.
    #[cfg(target_os = "linux")]
    fn is_plain(&self, datagram: &Outgoing<'_>) -> bool {
        let mapped = matches!(datagram.to, SocketAddr::V6(to) if to.ip().to_ipv4_mapped().is_some());
        let everywhere = self.raw.as_ref().is_some_and(super::raw::Raw::is_everywhere);
        !mapped && !everywhere && self.marks == Some(self.dscp.number() << 2 | datagram.ecn.bits())
    }

    /// The address as the system wants it.
    #[cfg(target_os = "linux")]
    fn on_the_wire(&self, to: SocketAddr) -> SocketAddr {
        if self.raw.is_some() { super::raw::without_port(to) } else { to }
    }

    /// Waits until something has arrived. Cancel-safe.
    ///
    /// # Errors
    /// If the runtime ends.
    pub async fn readable(&mut self) -> io::Result<()> {
        if self.has_errors {
            return Ok(());
        }
        if self.socket.ready().await? == Ready::Error {
            (self.unsure, self.has_errors) = (true, true);
        }
        Ok(())
    }

    /// Passes on what the network has said about datagrams sent: to whom each went, how it began,
    /// and what was said. Nothing where the system keeps no such messages. Bounded: the next call
    /// returns the rest.
    ///
    /// # Errors
    /// If the socket cannot be used any more.
    pub fn take_errors(&mut self, mut take: impl FnMut(SocketAddr, &[u8], PathError)) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use super::linux::{Queued, Said, next_error};
            let (is_raw, below) = (self.is_raw(), self.below());
            let mut tell = |queued: &Queued| {
                let Said::Network(error) = queued.said else { return };
                let whole = |to| super::raw::quoted_destination(to, queued.quoted());
                let to = if is_raw { whole(queued.to) } else { queued.to };
                take(to, queued.quoted(), error);
            };
            for queued in self.heard.drain(..) {
                tell(&queued);
            }
            if !std::mem::take(&mut self.has_errors) {
                return Ok(());
            }
            for _ in 0..ERRORS {
                match next_error(self.socket.get(), below) {
                    Ok(Some(queued)) => tell(&queued),
                    Ok(None) => return Ok(()),
                    Err(error) if Fault::of(&error) == Fault::Unusable => return Err(error),
                    Err(_) => {}
                }
            }
            self.has_errors = true;
        }
        let _ = &mut take;
        Ok(())
    }

    /// Takes in what has arrived, without waiting; [`Socket::incoming`] then shows it. Zero if
    /// there is nothing.
    ///
    /// # Errors
    /// If the socket cannot be used any more; no message of the network is an error here.
    pub fn receive(&mut self) -> io::Result<usize> {
        let (state, metas) = (&self.state, &mut self.metas);
        let batch = self.buffers.len();
        let metas = metas.get_mut(..batch).unwrap_or_default();
        let mut buffers = self.buffers.iter_mut();
        let mut slices: [IoSliceMut<'_>; BATCH] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().map_or(&mut [], Vec::as_mut_slice)));
        let slices = slices.get_mut(..batch).unwrap_or_default();
        let mut interrupted = false;
        let mut receive = |socket: &UdpSocket| {
            for _ in 0..LEFT_BEHIND {
                match state.recv(socket.into(), slices, metas) {
                    Err(error) if !matches!(Fault::of(&error), Fault::WouldBlock | Fault::Unusable) => {}
                    done => return done,
                }
            }
            interrupted = true;
            Ok(0)
        };
        let mut count = 0;
        // A batch that is not full was the last one: the runtime need not be asked for more in
        // vain.
        let outcome = if std::mem::take(&mut self.unsure) {
            receive(self.socket.get()).map(|received| count = received)
        } else {
            self.socket.try_read(|socket| {
                count = receive(socket)?;
                if count < batch { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            })
        };
        (self.received, self.drained) = (count, count < batch);
        #[cfg(target_os = "linux")]
        if let Some(raw) = &mut self.raw {
            self.received = raw.sift(self.metas.get_mut(..count).unwrap_or_default(), &mut self.buffers);
        }
        self.unsure = interrupted;
        match outcome {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        if count > 0 {
            self.read = self.read.next(self.clock.now(), SystemTime::now());
        }
        Ok(count)
    }

    /// Returns true if the last [`Socket::receive`] has left nothing behind.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.drained
    }

    /// The datagrams of the last [`Socket::receive`], in order of arrival.
    pub fn incoming(&self) -> impl Iterator<Item = Incoming<'_>> {
        let read = self.read;
        self.metas.iter().take(self.received).zip(&self.buffers).flat_map(move |(meta, buffer)| {
            let at = read.received_at(meta.timestamp);
            let data = buffer.get(..meta.len).unwrap_or_default();
            // An empty datagram is one too.
            let empty = data.is_empty().then_some(data);
            empty.into_iter().chain(data.chunks(meta.stride.max(1))).map(move |bytes| Incoming {
                at,
                from: meta.addr,
                to: meta.dst_ip,
                ecn: meta.ecn.map_or(Ecn::NotEct, from_codepoint),
                bytes,
            })
        })
    }

    /// Sends one datagram. When the system has no room this waits for it. An unreachable peer is
    /// not an error here: it shows in missing answers.
    ///
    /// # Errors
    /// [`Unsent`].
    pub async fn send(&mut self, datagram: Outgoing<'_>) -> Result<(), Unsent> {
        loop {
            match self.attempt(datagram) {
                Attempt::Sent => return Ok(()),
                Attempt::Full => self.writable().await.map_err(Unsent::Lost)?,
                Attempt::Failed(unsent) => return Err(unsent),
            }
        }
    }

    fn attempt(&mut self, datagram: Outgoing<'_>) -> Attempt {
        // Several datagrams refused together are tried one by one.
        let most = if datagram.segment.is_some() { LEFT_BEHIND / 8 } else { LEFT_BEHIND };
        let mut tries = 0;
        loop {
            let Err(error) = self.try_send(datagram) else { return Attempt::Sent };
            match Fault::of(&error) {
                Fault::WouldBlock => return Attempt::Full,
                Fault::Unusable => return Attempt::Failed(Unsent::Unusable(error)),
                Fault::TooLong if self.is_refused(&datagram, tries) => {
                    return Attempt::Failed(Unsent::TooLong);
                }
                Fault::Passing | Fault::TooLong if tries < most => tries += 1,
                _ => return Attempt::Failed(Unsent::Lost(error)),
            }
        }
    }

    fn try_send(&mut self, datagram: Outgoing<'_>) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.peer == Some(datagram.to) && datagram.segment.is_none() && self.is_plain(&datagram) {
            return self.socket.get().send(datagram.bytes).map(drop);
        }
        #[cfg(target_os = "linux")]
        if let Some(raw) = &mut self.raw {
            let from = raw.is_everywhere().then(|| raw.towards(datagram.to));
            let class = self.dscp.number() << 2 | datagram.ecn.bits();
            let to = super::raw::without_port(datagram.to);
            return super::linux::send_marked(self.socket.get(), from, to, class, datagram.bytes);
        }
        if self.dscp != Dscp::DEFAULT {
            return self.try_send_marked(datagram);
        }
        self.state.try_send(self.socket.get().into(), &transmit(None, datagram))
    }

    /// Returns true if it was this system that refused a datagram as too long, and not a message of
    /// the network about some datagram before, which anybody can forge. The system's own refusal
    /// stands in the error queue, with the limit.
    #[cfg(target_os = "linux")]
    fn is_refused(&mut self, datagram: &Outgoing<'_>, _tries: usize) -> bool {
        use super::linux::{Said, next_error};
        let length = datagram.segment.unwrap_or(datagram.bytes.len());
        let mut refused = length > LONGEST;
        for _ in 0..ERRORS {
            let Ok(Some(queued)) = next_error(self.socket.get(), self.below()) else { break };
            let about_this = queued.to.ip().to_canonical() == datagram.to.ip().to_canonical();
            match queued.said {
                Said::System { limit } => refused |= about_this && length > limit,
                Said::Network(_) if self.heard.len() < ERRORS => self.heard.push_back(queued),
                Said::Network(_) | Said::Other => {}
            }
        }
        refused
    }

    /// For systems that keep no messages apart: an error that comes twice is accepted.
    #[cfg(not(target_os = "linux"))]
    fn is_refused(&mut self, datagram: &Outgoing<'_>, tries: usize) -> bool {
        tries > 0 || datagram.bytes.len() > LONGEST
    }

    /// With a codepoint the whole TOS byte goes along as ancillary data: the ordinary path sets
    /// only its ECN bits.
    fn try_send_marked(&self, datagram: Outgoing<'_>) -> io::Result<()> {
        let tos = self.dscp.number() << 2 | datagram.ecn.bits();
        let control = traffic_class(datagram.to, tos);
        let to = socket2::SockAddr::from(datagram.to);
        let bytes = [io::IoSlice::new(datagram.bytes)];
        let message = socket2::MsgHdr::new().with_addr(&to).with_buffers(&bytes).with_control(&control);
        socket2::SockRef::from(self.socket.get()).sendmsg(&message, 0).map(drop)
    }
}

/// The sending side of a [`Socket`].
#[derive(Debug)]
pub struct SocketSender {
    socket: UdpSocket,
    state: Arc<UdpSocketState>,
}

impl SocketSender {
    /// Sends now or not at all, from this address of ours if one is given.
    ///
    /// # Errors
    /// The error of the system, `WouldBlock` if it has no room.
    pub fn send(&self, from: Option<IpAddr>, datagram: Outgoing<'_>) -> io::Result<()> {
        self.state.try_send((&self.socket).into(), &transmit(from, datagram))
    }
}

/// When a batch was read.
#[derive(Debug, Clone, Copy)]
struct ReadTime {
    now: Instant,
    wall: SystemTime,
    /// The wall clock has not been set since the batch before.
    steady: bool,
}

impl ReadTime {
    fn start(clock: Clock) -> Self {
        Self { now: clock.now(), wall: SystemTime::now(), steady: true }
    }

    /// The batch after this one.
    fn next(self, now: Instant, wall: SystemTime) -> Self {
        let passed = now.saturating_since(self.now);
        let steady = wall.duration_since(self.wall).is_ok_and(|on_wall| {
            let on_wall = Duration::from(on_wall);
            on_wall.saturating_sub(passed).max(passed.saturating_sub(on_wall)) <= SET_BY
        });
        Self { now, wall, steady }
    }

    /// The time of a kernel stamp (since the Unix epoch); without a credible one, the time of
    /// reading. Datagrams that waited while the process stood still keep their times.
    fn received_at(&self, stamp: Option<std::time::Duration>) -> Instant {
        let age = stamp
            .and_then(|then| self.wall.duration_since(SystemTime::UNIX_EPOCH + then).ok())
            .map_or(Duration::ZERO, Duration::from);
        let credible = age <= MAX_AGE || self.steady && age.as_nanos() <= self.now.as_nanos();
        if credible { self.now - age } else { self.now }
    }
}

fn transmit(from: Option<IpAddr>, datagram: Outgoing<'_>) -> Transmit<'_> {
    Transmit {
        destination: datagram.to,
        ecn: to_codepoint(datagram.ecn),
        contents: datagram.bytes,
        segment_size: datagram.segment,
        src_ip: from,
    }
}

#[cfg(test)]
mod tests;
