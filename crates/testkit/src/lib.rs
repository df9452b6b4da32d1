//! One network for tests, in virtual time.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    feature = "path",
    allow(clippy::disallowed_methods, reason = "a transport's clock is that of `std`")
)]
#![expect(clippy::missing_panics_doc, reason = "a helper of a test fails the test")]

mod clock;
#[cfg(feature = "dccp")]
mod end;
mod flow;
#[cfg(feature = "dccp")]
pub mod operations;
#[cfg(feature = "dccp")]
mod packets;
#[cfg(feature = "dccp")]
mod pair;
#[cfg(feature = "path")]
pub mod path;
mod random;
#[cfg(feature = "feedback")]
mod remote;
mod wire;

pub use clock::Clock;
#[cfg(feature = "dccp")]
pub use end::{End, Reading, address};
pub use flow::{Flow, FlowEvent, FlowPacket};
#[cfg(feature = "dccp")]
pub use packets::{emit, parse};
#[cfg(feature = "dccp")]
pub use pair::{Flight, PORT, Pair};
pub use random::Random;
#[cfg(feature = "feedback")]
pub use remote::{ACK_DELAY_EXPONENT, Format, Remote, RemotePacket, SSRC};
pub use wire::{Delivered, Fate, Parcel, Side, Wire};

use tfrc_units::{Duration, Instant, Rate};

/// A duration of `ms` milliseconds.
#[must_use]
pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The instant `n` milliseconds after the beginning.
#[must_use]
pub const fn at(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

/// The defaults of rate control, with no more than `bytes_per_sec`.
#[must_use]
pub fn capped(bytes_per_sec: f64) -> tfrc::Config {
    let cap = tfrc::config::RateCap::AtMost(Rate::from_bytes_per_sec(bytes_per_sec));
    tfrc::Settings { cap, ..tfrc::Settings::default() }.validate().expect("a positive rate")
}
