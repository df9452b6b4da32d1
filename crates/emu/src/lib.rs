//! A network of the simulator in real time.
#![doc = include_str!("../README.md")]
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
mod starvation;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod system;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub mod tcp_info;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
mod undeliverable;

#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use bridge::{FlowEnd, FlowPath, FlowTraffic, Observer, WireEngine, WirePacket};
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use capture::LinkCapture;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use emulation::{Emulation, MOST_NODES, Plan, RunningEmulation};
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use fidelity::Fidelity;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use sandbox::SandboxError;
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use space::{NodeSpace, Priority};
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use starvation::{KernelThreads, LATE, Starvation, WaitingThread};
#[cfg(all(feature = "namespaces", target_os = "linux"))]
pub use undeliverable::Undeliverable;

pub use control::Control;
pub use monitor::{Direction, Monitor, Snapshot};
pub use payload::{Datagram, HEADER_BYTES};
pub use relay::{BindError, Limits, Relay, Running};
pub use world::GatewayNetwork;
