//! noq, as far as it differs from quinn.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use noq_proto::{EndpointConfig, FourTuple, PathId, Transmit};

pub use noq_proto::congestion::{Controller, ControllerFactory};
pub use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Event, ServerConfig,
    TransportConfig,
};
pub use tfrc_noq::{Tfrc, TfrcConfig};

/// A maker of congestion controllers.
pub type Factory = Arc<dyn ControllerFactory + Send + Sync>;

/// An endpoint with this seed of its random numbers.
#[must_use]
pub fn endpoint(server: Option<Arc<ServerConfig>>, seed: [u8; 32]) -> Endpoint {
    let mut config = EndpointConfig::default();
    config.rng_seed(Some(seed));
    Endpoint::new(Arc::new(config), server, true)
}

/// Hands a datagram that came `from` this address to the endpoint; writes an answer, if it has one.
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

/// Writes the next datagrams of the connection, at most ten.
pub fn transmit(connection: &mut Connection, now: Instant, bytes: &mut Vec<u8>) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(10)?, bytes)
}

/// The time at which the connection wants to be served.
pub fn timeout(connection: &mut Connection) -> Option<Instant> {
    connection.poll_timeout()
}

/// The congestion controller of the path.
#[must_use]
pub fn controller(connection: &Connection) -> &dyn Controller {
    connection.congestion_state(PathId::ZERO).expect("a path")
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
