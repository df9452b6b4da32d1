//! Connections of QUIC over a path, under TFRC: what is alike for all stacks of the kind of quinn.

pub mod moves;
pub mod shares;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tfrc::Advisor;
use tfrc::study::Profile;
use tfrc_units::Ecn;

use super::{Datagram, End, Rule, World};
use crate::Wire;

/// A certificate of `localhost` by its own key of Ed25519, until the year 4096, and the key: made
/// with rcgen 0.14, serial number 1.
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
const KEY: &[u8] = include_bytes!("key.der");

/// Bytes of a datagram of the application: 1200 with QUIC's headers.
pub const PAYLOAD: usize = 1162;

/// An endpoint of a stack with one connection.
pub trait Quic: Sized {
    /// A maker of congestion controllers.
    type Factory;
    /// TFRC as a controller of the stack.
    type Tfrc;

    /// The end that connects, to `to`, or the one that answers; the transport keeps `buffer` bytes
    /// of datagrams that wait.
    fn open(start: Instant, to: Option<SocketAddr>, seed: u8, settings: Transport<Self::Factory>) -> Self;
    /// The maker of TFRC by a profile.
    fn tfrc_of(profile: Profile) -> Self::Factory;
    /// Takes a datagram that came `from` this address; an answer, if the endpoint has one itself.
    fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &Datagram) -> Option<Vec<u8>>;
    /// Serves timers and events.
    fn wake(&mut self, now: Instant);
    /// True once the handshake is complete.
    fn is_connected(&self) -> bool;
    /// Hands a datagram of the application over; false if there is no room for it.
    fn send(&mut self, datagram: Vec<u8>) -> bool;
    /// Takes a datagram for the application out; false if there is none.
    fn recv(&mut self) -> bool;
    /// The next datagrams of the connection, at most ten.
    fn transmit(&mut self, now: Instant) -> Vec<Datagram>;
    /// The time at which the connection wants to be served.
    fn timeout(&mut self) -> Option<Instant>;
    /// A copy of the controller of the path.
    fn tfrc(&self) -> Self::Tfrc;
    /// The rate control in it.
    fn advisor(tfrc: &Self::Tfrc) -> &Advisor<4096>;
}

/// Settings of both ends.
#[derive(Debug, Clone, Copy)]
pub struct Transport<F> {
    /// The maker of congestion controllers.
    pub controller: F,
    /// Bytes of datagrams that wait.
    pub buffer: usize,
    /// True if the path's MTU is looked for.
    pub mtu_probes: bool,
}

/// The certificate of a server with its key, and the store of a client that trusts it.
#[must_use]
pub fn certificate() -> (CertificateDer<'static>, PrivateKeyDer<'static>, Arc<RootCertStore>) {
    // Signatures of Ed25519 have one length, so that all runs send equally many bytes.
    let certificate = CertificateDer::from(CERTIFICATE);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).expect("a certificate");
    (certificate, PrivatePkcs8KeyDer::from(KEY).into(), Arc::new(roots))
}

/// Traffic that an application offers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Traffic {
    /// The datagrams that wait in [`Peer::backlog`].
    Backlog,
    /// Nothing.
    Silent,
    /// This many datagrams a second.
    PerSecond(f64),
    /// As much as goes.
    Greedy,
}

/// An end with its application.
pub struct Peer<Q> {
    /// The connection.
    pub quic: Q,
    /// The address of the other end, as this one sees it.
    pub remote: SocketAddr,
    outgoing: VecDeque<Datagram>,
    /// The traffic that its application offers.
    pub traffic: Traffic,
    /// Datagrams that wait for the transport, with the time since which they do.
    pub backlog: VecDeque<(Instant, Vec<u8>)>,
    credit: f64,
    ticked: Instant,
    /// When datagrams of the application arrived.
    pub arrivals: Vec<Instant>,
}

/// A client and a server that use this congestion controller, about to connect; the transport
/// keeps `buffer` bytes of datagrams that wait.
#[must_use]
pub fn pair<Q: Quic<Factory: Clone>>(
    start: Instant,
    controller: Q::Factory,
    buffer: usize,
    mtu_probes: bool,
) -> (Peer<Q>, Peer<Q>) {
    let [near, far] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let settings = Transport { controller, buffer, mtu_probes };
    let client = Q::open(start, Some(far), 1, settings.clone());
    (Peer::new(start, client, far), Peer::new(start, Q::open(start, None, 2, settings), near))
}

/// A client and a server that use TFRC, connected over this path.
#[must_use]
pub fn world<Q: Quic<Factory: Clone>>(
    wire: Wire<Vec<u8>>,
    rule: Rule,
    controller: Q::Factory,
    mtu_probes: bool,
) -> World<Peer<Q>, Peer<Q>> {
    let start = Instant::now();
    let (client, server) = pair(start, controller, 8 << 10, mtu_probes);
    World::new(start, client, server, wire, rule)
}

impl<Q: Quic> Peer<Q> {
    fn new(start: Instant, quic: Q, remote: SocketAddr) -> Self {
        Self {
            quic,
            remote,
            outgoing: VecDeque::new(),
            traffic: Traffic::Silent,
            backlog: VecDeque::new(),
            credit: 0.0,
            ticked: start,
            arrivals: Vec::new(),
        }
    }

    /// Lets the application send while the transport takes it.
    fn offer(&mut self) {
        if !self.quic.is_connected() {
            return;
        }
        while self.traffic == Traffic::Backlog
            && let Some((_, datagram)) = self.backlog.front()
            && self.quic.send(datagram.clone())
        {
            self.backlog.pop_front();
        }
        while (self.traffic == Traffic::Greedy || self.credit >= 1.0) && self.quic.send(vec![7; PAYLOAD]) {
            self.credit -= 1.0;
        }
    }
}

impl<Q: Quic> End for Peer<Q> {
    fn receive(&mut self, now: Instant, datagram: Datagram) {
        let answer = self.quic.receive(now, self.remote, &datagram);
        self.outgoing.extend(answer.map(|bytes| Datagram { bytes, ecn: Ecn::NotEct }));
    }

    fn wake(&mut self, now: Instant) {
        if let Traffic::PerSecond(rate) = self.traffic {
            // A few datagrams of the past at most.
            self.credit = (self.credit + (now - self.ticked).as_secs_f64() * rate).min(3.0);
        }
        self.ticked = now;
        self.quic.wake(now);
        while self.quic.recv() {
            self.arrivals.push(now);
        }
        self.offer();
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        if self.outgoing.is_empty() {
            self.outgoing.extend(self.quic.transmit(now));
            if !self.outgoing.is_empty() {
                self.offer();
            }
        }
        self.outgoing.pop_front()
    }

    fn timeout(&mut self) -> Option<Instant> {
        // The application's own clock.
        let tick = match self.traffic {
            Traffic::PerSecond(rate) => Some(self.ticked + Duration::from_secs_f64(1.0 / rate)),
            _ => None,
        };
        self.quic.timeout().into_iter().chain(tick).min()
    }
}
