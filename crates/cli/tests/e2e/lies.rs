//! Peers that lie about a file, over DCCP and over QUIC: they gain nothing, and the program says
//! why it gives up.

use std::process::Stdio;

use tfrc_report::record::Summary;
use tfrc_session::{
    Carrier, Common, Connection, Endpoint, Key, Listen, Options, Quic, Recordings, connect_any,
};
use tokio::runtime::Runtime;

use crate::e2e::network::{Place, noise};
use crate::e2e::program::Finished;
use crate::e2e::whole::{Ends, at_once, both, of_both};

const FILE: usize = 100_000;

/// Kinds of datagrams (docs/file-transfer.md).
const DATA: u8 = 1;
const END: u8 = 2;
const LACKS: u8 = 3;
const WHOLE: u8 = 4;
const DIFFERS: u8 = 5;

/// The options of a liar, and its key.
fn options(quic: bool, greeting: &str, accept: Listen, peer: Option<&str>) -> (Options, String) {
    let common = Common { greeting: greeting.to_owned(), accept, ..Common::default() };
    let key = Key::temporary().expect("a key");
    let own = key.fingerprint().to_string();
    let peers = peer.map(|key| key.parse().expect("a fingerprint")).into_iter().collect();
    let carrier = if quic { Carrier::Quic(Quic { key, peers }) } else { Carrier::default() };
    (Options { common, carrier }, own)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads")
}

#[track_caller]
fn failed(finished: &Finished, sentence: &str) -> Summary {
    assert_eq!(finished.status.code(), Some(1), "{}", finished.stderr);
    assert!(finished.stderr.contains(sentence), "no {sentence:?} in\n{}", finished.stderr);
    finished.json()
}

/// The end of a `tfrc send` to a receiver that answers each question so.
fn sent_to(quic: bool, answer: fn(&[u8]) -> Vec<u8>) -> Finished {
    let place = Place::new();
    let ends = Ends { place: &place, quic };
    let from = place.write("in", noise(FILE));
    runtime().block_on(async {
        let (options, own) = options(quic, "receives files", Listen::One, None);
        let listening = Endpoint::bind(([127, 0, 0, 1], 0).into(), &options).expect("a port");
        let key = if quic { vec!["--peer-key".to_owned(), own] } else { Vec::new() };
        let address = listening.local_addr().to_string();
        let sender = ends.send(&address, &key, &["-f", &from], Stdio::null());
        let connection = listening.accept().await.expect("a sender");
        while let Some(datagram) = connection.recv().await {
            if datagram.bytes.first() == Some(&END) {
                let _ = connection.send(answer(&datagram.bytes)).await;
            }
        }
        connection.accept_close("").await;
        tokio::task::spawn_blocking(|| sender.end()).await.expect("no panic")
    })
}

#[test]
fn a_receiver_that_is_never_content_is_given_up() {
    for quic in both() {
        // All bytes up to 2^62 are missing, each time.
        let everything = |end: &[u8]| [&[LACKS][..], &end[1..5], &[0], &[0xFF; 8]].concat();
        let summary = failed(&sent_to(quic, everything), "asks for the same bytes again and again");
        let most = u64::try_from(FILE).expect("small") * 17;
        assert!(summary.sent_bytes.is_some_and(|bytes| bytes <= most), "{summary:?}");
        failed(&sent_to(quic, |_| vec![DIFFERS]), "not whole: the hash differs");
    }
}

fn data(offset: u64, bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("short");
    [&[DATA][..], &length.to_be_bytes(), &offset.to_be_bytes(), bytes].concat()
}

fn end(round: u32, length: u64, hash: [u8; 32]) -> Vec<u8> {
    [&[END][..], &round.to_be_bytes(), &length.to_be_bytes(), &hash].concat()
}

/// Sends these datagrams to `tfrc recv`, and the last one again until it is answered by a verdict.
async fn verdict(connection: &Connection, datagrams: Vec<Vec<u8>>) -> u8 {
    let last = datagrams.last().cloned().expect("a question");
    for datagram in datagrams {
        connection.send(datagram).await.expect("open");
    }
    loop {
        let again = tokio::time::sleep(std::time::Duration::from_millis(50));
        tokio::select! {
            answer = connection.recv() => {
                let answer = answer.expect("an answer").bytes;
                if let [verdict @ (WHOLE | DIFFERS)] = *answer {
                    return verdict;
                }
            }
            () = again => connection.send(last.clone()).await.expect("open"),
        }
    }
}

/// Offsets that no file has, ranges that overlap, data behind the end, another length, and a hash
/// that does not agree.
#[test]
fn a_sender_that_lies_brings_its_file_or_nothing() {
    at_once(of_both([true, false]), |(quic, honest)| {
        let place = Place::new();
        let ends = Ends { place: &place, quic };
        let (content, to) = (noise(FILE), place.file("out"));
        let (receiver, address, key) = ends.recv(&["-1", "-o", &to]);
        let length = u64::try_from(FILE).expect("small");
        let hash = if honest { *blake3::hash(&content).as_bytes() } else { [7; 32] };
        let mut datagrams: Vec<_> =
            [1 << 63, u64::MAX, (1 << 62) - 3, 1 << 40].map(|offset| data(offset, b"lies")).into();
        for start in (0..FILE).step_by(700) {
            datagrams.push(data(start.try_into().expect("small"), &content[start..FILE.min(start + 1000)]));
        }
        datagrams.push(data(length, b"behind the end"));
        // The first question decides.
        datagrams.push(end(0, length, hash));
        datagrams.push(data(length - 2, b"over"));
        datagrams.push(end(1, length + 10, [9; 32]));
        datagrams.push(end(1, u64::MAX, hash));
        datagrams.push(end(1, length, hash));
        runtime().block_on(async {
            let peer = key.last().map(String::as_str);
            let (options, _) = options(quic, "sends file", Listen::Refuse, peer);
            let at = [address.parse().expect("an address")];
            let (_endpoint, connection) =
                connect_any(&at, &options, Recordings::default()).await.expect("it listens");
            let expected = if honest { WHOLE } else { DIFFERS };
            assert_eq!(verdict(&connection, datagrams).await, expected, "{quic}");
            connection.set_closing_text(&format!("file {FILE}"));
            connection.close().await.expect("closed");
        });
        let receiver = receiver.end();
        if honest {
            assert_eq!(receiver.status.code(), Some(0), "{}", receiver.stderr);
            assert!(std::fs::read(&to).expect("named") == content);
        } else {
            failed(&receiver, "not whole: the hash differs");
            assert!(!std::path::Path::new(&to).exists());
        }
    });
}
