//! Two endpoints over the loopback interface, and the journal of one of them.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tfrc_net::journal::{JournalError, ReplayError, replay};
use tfrc_net::{Accept, ClosedBy, ConnectError, Endpoint, Options, SendError};

const ANY: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

fn any() -> SocketAddr {
    ANY.into()
}

fn server() -> Endpoint {
    Endpoint::bind(any(), &Options { accept: Accept::One, ..Options::default() }).expect("a port")
}

/// Bytes written to a journal, still readable by the test.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Sends datagrams to a receiver that says at the end how many came; the client's journal comes back.
async fn session(datagrams: u32) -> Vec<u8> {
    let server = server();
    let memory = Memory::default();
    let client =
        Endpoint::bind_recorded(any(), &Options::default(), Some(Box::new(memory.clone()))).expect("a port");
    let to = server.local_addr();
    let receiver = tokio::spawn(async move {
        let connection = server.accept().await.expect("a client");
        let mut got = Vec::new();
        while let Some(datagram) = connection.recv().await {
            got.push(datagram.bytes);
        }
        let closed = connection.accept_close(&format!("received {}", got.len())).await.expect("an end");
        assert_eq!((closed.by, closed.peer_sent_data_packets), (ClosedBy::Peer, u64::from(datagrams)));
        server.shut_down().await.expect("a clean end");
        got
    });
    let connection = client.connect(to).await.expect("an open door");
    for i in 0..datagrams {
        connection.send(vec![i.to_le_bytes()[0]; 1000]).await.expect("open");
    }
    let closed = connection.close().await.expect("an end");
    assert_eq!((closed.by, closed.text), (ClosedBy::Us, Some(format!("received {datagrams}"))));
    assert_eq!(connection.status().stats.sent_data_packets, u64::from(datagrams));
    assert_eq!(connection.send(vec![0]).await, Err(SendError::Closed));
    drop(connection);
    client.shut_down().await.expect("a clean end");
    let got = receiver.await.expect("no panic");
    assert!((0..datagrams).zip(&got).all(|(i, bytes)| *bytes == vec![i.to_le_bytes()[0]; 1000]));
    Arc::try_unwrap(memory.0)
        .map_or_else(|m| m.lock().expect("no panic").clone(), |m| m.into_inner().expect("no panic"))
}

#[tokio::test]
async fn datagrams_arrive_and_both_ends_count_them() {
    session(300).await;
}

#[tokio::test]
async fn a_journal_replays_to_the_same_bytes_and_every_change_is_noticed() {
    let journal = session(50).await;
    let replayed = replay(journal.as_slice()).expect("the same machine");
    assert!(replayed.transmitted >= 50 && replayed.transmitted_bytes > 50_000, "{replayed:?}");
    // One bit of any byte, times included. (Every 97th keeps the test short; the head of each kind of block is among them.)
    for i in (0..journal.len()).step_by(97) {
        let mut changed = journal.clone();
        changed[i] ^= 1;
        assert!(
            matches!(replay(changed.as_slice()), Err(ReplayError::Journal(_))),
            "byte {i} of {}",
            journal.len()
        );
    }
    for cut in [journal.len() - 1, journal.len() / 2, 3] {
        let error = replay(&journal[..cut]).expect_err("cut off");
        assert!(matches!(
            error,
            ReplayError::Journal(JournalError::CutOff { .. } | JournalError::NotAJournal)
        ));
    }
    let mut longer = journal.clone();
    longer.push(0);
    assert!(matches!(replay(longer.as_slice()), Err(ReplayError::Journal(JournalError::Trailing { .. }))));
}

#[tokio::test]
async fn a_second_connection_at_once_is_refused_and_another_one_later_is_not() {
    let server = server();
    let client = Endpoint::bind(any(), &Options::default()).expect("a port");
    let first = client.connect(server.local_addr()).await.expect("an open door");
    let second = client.connect(server.local_addr()).await;
    assert!(
        matches!(&second, Err(ConnectError::Refused(closed)) if closed.by == ClosedBy::PeerReset),
        "{second:?}"
    );
    let accepted = server.accept().await.expect("the first");
    let (closed, end) = tokio::join!(first.close(), async {
        assert_eq!(accepted.recv().await, None);
        accepted.accept_close("").await
    });
    assert!(closed.is_some() && end.is_some());
    drop((first, accepted));
    client.connect(server.local_addr()).await.expect("room again");
}

#[tokio::test]
async fn too_long_a_datagram_is_refused_with_the_limit() {
    let (server, client) = (server(), Endpoint::bind(any(), &Options::default()).expect("a port"));
    let connection = client.connect(server.local_addr()).await.expect("an open door");
    let limit = connection.max_datagram();
    assert!((1200..1472).contains(&limit), "{limit}");
    assert_eq!(
        connection.send(vec![0; limit + 1]).await,
        Err(SendError::TooLong { length: limit + 1, limit })
    );
    connection.send(vec![0; limit]).await.expect("just fits");
}

#[tokio::test]
async fn a_wrong_service_is_refused() {
    let server = server();
    let client = Endpoint::bind(any(), &Options { service: 7, ..Options::default() }).expect("a port");
    assert!(matches!(client.connect(server.local_addr()).await, Err(ConnectError::Refused(_))));
}
