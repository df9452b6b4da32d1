//! Handshakes on a path that loses packets, in virtual time, next to those of DCCP with the same
//! packets lost.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use tfrc_dccp::endpoint::{ConnectConfig, Listen};
use tfrc_dccp::{ConnectionConfig, Endpoint as Dccp, EndpointConfig, Event};
use tfrc_units::{Duration, Ecn, Instant};
use tokio::net::UdpSocket;
use tokio::time::{Instant as Clock, sleep};

use crate::support::{LOOPBACK, connect, key, listen, receiver, sender};

/// The way of a packet: there is from the client.
#[derive(Debug, Clone, Copy)]
enum Way {
    There,
    Back,
}

/// One way of the path takes this long: a round trip of 100 ms.
const ONE_WAY: Duration = Duration::from_millis(50);
const SEEDS: std::ops::RangeInclusive<u64> = 1..=50;

/// True if the `n`th packet of this way is lost (SplitMix64 of seed, way and number).
fn is_lost(percent: u64, seed: u64, way: Way, n: u64) -> bool {
    let side = match way {
        Way::There => 0,
        Way::Back => 1,
    };
    let mut z = (seed << 32 | side << 31 | n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ z >> 31) % 100 < percent
}

/// Passes datagrams on, late and with losses, to the server or to the client that it got to know.
async fn pass(
    [from, to]: [Arc<UdpSocket>; 2],
    way: Way,
    server: SocketAddr,
    client: Arc<OnceLock<SocketAddr>>,
    (percent, seed): (u64, u64),
) {
    let mut buffer = [0; 2000];
    let mut n = 0;
    while let Ok((length, sender)) = from.recv_from(&mut buffer).await {
        n += 1;
        let target = match way {
            Way::There => {
                client.get_or_init(|| sender);
                server
            }
            Way::Back => *client.get().expect("it called"),
        };
        if !is_lost(percent, seed, way, n) {
            let (to, bytes) = (Arc::clone(&to), buffer[..length].to_vec());
            tokio::spawn(async move {
                sleep(ONE_WAY.into()).await;
                // Whoever has ended hears nothing.
                let _ = to.send_to(&bytes, target).await;
            });
        }
    }
}

/// The entrance of a path to `server`, which lasts as long as the runtime.
async fn path(server: SocketAddr, percent: u64, seed: u64) -> SocketAddr {
    let socket = async || Arc::new(UdpSocket::bind(SocketAddr::from(LOOPBACK)).await.expect("a port"));
    let (near, far) = (socket().await, socket().await);
    let (entrance, client) = (near.local_addr().expect("bound"), Arc::default());
    let there = [Arc::clone(&near), Arc::clone(&far)];
    tokio::spawn(pass(there, Way::There, server, Arc::clone(&client), (percent, seed)));
    tokio::spawn(pass([far, near], Way::Back, server, client, (percent, seed)));
    entrance
}

/// Milliseconds until a client over QUIC may send; `None` if its patience ends before.
fn private(percent: u64, seed: u64) -> Option<f64> {
    // Loopback passes a datagram on at once: time moves only while every end waits.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let there = key();
        let listening = listen(&receiver(1), &there, &[]);
        let at = path(listening.local_addr(), percent, seed).await;
        let begin = Clock::now();
        let _connected = connect(at, &sender(), &key(), there.fingerprint()).await.ok()?;
        Some(begin.elapsed().as_secs_f64() * 1e3)
    })
}

/// Milliseconds until a client over DCCP may send; `None` if it gives up before.
fn plain(percent: u64, seed: u64) -> Option<f64> {
    let listens = EndpointConfig { listen: Listen::One, port: 5001, ..EndpointConfig::default() };
    let mut ends = [Dccp::new(EndpointConfig::default(), [1; 32]), Dccp::new(listens, [2; 32])];
    let addresses = [1, 2].map(|host| SocketAddr::from(([192, 0, 2, host], 5001)));
    let config = ConnectConfig { port: 5001, connection: ConnectionConfig::default() };
    ends[0].connect(Instant::ZERO, addresses[1], config).expect("a client");
    let (mut now, mut wire, mut sent, mut bytes) = (Instant::ZERO, BTreeMap::new(), [0; 2], Vec::new());
    loop {
        for (end, way) in [Way::There, Way::Back].into_iter().enumerate() {
            ends[end].handle_timeout(now);
            while ends[end].poll_transmit(now, &mut bytes).is_some() {
                sent[end] += 1;
                if !is_lost(percent, seed, way, sent[end]) {
                    wire.insert((now + ONE_WAY, sent[end], end), bytes.clone());
                }
            }
            while let Some((_, event)) = ends[end].poll_event() {
                match event {
                    Event::Connected if end == 0 => {
                        return Some(now.saturating_since(Instant::ZERO).as_secs_f64() * 1e3);
                    }
                    Event::Closed(_) => return None,
                    _ => {}
                }
            }
        }
        let timers = ends.iter_mut().filter_map(|end| end.poll_timeout().map(|wake| wake.at));
        now = wire.keys().map(|key| key.0).chain(timers).min()?.max(now);
        while wire.first_key_value().is_some_and(|(key, _)| key.0 <= now) {
            let ((_, _, end), bytes) = wire.pop_first()?;
            ends[1 - end].handle_datagram(now, addresses[end], Ecn::NotEct, &bytes);
        }
    }
}

/// Median, ninth decile and longest.
fn deciles(times: &[f64]) -> [f64; 3] {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    [times.len() / 2, times.len() * 9 / 10, times.len() - 1].map(|at| times[at])
}

/// `docs/quic.md` has this table.
#[expect(clippy::disallowed_macros, reason = "the table of docs/quic.md")]
#[test]
fn every_handshake_completes_under_loss() {
    // A round trip for TLS, and one for the greeting, which shows that the client's key was let in.
    // A first packet is repeated after 300 ms, then after twice that, and so on, with two packets
    // at a time (RFC 9002 §6.2); 30 s is the patience of an attempt.
    for (percent, median, ninth) in
        [(0, 200.0..210.0, 200.0..210.0), (5, 200.0..330.0, 200.0..900.0), (20, 250.0..1100.0, 600.0..4000.0)]
    {
        let of = |one: fn(u64, u64) -> Option<f64>| -> Vec<f64> {
            SEEDS
                .map(|seed| one(percent, seed).unwrap_or_else(|| panic!("seed {seed}, {percent} %")))
                .collect()
        };
        let (private, plain) = (of(private), of(plain));
        let sooner = private.iter().zip(&plain).filter(|(private, plain)| private < plain).count();
        let (private, plain) = (deciles(&private), deciles(&plain));
        println!("{percent} %: QUIC {private:.0?} ms, DCCP {plain:.0?} ms, QUIC sooner {sooner} times of 50");
        assert!(median.contains(&private[0]) && ninth.contains(&private[1]), "{percent} %: {private:?}");
        assert!(private[2] < 30_000.0, "{percent} %: {private:?}");
    }
}
