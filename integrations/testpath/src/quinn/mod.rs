//! Connections of quinn over the path of this crate, under TFRC. The files of `src/quic/` are
//! modules here and in `noq`; `stack` has the differences.

#![expect(clippy::missing_panics_doc, reason = "a helper of a test fails the test")]

#[path = "../quic/moves.rs"]
pub mod moves;
#[path = "../quic/peer.rs"]
pub mod peer;
#[path = "../quic/shares.rs"]
pub mod shares;
pub mod stack;
#[path = "../quic/world.rs"]
mod world;

pub use world::world;
