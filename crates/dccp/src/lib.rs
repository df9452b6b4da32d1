//! The Datagram Congestion Control Protocol on bytes: RFC 4340 with CCID 3 (RFC 4342 read with RFC 5348, RTT reports of
//! RFC 6323) and CCID 4 (TFRC-SP, RFC 5622), natively or inside UDP (RFC 6773).
//!
//! Everything is sans-IO and deterministic: time is an argument, secrets come from a seed, no call blocks and no input
//! of a peer panics.
//!
//! * [`Endpoint`] owns many connections behind one socket; [`Connection`] is one of them.
//! * [`wire`]: packets and options, parsed and emitted.
//! * [`feature`]: what the two ends agree on.
//!
//! Two ends, with the host's part played by hand:
//!
//! ```
//! use tfrc_dccp::{ConnectConfig, ConnectionConfig, Endpoint, EndpointConfig, Event, Listen};
//! use tfrc_units::{Duration, Ecn, Instant};
//!
//! let listening = EndpointConfig { listen: Listen::One, port: 5001, ..EndpointConfig::default() };
//! let mut server = Endpoint::new(listening, [1; 32]);
//! let mut client = Endpoint::new(EndpointConfig::default(), [2; 32]);
//! let (near, far) = ("192.0.2.1:40000".parse()?, "192.0.2.2:6511".parse()?);
//!
//! let mut now = Instant::ZERO;
//! let config = ConnectConfig { port: 5001, connection: ConnectionConfig::default() };
//! let id = client.connect(now, far, config)?;
//! let mut packet = Vec::new();
//! for _ in 0..4 {
//!     while client.poll_transmit(now, &mut packet).is_some() {
//!         server.handle_datagram(now + Duration::from_millis(10), near, Ecn::NotEct, &packet);
//!     }
//!     now += Duration::from_millis(10);
//!     while server.poll_transmit(now, &mut packet).is_some() {
//!         client.handle_datagram(now + Duration::from_millis(10), far, Ecn::NotEct, &packet);
//!     }
//!     now += Duration::from_millis(10);
//!     if let Some(connection) = client.connection_mut(id) {
//!         let _ = connection.send(now, b"hello");
//!     }
//! }
//! let (accepted, _) = std::iter::from_fn(|| server.poll_event())
//!     .find(|(_, event)| matches!(event, Event::Incoming { .. }))
//!     .ok_or("nobody came")?;
//! let received = server.connection_mut(accepted).and_then(|connection| connection.recv());
//! assert_eq!(received.map(|datagram| datagram.bytes), Some(b"hello".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod ccid;
mod connection;
mod endpoint;
pub mod feature;
mod limiter;
mod secret;
pub mod wire;

pub use ccid::{Ccid, SkippedNumbers, Verification};
pub use connection::{
    Cause, Closed, ClosedBy, Connection, ConnectionConfig, EcnSending, Encapsulation, Event, FeedbackProfile,
    PathError, PathMtuDiscovery, Received, SendError, Silence, State, Stats, Transmit, Wake, WakeReason,
};
pub use endpoint::{
    Allow, Carrier, ConnectConfig, ConnectError, ConnectionId, Endpoint, EndpointConfig, EndpointStats,
    Listen, PerSource, Prefix, PrefixError, Pressure, Transmission,
};
pub use limiter::RateLimiter;
