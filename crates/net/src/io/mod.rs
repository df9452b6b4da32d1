//! Sockets, clocks and timers: the only code that touches the outside world. Shared with the emulator.

mod clock;
mod socket;
mod timer;

pub use clock::Clock;
pub use socket::{Incoming, Offload, Outgoing, Socket};
pub use timer::Timer;
