//! Forged ICMP messages against two endpoints in the middle of a transfer. They quote only
//! addresses and ports, as an attacker off the path can. Needs raw sockets; without the right to
//! have them these tests say so and pass, and `io::fault::tests` has every error number.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_macros, reason = "a test that cannot run says so")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, SockAddr, Type};
use tfrc_net::options::{Carrier, Common, Dccp, Listen};
use tfrc_net::{ClosedBy, Connection, Endpoint, Options, Recordings};

/// Addresses of the loopback network that no other test uses: what the kernel learns of paths it
/// keeps for ten minutes.
const SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 66, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 66, 2);

/// Datagrams of a transfer.
const DATAGRAMS: usize = 400;

/// Types and codes of error messages, with the word that follows the checksum: RFC 792, RFC 1191,
/// RFC 1122 §3.2.2.1, RFC 1812 §5.2.7.1.
fn kinds_v4() -> Vec<(u8, u8, u32)> {
    let unreachable = (0..=15).map(|code| (3, code, 0));
    let mtus = [0, 68, 552, 1279, 1400].map(|mtu| (3, 4, mtu));
    let rest = [(4, 0, 0), (11, 0, 0), (11, 1, 0), (12, 0, 0), (12, 1, 0), (12, 2, 0)];
    unreachable.chain(mtus).chain(rest).collect()
}

/// RFC 4443 §3.
fn kinds_v6() -> Vec<(u8, u8, u32)> {
    let unreachable = (0..=8).map(|code| (1, code, 0));
    let mtus = [0, 68, 1280, 1400].map(|mtu| (2, 0, mtu));
    let rest = [(3, 0, 0), (3, 1, 0), (4, 0, 0), (4, 1, 0), (4, 2, 0)];
    unreachable.chain(mtus).chain(rest).collect()
}

/// Sends forged messages; nothing if the process may not have raw sockets.
struct Forger {
    socket: socket2::Socket,
    /// The protocol whose packets the messages are about.
    about: u8,
    kinds: Vec<(u8, u8, u32)>,
    sent: usize,
}

impl Forger {
    fn new(address: IpAddr, carrier: Carrier) -> Option<Self> {
        let about = if carrier == Carrier::Raw { 33 } else { 17 };
        let (domain, protocol, kinds) = match address {
            IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4, kinds_v4()),
            IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6, kinds_v6()),
        };
        let socket = socket2::Socket::new(domain, Type::RAW, Some(protocol));
        match socket {
            Ok(socket) => Some(Self { socket, about, kinds, sent: 0 }),
            Err(error) => {
                eprintln!("not run: no raw sockets here ({error})");
                None
            }
        }
    }

    /// Reports to `victim` that a datagram of its to `peer` did not arrive, for the next reason.
    fn forge(&mut self, victim: SocketAddr, peer: SocketAddr) {
        let (kind, code, word) = self.kinds[self.sent % self.kinds.len()];
        self.sent += 1;
        let mut message = vec![kind, code, 0, 0];
        message.extend(word.to_be_bytes());
        message.extend(quoted(self.about, victim, peer));
        // The kernel fills in the checksum of ICMPv6 itself (RFC 3542 §3.1).
        if victim.is_ipv4() {
            let sum = checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        let to = SockAddr::from(SocketAddr::new(victim.ip(), 0));
        // A full buffer is not a failure of what is tested.
        let _ = self.socket.send_to(&message, &to);
    }
}

/// The beginning of a packet of a protocol, as far as RFC 792 asks for it: the ports are where UDP
/// and DCCP have them.
fn quoted(protocol: u8, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let mut packet = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut header = vec![0x45, 0, 5, 0xb8, 0, 0, 0x40, 0, 64, protocol, 0, 0];
            header.extend(from.octets());
            header.extend(to.octets());
            let sum = checksum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let mut header = vec![0x60, 0, 0, 0, 5, 0xb8, protocol, 64];
            header.extend(from.octets());
            header.extend(to.octets());
            header
        }
        mixed => panic!("two families: {mixed:?}"),
    };
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend([5, 0xa4, 0, 0]);
    packet
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("folded twice")
}

/// A connection, and the server's end of it with its endpoint.
struct Pair {
    server: Endpoint,
    client: Endpoint,
    there: Connection,
    here: Connection,
}

impl Pair {
    async fn new(
        server: IpAddr,
        carrier: Carrier,
        client: impl FnOnce(SocketAddr, &Options) -> Endpoint,
    ) -> Self {
        let dccp = Dccp { carrier, ..Dccp::default() };
        let calling = Options { common: Common::default(), dccp };
        let listening =
            Options { common: Common { accept: Listen::One, ..Common::default() }, ..calling.clone() };
        let server = Endpoint::bind(SocketAddr::new(server, 0), &listening).expect("a port");
        let client = client(server.local_addr(), &calling);
        let here = client.connect(server.local_addr()).await.expect("an open door");
        let there = server.accept().await.expect("the client");
        Self { server, client, there, here }
    }

    /// Sends the longest datagrams possible, each with some messages to either end; returns how
    /// many arrived.
    async fn transfer(&self, mut beside: impl FnMut()) -> usize {
        let length = self.here.max_datagram();
        let sending = async {
            for _ in 0..DATAGRAMS {
                for _ in 0..10 {
                    beside();
                }
                // The kernel keeps messages in the receive buffer until they are read; a full one
                // has no room for data.
                tokio::task::yield_now().await;
                self.here.send(vec![7; length]).await.expect("open");
            }
            self.here.close().await.expect("an end")
        };
        let receiving = async {
            let mut came = 0;
            while let Some(datagram) = self.there.recv().await {
                assert_eq!(datagram.bytes.len(), length);
                came += 1;
            }
            self.there.accept_close("all of it").await.expect("an end");
            came
        };
        let (closed, came) = tokio::join!(sending, receiving);
        assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Us, Some("all of it")));
        assert_eq!(self.here.status().max_datagram, length, "no datagram became shorter");
        came
    }

    async fn end(self) {
        drop((self.here, self.there));
        self.client.shut_down().await.expect("a clean end");
        self.server.shut_down().await.expect("a clean end");
    }
}

/// Over UDP and over IP alone, of either version.
#[tokio::test]
async fn messages_of_every_kind_end_no_endpoint_and_cost_no_datagram() {
    let hosts =
        [(SERVER.into(), CLIENT.into()), (IpAddr::from(Ipv6Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into())];
    for (server, client, carrier) in
        hosts.into_iter().flat_map(|(s, c)| [Carrier::Udp, Carrier::Raw].map(|carrier| (s, c, carrier)))
    {
        if let Err(error) = std::net::UdpSocket::bind((client, 0)) {
            eprintln!("not run: no {client} here ({error})");
            continue;
        }
        let Some(mut forger) = Forger::new(server, carrier) else { return };
        let pair = Pair::new(server, carrier, |_, options| {
            Endpoint::bind(SocketAddr::new(client, 0), options).expect("a port")
        })
        .await;
        let ends = [pair.server.local_addr(), pair.client.local_addr()];
        let came = pair
            .transfer(|| {
                forger.forge(ends[0], ends[1]);
                forger.forge(ends[1], ends[0]);
                // About somebody it never spoke to: the kernel looks at the sender's side only.
                forger.forge(ends[0], SocketAddr::new(client, 9));
            })
            .await;
        assert_eq!(came, DATAGRAMS);
        assert_eq!((pair.server.stats().unsent, pair.client.stats().unsent), (0, 0));
        pair.end().await;
    }
}

/// A connected socket gets them more easily, and sends by another system call.
#[tokio::test]
async fn an_endpoint_towards_one_peer_survives_them_too() {
    let Some(mut forger) = Forger::new(SERVER.into(), Carrier::Udp) else { return };
    let pair = Pair::new(SERVER.into(), Carrier::Udp, |server, options| {
        Endpoint::towards(server, options, Recordings::default()).expect("a route")
    })
    .await;
    let (server, client) = (pair.server.local_addr(), pair.client.local_addr());
    let came = pair.transfer(|| forger.forge(client, server)).await;
    assert_eq!(came, DATAGRAMS);
    pair.end().await;
}
