//! A deterministic, protocol-free, packet-level network simulator.
//!
//! A [`Network`] describes nodes and one-way links; [`Network::build`] turns it into an [`Engine`]
//! with agents of one type of the caller's choice. The engine owns the packet's [`Header`] and
//! moves the caller's payload untouched. Events happen in a total order of (time, serial), all
//! randomness comes from one [`Seed`] through streams that carry the name of the component that
//! draws from them, and there is no process-wide state: any number of engines live side by side.
//!
//! ```
//! use tfrc_sim::{Ecn, FlowId, Limit, LinkSpec, Network, NoAgent, Outgoing, Precedence, Queue, Seed};
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

mod agent;
mod engine;
mod link;
mod loss;
mod marker;
mod network;
mod packet;
mod queue;
mod rng;
mod routing;
pub mod tcp;
mod trace;
pub mod traffic;

pub use agent::{Agent, AgentId, NoAgent, TimerKey};
pub use engine::{Context, Delivery, Engine, UnknownNode};
pub use link::{FlowStats, LinkStats, PacketCount};
pub use loss::{Flows, Loss, LossAction, LossPlace, LossRule, Period, Step};
pub use marker::{ColorMode, Marker, MarkerRule, MeterScope};
pub use network::{FlowCounts, LinkId, LinkSpec, Network, NetworkError, NodeId, RateChange, Reorder};
pub use packet::{Address, FlowId, Header, Outgoing, Packet, Precedence};
pub use queue::{
    AboveMax, Activation, Adaptation, Bottom, ByteCount, CoDel, Coupling, DropMode, EarlyDrop, Forced,
    IdleDecay, Limit, Marking, Measure, Pie, Queue, QueueState, Randomness, Red, Rio, RioCurve, Spacing,
    StepLimit, Thresholds, Weight,
};
pub use rng::{Seed, Stream};
pub use tfrc_units::Ecn;
pub use trace::{DropCause, Happening, TraceRecord, Tracing};
