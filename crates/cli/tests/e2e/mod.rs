//! The whole system, end to end: the built command as its users run it, over the loopback
//! interface.
//!
//! Every program is started on a port the system chooses, is waited for within [`program::LIMIT`],
//! and is ended by its own handle. Nothing here sleeps: a test waits for what a program says.
//! Programs of others (ffmpeg, tshark, chromium) must be there; a test without them fails.
#![allow(clippy::disallowed_methods, reason = "output of other programs is read by threads")]
#![cfg(unix)]

mod analysis;
mod anywhere;
mod browser;
mod capture;
mod demo;
mod disorder;
mod emulation;
mod encoder;
mod ending;
mod file;
mod handshake;
mod journal;
#[cfg(feature = "quic")]
mod lies;
mod link;
mod media;
mod network;
mod output;
mod pictures;
mod pipe;
#[cfg(feature = "quic")]
mod private;
mod program;
mod rate_out;
#[cfg(target_os = "linux")]
mod raw;
mod recording;
mod refusal;
mod reverse;
mod schema;
mod serve;
mod signal;
mod sim;
mod stream;
mod transfer;
mod udp;
mod verdict;
mod video;
mod whole;
