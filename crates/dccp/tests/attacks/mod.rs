//! The attacks of `docs/security.md`, each with its defence at work, in virtual time.

mod feedback;
mod flood;
mod forgery;

mod packets;
mod places;
mod replacement;
mod size;
mod soak;
