//! quinn, as far as it differs from noq.

use std::net::SocketAddr;
use std::time::Instant;

use quinn_proto::Transmit;

pub use quinn_proto::congestion::Controller;
pub use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, TransportConfig,
};
pub use tfrc_quinn::{Tfrc, TfrcConfig};

pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: bytes::BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, from, None, ecn, bytes, answer)
}

pub fn transmit(connection: &mut Connection, now: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, 10, bytes)
}

pub fn timeout(connection: &mut Connection) -> Option<Instant> {
    connection.poll_timeout()
}

pub fn controller(connection: &Connection) -> &dyn Controller {
    connection.congestion_state()
}
