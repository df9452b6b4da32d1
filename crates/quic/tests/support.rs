//! Two ends and their options.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc_net::options::{Common, DataFrom, Listen};
use tfrc_quic::{ConnectError, Connection, Endpoint, Fingerprint, Key};

pub(crate) const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

pub(crate) fn key() -> Key {
    Key::temporary().expect("random numbers")
}

/// The options of a receiver that listens, for this many connections at once.
pub(crate) fn receiver(at_once: usize) -> Common {
    Common { accept: Listen::Many(at_once), greeting: "receives".to_owned(), ..Common::default() }
}

/// The options of a sender that calls.
pub(crate) fn sender() -> Common {
    Common { accept: Listen::Refuse, greeting: "sends".to_owned(), ..Common::default() }
}

/// The options of a sender that listens, and of the receiver that calls it.
pub(crate) fn reverse() -> [Common; 2] {
    let sends = Common { accept: Listen::One, data_from: DataFrom::Listener, ..sender() };
    let receives = Common { accept: Listen::Refuse, data_from: DataFrom::Listener, ..receiver(0) };
    [sends, receives]
}

/// Opens an endpoint that listens.
pub(crate) fn listen(options: &Common, key: &Key, allow: &[Fingerprint]) -> Endpoint {
    Endpoint::bind(SocketAddr::from(LOOPBACK), options, key, allow).expect("a port")
}

/// Connects to the owner of the key `peer`, with the patience of a session.
pub(crate) async fn connect(
    at: SocketAddr,
    options: &Common,
    key: &Key,
    peer: Fingerprint,
) -> Result<(Endpoint, Connection), ConnectError> {
    tfrc_quic::connect(at, options, key, &[peer], Duration::from_secs(30)).await
}

/// A sender and a receiver that are connected, with their endpoints.
pub(crate) struct Pair {
    pub(crate) sender: Connection,
    pub(crate) receiver: Connection,
    _endpoints: [Endpoint; 2],
}

impl Pair {
    pub(crate) async fn new() -> Self {
        Self::with(&receiver(1), &sender()).await
    }

    pub(crate) async fn with(receiver: &Common, sender: &Common) -> Self {
        let there = key();
        let listening = listen(receiver, &there, &[]);
        let at = listening.local_addr();
        let (calling, sender) =
            connect(at, sender, &key(), there.fingerprint()).await.expect("the key is right");
        let receiver = listening.accept().await.expect("open");
        Self { sender, receiver, _endpoints: [calling, listening] }
    }
}
