//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod attempts;
mod carriers;
mod exchange;
#[cfg(feature = "quic")]
mod known_hosts;
