//! Sessions over loopback: two ends in one process.
#![allow(clippy::disallowed_methods, reason = "a path between two ends is a thread")]

mod handshake;
mod hostile;
mod keys;
mod path;
mod session;
mod support;
