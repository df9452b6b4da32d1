//! A UDP socket and what the runtime says about it.

use std::io;
use std::net::UdpSocket;

/// News of a socket for its owner: an arrival or an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    /// A datagram has arrived.
    Data,
    /// An error waits, and perhaps something has arrived too.
    Error,
}

/// A socket of which only arrivals and errors are watched. Room to send is not: on Linux every
/// packet that leaves makes room, and each time a thread that watches for it would wake up.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Watched {
    fd: tokio::io::unix::AsyncFd<UdpSocket>,
}

#[cfg(target_os = "linux")]
impl Watched {
    /// Must be called inside a tokio runtime with I/O; the socket must not block.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        use tokio::io::Interest;
        Ok(Self { fd: watch(socket, Interest::READABLE | Interest::ERROR)? })
    }

    pub(super) fn get(&self) -> &UdpSocket {
        self.fd.get_ref()
    }

    /// Waits for something. Cancel-safe.
    pub(super) async fn ready(&self) -> io::Result<Ready> {
        use tokio::io::{Interest, Ready as Bits};
        let mut guard = self.fd.ready(Interest::READABLE | Interest::ERROR).await?;
        if guard.ready().is_error() {
            guard.clear_ready_matching(Bits::ERROR);
            return Ok(Ready::Error);
        }
        Ok(Ready::Data)
    }

    /// Reads, unless it is known that there is nothing. `read` says with `WouldBlock` that it has
    /// read all there was.
    pub(super) fn try_read<T>(&self, read: impl FnOnce(&UdpSocket) -> io::Result<T>) -> io::Result<T> {
        self.fd.try_io(tokio::io::Interest::READABLE, read)
    }

    /// Waits for room to send.
    pub(super) async fn writable(&self) -> io::Result<()> {
        let watched = watch(self.get().try_clone()?, tokio::io::Interest::WRITABLE)?;
        watched.writable().await.map(drop)
    }
}

#[cfg(target_os = "linux")]
#[expect(
    deprecated,
    reason = "its successor is unsafe, for types whose descriptor may change; these are owned"
)]
fn watch(
    socket: UdpSocket,
    interest: tokio::io::Interest,
) -> io::Result<tokio::io::unix::AsyncFd<UdpSocket>> {
    tokio::io::unix::AsyncFd::with_interest(socket, interest)
}

/// A socket as the runtime has them.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct Watched {
    runtime: tokio::net::UdpSocket,
    socket: UdpSocket,
}

#[cfg(not(target_os = "linux"))]
impl Watched {
    /// Must be called inside a tokio runtime with I/O; the socket must not block.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        Ok(Self { runtime: tokio::net::UdpSocket::from_std(socket.try_clone()?)?, socket })
    }

    pub(super) fn get(&self) -> &UdpSocket {
        &self.socket
    }

    /// Waits for something. Cancel-safe.
    pub(super) async fn ready(&self) -> io::Result<Ready> {
        self.runtime.readable().await.map(|()| Ready::Data)
    }

    /// Reads, unless it is known that there is nothing. `read` says with `WouldBlock` that it has
    /// read all there was.
    pub(super) fn try_read<T>(&self, read: impl FnOnce(&UdpSocket) -> io::Result<T>) -> io::Result<T> {
        self.runtime.try_io(tokio::io::Interest::READABLE, || read(&self.socket))
    }

    /// Waits for room to send.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.runtime.writable().await
    }
}
