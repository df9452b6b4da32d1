//! quinn, as far as it differs from noq.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::{EndpointConfig, Transmit};

pub(crate) use quinn_proto::congestion::{Controller, ControllerFactory};
pub(crate) use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event, ServerConfig,
    TransportConfig,
};
pub(crate) use tfrc_quinn::{Tfrc, TfrcConfig};

/// A maker of congestion controllers.
pub(crate) type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// An endpoint with this seed of its random numbers.
pub(crate) fn endpoint(server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> Endpoint {
    Endpoint::new(Arc::new(EndpointConfig::default()), server, true, Some(seed))
}

pub(crate) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: bytes::BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, bytes, answer)
}

pub(crate) fn transmit(connection: &mut Connection, now: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 10, bytes)
}

pub(crate) fn timeout(connection: &mut Connection) -> Option<Instant> {
    connection.poll_timeout()
}

pub(crate) fn controller(connection: &Connection) -> &dyn Controller {
    connection.congestion_state()
}
