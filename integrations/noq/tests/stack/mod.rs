//! noq, as far as it differs from quinn.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Instant;

use noq_proto::{FourTuple, PathId, Transmit};

pub use noq_proto::congestion::Controller;
pub use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, TransportConfig,
};
pub use tfrc_noq::{Tfrc, TfrcConfig};

pub fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    from: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: bytes::BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(from, None), ecn, bytes, answer)
}

pub fn transmit(connection: &mut Connection, now: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(10)?, bytes)
}

pub fn timeout(connection: &mut Connection) -> Option<Instant> {
    connection.poll_timeout()
}

pub fn controller(connection: &Connection) -> &dyn Controller {
    connection.congestion_state(PathId::ZERO).expect("a path")
}

/// The rate that applications read, bit/s.
pub fn estimate(connection: &mut Connection) -> Option<u64> {
    connection.path_stats(PathId::ZERO)?.bandwidth_estimate
}
