//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod icmp;
mod journal;
mod loopback;
mod raw;
