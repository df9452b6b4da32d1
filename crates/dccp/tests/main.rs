//! The integration tests of this crate, as one program: a file of this folder is a module here.

mod clock_grain;
mod endings;
mod examples;
mod lifecycle;
mod negotiation;
mod operations;
mod out_of_step;
mod path_mtu;
mod send_queue;
mod slow_reader;
mod small_packets;
mod transfer;
