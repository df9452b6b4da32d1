//! A network in real time.
//!
//! A [`Relay`] drives a `tfrc-sim` engine against the wall clock. Datagrams that clients send to
//! its address enter the engine's network at one gateway node, leave it at another when their
//! simulated time has come, and go on to a server; the server's answers take the way back. Agents
//! inside the engine compete with them for the same links, in real time.
//!
//! The engine's time is the monotonic clock, so a late wake-up delivers late but never changes the
//! order of events, the length of a queue or the packets that are dropped.
//!
//! The network sees of a datagram its payload and 28 bytes ([`HEADER_BYTES`]), and its ECN bits,
//! which a queue may change.

#![allow(clippy::disallowed_methods, reason = "the emulator's business is the real clock")]
#![deny(unsafe_code)]

mod clients;
mod control;
mod driver;
mod monitor;
mod payload;
mod reader;
mod relay;
mod world;

#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod bridge;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod capture;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod emulation;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod fidelity;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod ip;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub mod sandbox;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod space;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod system;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub mod tcp_info;

#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use bridge::{FlowEnd, FlowPath, FlowTraffic, Observer, WireEngine, WirePacket};
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use capture::LinkCapture;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use emulation::{Emulation, MOST_NODES, Plan, RunningEmulation, WireKind};
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use fidelity::Fidelity;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use sandbox::SandboxError;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use space::NodeSpace;

pub use control::Control;
pub use monitor::{Direction, Monitor, Snapshot};
pub use payload::{Datagram, HEADER_BYTES};
pub use relay::{BindError, Limits, Relay, Running};
pub use world::GatewayNetwork;
