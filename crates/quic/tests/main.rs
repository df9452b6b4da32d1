//! Sessions over loopback: two ends in one process.

mod keys;
mod session;
mod support;
