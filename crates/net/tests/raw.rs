//! DCCP over IP alone: needs raw sockets; without the right to have them these tests say so and
//! pass.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_macros, reason = "a test that cannot run says so")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use socket2::{Domain, Protocol, Type};
use tfrc_net::options::{Carrier, Common, Dccp, Listen};
use tfrc_net::{BindError, ClosedBy, Endpoint, EndpointStats, Options, Recordings};

/// Datagrams of a transfer.
const DATAGRAMS: u32 = 2000;

fn options(accept: Listen) -> Options {
    Options {
        common: Common { accept, ..Common::default() },
        dccp: Dccp { carrier: Carrier::Raw, ..Dccp::default() },
    }
}

/// A listener; `None` where this process may not have one.
fn listener(at: &str) -> Option<Endpoint> {
    let at: SocketAddr = at.parse().expect("an address");
    match Endpoint::bind(at, &options(Listen::Many(10))) {
        Ok(endpoint) => Some(endpoint),
        Err(error @ (BindError::NoRawSockets | BindError::Address { .. })) => {
            eprintln!("not run: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The nth datagram.
fn datagram(n: u32) -> Vec<u8> {
    n.to_be_bytes().repeat(50 + usize::try_from(n % 200).expect("small"))
}

/// Sends all datagrams to a listener at its address, and has them compared there; the counts of
/// both endpoints.
async fn transfer(server: Endpoint, to: SocketAddr) -> [EndpointStats; 2] {
    let client = Endpoint::towards(to, &options(Listen::Refuse), Recordings::default()).expect("a route");
    let sending = async {
        let here = client.connect(to).await.expect("an open door");
        assert_eq!(here.carrier(), Carrier::Raw);
        assert_eq!(here.remote_addr(), Some(to));
        for n in 0..DATAGRAMS {
            here.send(datagram(n)).await.expect("open");
        }
        here.close().await.expect("an end")
    };
    let receiving = async {
        let there = server.accept().await.expect("the client");
        assert_eq!(there.remote_addr().map(|peer| peer.port()), Some(client.local_addr().port()));
        let mut came = 0;
        while let Some(got) = there.recv().await {
            assert_eq!(got.bytes, datagram(came), "in order and the same");
            came += 1;
        }
        there.accept_close("all of it").await.expect("an end");
        came
    };
    let (closed, came) = tokio::join!(sending, receiving);
    assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Us, Some("all of it")));
    assert_eq!(came, DATAGRAMS);
    let stats = [server.stats(), client.stats()];
    client.shut_down().await.expect("a clean end");
    server.shut_down().await.expect("a clean end");
    stats
}

#[tokio::test]
async fn datagrams_go_over_either_version_of_ip() {
    for at in ["127.0.68.1:0", "[::1]:0"] {
        let Some(server) = listener(at) else { continue };
        let to = server.local_addr();
        for stats in transfer(server, to).await {
            assert_eq!(stats, EndpointStats::default());
        }
    }
}

/// Each of the four sockets is shown the packets of all: without a filter each endpoint answers
/// those of the others with "No Connection".
#[tokio::test]
async fn pairs_on_one_host_do_not_reset_each_other() {
    let (Some(one), Some(two)) = (listener("127.0.68.2:0"), listener("127.0.68.2:0")) else { return };
    let (to_one, to_two) = (one.local_addr(), two.local_addr());
    let (one, two) = tokio::join!(transfer(one, to_one), transfer(two, to_two));
    for stats in [one, two].as_flattened() {
        assert_eq!(*stats, EndpointStats::default(), "no resets, no strangers");
    }
}

/// A listener on every address, called at one that no route leads from.
#[tokio::test]
async fn a_listener_on_every_address_is_called_at_any() {
    let Some(server) = listener("0.0.0.0:0") else { return };
    let to = SocketAddr::from(([127, 0, 68, 3], server.local_addr().port()));
    transfer(server, to).await;
}

/// Garbage, truncated packets, packets to other ports and with wrong checksums, from the address of
/// the peer, in the middle of a transfer.
#[tokio::test]
async fn garbage_at_the_socket_changes_nothing() {
    let Some(server) = listener("127.0.68.4:0") else { return };
    let to = server.local_addr();
    let socket = socket2::Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(33))).expect("the right");
    let at = SocketAddr::new(to.ip(), 0).into();
    let [high, low] = to.port().to_be_bytes();
    let ended = AtomicBool::new(false);
    let forging = async {
        let mut n: u8 = 0;
        while !ended.load(Ordering::Acquire) {
            n = n.wrapping_add(1);
            let port = if n.is_multiple_of(3) { [low, high] } else { [high, low] };
            let mut bytes = vec![n; usize::from(n)];
            bytes.splice(..bytes.len().min(4), [0xC0, n].into_iter().chain(port));
            // A data packet but for its checksum.
            if let (true, Some(offset)) = (n.is_multiple_of(2), bytes.get_mut(4)) {
                *offset = 4;
                bytes.iter_mut().skip(8).take(1).for_each(|kind| *kind = 5);
            }
            let _ = socket.send_to(&bytes, &at);
            tokio::task::yield_now().await;
        }
    };
    let transfer = async {
        let stats = transfer(server, to).await;
        ended.store(true, Ordering::Release);
        stats
    };
    let ([server, client], ()) = tokio::join!(transfer, forging);
    assert!(server.corrupt > 0 && server.strangers.malformed > 0, "{server:?}");
    assert_eq!((server.strangers.resets, client), (0, EndpointStats::default()));
}
