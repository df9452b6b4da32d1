//! Calls of the Linux kernel that no safe library offers. The only unsafe code of the project.
//!
//! Every function here is safe to call: it hands the kernel only memory that it owns for the length
//! of the call, and the sizes of that memory.

#![expect(unsafe_code, reason = "packet sockets, device settings and TCP_INFO have no safe wrapper")]

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::from_mut;

use tfrc_units::saturating;

use crate::tcp_info::TcpInfo;

/// Opens a packet socket for all frames that come in by an interface. It does not block and gives
/// frames with their Ethernet header and the time at which the kernel took them in.
///
/// # Errors
/// The system's error; it wants `CAP_NET_RAW` in the network namespace.
pub(crate) fn packet_socket(interface: c_uint, buffer: c_int) -> io::Result<OwnedFd> {
    let protocol = ETH_P_ALL.to_be();
    let flags = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no memory is passed; the returned descriptor has no other owner.
    let socket = unsafe {
        let fd = checked(libc::socket(libc::AF_PACKET, flags, c_int::from(protocol)))?;
        OwnedFd::from_raw_fd(fd)
    };
    // SAFETY: the structure is plain numbers, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = saturating::<u16>(libc::AF_PACKET);
    address.sll_protocol = protocol;
    address.sll_ifindex = saturating::<c_int>(interface);
    let length = saturating::<libc::socklen_t>(size_of::<libc::sockaddr_ll>());
    // SAFETY: the address lives until the call returns, and its length is its own.
    checked(unsafe { libc::bind(socket.as_raw_fd(), from_mut(&mut address).cast(), length) })?;
    set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    // Nothing but this socket sends by the interface, and what it sends is not seen again; kernels
    // before 4.20 do without this second bolt.
    let _ = set_option(&socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    // The queueing discipline of the interface has nothing to do: frames leave at once.
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
    if set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer).is_err() {
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, buffer)?;
    }
    Ok(socket)
}

/// Frames of every `EtherType` (packet(7)).
const ETH_P_ALL: u16 = 3;
/// Option of packet sockets, which `libc` does not have (packet(7)).
const PACKET_IGNORE_OUTGOING: c_int = 23;

/// Returns how many frames a packet socket has lost for want of room since the last call.
pub(crate) fn lost_frames(socket: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: the structure is plain numbers, for which zeros are a value.
    let mut stats: libc::tpacket_stats = unsafe { zeroed() };
    get_option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut stats)?;
    Ok(stats.tp_drops)
}

/// Places before all threads of usual priority, the later first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// Threads and programs at the nodes.
    Programs = 1,
    /// The engine, which has the time of every packet.
    Engine = 2,
}

/// Puts the calling thread, and what it starts, before all threads of usual priority; returns true
/// if the system allows it: root of the first user namespace may, others mostly not.
///
/// A thread that then runs for [`LONGEST_RUN`] without a wait ends its process by SIGXCPU, so that
/// a mistake does not take the machine.
pub(crate) fn run_first(place: First) -> bool {
    let limit = rustix::process::Rlimit { current: Some(LONGEST_RUN), maximum: Some(2 * LONGEST_RUN) };
    // A smaller limit that stands already is as good.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Rttime, limit);
    let parameter = libc::sched_param { sched_priority: place as c_int };
    // SAFETY: the parameter lives until the call returns; 0 is the calling thread. A refusal
    // changes nothing.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameter) == 0 }
}

/// Longest time that a thread before all others runs without a wait, microseconds.
const LONGEST_RUN: u64 = 2_000_000;

/// Turns the checksum and segmentation offloads of an interface off, so that every packet on it is
/// whole and has its checksum.
///
/// # Errors
/// The system's error.
pub(crate) fn turn_offloads_off(socket: BorrowedFd<'_>, interface: &str) -> io::Result<()> {
    for command in [ETHTOOL_STXCSUM, ETHTOOL_SRXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO] {
        let mut value = EthtoolValue { command, data: 0 };
        let mut request = interface_request(interface)?;
        request.ifr_ifru.ifru_data = from_mut(&mut value).cast();
        // SAFETY: the request and the value it points to live until the call returns.
        let done = checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, from_mut(&mut request)) });
        match done {
            // An interface that does not have an offload has it off.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            other => drop(other?),
        }
    }
    Ok(())
}

/// `struct ethtool_value` of the kernel's interface.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_SRXCSUM: u32 = 0x15;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: the structure is plain numbers and a null pointer, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name}: too long for an interface"),
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

/// Reads `TCP_INFO` of a TCP socket. Fields that this kernel does not have are zero.
///
/// # Errors
/// The system's error.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut info = TcpInfo::default();
    get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Ok(info)
}

/// Frames read from a packet socket in one call.
pub(crate) struct FrameBatch {
    bytes: Vec<u8>,
    control: Vec<ControlBuffer>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers inside lead to the batch's own vectors and are set anew before each use.
unsafe impl Send for FrameBatch {}

/// Room for the ancillary data of one frame, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct ControlBuffer([u8; 64]);

/// Frames in a batch.
const FRAMES: usize = 64;
/// Bytes kept for a frame: Ethernet header and the longest IPv4 packet of an MTU of 9000.
const FRAME_ROOM: usize = 9216;

impl FrameBatch {
    pub(crate) fn new() -> Self {
        // SAFETY: both structures are plain numbers and null pointers, for which zeros are a value.
        let (vector, header) = unsafe { (zeroed::<libc::iovec>(), zeroed::<libc::mmsghdr>()) };
        Self {
            bytes: vec![0; FRAMES * FRAME_ROOM],
            control: vec![ControlBuffer([0; 64]); FRAMES],
            vectors: vec![vector; FRAMES],
            headers: vec![header; FRAMES],
        }
    }

    /// Reads what waits at a packet socket, at most a batch; 0 if nothing waits.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let parts = self.bytes.chunks_exact_mut(FRAME_ROOM).zip(&mut self.control);
        for ((bytes, control), (vector, header)) in parts.zip(self.vectors.iter_mut().zip(&mut self.headers))
        {
            *vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            header.msg_len = 0;
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = control.0.len();
            header.msg_hdr.msg_flags = 0;
        }
        let count = saturating::<c_uint>(self.headers.len());
        // SAFETY: every header points to one vector and one control buffer of this batch, each with
        // its own length; all of them are borrowed mutably here and live until the call returns.
        let got = unsafe {
            let flags = libc::MSG_DONTWAIT;
            libc::recvmmsg(socket.as_raw_fd(), self.headers.as_mut_ptr(), count, flags, std::ptr::null_mut())
        };
        match checked(got) {
            Ok(got) => Ok(saturating::<usize>(got)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The frames of the last call that returned this count, each with the time of its arrival by
    /// the system's real-time clock, in nanoseconds, if the kernel gave it.
    pub(crate) fn frames(&self, count: usize) -> impl Iterator<Item = (Option<u64>, &[u8])> {
        let parts = self.bytes.chunks_exact(FRAME_ROOM).zip(&self.headers).take(count);
        parts.map(|(bytes, header)| {
            let length = saturating::<usize>(header.msg_len).min(bytes.len());
            (arrival(&header.msg_hdr), bytes.get(..length).unwrap_or_default())
        })
    }
}

/// The arrival time among the ancillary data of a message, in nanoseconds.
fn arrival(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the header is one that recvmmsg has filled, its control buffer is alive, and the
    // kernel's own macros walk within the length that the kernel wrote.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(one) = message.as_ref() {
            if (one.cmsg_level, one.cmsg_type) == (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) {
                let time = libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned();
                let seconds = u64::try_from(time.tv_sec).ok()?;
                return Some(seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?);
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    None
}

/// Sends frames by a packet socket in as few calls as the kernel allows; how many it took.
///
/// # Errors
/// The system's error for the first that it did not take; those before it are gone.
pub(crate) fn send_frames(socket: BorrowedFd<'_>, frames: &mut [Box<[u8]>]) -> io::Result<usize> {
    let mut sent = 0;
    for part in frames.chunks_mut(FRAMES) {
        let mut vectors: Vec<libc::iovec> = part
            .iter_mut()
            .map(|frame| libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = vectors
            .iter_mut()
            .map(|vector| {
                // SAFETY: the structure is plain numbers and null pointers.
                let mut header: libc::mmsghdr = unsafe { zeroed() };
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        let count = saturating::<c_uint>(headers.len());
        // SAFETY: headers, vectors and frames live until the call returns; the kernel only reads
        // the frames.
        let done =
            unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
        let done = saturating::<usize>(checked(done)?);
        sent += done;
        if done < part.len() {
            break;
        }
    }
    Ok(sent)
}

fn set_option(socket: &impl AsRawFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let length = saturating::<libc::socklen_t>(size_of::<c_int>());
    // SAFETY: the value lives until the call returns, and its length is its own.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast::<c_void>(), length)
    };
    checked(done).map(drop)
}

/// Marks what may be read from the kernel as raw bytes: plain numbers without padding that matters.
pub(crate) trait PlainNumbers {}
impl PlainNumbers for TcpInfo {}
impl PlainNumbers for libc::tpacket_stats {}

fn get_option<T: PlainNumbers>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut length = saturating::<libc::socklen_t>(size_of::<T>());
    let fd: RawFd = socket.as_raw_fd();
    // SAFETY: the value is plain numbers, any bytes are one; it lives until the call returns, and
    // the kernel writes no more than the length given.
    checked(unsafe { libc::getsockopt(fd, level, name, from_mut(value).cast(), &raw mut length) }).map(drop)
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
