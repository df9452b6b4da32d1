//! The UDP socket on the loopback interface.

use super::*;

/// RFC 4340 §14.2.
#[tokio::test]
async fn packets_are_not_fragmented() {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
    let socket = Socket::from_std(socket, Clock::start()).expect("a socket");
    assert!(!socket.state.may_fragment());
}

#[test]
fn kernel_stamps_are_ages() {
    let second = std::time::Duration::from_secs(1);
    let now = Instant::ZERO + Duration::from_secs(10);
    let wall = SystemTime::UNIX_EPOCH + 1000 * second;
    let at = |stamp| ReadTime { now, wall, steady: false }.received_at(stamp);
    assert_eq!(at(Some((1000 * second).checked_sub(second / 100).unwrap())), now - Duration::from_millis(10));
    assert_eq!(at(Some(1001 * second)), now, "from the future");
    assert_eq!(at(Some(second)), now, "the wall clock was set");
    assert_eq!(at(None), now);
}

/// A process that stood still for two seconds reads what came meanwhile at its times; after a
/// clock that was set, at the time of reading.
#[test]
fn what_waited_for_a_stopped_process_keeps_its_time() {
    let second = std::time::Duration::from_secs(1);
    let (then, wall) = (Instant::ZERO + Duration::from_secs(10), SystemTime::UNIX_EPOCH + 1000 * second);
    let read = ReadTime { now: then, wall, steady: true };
    let now = then + Duration::from_secs(2);
    let came = then + Duration::from_millis(5);
    let stamp = Some(1000 * second + std::time::Duration::from_millis(5));
    assert_eq!(read.next(now, wall + 2 * second).received_at(stamp), came);
    for set in [wall + 3 * second, wall + second, wall - second] {
        assert_eq!(read.next(now, set).received_at(stamp), now, "{set:?}");
    }
    let read = read.next(now, wall + 3 * second);
    assert_eq!(
        read.next(now + Duration::from_secs(2), wall + 5 * second)
            .received_at(Some(3 * second + 1000 * second)),
        now
    );
}

/// Another task sends while this one receives, and answers leave from the address asked.
#[tokio::test]
async fn a_sender_beside_its_socket() -> io::Result<()> {
    let clock = Clock::start();
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let mut a = Socket::from_std(UdpSocket::bind(any)?, clock)?;
    let mut b = Socket::bind(SocketAddr::from(([127, 0, 0, 1], 0)), clock)?;
    let host = IpAddr::from([127, 0, 0, 1]);
    let to = SocketAddr::new(host, a.local_addr()?.port());
    b.send(Outgoing { to, ecn: Ecn::Ect0, bytes: b"there", segment: None }).await?;
    while a.receive()? == 0 {
        a.readable().await?;
    }
    let (from, ours) = a.incoming().map(|d| (d.from, d.to)).next().ok_or(io::ErrorKind::NotFound)?;
    assert_eq!((from, ours), (b.local_addr()?, Some(host)));
    a.sender()?.send(ours, Outgoing { to: from, ecn: Ecn::Ce, bytes: b"back", segment: None })?;
    while b.receive()? == 0 {
        b.readable().await?;
    }
    let back: Vec<_> = b.incoming().map(|d| (d.from, d.to, d.ecn, d.bytes.len())).collect();
    assert_eq!(back, [(to, None, Ecn::Ce, 4)]);
    Ok(())
}

#[tokio::test]
async fn datagrams_and_marks_go_through() -> io::Result<()> {
    let clock = Clock::start();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (mut a, mut b) = (Socket::bind(any, clock)?, Socket::bind(any, clock)?);
    let to = b.local_addr()?;
    for (i, ecn) in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
        a.send(Outgoing { to, ecn, bytes: &vec![7; i], segment: None }).await?;
    }
    let mut got = Vec::new();
    while got.len() < 3 {
        b.readable().await?;
        b.receive()?;
        got.extend(b.incoming().map(|d| (d.bytes.len(), d.ecn, d.from)));
    }
    let from = a.local_addr()?;
    assert_eq!(got, [(0, Ecn::NotEct, from), (1, Ecn::Ect0, from), (2, Ecn::Ce, from)]);
    Ok(())
}

/// Datagrams of one system call keep their marks and their lengths, on either kind of socket.
#[tokio::test]
async fn a_train_keeps_its_marks() -> io::Result<()> {
    let clock = Clock::start();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    for mut to in [Socket::bind(any, clock)?, Socket::from_std(UdpSocket::bind(any)?, clock)?] {
        let mut from = Socket::bind(any, clock)?;
        let train = Outgoing { to: to.local_addr()?, ecn: Ecn::Ect0, bytes: &[7; 2500], segment: Some(1000) };
        assert_eq!(from.send_from(0, |n| (n == 0).then_some(train), |_, _| panic!("refused")), None);
        let mut got = Vec::new();
        while got.len() < 3 {
            to.readable().await?;
            to.receive()?;
            got.extend(to.incoming().map(|d| (d.bytes.len(), d.ecn)));
        }
        assert_eq!(got, [(1000, Ecn::Ect0), (1000, Ecn::Ect0), (500, Ecn::Ect0)]);
    }
    Ok(())
}

/// The kernel takes the control message in both families, and the ECN bits in the same byte
/// arrive as they were sent.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_codepoint_goes_beside_the_marks() -> io::Result<()> {
    for host in [std::net::IpAddr::from([127, 0, 0, 1]), std::net::Ipv6Addr::LOCALHOST.into()] {
        let address = SocketAddr::new(host, 0);
        let (mut a, mut b) = (Socket::bind(address, Clock::start())?, Socket::bind(address, Clock::start())?);
        a.set_dscp("af11".parse().map_err(io::Error::other)?)?;
        a.send(Outgoing { to: b.local_addr()?, ecn: Ecn::Ect0, bytes: b"marked", segment: None }).await?;
        while b.receive()? == 0 {
            b.readable().await?;
        }
        assert_eq!(b.incoming().map(|d| (d.ecn, d.bytes.len())).next(), Some((Ecn::Ect0, 6)));
    }
    assert_eq!(traffic_class(SocketAddr::from(([127, 0, 0, 1], 1)), 0x2A)[16], 0x2A);
    Ok(())
}

/// On loopback an unreachable port comes back as an error of a later call; it must not end the
/// socket.
#[tokio::test]
async fn an_unreachable_peer_is_no_error() -> io::Result<()> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut a = Socket::bind(any, Clock::start())?;
    let nobody = std::net::UdpSocket::bind(any)?.local_addr()?;
    for _ in 0..3 {
        a.send(Outgoing { to: nobody, ecn: Ecn::NotEct, bytes: b"x", segment: None }).await?;
        assert_eq!(a.receive()?, 0);
    }
    Ok(())
}
