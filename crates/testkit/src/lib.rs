//! One network for the tests, examples and fuzz targets of the core crates, in virtual time.
//!
//! ```text
//!    Client                     Wire                      Server
//!   +--------+   link of tfrc-sim: rate, queue, delay   +--------+
//!   |        | ---------------------------------------> |        |
//!   |        | <--------------------------------------- |        |
//!   +--------+          a Fate for each packet          +--------+
//! ```
//!
//! | to test | take | its ends |
//! | --- | --- | --- |
//! | anything | [`Wire`] | packets of any type; the caller is both ends |
//! | rate control of RFC 5348 | [`Flow`] | a sender at the client, a receiver at the server |
//! | DCCP | `Pair` (feature `dccp`) | an endpoint and its application at each |
//! | reports of RTP and QUIC | `Remote` (feature `feedback`) | the server; the client is the test |
//!
//! Links are those of the simulator. What else happens to a packet is a [`Fate`], which a rule of
//! the test gives to each one: [`Random`] draws for it, and a number or a time does as well. Time
//! is virtual, so that a test takes none, and every run of it is the same.
//!
//! A greedy sender over 100 ms, with one packet in a hundred lost:
//!
//! ```
//! use tfrc_testkit::{Fate, Flow, Random, Wire};
//! use tfrc_units::{Duration, Instant};
//!
//! let mut random = Random::new(1);
//! let wire = Wire::new(Duration::from_millis(50));
//! let lossy = move |_| Fate::drop_if(random.happens(0.01));
//! let mut flow = Flow::new(&tfrc::Config::default(), 1000, wire, lossy);
//! while flow.next(Instant::ZERO + Duration::from_secs(100)).is_some() {}
//! assert_eq!(flow.sender.rtt(), Some(Duration::from_millis(100)));
//! let p = flow.receiver.loss_event_rate().get();
//! assert!((0.005..0.02).contains(&p), "{p}");
//! ```

#![forbid(unsafe_code)]
#![expect(clippy::missing_panics_doc, reason = "a helper of a test fails the test")]

#[cfg(feature = "dccp")]
mod end;
mod flow;
#[cfg(feature = "dccp")]
mod packets;
#[cfg(feature = "dccp")]
mod pair;
mod random;
#[cfg(feature = "feedback")]
mod remote;
mod wire;

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
