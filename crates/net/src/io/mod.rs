//! Sockets, clocks and timers: the only code that touches the outside world. Shared with the
//! emulator.

mod clock;
mod fault;
#[cfg(target_os = "linux")]
mod linux;
mod marks;
#[cfg(target_os = "linux")]
mod raw;
pub(crate) mod route;
mod socket;
mod timer;
mod watched;

pub use clock::Clock;
pub use fault::{Fault, Unsent};
pub use route::longest_payload;
pub use socket::{Incoming, LEFT_BEHIND, Offload, Outgoing, Socket, SocketSender};
pub use timer::Timer;
