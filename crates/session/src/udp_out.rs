//! A UDP address that gets the received datagrams, such as that of a player, with their boundaries.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tfrc_net::io::{Fault, LEFT_BEHIND};

/// A socket of a connection towards the address.
#[derive(Debug, Clone)]
pub struct UdpOut {
    socket: Arc<UdpSocket>,
    to: SocketAddr,
    counts: Arc<UdpOutCounts>,
}

/// The fate of one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    /// The system did not send it.
    Failed,
    /// The system has no room now.
    Full,
    Sent,
}

/// Trouble at the address.
#[derive(Debug, Default)]
pub struct UdpOutCounts {
    unreachable: AtomicU64,
    failure: OnceLock<String>,
}

impl UdpOut {
    /// Makes a socket for datagrams to this address: each has its own port, so that a reader can
    /// tell connections apart.
    ///
    /// # Errors
    /// The error of the system, such as one about an address that no route leads to.
    pub fn open(to: SocketAddr) -> io::Result<Self> {
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        // A connected socket hears of ports that are unreachable.
        socket.connect(to)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Arc::new(socket), to, counts: Arc::default() })
    }

    /// The address.
    #[must_use]
    pub const fn to(&self) -> SocketAddr {
        self.to
    }

    /// The counts, which go on.
    #[must_use]
    pub fn counts(&self) -> Arc<UdpOutCounts> {
        Arc::clone(&self.counts)
    }

    /// Sends a datagram. A player that the network reports unreachable is counted and sent to all
    /// the same: it may come back, and anybody can forge such a report ([`Fault`]).
    pub(crate) fn send(&self, datagram: &[u8]) -> Sending {
        let (mut attempts, mut reported) = (0, false);
        let sent = loop {
            let Err(error) = self.socket.send(datagram) else { break Sending::Sent };
            let fault = Fault::of(&error);
            reported |= is_report(&error);
            match fault {
                Fault::WouldBlock => break Sending::Full,
                Fault::Passing | Fault::TooLong if attempts < LEFT_BEHIND => attempts += 1,
                // The player cannot be reached now: no route, or an interface that is down.
                Fault::Passing => break Sending::Sent,
                _ => {
                    let _ = self.counts.failure.set(error.to_string());
                    break Sending::Failed;
                }
            }
        };
        self.counts.unreachable.fetch_add(reported.into(), Ordering::Relaxed);
        sent
    }

    /// Looks for a report on the last datagram.
    pub fn finish(&self) {
        if let Ok(Some(error)) = self.socket.take_error()
            && is_report(&error)
        {
            self.counts.unreachable.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// True for the errors that a report of the network leaves behind.
fn is_report(error: &io::Error) -> bool {
    error.kind() != ErrorKind::Interrupted && Fault::of(error) == Fault::Passing
}

impl UdpOutCounts {
    /// Reports of the network that nobody listens at the address.
    pub fn unreachable(&self) -> u64 {
        self.unreachable.load(Ordering::Relaxed)
    }

    /// The first reason for which the system did not send a datagram.
    pub fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_stay_and_a_reader_may_go_and_come() {
        let reader = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let to = reader.local_addr().expect("bound");
        let out = UdpOut::open(to).expect("opened");
        let mut buffer = [0; 2000];
        for length in [1316, 0, 1] {
            assert_eq!(out.send(&vec![7; length]), Sending::Sent);
            assert_eq!(reader.recv(&mut buffer).expect("sent"), length);
        }
        assert_eq!(out.counts().unreachable(), 0);
        drop(reader);
        for _ in 0..10 {
            assert_eq!(out.send(&[7; 100]), Sending::Sent);
        }
        out.finish();
        assert_eq!(out.counts().unreachable(), 10);
        let reader = UdpSocket::bind(to).expect("the same port");
        assert_eq!(out.send(&[7; 5]), Sending::Sent);
        assert_eq!(reader.recv(&mut buffer).expect("sent"), 5);
        assert_eq!((out.counts().unreachable(), out.counts().failure()), (10, None));
    }

    #[test]
    fn what_the_system_does_not_send_is_told() {
        let out = UdpOut::open("127.0.0.1:9".parse().expect("an address")).expect("opened");
        assert_eq!(out.send(&[0; 65_535]), Sending::Failed, "longer than a datagram of UDP");
        assert!(out.counts().failure().is_some());
    }
}
