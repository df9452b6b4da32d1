//! An endpoint of noq or quinn with one connection, as an end of the virtual path.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::stack::{
    self, ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event, Factory,
    ServerConfig, TransportConfig,
};
use crate::{Datagram, End};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tfrc_units::Ecn;

/// A certificate of `localhost` by its own key of Ed25519, until the year 4096, and the key: made
/// with rcgen 0.14, serial number 1.
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
const KEY: &[u8] = include_bytes!("key.der");

/// Bytes of a datagram of the application: 1200 with QUIC's headers.
pub const PAYLOAD: usize = 1162;

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
pub struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The address of the other end, as this one sees it.
    pub remote: SocketAddr,
    outgoing: VecDeque<Datagram>,
    /// The traffic that its application offers.
    pub traffic: Traffic,
    /// Datagrams that wait for the transport, with the time since which they do.
    pub backlog: VecDeque<(Instant, Vec<u8>)>,
    credit: f64,
    ticked: Instant,
    connected: bool,
    /// When datagrams of the application arrived.
    pub arrivals: Vec<Instant>,
}

/// A client and a server that use this congestion controller, about to connect; the transport
/// keeps `buffer` bytes of datagrams that wait.
#[must_use]
pub fn pair(start: Instant, controller: Factory, buffer: usize, mtu_probes: bool) -> (Peer, Peer) {
    let mut transport = TransportConfig::default();
    transport
        .datagram_send_buffer_size(buffer)
        .initial_rtt(Duration::from_millis(100))
        .congestion_controller_factory(controller);
    if !mtu_probes {
        transport.mtu_discovery_config(None);
    }
    let transport = Arc::new(transport);
    // Signatures of Ed25519 have one length, so that all runs send equally many bytes.
    let certificate = CertificateDer::from(CERTIFICATE);
    let private = PrivatePkcs8KeyDer::from(KEY);
    let mut server =
        ServerConfig::with_single_cert(vec![certificate.clone()], private.into()).expect("a server");
    server.transport_config(transport.clone());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    client.transport_config(transport);

    let [near, far] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let mut first = Peer::new(start, None, near, far);
    let connected = first.endpoint.connect(start, client, far, "localhost").expect("a connection");
    first.connection = Some(connected);
    (first, Peer::new(start, Some(server), far, near))
}

impl Peer {
    fn new(start: Instant, server: Option<ServerConfig>, local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            endpoint: stack::endpoint(server.map(Arc::new), [local.port() as u8; 32]),
            connection: None,
            remote,
            outgoing: VecDeque::new(),
            traffic: Traffic::Silent,
            backlog: VecDeque::new(),
            credit: 0.0,
            ticked: start,
            connected: false,
            arrivals: Vec::new(),
        }
    }

    /// The connection; `None` before there is one.
    pub fn established(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// Lets the application send while the transport takes it.
    fn offer(&mut self) {
        let Some((_, connection)) = self.connection.as_mut().filter(|_| self.connected) else { return };
        while self.traffic == Traffic::Backlog
            && let Some((_, datagram)) = self.backlog.front()
            && connection.datagrams().send(datagram.clone().into(), false).is_ok()
        {
            self.backlog.pop_front();
        }
        while (self.traffic == Traffic::Greedy || self.credit >= 1.0)
            && connection.datagrams().send(vec![7; PAYLOAD].into(), false).is_ok()
        {
            self.credit -= 1.0;
        }
    }
}

impl End for Peer {
    fn receive(&mut self, now: Instant, datagram: Datagram) {
        let ecn = match datagram.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut answer = Vec::new();
        let bytes = datagram.bytes.as_slice().into();
        match stack::handle(&mut self.endpoint, now, self.remote, ecn, bytes, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(own, _)| *own == handle) {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = accepted.ok();
            }
            Some(DatagramEvent::Response(transmit)) => {
                let bytes = answer.get(..transmit.size).unwrap_or_default().to_vec();
                self.outgoing.push_back(Datagram { bytes, ecn: Ecn::NotEct });
            }
            None => {}
        }
    }

    fn wake(&mut self, now: Instant) {
        if let Traffic::PerSecond(rate) = self.traffic {
            // A few datagrams of the past at most.
            self.credit = (self.credit + (now - self.ticked).as_secs_f64() * rate).min(3.0);
        }
        self.ticked = now;
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            self.connected |= matches!(event, Event::Connected);
        }
        while connection.datagrams().recv().is_some() {
            self.arrivals.push(now);
        }
        self.offer();
    }

    fn transmit(&mut self, now: Instant) -> Option<Datagram> {
        if self.outgoing.is_empty() {
            let (_, connection) = self.connection.as_mut()?;
            let mut bytes = Vec::new();
            let transmit = stack::transmit(connection, now, &mut bytes)?;
            let ecn = match transmit.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            let segments =
                bytes[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size).max(1));
            self.outgoing.extend(segments.map(|bytes| Datagram { bytes: bytes.to_vec(), ecn }));
            self.offer();
        }
        self.outgoing.pop_front()
    }

    fn timeout(&mut self) -> Option<Instant> {
        // The application's own clock.
        let tick = match self.traffic {
            Traffic::PerSecond(rate) => Some(self.ticked + Duration::from_secs_f64(1.0 / rate)),
            _ => None,
        };
        let (_, connection) = self.connection.as_mut()?;
        stack::timeout(connection).into_iter().chain(tick).min()
    }
}
