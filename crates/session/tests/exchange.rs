//! A file in one call at each end, over a path that loses datagrams.

use std::net::SocketAddr;

use tfrc_session::{
    Endpoint, Existing, FILE_QUEUE, FileError, Options, Part, Recordings, connect_any, receive_file,
    send_file,
};
use tokio::net::UdpSocket;

use super::carriers::{listen, pairs};

/// A relay in front of `to` that loses every `nth` datagram of each direction.
async fn losing(to: SocketAddr, nth: usize) -> SocketAddr {
    let (outer, inner) = (UdpSocket::bind("127.0.0.1:0").await, UdpSocket::bind("127.0.0.1:0").await);
    let (outer, inner) = (outer.expect("a port"), inner.expect("a port"));
    let at = outer.local_addr().expect("bound");
    tokio::spawn(async move {
        let (mut forth, mut back) = (vec![0; 65_536], vec![0; 65_536]);
        let (mut client, mut counts) = (at, [0; 2]);
        loop {
            let (bytes, place, socket, target) = tokio::select! {
                Ok((length, from)) = outer.recv_from(&mut forth) => {
                    client = from;
                    (&forth[..length], 0, &inner, to)
                }
                Ok((length, _)) = inner.recv_from(&mut back) => (&back[..length], 1, &outer, client),
            };
            counts[place] += 1;
            if counts[place] % nth != 0 {
                let _ = socket.send_to(bytes, target).await;
            }
        }
    });
    at
}

/// Two ends with a path that loses every `nth` datagram, and their greetings.
async fn ends(mut options: [Options; 2], parts: [Part; 2], nth: usize) -> (Endpoint, Endpoint, Both) {
    for (options, part) in options.iter_mut().zip(parts) {
        options.common.greeting = part.word().to_owned();
    }
    let [there, here] = options;
    let listening = listen(&there);
    let at = [losing(listening.local_addr(), nth).await];
    let (calling, sender) = connect_any(&at, &here, Recordings::default()).await.expect("it answers");
    let receiver = listening.accept().await.expect("a client");
    (listening, calling, Both { sender, receiver })
}

struct Both {
    sender: tfrc_session::Connection,
    receiver: tfrc_session::Connection,
}

#[tokio::test]
async fn a_file_is_equal_after_losses() {
    let place = tempfile::tempdir().expect("a folder");
    let content: Vec<u8> = (0..400_000_u32).flat_map(|n| (n ^ n >> 7).to_le_bytes()).take(300_001).collect();
    let from = place.path().join("in");
    std::fs::write(&from, &content).expect("written");
    for (n, options) in pairs().into_iter().enumerate() {
        let to = place.path().join(format!("out-{n}"));
        let parts = [Part::ReceivesFiles, Part::SendsFile];
        let (_listening, _calling, both) = ends(options, parts, 20).await;
        let (sent, got) =
            tokio::join!(send_file(&both.sender, &from), receive_file(&both.receiver, &to, Existing::Refuse));
        let (sent, got) = (sent.expect("whole"), got.expect("whole"));
        assert!(sent.bytes == 300_001 && got.bytes == 300_001 && sent.repaired_bytes > 0);
        assert!(std::fs::read(&to).expect("named") == content);
        assert!(!to.with_extension("part").exists());
    }
}

/// A disk that stands still holds up a bounded number of bytes, and what is dropped meanwhile is
/// sent again.
#[test]
fn a_disk_that_stands_still_holds_few_bytes_up() {
    /// Longer than any datagram of these sessions, bytes.
    const LONGEST: u64 = 1472;
    /// Bytes that may wait for a disk: 1.5 MB in the connection, and a batch and the next two.
    const MOST: u64 = 3 << 20;
    let place = tempfile::tempdir().expect("a folder");
    let content: Vec<u8> = (0..5_000_000_u32).flat_map(|n| (n ^ n >> 7).to_le_bytes()).collect();
    let from = place.path().join("in");
    std::fs::write(&from, &content).expect("written");
    let runtime = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        // One thread for all disks, so that a task in it stops them.
        runtime.enable_all().max_blocking_threads(1).build().expect("a runtime")
    };
    for (n, [mut there, mut here]) in pairs().into_iter().enumerate() {
        let to = place.path().join(format!("out-{n}"));
        let part = place.path().join(format!("out-{n}.part"));
        there.common.greeting = Part::ReceivesFiles.word().to_owned();
        there.common.receive_queue = FILE_QUEUE;
        here.common.greeting = Part::SendsFile.word().to_owned();
        let (sent, got) = runtime().block_on(async {
            let listening = listen(&there);
            let (at, from) = ([listening.local_addr()], from.clone());
            let sending = std::thread::Builder::new().spawn(move || {
                runtime().block_on(async {
                    let connected = connect_any(&at, &here, Recordings::default()).await;
                    send_file(&connected.expect("it answers").1, &from).await
                })
            });
            let sending = sending.expect("a thread");
            let receiver = listening.accept().await.expect("a client");
            let stats = || receiver.status().stats;
            let pause = || tokio::time::sleep(std::time::Duration::from_millis(1));
            let standing = async {
                while stats().received_data_packets < 100 {
                    pause().await;
                }
                let (goes_on, stands) = std::sync::mpsc::channel::<()>();
                let disk = tokio::task::spawn_blocking(move || stands.recv());
                while stats().queue_dropped_packets == 0 {
                    pause().await;
                }
                let on_disk = std::fs::metadata(&part).map_or(0, |part| part.len());
                let here = stats().received_data_packets - stats().queue_dropped_packets;
                let held = here * LONGEST - on_disk;
                assert!(held <= MOST, "{held} bytes");
                drop(goes_on);
                let _ = disk.await;
            };
            let (got, ()) = tokio::join!(receive_file(&receiver, &to, Existing::Refuse), standing);
            (sending.join().expect("no panic"), got)
        });
        let (sent, got) = (sent.expect("whole"), got.expect("whole"));
        assert!(sent.bytes == 20_000_000 && sent.repaired_bytes > 0 && got.bytes == sent.bytes);
        assert!(std::fs::read(&to).expect("named") == content);
    }
}

#[tokio::test]
async fn both_ends_hear_why_there_is_no_file() {
    let place = tempfile::tempdir().expect("a folder");
    let (from, to) = (place.path().join("in"), place.path().join("out"));
    std::fs::write(&from, [7; 5000]).expect("written");
    std::fs::write(&to, "theirs").expect("written");
    for options in pairs() {
        // The name is taken.
        let parts = [Part::ReceivesFiles, Part::SendsFile];
        let (_listening, _calling, both) = ends(options.clone(), parts, usize::MAX).await;
        let (sent, got) =
            tokio::join!(send_file(&both.sender, &from), receive_file(&both.receiver, &to, Existing::Refuse));
        assert!(matches!(got, Err(FileError::Place(_))), "{got:?}");
        assert!(sent.is_err(), "{sent:?}");
        assert_eq!(std::fs::read_to_string(&to).expect("there"), "theirs");
        // A receiver that does not know of files, and a file that is not there.
        let parts = [Part::Receives, Part::SendsFile];
        let (_listening, _calling, both) = ends(options.clone(), parts, usize::MAX).await;
        let (refused, _) = tokio::join!(send_file(&both.sender, &from), async {
            while both.receiver.recv().await.is_some() {}
            both.receiver.accept_close("").await
        });
        assert!(matches!(refused, Err(FileError::NotAgreed(_))), "{refused:?}");
        let parts = [Part::ReceivesFiles, Part::SendsFile];
        let (_listening, _calling, both) = ends(options, parts, usize::MAX).await;
        let nowhere = place.path().join("nowhere");
        let other = place.path().join("other");
        let (sent, got) = tokio::join!(
            send_file(&both.sender, &nowhere),
            receive_file(&both.receiver, &other, Existing::Refuse)
        );
        assert!(matches!(sent, Err(FileError::File(_))), "{sent:?}");
        assert!(got.is_err() && !other.exists(), "{got:?}");
    }
}
