//! Connections of quinn over a path of the testkit, under TFRC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, TransportConfig,
};
use tfrc::Advisor;
use tfrc::study::Profile;
use tfrc_quinn::{Tfrc, TfrcConfig};
use tfrc_testkit::path::Datagram;
use tfrc_testkit::path::quic::{Quic, Transport, certificate};
use tfrc_units::Ecn;

/// A maker of congestion controllers.
pub(crate) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// An endpoint of quinn with one connection.
pub(crate) struct Quinn {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    is_connected: bool,
}

impl Quinn {
    /// The connection; `None` before there is one.
    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }
}

fn transport(settings: Transport<Factory>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .datagram_send_buffer_size(settings.buffer)
        .initial_rtt(std::time::Duration::from_millis(100))
        .congestion_controller_factory(settings.controller);
    if !settings.mtu_probes {
        transport.mtu_discovery_config(None);
    }
    Arc::new(transport)
}

impl Quic for Quinn {
    type Factory = Factory;
    type Tfrc = Tfrc;

    fn open(start: Instant, to: Option<SocketAddr>, seed: u8, settings: Transport<Factory>) -> Self {
        let (certificate, key, roots) = certificate();
        let mut server = ServerConfig::with_single_cert(vec![certificate], key).expect("a server");
        let transport = transport(settings);
        server.transport_config(transport.clone());
        let server = to.is_none().then(|| Arc::new(server));
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server, true, Some([seed; 32]));
        let connection = to.map(|to| {
            let mut client = ClientConfig::with_root_certificates(roots).expect("a client");
            client.transport_config(transport);
            endpoint.connect(start, client, to, "localhost").expect("a connection")
        });
        Self { endpoint, connection, is_connected: false }
    }

    fn tfrc_of(profile: Profile) -> Factory {
        Arc::new(TfrcConfig::of(profile))
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &Datagram) -> Option<Vec<u8>> {
        let ecn = match datagram.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut answer = Vec::new();
        let bytes = datagram.bytes.as_slice().into();
        match self.endpoint.handle(now, from, None, ecn, bytes, &mut answer)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                if let Some((_, connection)) = self.connection.as_mut().filter(|(own, _)| *own == handle) {
                    connection.handle_event(event);
                }
            }
            DatagramEvent::NewConnection(incoming) => {
                self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            DatagramEvent::Response(transmit) => {
                return Some(answer.get(..transmit.size).unwrap_or_default().to_vec());
            }
        }
        None
    }

    fn wake(&mut self, now: Instant) {
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
            self.is_connected |= matches!(event, Event::Connected);
        }
    }

    fn is_connected(&self) -> bool {
        self.is_connected
    }

    fn send(&mut self, datagram: Vec<u8>) -> bool {
        self.connection()
            .is_some_and(|connection| connection.datagrams().send(datagram.into(), false).is_ok())
    }

    fn recv(&mut self) -> bool {
        self.connection().is_some_and(|connection| connection.datagrams().recv().is_some())
    }

    fn transmit(&mut self, now: Instant) -> Vec<Datagram> {
        let mut bytes = Vec::new();
        let Some(connection) = self.connection() else { return Vec::new() };
        let Some(transmit) = connection.poll_transmit(now, 10, &mut bytes) else { return Vec::new() };
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        let segments = bytes[..transmit.size].chunks(transmit.segment_size.unwrap_or(transmit.size).max(1));
        segments.map(|bytes| Datagram { bytes: bytes.to_vec(), ecn }).collect()
    }

    fn timeout(&mut self) -> Option<Instant> {
        self.connection()?.poll_timeout()
    }

    fn tfrc(&self) -> Tfrc {
        let (_, connection) = self.connection.as_ref().expect("a connection");
        let controller: Box<dyn Controller> = connection.congestion_state().clone_box();
        *controller.into_any().downcast().expect("TFRC")
    }

    fn advisor(tfrc: &Tfrc) -> &Advisor<4096> {
        tfrc.advisor()
    }
}
