//! Connections of noq over a path, under TFRC.

pub mod disorder;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    FourTuple, PathId, ServerConfig, TransportConfig,
};
use tfrc::Advisor;
use tfrc::study::Profile;
use tfrc_noq::{Tfrc, TfrcConfig};
use tfrc_units::Ecn;

use super::Datagram;
use super::quic::{Quic, Transport, certificate};

/// A maker of congestion controllers.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// An endpoint of noq with one connection.
pub struct Noq {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    is_connected: bool,
}

impl Noq {
    /// The connection; `None` before there is one.
    pub fn connection(&mut self) -> Option<&mut Connection> {
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

impl Quic for Noq {
    type Factory = Factory;
    type Tfrc = Tfrc;

    fn open(start: Instant, to: Option<SocketAddr>, seed: u8, settings: Transport<Factory>) -> Self {
        let (certificate, key, roots) = certificate();
        let mut server = ServerConfig::with_single_cert(vec![certificate], key).expect("a server");
        let transport = transport(settings);
        server.transport_config(transport.clone());
        let server = to.is_none().then(|| Arc::new(server));
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([seed; 32]));
        let mut endpoint = Endpoint::new(Arc::new(config), server, true);
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
        match self.endpoint.handle(now, FourTuple::new(from, None), ecn, bytes, &mut answer)? {
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
        let Some(transmit) =
            connection.poll_transmit(now, NonZeroUsize::new(10).expect("not zero"), &mut bytes)
        else {
            return Vec::new();
        };
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
        let controller: Box<dyn Controller> =
            connection.congestion_state(PathId::ZERO).expect("a path").clone_box();
        *controller.into_any().downcast().expect("TFRC")
    }

    fn advisor(tfrc: &Tfrc) -> &Advisor<4096> {
        tfrc.advisor()
    }
}

/// The rate that applications read, bit/s.
pub fn estimate(connection: &mut Connection) -> Option<u64> {
    connection.path_stats(PathId::ZERO)?.bandwidth_estimate
}

/// noq's own CUBIC.
#[must_use]
pub fn cubic() -> Factory {
    Arc::new(noq_proto::congestion::CubicConfig::default())
}
