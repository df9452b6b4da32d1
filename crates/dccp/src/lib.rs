//! The Datagram Congestion Control Protocol on bytes: RFC 4340 with CCID 3 (RFC 4342 read with
//! RFC 5348, RTT reports of RFC 6323) and CCID 4 (TFRC-SP, RFC 5622), natively or inside UDP
//! (RFC 6773).
//!
//! Everything is sans-IO and deterministic: time is an argument, secrets come from a seed, no call
//! blocks and no input of a peer panics.
//!
//! * [`Endpoint`] owns many connections behind one socket; [`Connection`] is one of them.
//! * [`wire`]: packets and options, parsed and emitted.
//! * [`feature`]: what the two ends agree on.
//!
//! # The contract
//!
//! The program around an [`Endpoint`] or a [`Connection`], its *host*, has the sockets and the
//! clock. Its whole duty is one loop:
//!
//! 1. Hand in what came: [`Endpoint::handle_datagram`] for each datagram, and
//!    [`Endpoint::handle_timeout`] with the time.
//! 2. Take transmissions until there is none: [`Endpoint::poll_transmit`].
//! 3. Take events until there is none: [`Endpoint::poll_event`]. The application calls
//!    [`Endpoint::send`], [`Endpoint::recv`] or [`Connection::close`] here, or at any other time.
//! 4. Sleep until [`Endpoint::poll_timeout`], a datagram, or a call of the application.
//!
//! There is one clock. [`Endpoint::poll_timeout`] knows the time of every timer, and the time at
//! which the rate control lets the next datagram of the send queue go; if a call of the application
//! in step 3 has made something to send, it gives the present. The application hands over datagrams
//! when it has them: [`LatePolicy`] says what becomes of datagrams that the rate cannot carry in
//! time, and [`Event::Dropped`], [`Event::Writable`] and [`Event::Flushed`] report it.
//!
//! Two rules hold for time. It never goes back: if it does, the latest time counts. And when a
//! timeout has passed, [`Endpoint::handle_timeout`] comes before [`Endpoint::poll_transmit`];
//! early, late and repeated calls of it do no harm. Debug builds assert both rules.
//!
//! A process may stand still, for the want of a processor or by a signal. A datagram that waited
//! meanwhile has the time at which it came, if the system knows that, though later calls were made;
//! and a host that took a transmission and could not send it for long says so by
//! [`Endpoint::handle_held_up`]. Neither is then taken for a slow path.
//!
//! Two ends, with the part of the host played by hand:
//!
//! ```
//! use tfrc_dccp::{ConnectionConfig, Endpoint, EndpointConfig, Event};
//! use tfrc_dccp::endpoint::{ConnectConfig, Listen};
//! use tfrc_units::{Duration, Ecn, Instant};
//!
//! let listening = EndpointConfig { listen: Listen::One, port: 5001, ..EndpointConfig::default() };
//! let mut server = Endpoint::new(listening, [1; 32]);
//! let mut client = Endpoint::new(EndpointConfig::default(), [2; 32]);
//! let (near, far) = ("192.0.2.1:40000".parse()?, "192.0.2.2:6511".parse()?);
//! let config = ConnectConfig { port: 5001, connection: ConnectionConfig::default() };
//! let id = client.connect(Instant::ZERO, far, config)?;
//! client.send(Instant::ZERO, id, b"hello")?;
//!
//! // Packets need no time here, so each turn begins where the last one has ended.
//! let mut wire = Vec::new();
//! let mut turn = |now, endpoint: &mut Endpoint, from, wire: &mut Vec<Vec<u8>>| {
//!     for packet in wire.drain(..) {
//!         endpoint.handle_datagram(now, from, Ecn::NotEct, &packet);
//!     }
//!     endpoint.handle_timeout(now);
//!     let mut packet = Vec::new();
//!     while endpoint.poll_transmit(now, &mut packet).is_some() {
//!         wire.push(packet.clone());
//!     }
//!     std::iter::from_fn(|| endpoint.poll_event()).collect::<Vec<_>>()
//! };
//! let mut now = Instant::ZERO;
//! let received = loop {
//!     turn(now, &mut client, far, &mut wire);
//!     let events = turn(now, &mut server, near, &mut wire);
//!     if let Some((id, _)) = events.into_iter().find(|(_, event)| *event == Event::Readable) {
//!         break server.recv(id);
//!     }
//!     if wire.is_empty() {
//!         let wakes = [client.poll_timeout(), server.poll_timeout()];
//!         now = wakes.into_iter().flatten().map(|wake| wake.at).min().ok_or("nothing is due")?;
//!     }
//! };
//! assert_eq!(received.map(|datagram| datagram.bytes), Some(b"hello".to_vec()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

extern crate alloc;
/// Programs of the crate's front page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FrontPage;

#[cfg(test)]
extern crate std;

mod ccid;
pub mod connection;
pub mod endpoint;
pub mod feature;
mod limiter;
mod secret;
pub mod wire;

pub use ccid::Ccid;
pub use connection::{
    Boundaries, Cause, Closed, ClosedBy, Connection, ConnectionConfig, Event, LatePolicy, Received,
    SendError, State, Stats, Transmit, UNCONFIRMED, Wake, WakeReason,
};
pub use endpoint::{ConnectionId, Endpoint, EndpointConfig, Transmission};
pub use limiter::RateLimiter;
