//! A name with several addresses, of which some do not answer.
#![expect(clippy::disallowed_macros, reason = "a test that cannot run here says why")]

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tfrc_net::journal::replay;
use tfrc_net::pcap::CaptureForm;
use tfrc_session::{
    Common, ConnectError, Endpoint, Listen, Options, Recordings, connect_any, connect_waiting,
};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Prints why a test did nothing.
fn has_v6() -> bool {
    let bound = UdpSocket::bind((V6, 0));
    if let Err(error) = &bound {
        eprintln!("not run: no {V6} here ({error})");
    }
    bound.is_ok()
}

fn server(host: IpAddr) -> Endpoint {
    let common = Common { accept: Listen::One, ..Common::default() };
    let options = Options { common, ..Options::default() };
    Endpoint::bind(SocketAddr::new(host, 0), &options).expect("a port")
}

/// A socket that takes everything and says nothing.
fn silent(host: IpAddr) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind((host, 0)).expect("a port");
    let address = socket.local_addr().expect("bound");
    (socket, address)
}

/// An address at which the system says that nobody listens.
fn closed(host: IpAddr) -> SocketAddr {
    silent(host).1
}

/// Bytes of a recording, still readable by the test.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The first address is silent: the second is tried at the same time, and the recordings hold only
/// the second.
#[tokio::test]
async fn a_silent_address_does_not_hold_up_the_next() {
    for host in [V4, V6].into_iter().take(if has_v6() { 2 } else { 1 }) {
        let server = server(host);
        let (mute, mute_at) = silent(host);
        let (journal, capture) = (Memory::default(), Memory::default());
        let recordings = Recordings {
            journal: Some(Box::new(journal.clone())),
            capture: Some(Box::new(capture.clone())),
            form: CaptureForm::Udp,
        };
        let addresses = [mute_at, server.local_addr()];
        let (client, connection) =
            connect_any(&addresses, &Options::default(), recordings).await.expect("one answers");
        assert_eq!(connection.remote_addr(), Some(server.local_addr()));
        let accepted = server.accept().await.expect("the client");
        connection.send(vec![5; 300]).await.expect("open");
        assert_eq!(accepted.recv().await.map(|datagram| datagram.bytes), Some(vec![5; 300]));
        let (closed, _) = tokio::join!(connection.close(), async {
            assert_eq!(accepted.recv().await, None);
            accepted.accept_close("").await
        });
        assert!(closed.is_some());
        drop(connection);
        client.shut_down().await.expect("a clean end");
        let replayed = replay(journal.bytes().as_slice()).expect("the same machine");
        assert!(replayed.transmitted >= 3, "{replayed:?}");
        // The silent one was asked, which is not in the capture.
        let mut request = [0; 2000];
        assert!(mute.recv(&mut request).expect("a Request") > 12);
        let ports = ports(&capture.bytes());
        let (there, other) = (server.local_addr().port(), mute_at.port());
        assert!(ports.len() >= 6 && ports.iter().all(|pair| pair.contains(&there)), "{ports:?}");
        assert!(!ports.iter().any(|pair| pair.contains(&other)));
    }
}

/// UDP ports of each frame of a capture.
fn ports(capture: &[u8]) -> Vec<[u16; 2]> {
    let mut all = Vec::new();
    let mut rest = &capture[24..];
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes"));
        let frame = &rest[16..][..usize::try_from(length).expect("small")];
        let udp = if frame[14] >> 4 == 4 { 14 + 20 } else { 14 + 40 };
        let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        all.push([port(udp), port(udp + 2)]);
        rest = &rest[16 + frame.len()..];
    }
    all
}

/// IPv6 is asked first; where nobody listens there, IPv4 follows at once.
#[tokio::test]
async fn a_refused_address_makes_way_for_the_next() {
    if !has_v6() {
        return;
    }
    let server = server(V4);
    let addresses = [server.local_addr(), closed(V6)];
    let (_client, connection) =
        connect_any(&addresses, &Options::default(), Recordings::default()).await.expect("one answers");
    assert_eq!(connection.remote_addr(), Some(server.local_addr()));
}

#[tokio::test]
async fn the_quicker_of_two_that_answer_is_the_only_connection() {
    if !has_v6() {
        return;
    }
    let (four, six) = (server(V4), server(V6));
    let addresses = [four.local_addr(), six.local_addr()];
    let (_client, connection) =
        connect_any(&addresses, &Options::default(), Recordings::default()).await.expect("both answer");
    let won = connection.remote_addr();
    assert_eq!(won, Some(six.local_addr()), "IPv6 began 250 ms before");
    six.accept().await.expect("the client");
}

#[tokio::test]
async fn every_reason_is_told() {
    if !has_v6() {
        return;
    }
    let addresses = [closed(V4), closed(V6)];
    let failed = connect_any(&addresses, &Options::default(), Recordings::default()).await;
    let Err(ConnectError::Failed(attempts)) = &failed else { panic!("{failed:?}") };
    assert_eq!(
        attempts.iter().map(|(address, _)| *address).collect::<Vec<_>>(),
        [addresses[1], addresses[0]]
    );
    let text = failed.map(drop).expect_err("nobody listens").to_string();
    assert!(text.matches("unreachable").count() == 2 && text.contains("; 127.0.0.1:"), "{text}");
    let one = connect_any(&addresses[..1], &Options::default(), Recordings::default()).await;
    assert!(matches!(&one, Err(ConnectError::Failed(attempts)) if attempts.len() == 1), "{one:?}");
    let none = connect_any(&[], &Options::default(), Recordings::default()).await;
    assert!(matches!(none, Err(ConnectError::NoAddress)), "{none:?}");
}

/// A receiver may come as long as the time lasts; then the last reason is reported, and nothing is
/// recorded.
#[tokio::test]
async fn a_receiver_is_waited_for_until_the_time_is_up() {
    let wait = Duration::from_millis(600);
    let journal = Memory::default();
    let recordings = Recordings { journal: Some(Box::new(journal.clone())), ..Recordings::default() };
    let outcome = connect_waiting(&[closed(V4)], &Options::default(), recordings, wait).await;
    assert!(matches!(&outcome, Err(ConnectError::Failed(attempts)) if attempts.len() == 1), "{outcome:?}");
    assert_eq!(journal.bytes(), b"");
    let (_silent, address) = silent(V4);
    let outcome = connect_waiting(&[address], &Options::default(), Recordings::default(), wait).await;
    assert!(matches!(outcome, Err(ConnectError::NoAnswer(waited)) if waited == wait), "{outcome:?}");
    let server = server(V4);
    let addresses = [server.local_addr()];
    let (_client, connection) =
        connect_waiting(&addresses, &Options::default(), Recordings::default(), Duration::from_mins(1))
            .await
            .expect("it answers");
    assert_eq!(connection.remote_addr(), Some(server.local_addr()));
}
