//! Datagrams of a local program, such as ffmpeg or OBS, as the datagrams of a session.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::task::JoinHandle;

/// Datagrams that wait for the connection, at most: 340 kB of them in packets of the usual length,
/// as many as a UDP socket of Linux holds. Further ones are dropped, for UDP cannot wait.
const WAITING: usize = 256;
/// The longest datagram of UDP, and a byte.
const LONGEST: usize = 1 << 16;

/// A local UDP port whose datagrams are read and wait for the connection.
pub struct UdpSource {
    queue: mpsc::Receiver<Vec<u8>>,
    task: JoinHandle<io::Error>,
    counts: Arc<UdpInCounts>,
}

/// Datagrams that came to a port and do not become datagrams of the session.
#[derive(Debug, Default)]
pub struct UdpInCounts {
    dropped: AtomicU64,
    too_long: AtomicU64,
    longest: AtomicU64,
    /// Datagrams that still waited when the source ended.
    unsent: AtomicU64,
    /// Drops of the system when they were last looked at.
    by_system: AtomicU64,
    /// The port, for the system's count.
    port: Option<SocketAddr>,
}

impl UdpSource {
    /// Opens the port.
    ///
    /// # Errors
    /// The error of the system.
    pub async fn open(at: SocketAddr) -> io::Result<Self> {
        if at.ip().is_multicast() {
            return Err(io::Error::other("is a multicast address, which belongs to no host"));
        }
        let socket = tokio::net::UdpSocket::bind(at).await?;
        let counts = Arc::new(UdpInCounts { port: socket.local_addr().ok(), ..UdpInCounts::default() });
        let (sender, queue) = mpsc::channel(WAITING);
        let task = tokio::spawn(read(socket, sender, Arc::clone(&counts)));
        Ok(Self { queue, task, counts })
    }

    /// The next datagram, whatever its length. Waits indefinitely while none comes.
    ///
    /// # Errors
    /// The error of the system.
    pub async fn next(&mut self) -> io::Result<Vec<u8>> {
        match self.queue.recv().await {
            Some(datagram) => Ok(datagram),
            None => Err((&mut self.task).await.unwrap_or_else(io::Error::other)),
        }
    }

    /// The address at which datagrams are taken.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.counts.port
    }

    /// The counts, which go on.
    #[must_use]
    pub fn counts(&self) -> Arc<UdpInCounts> {
        Arc::clone(&self.counts)
    }
}

impl Drop for UdpSource {
    fn drop(&mut self) {
        self.counts.unsent.store(tfrc_units::saturating(self.queue.len()), Ordering::Relaxed);
        // The system forgets its count with the socket.
        self.counts.dropped();
        self.task.abort();
    }
}

/// Reads until the system fails or nobody wants the datagrams.
async fn read(
    socket: tokio::net::UdpSocket,
    queue: mpsc::Sender<Vec<u8>>,
    counts: Arc<UdpInCounts>,
) -> io::Error {
    let mut buffer = vec![0; LONGEST];
    loop {
        let length = match socket.recv(&mut buffer).await {
            Ok(length) => length,
            Err(error) => return error,
        };
        match queue.try_send(buffer.get(..length).unwrap_or_default().to_vec()) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => drop(counts.dropped.fetch_add(1, Ordering::Relaxed)),
            Err(TrySendError::Closed(_)) => return io::ErrorKind::BrokenPipe.into(),
        }
    }
}

impl UdpInCounts {
    /// Counts a datagram that no packet of the path can carry.
    pub fn refuse(&self, length: usize) {
        self.too_long.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(tfrc_units::saturating(length), Ordering::Relaxed);
    }

    /// Datagrams longer than a packet of the path carries, and the longest of them, bytes.
    pub fn too_long(&self) -> (u64, u64) {
        (self.too_long.load(Ordering::Relaxed), self.longest.load(Ordering::Relaxed))
    }

    /// Datagrams that waited when the source ended.
    pub fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Datagrams that found no room: here, or in the system's buffer where that is known.
    pub fn dropped(&self) -> u64 {
        let by_system = self.port.map_or(0, dropped_by_system);
        let by_system = self.by_system.fetch_max(by_system, Ordering::Relaxed).max(by_system);
        self.dropped.load(Ordering::Relaxed) + by_system
    }
}

/// Datagrams that Linux dropped because the buffer of the socket with this address was full: the
/// last column of its table of sockets. 0 where there is no such table.
#[must_use]
pub fn dropped_by_system(port: SocketAddr) -> u64 {
    let table = if port.is_ipv4() { "/proc/self/net/udp" } else { "/proc/self/net/udp6" };
    std::fs::read_to_string(table).map_or(0, |text| drops_of(&text, port))
}

/// The drops of the socket with this address in a table of sockets.
fn drops_of(table: &str, at: SocketAddr) -> u64 {
    // Words of four bytes, each in the order of the machine.
    let words: String = match at.ip() {
        IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
        IpAddr::V6(ip) => {
            let octets = ip.octets();
            let (words, _) = octets.as_chunks::<4>();
            words.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word))).collect()
        }
    };
    let address = format!("{words}:{:04X}", at.port());
    let row = table.lines().find(|row| row.split_whitespace().nth(1) == Some(&address));
    row.and_then(|row| row.split_whitespace().last()?.parse().ok()).unwrap_or(0)
}

/// True if what is sent to `target` comes to a socket of this host that is bound to `listener`.
#[must_use]
pub fn comes_back(listener: SocketAddr, target: SocketAddr) -> bool {
    let (here, there) = (listener.ip().to_canonical(), target.ip().to_canonical());
    // Only an address of this host can be bound to. Nothing else is sent to the unspecified one.
    let is_ours = || there.is_unspecified() || UdpSocket::bind((there, 0)).is_ok();
    listener.port() == target.port() && (here == there || here.is_unspecified() && is_ours())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(written: &str) -> SocketAddr {
        written.parse().expect("an address")
    }

    #[test]
    fn drops_are_read_from_the_table_of_linux() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n  \
                      12: 0100007F:1770 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 71\n  \
                      13: 0100007F:1771 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 5\n";
        if cfg!(target_endian = "little") {
            assert_eq!(drops_of(table, at("127.0.0.1:6000")), 71);
            assert_eq!(drops_of(table, at("127.0.0.1:6001")), 5);
        }
        assert_eq!(drops_of(table, at("127.0.0.1:6002")), 0);
        assert_eq!(drops_of("", at("[::1]:6000")), 0);
    }

    #[test]
    fn addresses_that_lead_back_are_found() {
        for (listener, target, back) in [
            ("127.0.0.1:7000", "127.0.0.1:7000", true),
            ("127.0.0.1:7000", "127.0.0.1:7001", false),
            ("127.0.0.1:7000", "127.0.0.2:7000", false),
            ("0.0.0.0:7000", "127.0.0.1:7000", true),
            ("[::]:7000", "127.0.0.1:7000", true),
            ("[::]:7000", "[::ffff:127.0.0.1]:7000", true),
            ("0.0.0.0:7000", "192.0.2.1:7000", false),
        ] {
            assert_eq!(comes_back(at(listener), at(target)), back, "{listener} {target}");
        }
    }

    /// A reader that does not read: what finds no room is counted, here or by the system.
    #[tokio::test]
    async fn nothing_is_dropped_uncounted() {
        let mut source = UdpSource::open(at("127.0.0.1:0")).await.expect("opened");
        let counts = source.counts();
        let to = counts.port.expect("bound");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let sent = 3 * u64::try_from(WAITING).expect("small");
        for _ in 0..sent {
            socket.send_to(&[7; 1316], to).expect("sent");
            tokio::task::yield_now().await;
        }
        socket.send_to(&[], to).expect("sent");
        let mut taken = 0;
        while let Ok(datagram) =
            tokio::time::timeout(std::time::Duration::from_millis(300), source.next()).await
        {
            taken += u64::from(!datagram.expect("readable").is_empty());
        }
        assert!(taken >= u64::try_from(WAITING).expect("small"), "{taken}");
        let known = taken + counts.dropped();
        assert!((sent..=sent + 1).contains(&known), "{taken} taken of {sent}, {counts:?}");
    }
}
