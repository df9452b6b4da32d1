//! A deterministic, protocol-free, packet-level network simulator.
#![doc = include_str!("../README.md")]
//!
//! # Parts
//!
//! A [`Network`] describes nodes and one-way links; [`Network::build`] turns it into an [`Engine`]
//! with agents of one type of the caller's choice. The engine owns the packet's
//! [`Header`](packet::Header) and moves the caller's payload untouched. Events happen in a total
//! order of (time, subject), in which no subject comes first for its number. All randomness comes
//! from one [`Seed`] through streams that carry the name of the component that draws from them, and
//! there is no process-wide state: any number of engines live side by side.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::as_conversions, clippy::indexing_slicing)]

mod agent;
mod engine;
mod ids;
pub mod link;
pub mod loss;
pub mod marker;
pub mod network;
pub mod packet;
pub mod queue;
mod rng;
mod routing;
mod spec;
pub mod tcp;
pub mod trace;
pub mod traffic;

pub use agent::{Agent, AgentId, NoAgent, TimerKey};
pub use engine::{Context, Delivery, Depth, Engine, UnknownNode};
pub use network::{LinkId, LinkSpec, Network, NodeId};
pub use packet::{Address, Packet};
pub use rng::{Seed, Stream};
