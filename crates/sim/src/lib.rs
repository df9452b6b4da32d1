//! A deterministic, protocol-free, packet-level network simulator.
//!
//! A [`Network`] describes nodes and one-way links; [`Network::build`] turns it into an [`Engine`]
//! with agents of one type of the caller's choice. The engine owns the packet's
//! [`Header`](packet::Header) and moves the caller's payload untouched. Events happen in a total
//! order of (time, serial), all randomness comes from one [`Seed`] through streams that carry the
//! name of the component that draws from them, and there is no process-wide state: any number of
//! engines live side by side.
//!
//! ```
//! use tfrc_sim::{LinkSpec, Network, NoAgent, Seed};
//! use tfrc_sim::packet::{FlowId, Outgoing, Precedence};
//! use tfrc_sim::queue::{Limit, Queue};
//! use tfrc_units::{Ecn};
//! use tfrc_units::{Duration, Instant, Rate};
//!
//! let mut network = Network::new();
//! let a = network.node("a").unwrap();
//! let b = network.node("b").unwrap();
//! network
//!     .link(LinkSpec {
//!         queue: Queue::DropTail(Limit::Packets(25)),
//!         ..LinkSpec::new("a-b", a, b, Rate::from_bits_per_sec(1e6), Duration::from_millis(10))
//!     })
//!     .unwrap();
//! let mut engine = network.build::<NoAgent<&str>>(Seed(1));
//! let near = engine.gateway(a).unwrap();
//! let far = engine.gateway(b).unwrap();
//! let packet = Outgoing { to: far, flow: FlowId(0), size: 1000, ecn: Ecn::NotEct, precedence: Precedence::Low, payload: "hello" };
//! engine.inject(Instant::ZERO, near, packet);
//! engine.run_until(Instant::ZERO + Duration::from_secs(1));
//! let delivery = engine.poll_delivery(far).unwrap();
//! assert_eq!(delivery.at, Instant::ZERO + Duration::from_millis(18)); // 8 ms on the line, 10 ms of propagation
//! assert_eq!(delivery.packet.payload, "hello");
//! ```

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

/// Programs of the crate's front page, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FrontPage;

mod agent;
mod engine;
pub mod link;
pub mod loss;
pub mod marker;
pub mod network;
pub mod packet;
pub mod queue;
mod rng;
mod routing;
pub mod tcp;
pub mod trace;
pub mod traffic;

pub use agent::{Agent, AgentId, NoAgent, TimerKey};
pub use engine::{Context, Delivery, Engine, UnknownNode};
pub use network::{LinkId, LinkSpec, Network, NodeId};
pub use packet::{Address, Packet};
pub use rng::{Seed, Stream};
