//! Classification of the errors of a UDP socket.

use std::io;

use rustix::io::Errno;

/// Meaning of an error of a UDP socket for the socket's further use.
///
/// An ICMP message sets a pending error on the socket, which the next call returns instead of doing
/// its work, whatever datagram the message was about (ip(7), `IP_RECVERR`). Anybody can forge such
/// a message, so no error that one can set ends a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing to read or no room to send.
    WouldBlock,
    /// A signal, or an error that an ICMP message may have left: the same call may succeed now.
    Passing,
    /// The datagram is too long, or an ICMP message said so about some other one (EMSGSIZE).
    TooLong,
    /// The call failed, later ones may succeed: no buffers, no route, a firewall's refusal.
    Lost,
    /// No call on this socket will succeed: EBADF, ENOTSOCK, EFAULT.
    Unusable,
}

impl Fault {
    /// Classifies an error of a call that sends or receives. Errors that are not known are
    /// [`Fault::Lost`].
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::WouldBlock {
            return Self::WouldBlock;
        }
        match Errno::from_io_error(error) {
            Some(Errno::BADF | Errno::FAULT | Errno::NOTSOCK) => Self::Unusable,
            Some(Errno::MSGSIZE) => Self::TooLong,
            Some(errno) if errno == Errno::INTR || LEFT_BY_ICMP.contains(&errno) => Self::Passing,
            _ => Self::Lost,
        }
    }
}

/// Errors into which Linux turns ICMP and ICMPv6 messages, except EMSGSIZE; other systems use some
/// of them.
const LEFT_BY_ICMP: &[Errno] = &[
    Errno::ACCESS,
    Errno::CONNREFUSED,
    Errno::CONNRESET,
    Errno::HOSTDOWN,
    Errno::HOSTUNREACH,
    Errno::NETUNREACH,
    #[cfg(target_os = "linux")]
    Errno::NONET,
    Errno::NOPROTOOPT,
    Errno::OPNOTSUPP,
    #[cfg(not(windows))]
    Errno::PROTO,
];

/// Why a datagram was not sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unsent {
    /// This system takes no datagram of this length towards this peer; shorter ones may pass.
    TooLong,
    /// It is lost, as it might be further on; the next one may pass.
    Lost(io::Error),
    /// The socket cannot be used any more.
    Unusable(io::Error),
}

impl From<Unsent> for io::Error {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::TooLong => Errno::MSGSIZE.into(),
            Unsent::Lost(error) | Unsent::Unusable(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of all error numbers three end a socket, and none of those an ICMP message can set does.
    #[cfg(target_os = "linux")]
    #[test]
    fn three_errors_end_a_socket_and_no_message_does() {
        let of = |errno: nix::errno::Errno| Fault::of(&io::Error::from(errno));
        let all = (1..=133).map(nix::errno::Errno::from_raw);
        let fatal: Vec<_> = all.filter(|errno| of(*errno) == Fault::Unusable).collect();
        assert_eq!(fatal, [nix::errno::Errno::EBADF, nix::errno::Errno::EFAULT, nix::errno::Errno::ENOTSOCK]);
        // Linux, net/ipv4/icmp.c (icmp_err_convert) and net/ipv6/icmp.c (tab_unreach).
        for left in [101, 113, 92, 111, 95, 112, 64, 71, 13] {
            let errno = nix::errno::Errno::from_raw(left);
            assert_eq!(of(errno), Fault::Passing, "{errno}");
        }
        assert_eq!(of(nix::errno::Errno::EMSGSIZE), Fault::TooLong);
        assert_eq!(of(nix::errno::Errno::EAGAIN), Fault::WouldBlock);
        // A full queue, a firewall, a blackhole route, an interface that is down, no memory, no
        // descriptors.
        for lost in [105, 1, 22, 100, 12, 24] {
            let errno = nix::errno::Errno::from_raw(lost);
            assert_eq!(of(errno), Fault::Lost, "{errno}");
        }
    }

    #[test]
    fn an_error_without_a_number_ends_nothing() {
        assert_eq!(Fault::of(&io::Error::other("strange")), Fault::Lost);
    }
}
