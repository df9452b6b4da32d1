//! Measures of what flows got.

pub use tfrc_agents::{BIN, Mean, Series};
